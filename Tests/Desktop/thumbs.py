"""Thumbnails in a home: which are there and valid for the files of a directory, and what is noted as failed."""

import contextlib
import hashlib
import os
import struct

from gi.repository import GLib
from PyQt5.QtCore import QUrl


def glib_address(path):
    """As the GTK file managers name a file."""
    return GLib.filename_to_uri(path, None)


def qt_address(path):
    """As KIO and libfm-qt's programs name a file; libfm-qt asks GLib, so its files are found under either."""
    return bytes(QUrl.fromLocalFile(path).toEncoded()).decode()


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


def is_valid(folder, path, address):
    """Whether a file has a valid thumbnail, normal or large, under an address."""
    stamp, name = str(int(os.stat(path).st_mtime)), hashlib.md5(address.encode()).hexdigest() + ".png"
    files = [os.path.join(folder, size, name) for size in ("normal", "large")]
    return any(os.path.exists(file) and texts(file).get("Thumb::URI") == address and texts(file).get("Thumb::MTime") == stamp
               for file in files)


def valid(folder, paths, spelling):
    """How many of the files have a valid thumbnail under the address that a spelling gives them."""
    return sum(is_valid(folder, path, spelling(path)) for path in paths)


def made(folder):
    """How many thumbnails there are, the larger number of the two sizes."""
    counts = [0]
    for size in ("normal", "large"):
        path = os.path.join(folder, size)
        counts.append(len([name for name in os.listdir(path) if len(name) == 36]) if os.path.isdir(path) else 0)
    return max(counts)


def failures(folder):
    """Addresses of files of which some program noted that it could not make a thumbnail.

    Without those of pictures that the service withholds: nobody can make one of them.
    """
    found = []
    for top, _, names in os.walk(os.path.join(folder, "fail")):
        found += [texts(os.path.join(top, name)).get("Thumb::URI", name) for name in names if name.endswith(".png")]
    return [address for address in found if not is_withheld(address)]


def is_withheld(address):
    """Whether an address is of a picture without bytes."""
    with contextlib.suppress(GLib.Error, OSError):
        return os.stat(GLib.filename_from_uri(address)[0]).st_size == 0
    return False
