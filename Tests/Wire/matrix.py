#!/usr/bin/python3
"""Every kind of fault x whole, backwards, tail, listing x sizes known, unknown x SEEDS where chance plays, on every wire, over
every service that is asked for (`--service danbooru`, `--service all`; services.py).

Counted are wrong bytes, short reads, hangs, deaths of the daemon, sizes that were known and are not any more, what should
come and does not, and what is not right within 10 s of healing, on the same mount. All must be 0 but the errors. WIRES names
some of plain, tls (through nginx) and scripted (h2origin.py), SIZES one of known and unknown, KINDS some kinds; TABLE=1 prints
a line for each kind and order. Services whose listings tell sizes have none that are unknown.
"""

import argparse
import itertools
import os
import random
import time

import services
from parts import *

SEEDS = number("SEEDS", 30)
WIRES = os.environ.get("WIRES", "plain tls scripted").split()
SIZES = os.environ.get("SIZES", "known unknown").split()
KINDS = os.environ.get("KINDS", "").split()
TIMEOUT, PATIENCE, HEALING = 6, 30, 10.0
# Bytes of a picture that comes whole in as many pieces as a download has tries.
LARGEST = 1_000_000
COLUMNS = ["right", "errno", "wrong", "short", "hang", "missing", "forgotten", "late"]


class Kind:
    """`reading` is what a reader may meet: right (odd, but whole), fails, or gone (remembered for minutes)."""

    def __init__(self, name, rule, reading="fails", chance=None, contradicts=False, behind_a_front=True, listing=True, proof=False):
        self.name, self.rule, self.reading, self.chance = name, rule, reading, chance
        self.contradicts, self.behind_a_front, self.listing, self.proof = contradicts, behind_a_front, listing, proof


def plain(name, reading="fails", *, chance=None, contradicts=False, behind=True, listing=True, proof=False, action=None, **fields):
    return Kind(name, dict(fields, action=action or name), reading, chance, contradicts, behind, listing, proof)


def after(chance):
    return {"after": chance.randrange(1, 200_000)}


def by(chance):
    return {"by": chance.randrange(1, 90_000)}


# rankfs-origin's, by the names of its actions (Fault). What nginx answers with 502 itself is no kind behind it.
ORIGIN = [
    plain("stallhdr"), plain("stallbody", chance=after), plain("slowloris", action="slow", rate=1, listing=False),
    plain("fin0", behind=False), plain("rst0", behind=False), plain("garbage", behind=False),
    plain("trunc", chance=after), plain("rst", chance=after),
    plain("cllong", chance=by, contradicts=True, listing=False), plain("clshort", chance=by, contradicts=True, listing=False),
    plain("cltwo", contradicts=True, behind=False, listing=False), plain("clneg", behind=False, contradicts=True),
    plain("gzip", contradicts=True, listing=False), plain("hdr1m", behind=False, listing=False),
    plain("hdr10k", behind=False, listing=False),
    plain("html200", contradicts=True), plain("json200", contradicts=True), plain("placeholder", contradicts=True, listing=False),
    plain("notrailer", listing=False),
    plain("endless", contradicts=True), plain("empty", contradicts=True, listing=False),
    # Other bytes of the right length, which only a digest tells.
    plain("flip", contradicts=True, listing=False, proof=True),
    plain("redirfile", action="redirect", location="file:///etc/passwd"),
    plain("redirlocal", action="redirect", location="http://[::1]:1/"),
    *[plain(str(code), "gone" if code in (404, 410) else "fails", action="status", status=code, listing=code >= 500)
      for code in (403, 404, 410, 418, 500, 503)],
    plain("503/1", action="status", status=503, retry_after="1", listing=False),
    plain("slow", "right", rate=300_000, listing=False), plain("chunked", "right", listing=False),
    plain("closedelim", "right", listing=False), plain("rangeignored", "right", listing=False),
    plain("modified", "right", listing=False), plain("pieces", "right", action="trunc", after=150_000, listing=False),
    plain("torn", "right", action="rst", after=150_000, listing=False), plain("rangezero", "right", listing=False),
]

# h2origin.py's. Some have no likeness on HTTP/1.1, where bodies may go: then the answer is right.
SCRIPTED = [
    Kind("rst-before", {"kind": "rst-before"}), Kind("rst-before-2", {"kind": "rst-before", "code": 2}),
    Kind("rst-mid-body", {"kind": "rst-mid-body"}, chance=after), Kind("short", {"kind": "short"}, chance=after),
    Kind("short-close", {"kind": "short-close"}, chance=after), Kind("long", {"kind": "long"}, contradicts=True),
    Kind("stall", {"kind": "stall"}, chance=after), Kind("silent", {"kind": "silent"}),
    Kind("goaway-unseen", {"kind": "goaway-unseen"}), Kind("goaway-unseen-0", {"kind": "goaway-unseen", "last": 0}),
    Kind("goaway-drop", {"kind": "goaway-drop"}), Kind("goaway-graceful", {"kind": "goaway-graceful"}),
    Kind("headers", {"kind": "headers"}), Kind("many-headers", {"kind": "many-headers"}),
    Kind("continuation-flood", {"kind": "continuation-flood"}), Kind("empty-data-flood", {"kind": "empty-data-flood"}),
    Kind("ping-flood", {"kind": "ping-flood"}), Kind("settings-flood", {"kind": "settings-flood"}),
    Kind("endless", {"kind": "endless"}, contradicts=True), Kind("bad-frame", {"kind": "bad-frame"}),
    Kind("slow", {"kind": "slow", "rate": 300_000}),
]
# These hold for connections: for all that are asked at the time.
CONNECTIONS = ["silent-new", "no-settings", "no-streams", "zero-window", "few-streams", "no-ping-ack",
               "silence-old", "close-old", "goaway-old"]
# Of these each breaks a whole connection, with all that others ask on it.
WHOLE = {"goaway-unseen", "goaway-unseen-0", "goaway-drop", "goaway-graceful", "continuation-flood", "empty-data-flood",
         "ping-flood", "settings-flood", "bad-frame"}
SILENT = {"stallhdr", "stallbody", "slowloris", "silent", "stall"}


class Case:
    def __init__(self, kind, order, rule):
        self.kind, self.order, self.rule = kind, order, rule
        self.result = None
        self.part = (4 if order == "listing" else 3 if kind.name == "503/1" else 2 if kind.name in WHOLE
                     else int(kind.name in SILENT))

    def run(self):
        if self.order == "listing":
            listed = attempt(lambda: len(os.listdir(self.path)))
            if isinstance(listed, OSError):
                return errno.errorcode.get(listed.errno, str(listed.errno))
            return "right" if listed == self.expected else "short"
        return outcome(self.order, self.path, self.expected)


class Run:
    """One mount before one origin: a service, a wire, with sizes known or not."""

    def __init__(self, place, service, wire, known):
        self.place, self.service, self.wire, self.known = place, service, wire, known
        self.origin = Origin(place, "--no-chunked", service=service)
        self.front = {
            "plain": lambda: None, "tls": lambda: Front(place, self.origin.url, buffering=False),
            "scripted": lambda: Scripted(place, self.origin.url)}[wire]()
        self.cache = place.path(f"cache-{wire}-{known}")
        self.deaths = 0
        self.table = {}
        self.days = service.past()
        self.mount = None
        self.remount()

    def remount(self):
        if self.mount:
            self.mount.unmount()
        self.options = self.front.options if self.front else []
        front = self.front or self
        self.mount = Mount(self.place, front, "prefetch=0", "withheld=show", f"timeout={TIMEOUT}", "connections=32", cache=self.cache,
                           service=self.service)

    @property
    def url(self):
        return self.origin.url

    def spoil(self, cases):
        """Spoils each case in its own way; heals with none."""
        key = "match" if self.wire == "scripted" else "path"
        rules = [dict(case.rule, **{key: case.source}) for case in cases]
        (self.front if self.wire == "scripted" else self.origin).spoil(rules)

    def cases(self, seed):
        """A picture or day of its own for every kind and order."""
        chance = random.Random(seed)
        kinds = [kind for kind in (SCRIPTED if self.wire == "scripted" else ORIGIN)
                 if (not KINDS or kind.name in KINDS) and (self.wire != "tls" or kind.behind_a_front)
                 and (seed == 1 or kind.chance) and (self.service.is_proven or not kind.proof)
                 # The service's way to say that it is asked too often: it is left alone for longer than a run waits.
                 and (kind.rule.get("status") not in self.service.limits or "retry_after" in kind.rule)]
        ordinary, cases = self.fresh_day(), []
        # Sizes of a whole day are asked for together, and an answer to one of these quiets the host for all.
        apart = self.fresh_day() if any(kind.name == "503/1" for kind in kinds) else None
        for kind, order in itertools.product(kinds, [*ORDERS, "listing"]):
            day, names, entries = apart if kind.name == "503/1" else ordinary
            rule = dict(kind.rule, **(kind.chance(chance) if kind.chance else {}))
            case = Case(kind, order, rule)
            if order == "listing":
                if not kind.listing:
                    continue
                one = next(self.days)
                # The first page, or one in the middle: then the beginning must not be taken for the whole.
                case.source = self.service.page(one, chance.choice([1, self.service.middle]))
                case.path = self.mount.day(one)
                case.day = one
                if self.wire != "scripted" and "after" in rule:
                    del rule["after"]
            else:
                rank, case.source = next(entries)
                case.path = f"{self.mount.day(day)}/{names[rank]}"
                case.expected = self.origin.get(case.source)
            cases.append(case)
        for case in cases:
            if case.order == "listing":
                case.expected = self.entries(case.day)
            elif self.known:
                assert os.stat(case.path).st_size == len(case.expected)
        return cases

    def fresh_day(self):
        """A day, its names, and its pictures in order."""
        day = next(self.days)
        # What went before may still be remembered against the origin; that it is for too long is counted there.
        wait_for(lambda: isinstance(attempt(lambda: os.listdir(self.mount.day(day))), list), f"the listing of {day}", 120)
        entries = self.service.entries(self.origin, day)
        fit = ((entry.rank, entry.path) for entry in entries if entry.path and (entry.size or 0) < LARGEST)
        return day, self.mount.names(day), fit

    def entries(self, day):
        """How many entries a day has, withheld ones too."""
        return len(self.service.entries(self.origin, day))

    def ask(self, cases):
        for case, result in zip(cases, together([case.run for case in cases], PATIENCE)):
            case.result = result

    def judge(self, cases, break_it=None):
        """Asks under the faults and after them, and counts."""
        (break_it or self.spoil)(cases)
        # Apart, because the silent ones hold connections, behind which the others would time out untried, a host that asks
        # to be left alone is, and an API in trouble is left alone for a while.
        for part in range(5):
            self.ask([case for case in cases if case.part == part])
        rows = {}
        for case in cases:
            row = rows[case] = dict.fromkeys(COLUMNS, 0)
            column = case.result if case.result in row else "errno"
            row[column] += 1
            if case.kind.reading == "right" and case.result != "right":
                row["missing"] += 1
            # What only a body told, a body may contradict.
            is_open = case.kind.contradicts and not self.service.is_proven
            if self.known and case.order != "listing" and not is_open and case.kind.reading != "gone":
                size = together([lambda: attempt(lambda: os.stat(case.path).st_size)], PATIENCE)[0]
                row["forgotten"] += size != len(case.expected)
        self.spoil([])
        self.heal([case for case in cases if case.kind.reading != "gone"], rows)
        if not self.mount.is_alive:
            self.deaths += 1
            print(f"  DEATH of the daemon:\n{self.mount.log()[-2000:]}", flush=True)
            self.remount()
        for case in cases:
            total = self.table.setdefault(case.order, dict.fromkeys(COLUMNS, 0))
            for column in COLUMNS:
                total[column] += rows[case][column]
            bad = any(rows[case][column] for column in COLUMNS[2:])
            if bad or os.environ.get("TABLE"):
                marks = [column for column in COLUMNS[2:] if rows[case][column]]
                print(f"    {case.kind.name} {case.rule.get('after', '')} {case.order}: {case.result} {' '.join(marks)}", flush=True)

    def heal(self, cases, rows):
        end, late = time.monotonic() + HEALING, cases
        while late:
            results = together([case.run for case in late], PATIENCE)
            for case, result in zip(late, results):
                if result in ("wrong", "short", "hang"):
                    rows[case][result] += 1
            late = [case for case, result in zip(late, results) if result != "right"]
            if time.monotonic() > end or not self.mount.is_alive:
                break
            time.sleep(0.2)
        for case in late:
            rows[case]["late"] += 1

    def connections(self):
        """Kinds that hold for all connections at once."""
        for name in CONNECTIONS:
            if KINDS and name not in KINDS:
                continue
            kind = Kind(name, {})
            cases = []
            day, names, entries = self.fresh_day()
            for order in ORDERS:
                case = Case(kind, order, {})
                rank, case.source = next(entries)
                case.path, case.expected = f"{self.mount.day(day)}/{names[rank]}", self.origin.get(case.source)
                if self.known:
                    os.stat(case.path)
                cases.append(case)
            listing = Case(kind, "listing", {})
            listing.day = next(self.days)
            listing.path, listing.expected = self.mount.day(listing.day), self.entries(listing.day)
            cases.append(listing)
            commands = [{"kind": name}] if name.endswith("-old") else [{"kind": name}, {"kind": "close-old"}]
            self.judge(cases, lambda _, commands=commands: self.front.tell({"kind": "heal"}, *commands))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    services.add_option(parser)
    verdicts = Verdicts(f"Kinds of faults x orders x sizes x {SEEDS} seeds")
    sizes = [size == "known" for size in SIZES]
    for service, wire, known in itertools.product(parser.parse_args().services, WIRES, sizes):
        if known or not service.is_proven:
            one(verdicts, service, wire, known)
    verdicts.done()


def one(verdicts, service, wire, known):
    """All kinds with one service, on one wire."""
    with Place() as place:
        run = Run(place, service, wire, known)
        for seed in range(1, SEEDS + 1):
            cases = run.cases(seed)
            if cases:
                run.judge(cases)
        if wire == "scripted":
            run.connections()
        name = f"{service.name}, {wire}, sizes {'known' if known else 'unknown'}"
        for order, row in run.table.items():
            bad = sum(row[column] for column in COLUMNS[2:])
            verdicts.figure(f"{name}, {order}", ", ".join(f"{row[column]} {column}" for column in COLUMNS), bad == 0)
        verdicts.figure(f"{name}, deaths", run.deaths, run.deaths == 0)
        run.mount.unmount()


if __name__ == "__main__":
    main()
