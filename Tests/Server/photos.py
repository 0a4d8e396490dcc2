"""What photo servers do with a folder, and what that costs over a mount (README.md): stat all, read heads, read all."""

import os
import subprocess
import sys

import household as home
import parts

#: Entries of each directory, in walks of the whole mount.
TOP = 20


def files(folder, follows=False):
    """The pictures below a folder, as another user than the mount's finds them."""
    for path, folders, names in os.walk(folder, followlinks=follows):
        folders[:] = sorted(set(folders) - {"recent"})
        for name in sorted(names):
            if name.endswith(".jpg") and name != "random.jpg":
                yield f"{path}/{name}"


def read(path, count):
    """How many of the first bytes come."""
    with open(path, "rb") as file:
        return len(file.read(count))


def walk(house, action, folder, most, is_free=False, **more):
    """Reads at most so many bytes of each picture below a folder, once it has all sizes, as an indexer's first pass has them."""
    with house.row(action) as row:
        row.is_free = is_free
        sizes = {path: os.stat(path).st_size for path in files(folder, **more)}
        wanted = {path: min(most, size) for path, size in sizes.items() if most}
        lengths = {path: read(path, count) for path, count in wanted.items()}
        row.note = f"{len(sizes)} pictures, {sum(lengths.values()) / 1e6:.1f} MB read"
        row.well = bool(sizes) and all(sizes.values()) and lengths == wanted


WHOLE = 1 << 40
WALKS = {"stat": 0, "heads of 64 KiB": 64 << 10, "heads of 256 KiB": 256 << 10, "read all": WHOLE}


def command(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def renew(house, *options, cache=None):
    house.mount.unmount()
    house.mount = house.again(*options, cache=cache)


def main():
    with home.House("photos", []) as house:
        walk(house, "the whole mount: stat", house.mount.path, 0)
        renew(house, f"top={TOP}")
        day = house.days[0]
        for name, most in WALKS.items():
            walk(house, f"the whole mount, top={TOP}: {name}", house.mount.path, most)
            renew(house, f"top={TOP}")
        walk(house, "a month of by-date, links followed: stat", f"{house.mount.path}/by-date/daily/2024/05", 0, follows=True)
        for name, most in WALKS.items():
            renew(house, "top=100")
            walk(house, f"a day of 100: {name}", house.mount.day(day), most)
        renew(house, "top=100", "offline=on", cache=house.mount.cache)
        walk(house, "offline=on with that day stored, whole mount: read all", house.mount.path, WHOLE, is_free=True)
        renew(house, "top=100")
        with house.row("rankfs pin of a day of 100") as row:
            command(f"{parts.PROGRAMS}/rankfs", "pin", house.mount.day(day))
            row.well = True
        walk(house, "that day, pinned: read all", house.mount.day(day), WHOLE, is_free=True)
        with house.row("rankfs fetch of another to a plain folder") as row:
            target = house.place.path("plain")
            command(f"{parts.PROGRAMS}/rankfs", "fetch", house.mount.day(house.days[1]), "--to", target)
            row.well = len(list(files(target))) == len(house.mount.names(house.days[1]))
        walk(house, "that folder: read all", target, WHOLE, is_free=True)
        sys.exit(house.failed)


if __name__ == "__main__":
    main()
