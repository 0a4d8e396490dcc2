#!/usr/bin/python3
"""429 with Retry-After for 10 s during `ls -l` of 500: at most ten requests to that host meanwhile, and all sizes afterwards."""

import subprocess
import time

from parts import *

SECONDS = 10
MOST = 10


def main():
    verdicts = Verdicts(f"429 for {SECONDS} s during ls -l of 500")
    for name, tls in (("TLS, HTTP/2", True), ("plain HTTP/1.1", False)):
        with Place() as place:
            origin = Origin(place)
            front = Front(place, origin.url, tls=tls)
            mount = Mount(place, front, "prefetch=0")
            names = mount.names()
            # The host works before: what is asked for next is not the first thing ever.
            read_whole(f"{mount.day()}/{names[1]}", 0)
            before = len(origin.requests())
            origin.spoil([{"action": "status", "status": 429, "retry_after": str(SECONDS), "path": "/img-"}])
            start = time.monotonic()
            listing = subprocess.Popen(["ls", "-l", mount.day()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(SECONDS)
            origin.spoil([])
            listing.communicate()
            seconds = time.monotonic() - start
            refused = [request for request in origin.requests()[before:] if request["status"] == 429]
            verdicts.figure(f"{name}: requests during it", len(refused), len(refused) <= MOST, str(MOST))
            if refused:
                first = min(request["end"] for request in refused)
                late = sum(1 for request in refused if request["t"] > first + 300)
                print(f"        of these {late} began more than 0.3 s after the first refusal; ls took {seconds:.1f} s")
            done, again = timed(lambda: subprocess.run(["ls", "-l", mount.day()], capture_output=True, text=True, check=False))
            sizes = [line.split()[4] for line in again.stdout.splitlines()[1:]]
            verdicts.figure(
                f"{name}: ls -l afterwards", f"{len(sizes)} lines in {done:.1f} s, status {again.returncode}",
                again.returncode == 0 and len(sizes) == len(names) and "?" not in sizes)
            mount.unmount()
    verdicts.done()


main()
