"""Thumbnails as other programs find them, held against their specification.

    thumbnails.py own STORE FILE...    of each file a normal and a large one in a store, as GLib looks for them
    thumbnails.py shared DAY           those of a directory in itself, by each program's rule; prints of how many pictures
"""

import hashlib
import os
import struct
import sys
import urllib.parse
import zlib

SIZES = (("normal", 128), ("large", 256))
# What g_filename_to_uri leaves unescaped.
PLAIN = "/!$&'()*+,:=@~-._;"


def check(path, edge, address, modified):
    """The texts of a thumbnail, whose checksums, order of chunks, pixels, address and time are right."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and os.stat(path).st_size == len(data)
    at, texts, pixels, wide = 8, {}, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
        if kind == b"IHDR":
            wide = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            pixels += body
        if kind == b"tEXt":
            assert not pixels
            key, value = body.split(b"\0")
            texts[key.decode()] = value.decode()
        at += 12 + length
    assert max(wide[:2]) == edge and wide[2:] == (8, 2), wide
    assert len(zlib.decompress(pixels)) == (wide[0] * 3 + 1) * wide[1]
    assert texts["Thumb::URI"] == address and texts["Thumb::MTime"] == str(modified // 10**9), texts
    return texts


def name(address):
    return hashlib.md5(address.encode()).hexdigest() + ".png"


def own(store, paths):
    for path in paths:
        address, file = "file://" + urllib.parse.quote(path, safe=PLAIN), os.stat(path)
        for size, edge in SIZES:
            thumbnail = os.path.join(store, size, name(address))
            assert os.stat(thumbnail).st_mode & 0o777 == 0o600
            texts = check(thumbnail, edge, address, file.st_mtime_ns)
            assert texts.get("Thumb::Size", str(file.st_size)) == str(file.st_size)


def shared(day):
    store, names, count = os.path.join(day, ".sh_thumbnails"), os.listdir(day), 0
    assert ".sh_thumbnails" not in names
    assert sorted(os.listdir(store)) == ["large", "normal"] and os.listdir(store + "/large") == []
    for picture in names:
        file = os.stat(os.path.join(day, picture))
        if file.st_size == 0:
            continue
        count += 1
        encoded = urllib.parse.quote(picture, safe=PLAIN)
        for size, edge in SIZES:
            for address in encoded, "./" + encoded, picture:
                path = os.path.join(store, size, name(address))
                assert os.stat(path).st_mtime_ns == file.st_mtime_ns and file.st_mtime_ns % 10**9 == 0
                check(path, edge, address, file.st_mtime_ns)
    print(count)


own(sys.argv[2], sys.argv[3:]) if sys.argv[1] == "own" else shared(sys.argv[2])
