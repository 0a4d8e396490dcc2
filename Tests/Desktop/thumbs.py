"""Thumbnails in a home: which are there and valid for the files of a directory, and what is noted as failed."""

import contextlib
import hashlib
import os
import struct
import urllib.parse

# What GLib leaves as it is in the path of a file address, and what Qt does.
GLIB, QT = "/!$&'()*+,:=@~-._", "/!$&'()*+,:=@~-._;"


def addresses(path):
    return {"file://" + urllib.parse.quote(os.fsencode(path), safe=kept) for kept in (GLIB, QT)}


def texts(path):
    """Text keys of a PNG; none of one that is just being removed."""
    found = {}
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        if file.read(8) != b"\x89PNG\r\n\x1a\n":
            return found
        while head := file.read(8):
            size, kind = struct.unpack(">I4s", head)
            body = file.read(size)
            file.read(4)
            if kind == b"tEXt":
                key, _, value = body.partition(b"\0")
                found[key.decode("latin-1")] = value.decode("utf-8", "replace")
    return found


def valid(folder, paths):
    """How many of the files have a valid thumbnail, normal or large, under an address of the path given."""
    count = 0
    for path in paths:
        stamp = str(int(os.stat(path).st_mtime))
        for address in addresses(path):
            name = hashlib.md5(address.encode()).hexdigest() + ".png"
            files = [os.path.join(folder, size, name) for size in ("normal", "large")]
            if any(os.path.exists(file) and texts(file).get("Thumb::URI") == address
                   and texts(file).get("Thumb::MTime") == stamp for file in files):
                count += 1
                break
    return count


def made(folder):
    """How many thumbnails there are, the larger number of the two sizes."""
    counts = [0]
    for size in ("normal", "large"):
        path = os.path.join(folder, size)
        counts.append(len([name for name in os.listdir(path) if len(name) == 36]) if os.path.isdir(path) else 0)
    return max(counts)


def failures(folder):
    """Addresses of files of which some program noted that it could not make a thumbnail."""
    found = []
    for top, _, names in os.walk(os.path.join(folder, "fail")):
        found += [texts(os.path.join(top, name)).get("Thumb::URI", name) for name in names if name.endswith(".png")]
    return found
