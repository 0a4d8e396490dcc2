#!/usr/bin/python3
"""Old connections go silent, new ones work: how long the first listing, the first picture and the second of each take.

Three ways: a relay that says nothing more on the connections it has; packets of the old address dropped, in network namespaces
(root); and SIGSTOP of the daemon for ASLEEP seconds, during which the relay goes silent. Listing and picture are asked at once.
"""

import os
import signal
import subprocess
import sys
import time

from parts import *

ASLEEP = number("ASLEEP", 20)
# Seconds; the second may take as much longer than before.
FIRST, SECOND = 12.0, 1.0


def days():
    """Days that nobody has asked for yet."""
    for month in range(1, 13):
        for day in range(1, 29):
            yield f"2023-{month:02}-{day:02}"


class Asker:
    """Lists days and reads pictures that the mount does not know yet."""

    def __init__(self, mount, origin):
        self.mount, self.days = mount, days()
        self.names = mount.names()
        self.pictures = iter(origin.ranking())
        for _ in range(3):
            self.usual = self.both()

    def listing(self):
        return len(os.listdir(self.mount.day(next(self.days))))

    def picture(self):
        rank, path = next(self.pictures)
        file = f"{self.mount.day()}/{self.names[rank]}"
        return len(read_whole(file, 0)) == os.stat(file).st_size

    def both(self):
        """Seconds and results of a listing and a picture, asked at once."""
        works = [lambda: timed(lambda: attempt(self.listing)), lambda: timed(lambda: attempt(self.picture))]
        return [value if value != "hang" else (999.0, "hang") for value in together(works, 120)]


def judge(verdicts, name, asker):
    first, second = asker.both(), asker.both()
    for index, what in enumerate(("listing", "picture")):
        usual = asker.usual[index][0]
        for which, results, bound in (("first", first, FIRST), ("second", second, SECOND + usual)):
            seconds, value = results[index]
            is_right = value is True or isinstance(value, int) and value > 90
            verdicts.figure(
                f"{name}: {which} {what}", f"{seconds:.2f} s, before {usual:.2f} s" + ("" if is_right else f", {value}"),
                is_right and seconds <= bound, f"{bound:.1f} s")


def relayed(verdicts, name, tls, asleep):
    with Place() as place:
        origin = Origin(place, "--no-chunked")
        front = Front(place, origin.url, tls=tls)
        relay = Relay(place, front.port)
        mount = Mount(place, front, "prefetch=0", url=front.url.replace(str(front.port), str(relay.port)))
        asker = Asker(mount, origin)
        before = relay.accepted
        if asleep:
            mount.process.send_signal(signal.SIGSTOP)
        relay.silence()
        if asleep:
            time.sleep(asleep)
            mount.process.send_signal(signal.SIGCONT)
        judge(verdicts, name, asker)
        print(f"        connections before: {before}, after: {relay.accepted - before}")


def dropped(verdicts, name, tls):
    """The daemon in a namespace of its own; then the way back to its address is a black hole, and it has another address."""
    with Place() as place:
        run = lambda *words: subprocess.run(words, check=True)
        run("ip", "link", "set", "lo", "up")
        inner = place.start("inner", ["unshare", "--net", "sleep", "100000"])
        wait_for(lambda: os.readlink(f"/proc/{inner.pid}/ns/net") != os.readlink("/proc/self/ns/net"), "the namespace")
        inside = ["nsenter", "-t", str(inner.pid), "-n"]
        run("ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(inner.pid))
        run("ip", "address", "add", "10.213.77.1/24", "dev", "near")
        run("ip", "link", "set", "near", "up")
        run(*inside, "ip", "link", "set", "lo", "up")
        run(*inside, "ip", "address", "add", "10.213.77.2/24", "dev", "far")
        run(*inside, "ip", "link", "set", "far", "up")
        origin = Origin(place, "--no-chunked")
        front = Front(place, origin.url, tls=tls, address="10.213.77.1")
        mount = Mount(place, front, "prefetch=0", prefix=inside)
        asker = Asker(mount, origin)
        run("ip", "route", "add", "blackhole", "10.213.77.2/32")
        run(*inside, "ip", "address", "add", "10.213.77.3/24", "dev", "far")
        run(*inside, "ip", "route", "replace", "10.213.77.0/24", "dev", "far", "src", "10.213.77.3")
        judge(verdicts, name, asker)
        mount.unmount()
        run("ip", "route", "delete", "blackhole", "10.213.77.2/32")
        run("ip", "link", "delete", "near")


def main():
    verdicts = Verdicts(f"Old connections go silent; asleep for {ASLEEP} s")
    wires = [("TLS, HTTP/2", True), ("plain HTTP/1.1", False)]
    for name, tls in wires:
        relayed(verdicts, f"{name}, relay", tls, 0)
        relayed(verdicts, f"{name}, asleep {ASLEEP} s", tls, ASLEEP)
        if os.geteuid() == 0:
            dropped(verdicts, f"{name}, dropped packets", tls)
    if os.geteuid() != 0:
        print("  skipped: dropped packets need root, for network namespaces")
    verdicts.done()


if os.geteuid() == 0 and not os.environ.get("RANKFS_WIRE_INSIDE"):
    # A network of its own, in which addresses are free.
    os.environ["RANKFS_WIRE_INSIDE"] = "yes"
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
if os.environ.get("RANKFS_WIRE_INSIDE"):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
main()
