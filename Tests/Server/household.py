"""What each server's run is made of: accounts, a mount that others may read, the service's log, and rows of a table."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../Desktop"), os.path.join(HERE, "../Wire")]
import parts  # noqa: E402
from service import WatchedOrigin  # noqa: E402
from services import PIXIV  # noqa: E402

#: Accounts of this run: the mount is the first one's.
ACCOUNTS = {"rankfs": 4711, "guest": 4712}
COLUMNS = ("server", "action", "", "s", "API", "HEAD", "pictures", "MB")
FORMAT = "{:<9} {:<52} {:<5} {:>6} {:>5} {:>6} {:>8} {:>7}"


def head():
    print(FORMAT.format(*COLUMNS), flush=True)


def account(name):
    """What starts a program as one of the accounts."""
    return ["setpriv", "--reuid", name, "--regid", name, "--clear-groups", "--"]


def cover(path):
    """An empty folder of memory in place of one of the system's, for what a server insists on writing there."""
    os.makedirs(path, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path], check=True)


def wait_for_port(port, host="127.0.0.1"):
    def answers():
        with contextlib.suppress(OSError), socket.create_connection((host, port), 1):
            return True
        return False

    parts.wait_for(answers, f"port {port}")


def rank(name):
    return int(re.match(r"\d+", name)[0])


def saved(folder):
    """The pictures of a copied day, by rank."""
    found = {}
    for name in os.listdir(folder):
        with open(f"{folder}/{name}", "rb") as file:
            found[rank(name)] = file.read()
    return found


class Row:
    """An action, whether it came out right, and whether it may cost the service nothing."""

    well, is_free, note = False, False, ""


class House:
    """A mount with its origin, in a place that ends with it."""

    def __init__(self, name, options, latency=60):
        self.name, self.options, self.latency, self.failed = name, options, latency, 0

    def __enter__(self):
        # A router is the first thing that a household's server has: some serve on an interface that can multicast alone.
        for words in (["link", "set", "lo", "up"], ["link", "add", "eth0", "type", "veth", "peer", "name", "eth1"],
                      ["addr", "add", "10.213.78.1/24", "dev", "eth0"], ["link", "set", "eth0", "addrgenmode", "none", "up"],
                      ["link", "set", "eth1", "up"]):
            subprocess.run(["ip", *words], check=True)
        self.place = parts.Place().__enter__()
        for file, ending in (("passwd", ":/nonexistent:/bin/sh"), ("group", "")):
            with open(f"/etc/{file}") as text, open(self.place.path(file), "w") as own:
                own.write(text.read())
                for name, number in ACCOUNTS.items():
                    own.write(f"{name}:x:{number}:{f'{number}:{ending}' if ending else ''}\n")
            subprocess.run(["mount", "--bind", own.name, f"/etc/{file}"], check=True)
        self.origin = WatchedOrigin(self.place, service=PIXIV, latency=self.latency)
        self.mount = self.again(*self.options)
        recent = PIXIV.recent(6)
        # Days that no step before has seen.
        self.days, self.spare = recent[:2], recent[2:]
        self.known = {}
        return self

    def __exit__(self, *error):
        self.place.__exit__(*error)

    def again(self, *options, cache=None):
        """A mount of the same service, with a cache of its own or with a former one's."""
        return parts.Mount(self.place, self.origin, "thumbnails=off", "setuid=rankfs", "allow_other", *options, cache=cache,
                           owner=ACCOUNTS["rankfs"])

    def wanted(self, day, most=100):
        """The pictures of a day as the service has them, by rank."""
        return {rank: self.picture(path) for rank, path in self.origin.ranking(day) if rank <= most}

    def picture(self, path):
        if path not in self.known:
            self.known[path] = self.origin.get(path)
        return self.known[path]

    @contextlib.contextmanager
    def row(self, action):
        """Times what is done within it and counts what it costs the service."""
        row, mark, start = Row(), self.origin.mark(), time.monotonic()
        try:
            yield row
        except (OSError, subprocess.TimeoutExpired) as error:
            row.note = str(error)
        seconds = time.monotonic() - start
        # What is requested ahead belongs to the action that it was requested for.
        parts.wait_for(self.is_quiet, "the end of preloads", 60)
        tally = self.origin.tally(mark)
        if row.is_free and tally.api + tally.heads + tally.pictures:
            row.well, row.note = False, "it should have cost nothing"
        self.failed |= not row.well
        print(FORMAT.format(self.name, action, "ok" if row.well else "WRONG", f"{seconds:.1f}", tally.api, tally.heads,
                            tally.pictures, f"{tally.picture_bytes / 1e6:.1f}"), flush=True)
        if row.note:
            print(f"          {row.note}", flush=True)

    def is_quiet(self):
        status = self.mount.status()["cache"]
        return not status["downloads"] and not status["queued_preloads"]
