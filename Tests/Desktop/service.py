"""The origin that a desktop looks at, and what was asked of it."""

import contextlib
import dataclasses
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Wire"))
import parts  # noqa: E402

LATENCY = 60


@dataclasses.dataclass
class Tally:
    """Requests by kind, and the bytes of the pictures' bodies."""

    api: int = 0
    heads: int = 0
    previews: int = 0
    pictures: int = 0
    picture_bytes: int = 0
    other: int = 0


class WatchedOrigin(parts.Origin):
    """rankfs-origin with a wait of 60 ms before each answer, as a host far away has."""

    def __init__(self, place, *options, service, latency=LATENCY, secure=False):
        super().__init__(place, "--latency", str(latency), *options, service=service)
        front = parts.Front(place, self.url) if secure else None
        # Where mounts find it, with their options: as the service's hosts are reached, or by plain HTTP/1.1.
        self.address, self.mount_options = (front.url, front.options) if front else (self.url, [])
        self.read_until, self.entries, self.rest = 0, [], ""

    def kind(self, entry):
        """What a line of the log asked for: a field of Tally."""
        path = urllib.parse.urlsplit(entry["path"]).path
        if self.service.api.match(path):
            return "api"
        if entry["method"] == "HEAD":
            # That of the root only makes a connection to the image host, while a listing is fetched.
            return "other" if path == "/" else "heads"
        if self.service.previews.match(path):
            return "previews"
        if self.service.pictures.match(path):
            # Where the host does not tell a length by HEAD, rankfs takes the total of a range of one byte.
            return "heads" if entry["range"] == "bytes=0-0" else "pictures"
        return "other"

    def refresh(self):
        """Reads what was written to the log since the last time."""
        with open(self.log) as file:
            file.seek(self.read_until)
            text = self.rest + file.read()
            self.read_until = file.tell()
        lines = text.split("\n")
        self.rest = lines.pop()
        for line in lines:
            with contextlib.suppress(ValueError):
                self.entries.append(json.loads(line))
        return self.entries

    def mark(self):
        return len(self.refresh())

    def since(self, mark=0):
        return self.refresh()[mark:]

    def pictures(self, mark=0):
        """Lines of pictures that were read."""
        return [entry for entry in self.since(mark) if self.kind(entry) == "pictures"]

    def tally(self, mark=0):
        tally = Tally()
        for entry in self.since(mark):
            name = self.kind(entry)
            setattr(tally, name, getattr(tally, name) + 1)
            if name == "pictures":
                tally.picture_bytes += entry["bytes"]
        return tally


def readable_seed(place, service, days, top):
    """A seed of the origin with which nothing is withheld among the first `top` of the days: what is, nobody could copy."""
    for seed in range(1, 100):
        origin = parts.Origin(place, "--seed", str(seed), service=service)
        try:
            if not any(withheld(origin, day, top) for day in days):
                return seed
        finally:
            parts.end(origin.process)
    raise SystemExit("no seed of the origin has these days without a withheld picture")


def withheld(origin, day, top):
    """How many of the first `top` of a day the service withholds."""
    return sum(entry.path is None and entry.rank <= top for entry in origin.service.entries(origin, day))
