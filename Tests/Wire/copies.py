#!/usr/bin/python3
"""`cp -r` of a day of 60 pictures, RUNS times on each wire, each with an empty cache: every byte right, no stall above 2 s.

A stall is a time in which no byte came to the copy. Figures are of the machine that runs this.
"""

import os
import shutil
import subprocess
import time

from parts import *

RUNS = number("RUNS", 30)
SIZE = 60
LONGEST = number("STALL", 2.0)


def copied(folder):
    with contextlib.suppress(OSError):
        return sum(entry.stat().st_size for entry in os.scandir(folder))
    return 0


def copy(mount, target):
    """Seconds, the longest stall, and what cp said."""
    process = subprocess.Popen(["cp", "-r", mount.day(), target], stderr=subprocess.PIPE, text=True)
    start = last = time.monotonic()
    bytes_seen, stall = 0, 0.0
    while process.poll() is None:
        time.sleep(0.02)
        now, count = time.monotonic(), copied(target)
        if count != bytes_seen or count == 0:
            bytes_seen, last = count, now
        stall = max(stall, now - last)
    return time.monotonic() - start, stall, process.stderr.read()


def main():
    verdicts = Verdicts(f"cp -r of {SIZE}, {RUNS} times on each wire")
    with Place() as place:
        origin = Origin(place, "--latency", "20")
        entries = [pair for pair in origin.ranking() if pair[0] <= SIZE]
        expected = {rank: origin.get(path) for rank, path in entries}
        fronts = {
            "TLS, HTTP/2": Front(place, origin.url), "TLS, HTTP/2, proxy_buffering off": Front(place, origin.url, buffering=False),
            "plain HTTP/1.1": Front(place, origin.url, tls=False),
            "plain HTTP/1.1, proxy_buffering off": Front(place, origin.url, tls=False, buffering=False),
        }
        for name, front in fronts.items():
            times, stalls, wrong, failed, died = [], [], 0, 0, 0
            for _ in range(RUNS):
                mount = Mount(place, front, f"top={SIZE}")
                names = mount.names()
                target = place.path("copy")
                seconds, stall, said = copy(mount, target)
                times.append(seconds)
                stalls.append(stall)
                for rank, data in expected.items():
                    got = attempt(lambda: open(os.path.join(target, names[rank]), "rb").read())
                    if isinstance(got, OSError) or names[rank] in said:
                        failed += 1
                    elif got != data:
                        wrong += 1
                died += not mount.is_alive
                mount.unmount()
                shutil.rmtree(mount.cache)
                shutil.rmtree(target, ignore_errors=True)
            times.sort()
            verdicts.figure(
                name, f"{wrong} wrong, {failed} failed, {died} deaths, longest stall {max(stalls):.2f} s, "
                f"median {times[len(times) // 2]:.2f} s, slowest {times[-1]:.2f} s",
                not (wrong or failed or died) and max(stalls) <= LONGEST, f"0, 0, 0, {LONGEST} s")
    verdicts.done()


main()
