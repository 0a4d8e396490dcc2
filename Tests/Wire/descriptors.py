#!/usr/bin/python3
"""OPEN pictures opened at once by a mount of LIMIT file descriptors, RUNS times: read whole, closed, then read one by one.

Every byte is right or the read is EMFILE, which is rare; the daemon lives, and gives back what it opened.
"""

import collections
import concurrent.futures
import errno
import os

from parts import *

RUNS = number("RUNS", 10)
LIMIT = number("LIMIT", 96)
OPEN = number("OPEN", 200)
READERS = number("READERS", 16)


def whole(descriptor):
    parts, place = [], 0
    while part := os.pread(descriptor, 1 << 17, place):
        parts.append(part)
        place += len(part)
    return b"".join(parts)


def outcome(read, expected):
    try:
        return "right" if read() == expected else "WRONG"
    except OSError as error:
        return errno.errorcode[error.errno]


def used(mount):
    """What the daemon's descriptors are, by kind."""
    kinds = collections.Counter()
    for name in os.listdir(f"/proc/{mount.process.pid}/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/{mount.process.pid}/fd/{name}")
            kinds["picture" if re.search("/v2/[^/]{2}/", target) else re.sub(r":?\[.*|.*/", "", target)] += 1
    return kinds


def once(mount, expected):
    """How the reads ended of what was opened at once, and then one by one; the descriptors after that."""
    names = mount.names()
    paths = {rank: f"{mount.day()}/{names[rank]}" for rank in expected}
    opened = {}
    at_once = collections.Counter()
    for rank, path in paths.items():
        try:
            opened[rank] = os.open(path, os.O_RDONLY)
        except OSError as error:
            at_once[errno.errorcode[error.errno]] += 1
    with concurrent.futures.ThreadPoolExecutor(READERS) as readers:
        at_once.update(readers.map(
            lambda rank: outcome(lambda: whole(opened[rank]), expected[rank]), opened))
    most = used(mount) if mount.is_alive else collections.Counter()
    for descriptor in opened.values():
        os.close(descriptor)
    one_by_one = collections.Counter(
        outcome(lambda: open(path, "rb").read(), expected[rank]) for rank, path in paths.items())
    left = collections.Counter()
    if mount.is_alive:
        # What was downloaded ahead is stored first.
        wait_for(lambda: not mount.is_alive or not used(mount)["picture"], "the end of all that was opened")
        left = used(mount)
    return at_once, one_by_one, most, left


def main():
    verdicts = Verdicts(f"{OPEN} pictures at once, {LIMIT} descriptors, {RUNS} times on each wire")
    with Place() as place:
        origin = Origin(place)
        expected = {rank: origin.get(path) for rank, path in origin.ranking()[:OPEN]}
        for name, tls in (("TLS, HTTP/2", True), ("plain HTTP/1.1", False)):
            front = Front(place, origin.url, tls=tls)
            sums = [collections.Counter(), collections.Counter()]
            died, said = 0, []
            for _ in range(RUNS):
                mount = Mount(place, front, prefix=("prlimit", f"--nofile={LIMIT}:{LIMIT}"))
                *ended, most, left = once(mount, expected)
                for total, counts in zip(sums, ended):
                    total.update(counts)
                died += not mount.is_alive
                mount.unmount()
                said += [line for line in mount.log().splitlines() if "network" in line]
            print(f"        last run: {sum(most.values())} in use while open: {dict(most.most_common())}")
            print(f"        {sum(left.values())} afterwards: {dict(left.most_common())}")
            verdicts.figure(f"{name}: daemons that ended", died, died == 0)
            for what, counts in zip(("opened at once", "one by one"), sums):
                verdicts.figure(f"{name}: {what}", dict(counts), counts["right"] == RUNS * len(expected))
            verdicts.figure(f"{name}: lines that blame the network", len(said), not said)
    verdicts.done()


main()
