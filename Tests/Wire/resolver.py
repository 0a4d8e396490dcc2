#!/usr/bin/python3
"""A resolver that hangs for one name: listings of the other host and everything stored stay under 1 s.

A library loaded before the others answers getaddrinfo(3) for api.test and images.test with 127.0.0.1; for the second, as long as
a file is there, only after HANG seconds.
"""

import os
import subprocess
import threading
import time

from parts import *

HANG = number("HANG", 40)
BOUND = 1.0

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    if (name && strcmp(name, "images.test") == 0 && access(getenv("HANG_FILE"), F_OK) == 0) {
        sleep(atoi(getenv("HANG_SECONDS")));
        return EAI_AGAIN;
    }
    if (name && (strcmp(name, "images.test") == 0 || strcmp(name, "api.test") == 0)) name = "127.0.0.1";
    return next(name, service, hints, found);
}
"""


def main():
    verdicts = Verdicts(f"A resolver that hangs {HANG} s for the image host")
    with Place() as place:
        with open(place.path("shim.c"), "w") as file:
            file.write(SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", place.path("shim.so"), place.path("shim.c"), "-ldl"], check=True)
        env = {"LD_PRELOAD": place.path("shim.so"), "HANG_FILE": place.path("hang"), "HANG_SECONDS": str(HANG)}
        origin = Origin(place)
        front = Front(place, origin.url)
        urls = f"api_url=https://api.test:{front.port},image_url=https://images.test:{front.port}"
        cache = place.path("cache")
        first = Mount(place, front, "prefetch=0", urls, cache=cache, env=env)
        names = first.names()
        entries = origin.ranking()[:40]
        stored = {rank: origin.get(path) for rank, path in entries[:20]}
        for rank in stored:
            assert read_whole(f"{first.day()}/{names[rank]}", 0) == stored[rank]
        first.unmount()

        # A new process knows no address yet.
        open(place.path("hang"), "w").close()
        mount = Mount(place, front, "prefetch=0", urls, cache=cache, env=env)
        unread = [f"{mount.day()}/{names[rank]}" for rank, _ in entries[20:24]]
        waiting = [None] * len(unread)

        def wait(index):
            waiting[index] = timed(lambda: attempt(lambda: read_whole(unread[index], 0)))

        for index in range(len(unread)):
            threading.Thread(target=wait, args=(index,), daemon=True).start()
        time.sleep(1)
        listings, reads = [], []
        for number_of_day in range(1, 13):
            listings.append(timed(lambda: len(os.listdir(mount.day(f"2023-02-{number_of_day:02}")))))
            for rank in list(stored)[:5]:
                reads.append(timed(lambda: read_whole(f"{mount.day()}/{names[rank]}", 0) == stored[rank]))
            time.sleep(0.5)
        ls = timed(lambda: len(os.listdir(mount.day())))
        slowest = max(seconds for seconds, _ in listings)
        verdicts.figure(
            "12 listings of days never seen, the slowest", f"{slowest:.2f} s",
            slowest < BOUND and all(count > 90 for _, count in listings), f"{BOUND:.0f} s")
        slowest = max(seconds for seconds, _ in reads)
        verdicts.figure(
            "60 reads of what is stored, the slowest", f"{slowest:.2f} s",
            slowest < BOUND and all(right for _, right in reads), f"{BOUND:.0f} s")
        verdicts.figure("a stored listing", f"{ls[0]:.2f} s", ls[0] < BOUND, f"{BOUND:.0f} s")
        wait_for(lambda: None not in waiting, "the end of those who need the name", 60)
        slowest = max(seconds for seconds, _ in waiting)
        verdicts.figure(
            "those who need the name", f"{waiting[0][1]} after {slowest:.1f} s",
            slowest <= 31 and all(isinstance(value, OSError) for _, value in waiting), "an error within 30 s")
        os.unlink(place.path("hang"))
        wait_for(lambda: isinstance(attempt(lambda: read_whole(unread[0], 0)), bytes), "the picture after healing", 60)
        verdicts.figure("the daemon", "alive" if mount.is_alive else "dead", mount.is_alive)
        mount.unmount()
    verdicts.done()


main()
