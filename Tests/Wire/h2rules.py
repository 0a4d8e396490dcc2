"""What h2origin.py answers from: its rules, what it has seen, right answers, and what its two protocols share."""

import asyncio
import socket
import struct
from urllib.parse import urlsplit

NEW = {"silent-new", "no-settings", "no-streams", "zero-window", "few-streams", "no-ping-ack"}
DROPPED = {"connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection", "te", "host"}
CHUNK = 16384


def counted(length):
    """Bytes of which no two places look alike."""
    return b"".join(struct.pack(">I", number) for number in range((length + 3) // 4))[:length]


class Wire:
    """Rules, and what was seen."""

    def __init__(self, upstream, another):
        self.another = another
        self.upstream = urlsplit(upstream) if upstream else None
        self.rules, self.requests, self.connections = [], [], []

    def take(self, *, new, path="", method=""):
        for rule in self.rules:
            if (rule["kind"] in NEW) != new or rule.get("match", "") not in path:
                continue
            if rule.get("method", method) != method or rule.get("count", 1) <= 0:
                continue
            if "count" in rule:
                rule["count"] -= 1
            return rule
        return {"kind": None}

    def command(self, rule):
        kind = rule["kind"]
        if kind == "heal":
            self.rules.clear()
        elif kind in ("silence-old", "close-old", "goaway-old"):
            for connection in self.connections:
                if connection.open:
                    getattr(connection, kind.split("-")[0])()
        else:
            self.rules.append(rule)

    def seen(self):
        connections = [{"protocol": c.protocol, "pings": c.pings, "open": c.open} for c in self.connections]
        return {"connections": connections, "requests": self.requests, "rules": self.rules}

    async def answer(self, method, path, headers):
        """Status, header pairs and the body's parts of the right answer."""
        if self.upstream:
            return await self.forward(method, path, headers)
        words = path.split("?")[0].strip("/").split("/")
        if words[0] == "body":
            body = counted(int(words[1]))
            first, last, status = 0, len(body) - 1, 200
            extra = []
            if headers.get("range", "").startswith("bytes="):
                ends = headers["range"][6:].split("-")
                first, last = int(ends[0]), min(int(ends[1]) if ends[1] else last, last)
                status, extra = 206, [("content-range", f"bytes {first}-{last}/{len(body)}")]
            body = body[first:last + 1]
            fields = [("content-length", str(len(body))), ("etag", '"one"')] + extra
            return status, fields, parts(body if method == "GET" else b"")
        status = int(words[1]) if words[0] == "status" else 404
        return status, [("content-length", "0")], parts(b"")

    async def forward(self, method, path, headers):
        reader, writer = await asyncio.open_connection(self.upstream.hostname, self.upstream.port)
        lines = [f"{method} {path} HTTP/1.1", "Connection: close", f"Host: {headers.get('host', 'localhost')}"]
        lines += [f"{name}: {value}" for name, value in headers.items() if name not in DROPPED]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        status, fields = await head(reader)
        length = next((int(value) for name, value in fields if name == "content-length"), None)
        chunked = any(name == "transfer-encoding" for name, _ in fields)
        fields = [(name, value) for name, value in fields if name not in DROPPED]
        return int(status.split()[1]), fields, upstream_body(reader, writer, method, length, chunked)


async def parts(body):
    for start in range(0, len(body), CHUNK):
        yield body[start:start + CHUNK]


async def upstream_body(reader, writer, method, length, chunked):
    try:
        while method != "HEAD" and length != 0:
            if chunked:
                length = int((await reader.readline()).split(b";")[0], 16)
                if length == 0:
                    return
                yield await reader.readexactly(length)
                await reader.readline()
                continue
            part = await reader.read(min(CHUNK, length or CHUNK))
            if not part:
                return
            if length is not None:
                length -= len(part)
            yield part
    finally:
        writer.close()


async def head(reader):
    """The first line of an HTTP/1.1 message and its fields, names in lower case."""
    text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = text.split("\r\n")
    fields = [line.split(":", 1) for line in lines if ":" in line]
    return first, [(name.strip().lower(), value.strip()) for name, value in fields]


async def halved(body, fields):
    """The first half of a body, by its promised length; half a chunk where there is none."""
    length = next((int(value) for name, value in fields if name == "content-length"), None)
    left = (length if length is not None else CHUNK) // 2
    async for part in body:
        yield part[:left]
        left -= len(part)
        if left <= 0:
            return


def flood_fields(rule):
    if rule["kind"] == "headers":
        return [(f"x-large-{number}", "x" * 1000) for number in range(rule.get("bytes", 1 << 20) // 1000)]
    return [(f"x-many-{number}", "y") for number in range(rule.get("lines", 10_000))]


class Connection:
    """What both protocols have in common."""

    def __init__(self, wire, reader, writer, protocol):
        self.wire, self.reader, self.writer, self.protocol = wire, reader, writer, protocol
        self.open, self.silent, self.pings = True, False, 0
        self.number = len(wire.connections)
        wire.connections.append(self)

    def write(self, data):
        if not self.silent and data and not self.writer.is_closing():
            self.writer.write(data)

    async def drain(self):
        if self.silent or self.writer.is_closing():
            await asyncio.Event().wait()
        await self.writer.drain()
        # A transport under TLS takes bytes for ever after its other end has gone.
        await asyncio.sleep(0)
        if self.reader.at_eof() or self.reader.exception():
            raise ConnectionResetError

    def silence(self):
        self.silent = True
        if not self.writer.transport.is_closing():
            self.writer.transport.pause_reading()

    def close(self):
        self.writer.close()

    def goaway(self):
        pass

    def reset(self):
        """Ends with a TCP reset."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def note(self, method, path, fields):
        self.wire.requests.append(
            {"connection": self.number, "method": method, "path": path, "range": fields.get("range", "")})

    async def silent_for_ever(self):
        self.silence()
        await asyncio.Event().wait()
