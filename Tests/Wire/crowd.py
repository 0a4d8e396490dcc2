#!/usr/bin/python3
"""`ls -l`, `cp -r` and eight readers at the same time for MINUTES, while nginx ends connections after 100 requests and reloads
every 10 s: no wrong byte, no short read, no error that the origin did not cause.

The cache holds less than they read, and what was read is dropped from the kernel's, so that there is always something to ask.
"""

import os
import random
import shutil
import subprocess
import threading
import time

from parts import *

MINUTES = number("MINUTES", 10.0)
SEED = number("SEED", 1)
SIZE = 60
DAYS = ["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-04"]


class Crowd:
    def __init__(self, place, origin, front):
        self.place, self.front = place, front
        self.expected = {}
        for day in DAYS:
            entries = [pair for pair in origin.ranking(day) if pair[0] <= SIZE]
            for (rank, _), data in zip(entries, (origin.get(path) for _, path in entries)):
                self.expected[day, rank] = data
        self.mount = Mount(place, front, f"top={SIZE}", "cache_size=16M")
        self.names = {day: self.mount.names(day) for day in DAYS}
        self.counts = {"read": 0, "listed": 0, "copied": 0, "reloads": 0, "wrong": 0, "short": 0, "errors": 0}
        self.said, self.lock = [], threading.Lock()
        self.slowest = 0.0
        self.end = time.monotonic() + MINUTES * 60

    def note(self, what, line=None):
        with self.lock:
            self.counts[what] += 1
            if line and len(self.said) < 20:
                self.said.append(line)

    def path(self, day, rank):
        return f"{self.mount.day(day)}/{self.names[day][rank]}"

    def check(self, day, rank, data):
        expected = self.expected[day, rank]
        if isinstance(data, OSError):
            self.note("errors", f"{day} {rank}: {data.strerror}")
        elif data == expected:
            return self.note("read")
        else:
            self.note("short" if expected.startswith(data) else "wrong", f"{day} {rank}: {len(data)} of {len(expected)}")

    def reader(self, seed):
        chance = random.Random(seed)
        keys = sorted(self.expected)
        while time.monotonic() < self.end:
            day, rank = chance.choice(keys)
            order = ORDERS[chance.choice(["whole", "whole", "backwards"])]
            seconds, data = timed(lambda: attempt(lambda: order(self.path(day, rank), len(self.expected[day, rank]))))
            self.slowest = max(self.slowest, seconds)
            self.check(day, rank, data)
            with contextlib.suppress(OSError), open_file(self.path(day, rank)) as file:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)

    def lister(self):
        while time.monotonic() < self.end:
            for day in DAYS:
                done = subprocess.run(["ls", "-l", self.mount.day(day)], capture_output=True, text=True, check=False)
                if done.returncode or done.stdout.count("\n") != len(self.names[day]) + 1:
                    self.note("errors", f"ls {day}: {done.stderr[:200]}")
                self.note("listed")

    def copier(self):
        while time.monotonic() < self.end:
            for day in DAYS:
                target = self.place.path("copy")
                subprocess.run(["cp", "-r", self.mount.day(day), target], capture_output=True, check=False)
                for (one, rank) in self.expected:
                    if one == day:
                        self.check(day, rank, attempt(lambda: read_whole(f"{target}/{self.names[day][rank]}", 0)))
                shutil.rmtree(target, ignore_errors=True)
                self.note("copied")
                subprocess.run([f"{PROGRAMS}/rankfs", "evict", self.mount.day(day)], capture_output=True, check=False)

    def reloader(self):
        while time.monotonic() < self.end:
            time.sleep(min(10, max(0, self.end - time.monotonic())))
            self.front.reload()
            self.note("reloads")


def main():
    verdicts = Verdicts(f"ls -l, cp -r and eight readers for {MINUTES:g} minutes, seed {SEED}")
    with Place() as place:
        origin = Origin(place, "--latency", "20")
        front = Front(place, origin.url, buffering=False, more="keepalive_requests 100;")
        crowd = Crowd(place, origin, front)
        before = len(origin.requests())
        works = [lambda seed=seed: crowd.reader(seed) for seed in range(SEED * 8, SEED * 8 + 8)]
        works += [crowd.lister, crowd.copier, crowd.reloader]
        results = together(works, MINUTES * 60 + 120)
        counts = crowd.counts
        verdicts.figure(
            "done", f"{counts['read']} pictures compared, {counts['listed']} ls -l, {counts['copied']} cp -r, "
            f"{counts['reloads']} reloads, {len(origin.requests()) - before} requests, slowest read {crowd.slowest:.2f} s",
            counts["read"] > 0 and counts["copied"] > 0)
        for what in ("wrong", "short", "errors"):
            verdicts.figure(what, counts[what], counts[what] == 0, "0")
        verdicts.figure("hanging", results.count("hang"), "hang" not in results, "0")
        verdicts.figure("deaths", int(not crowd.mount.is_alive), crowd.mount.is_alive, "0")
        for line in crowd.said:
            print(f"        {line}")
        crowd.mount.unmount()
    verdicts.done()


main()
