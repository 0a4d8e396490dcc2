#!/usr/bin/env python3
"""Holds what a client was told and downloaded (see visitor.py) against what mounts of the same origin show.

usage: compare.py CATCH --original MOUNT --regular MOUNT --small MOUNT

The mounts have images=original, pages=all; images=regular; images=small. Prints one sentence for each disagreement on standard error and
a JSON object of what was compared on standard output; the status is 1 if anything disagreed.
"""

import argparse
import errno
import json
import os
import re
import subprocess
import sys
import zipfile

# Pictures of longer lists are compared in works/ only: a mount with images=original asks for the extension of each of a list.
MOST_SEARCHED = 500


class Comparison:
    def __init__(self, options):
        self.options = options
        self.counts = {}
        self.disagreements = 0
        self.listings = {}
        # The directories that show a work, and its name there without the extension.
        self.places = {}

    def count(self, what, number=1):
        self.counts[what] = self.counts.get(what, 0) + number

    def expect(self, agrees, sentence):
        if not agrees:
            self.disagreements += 1
            print(sentence, file=sys.stderr)
        return agrees

    def take(self, line):
        if "list" in line:
            self.list(line)
        elif "picture" in line:
            self.picture(line)
        elif "archive" in line:
            self.archive(line)
        elif "record" in line:
            self.record(line)

    # Lists

    def names(self, mount, path):
        """The names of pictures in a directory, in its own order; asked for once, and nothing is asked about each."""
        if (mount, path) not in self.listings:
            names = os.listdir(os.path.join(mount, path))
            self.listings[mount, path] = [name for name in names if re.match(r"\d+-", name)]
        return self.listings[mount, path]

    def list(self, line):
        path, told = line["list"], line["entries"]
        names = self.names(self.options.regular, path)
        kind = path.split("/")[0]
        ranks = [entry["rank"] for entry in told if entry.get("rank")]
        if ranks:
            names = [name for name in names if min(ranks) <= int(name.split("-")[0]) <= max(ranks)]
        elif not line.get("whole"):
            names = names[: len(told)]
        shown = [Entry(os.path.join(self.options.regular, path, name)) for name in names]
        self.count(f"{kind} entries", len(told))
        ids = [int(entry.get("work")) for entry in shown]
        wanted = [entry["work"] for entry in told]
        if not self.expect(ids == wanted, f"{path}: the client has {len(wanted)} works, the mount {len(ids)} (or another order)"):
            return
        by_id = {int(entry.get("work")): entry for entry in shown}
        for entry in told:
            shown = by_id[entry["work"]]
            # A bookmark may be withheld although its work is not.
            if len(told) <= MOST_SEARCHED and not shown.get("withheld"):
                self.places.setdefault(entry["work"], []).append((path, os.path.splitext(os.path.basename(shown.path))[0]))
            self.entry(path, entry, shown)

    FIELDS = {"rank": "rank", "user": "user", "width": "width", "height": "height"}

    def entry(self, path, told, shown):
        where = f"{path}: work {told['work']}"
        for field, name in self.FIELDS.items():
            if field in told:
                self.count("fields")
                self.expect(str(told[field]) == shown.get(name), f"{where}: {field} {told[field]}, not {shown.get(name)}")
        texts = {"title": "dublincore.title", "author": "dublincore.creator"}
        for field, name in texts.items():
            if field in told:
                self.count("fields")
                value = shown.raw(name) or ""
                self.expect(told[field] == value, f"{where}: {field} {told[field]!r}, not {value!r}")
        if "tags" in told:
            self.count("fields")
            value = shown.raw("xdg.tags") or ""
            # The attribute is one text with commas between the tags; a comma in a tag is shown as the wide one.
            tags = ",".join(tag.replace(",", "，") for tag in told["tags"])
            self.expect(tags == value, f"{where}: tags {told['tags']}, not {value}")
        if "time" in told:
            self.count("fields")
            time = int(os.stat(shown.path).st_mtime)
            self.expect(told["time"] == time, f"{where}: time {told['time']}, not {time}")
        if told.get("withheld"):
            self.count("withheld")
            try:
                read(shown.path)
                self.expect(False, f"{where} is withheld, but reads")
            except OSError as error:
                self.expect(error.errno == errno.EACCES, f"{where} is withheld, but reading it says {error}")

    # Files

    def picture(self, line):
        work, page, kind, name = line["work"], line["page"], line["as"], line["picture"]
        with open(os.path.join(self.options.catch, name), "rb") as file:
            caught = file.read()
        paths = self.listed(kind, work, page)
        if kind == "original":
            extension = os.path.splitext(name)[1]
            paths.append(f"{self.options.original}/works/{work}/p{page}{extension}")
        self.expect(paths, f"{name}: no mount shows this picture")
        for path in paths:
            self.same(caught, path, name)
        self.count(f"{kind} pictures")
        self.count("bytes", len(caught))

    def listed(self, kind, work, page):
        """Where the listings that were compared show a picture: under the same name but for page and extension."""
        mount = getattr(self.options, kind)
        found = []
        for path, name in self.places.get(work, []):
            wanted = name if page == 0 else f"{name}_p{page}"
            found += [
                os.path.join(mount, path, other)
                for other in self.names(mount, path)
                if os.path.splitext(other)[0] == wanted
            ]
        return found

    def same(self, caught, path, name):
        self.count("files of mounts")
        try:
            shown = read(path)
        except OSError as error:
            return self.expect(False, f"{name}: {path} does not read: {error}")
        size = os.stat(path).st_size
        self.expect(size == len(caught), f"{name}: {path} has {size} bytes, the client's has {len(caught)}")
        self.expect(shown == caught, f"{name}: {path} has other bytes")

    def archive(self, line):
        work, frames = line["work"], line["frames"]
        with open(os.path.join(self.options.catch, line["archive"]), "rb") as file:
            caught = file.read()
        directory = f"{self.options.original}/works/{work}"
        self.count("animations")
        self.count("bytes", len(caught))
        self.same(caught, f"{directory}/ugoira.zip", line["archive"])
        if frames is None:
            return
        self.count("frames", len(frames))
        with zipfile.ZipFile(f"{directory}/ugoira.zip") as file:
            names = [entry.filename for entry in file.infolist()]
            self.expect(file.testzip() is None, f"work {work}: a frame is broken")
        self.expect(names == [name for name, _ in frames], f"work {work}: the archive has other names of frames: {names}")
        delays = [delay for _, delay in frames]
        shown = matroska_delays(f"{directory}/ugoira.mkv")
        self.expect(shown == delays, f"work {work}: ugoira.mkv has the delays {shown}, not {delays}")

    def record(self, line):
        work = line.pop("record")
        with open(f"{self.options.original}/works/{work}/info.json", encoding="utf-8") as file:
            shown = json.load(file)
        shown["tags"] = [tag["name"] for tag in shown["tags"]]
        self.count("records")
        for field, value in line.items():
            self.count("fields")
            self.expect(shown.get(field) == value, f"work {work}: {field} {value!r}, not {shown.get(field)!r}")


class Entry:
    def __init__(self, path):
        self.path = path

    def get(self, name):
        return self.raw("rankfs." + name)

    def raw(self, name):
        try:
            return os.getxattr(self.path, "user." + name).decode()
        except OSError:
            return None


def read(path):
    with open(path, "rb") as file:
        return file.read()


def matroska_delays(path):
    """How long each frame is shown, in milliseconds, as ffprobe reads it."""
    command = ["ffprobe", "-v", "error", "-show_entries", "packet=pts_time,duration_time", "-of", "json", path]
    packets = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packets"]
    return [round(float(packet["duration_time"]) * 1000) for packet in packets]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("catch")
    for mount in ("original", "regular", "small"):
        parser.add_argument(f"--{mount}", required=True)
    comparison = Comparison(parser.parse_args())
    with open(os.path.join(comparison.options.catch, "catch.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    # Pictures are looked for in the listings, so these come first.
    for line in sorted(lines, key=lambda line: "list" not in line):
        comparison.take(line)
    print(json.dumps({"disagreements": comparison.disagreements, **comparison.counts}))
    sys.exit(comparison.disagreements > 0)


if __name__ == "__main__":
    main()
