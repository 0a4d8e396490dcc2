"""What photo servers do with a folder, and what that costs over a mount (README.md): stat all, read heads, read all."""

import os
import subprocess
import sys

import household as home
import parts

#: Entries of each directory, in walks of the whole mount.
TOP = 20
KIB = 1024


def files(folder, follows=False):
    """The pictures below a folder. What is another one each time, and what was read last, is left out by any of these programs."""
    for path, folders, names in os.walk(folder, followlinks=follows):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".jpg") and name != "random.jpg":
                yield f"{path}/{name}"


def stat(path):
    return os.stat(path).st_size * 0


def whole(path):
    with open(path, "rb") as file:
        return sum(map(len, iter(lambda: file.read(1 << 17), b"")))


def head(count):
    def read(path):
        with open(path, "rb") as file:
            return len(file.read(count * KIB))

    return read


def walk(house, action, folder, look, **more):
    with house.row(action) as row:
        paths = list(files(folder, **more))
        # Sizes of all first, as an indexer's first pass has them.
        sizes = [os.stat(path).st_size for path in paths]
        read = sum(map(look, paths))
        row.well = bool(paths) and all(sizes)
        row.note = f"{len(paths)} pictures, {read / 1e6:.1f} MB read"
    return len(paths)


WALKS = {"stat": stat, "heads of 64 KiB": head(64), "heads of 256 KiB": head(256), "read all": whole}


def command(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def renew(house, *options, cache=None):
    house.mount.unmount()
    house.mount = house.again(*options, cache=cache)


def main():
    with home.House("photos", []) as house:
        walk(house, "the whole mount: stat", house.mount.path, stat)
        renew(house, f"top={TOP}")
        day = house.days[0]
        for name, look in WALKS.items():
            walk(house, f"the whole mount, top={TOP}: {name}", house.mount.path, look)
            renew(house, f"top={TOP}")
        walk(house, "a month of by-date, links followed: stat", f"{house.mount.path}/by-date/daily/2024/05", stat, follows=True)
        for name, look in WALKS.items():
            renew(house, "top=100")
            walk(house, f"a day of 100: {name}", house.mount.day(day), look)
        renew(house, "top=100", "offline=on", cache=house.mount.cache)
        walk(house, "offline=on with that day stored, whole mount: read all", house.mount.path, whole)
        renew(house, "top=100")
        with house.row("rankfs pin of a day of 100") as row:
            command(f"{parts.PROGRAMS}/rankfs", "pin", house.mount.day(day))
            row.well = True
        walk(house, "that day, pinned: read all", house.mount.day(day), whole)
        with house.row("rankfs fetch of another to a plain folder") as row:
            target = house.place.path("plain")
            command(f"{parts.PROGRAMS}/rankfs", "fetch", house.mount.day(house.days[1]), "--to", target)
            row.well = True
        walk(house, "that folder: read all", target, whole)
        sys.exit(house.failed)


if __name__ == "__main__":
    main()
