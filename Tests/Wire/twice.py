#!/usr/bin/python3
"""Two copies of all tests at once, while mounts of others come and go: both must pass.

The tests are those that `swift build --build-tests` built; FILTER chooses some of them by name.
"""

import os
import stat
import subprocess
import threading
import time

from parts import *

FILTER = os.environ.get("FILTER", ".")


def come_and_go(place, stopping):
    """Mounts of the embedded origin and of memory."""
    folder, cache = place.path("others"), place.path("others.cache")
    os.mkdir(folder)
    count = 0
    while not stopping.is_set():
        words = ["mount", "-t", "tmpfs", "none", folder]
        if count % 2 == 0:
            words = [f"{PROGRAMS}/rankfs", "mount", "demo", folder, "-o", f"cache_dir={cache},thumbnails=off"]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            count += 1
            stopping.wait(1)
            subprocess.run(["umount", folder], capture_output=True, check=False)
        stopping.wait(0.5)
    return count


def main():
    verdicts = Verdicts(f"Two copies of the tests at once; /dev/fuse has the mode {stat.S_IMODE(os.stat('/dev/fuse').st_mode):o}")
    with Place() as place:
        stopping, churned = threading.Event(), []
        churn = threading.Thread(target=lambda: churned.append(come_and_go(place, stopping)))
        churn.start()
        start = time.monotonic()
        env = {"TEST_PROGRAMS": os.path.abspath(PROGRAMS)}
        copies = [place.start(f"tests-{copy}", [f"{HERE}/../Runner/run", "--filter", FILTER], env=env)
                  for copy in (1, 2)]
        statuses = [copy.wait() for copy in copies]
        stopping.set()
        churn.join()
        for copy, status in enumerate(statuses, 1):
            lines = place.output(f"tests-{copy}").splitlines()
            verdicts.figure(f"copy {copy}", lines[-1] if lines else "no end", status == 0)
            if status:
                print("\n".join(f"        {line}" for line in lines if not line.startswith("passed")))
        print(f"        {time.monotonic() - start:.0f} s; {churned[0]} mounts came and went meanwhile")
    verdicts.done()


main()
