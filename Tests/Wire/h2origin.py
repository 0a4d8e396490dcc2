#!/usr/bin/python3
"""An origin over TLS that speaks HTTP/2 and HTTP/1.1 and misbehaves as it is told.

    h2origin.py --certificate C.pem --key K.pem [--upstream http://127.0.0.1:PORT]

It prints one line of JSON when it listens: {"port": N, "control": M}. The first is TLS with ALPN, the second plain HTTP/1.1 for
control. It ends with its standard input, so that it does not outlive who started it.

What no rule matches is answered by the upstream, or without one by itself: /body/N is N bytes, a big-endian counter of four
bytes each; /status/N is that status without a body. HEAD is answered like GET, with the length and without the body.

Control: POST /_wire with one JSON object or a list of them. GET /_wire tells what was seen: {"connections": [{"protocol": "h2",
"pings": 0, "open": true}, …], "requests": [{"connection": 0, "method": "HEAD", "path": "/…", "range": ""}, …], "rules": […]}.

A rule is {"kind": K, "match": "part of the path", "method": "GET", "count": 3, …}: it holds for `count` requests (or
connections), for ever without one; the first that matches is used. Kinds of requests, on HTTP/2; those marked * on HTTP/1.1 too:

    rst-before *          RST_STREAM without a head ("code": error code, 7 = REFUSED_STREAM by default); a TCP reset on HTTP/1.1
    rst-mid-body *        half of the body, then RST_STREAM ("code": 2); a TCP reset on HTTP/1.1
    short *               the whole length is promised, half of the body sent, then END_STREAM; a close on HTTP/1.1
    short-close *         half of the body, then the connection ends, without END_STREAM
    long                  ten bytes more than the promised length
    stall *               half of the body, then nothing
    silent *              nothing at all, while other streams are answered
    goaway-unseen         GOAWAY that says that this stream was not looked at ("last": 0 or the stream before), then the end
    goaway-drop           GOAWAY that says that all streams are taken, then the end without an answer
    goaway-graceful       GOAWAY, then the answers of the streams under way, then the end
    status *              "status": 429, "headers": {"retry-after": "10"}, "body": "…"
    headers *             a header block of "bytes": 1048576, in lines of 1,000
    many-headers *        "lines": 10000 header lines
    continuation-flood    HEADERS without END_HEADERS, then CONTINUATION frames without end
    empty-data-flood      a head, then empty DATA frames without end
    ping-flood            PING frames without end instead of an answer
    settings-flood        SETTINGS frames without end instead of an answer
    endless *             a body without end or length
    bad-frame             bytes that are no frame
    slow *                "rate": bytes a second of the body; the answer is right

Kinds of connections, used when one is accepted: silent-new * (the handshake, then nothing), no-settings (SETTINGS and PING are
never answered or sent, and no stream is), no-streams (SETTINGS_MAX_CONCURRENT_STREAMS 0), zero-window
(SETTINGS_INITIAL_WINDOW_SIZE 0), few-streams ("streams": 8; all is answered), no-ping-ack (requests are answered, PING is not).

Kinds that act at once: silence-old (what is connected now says and hears nothing any more; new connections work), close-old
(what is connected now is closed), goaway-old (GOAWAY to what is connected now), heal (forgets all rules). The kind "another"
answers with the ports of one more origin, which has rules and memories of its own, so that tests share one process.
"""

import argparse
import asyncio
import json
import ssl
import struct
import sys

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

# Beside this file nothing is to appear.
sys.dont_write_bytecode = True
from h2rules import CHUNK, Connection, Wire, flood_fields, halved, head, parts  # noqa: E402


class One(Connection):
    """HTTP/1.1."""

    async def run(self, rule):
        if rule["kind"] == "silent-new":
            await self.silent_for_ever()
        while True:
            first, fields = await head(self.reader)
            method, path, _ = first.split(" ", 2)
            fields = dict(fields)
            if path == "/_wire":
                await self.control(method, int(fields.get("content-length", 0)))
                continue
            self.note(method, path, fields)
            if not await self.serve(method, path, fields):
                return

    async def control(self, method, length):
        body = await self.reader.readexactly(length)
        if method == "POST":
            rules = json.loads(body)
            if rules == {"kind": "another"}:
                return await self.tell(await self.wire.another())
            for rule in rules if isinstance(rules, list) else [rules]:
                self.wire.command(rule)
        await self.tell(self.wire.seen())

    async def tell(self, value):
        text = json.dumps(value).encode()
        self.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
        await self.drain()

    def start(self, status, fields):
        lines = [f"HTTP/1.1 {status} X"] + [f"{name}: {value}" for name, value in fields]
        self.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def serve(self, method, path, fields):
        rule = self.wire.take(new=False, path=path, method=method)
        kind = rule["kind"]
        if kind == "silent":
            await self.silent_for_ever()
        if kind == "rst-before":
            self.reset()
            return False
        if kind == "status":
            body = rule.get("body", "").encode()
            self.start(rule["status"], [("content-length", str(len(body))), *rule.get("headers", {}).items()])
            self.write(body if method == "GET" else b"")
            await self.drain()
            return True
        status, answer, body = await self.wire.answer(method, path, fields)
        if kind in ("headers", "many-headers"):
            answer += flood_fields(rule)
        if kind == "endless":
            answer = [pair for pair in answer if pair[0] != "content-length"]
        told = any(name == "content-length" for name, _ in answer)
        self.start(status, answer)
        if kind == "endless":
            while True:
                self.write(bytes(CHUNK))
                await self.drain()
        broken = kind in ("rst-mid-body", "short", "short-close", "stall")
        async for part in halved(body, answer) if broken else body:
            self.write(part)
            await self.drain()
            if kind == "slow":
                await asyncio.sleep(len(part) / rule["rate"])
        if kind == "stall":
            await self.silent_for_ever()
        if kind == "rst-mid-body":
            await asyncio.sleep(0.05)
            self.reset()
        return told and not broken


class Two(Connection):
    """HTTP/2."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8", validate_outbound_headers=False))
        self.streams, self.room, self.mute, self.ends = {}, asyncio.Event(), False, False

    async def run(self, rule):
        kind = rule["kind"]
        if kind in ("silent-new", "no-settings"):
            # What comes is read, so that the client's own buffers never tell it.
            while await self.reader.read(CHUNK):
                pass
            return
        codes = h2.settings.SettingCodes
        if kind == "no-streams":
            self.h2.local_settings.update({codes.MAX_CONCURRENT_STREAMS: 0})
        if kind == "few-streams":
            self.h2.local_settings.update({codes.MAX_CONCURRENT_STREAMS: rule.get("streams", 8)})
        if kind == "zero-window":
            self.h2.local_settings.update({codes.INITIAL_WINDOW_SIZE: 0})
        self.mute = kind == "no-ping-ack"
        self.h2.initiate_connection()
        self.flush()
        while data := await self.reader.read(CHUNK):
            for event in self.h2.receive_data(data):
                self.take(event)
            self.flush()
            await self.drain()

    def flush(self):
        self.write(self.h2.data_to_send())

    def take(self, event):
        if isinstance(event, h2.events.RequestReceived):
            task = asyncio.ensure_future(self.guarded(event.stream_id, dict(event.headers)))
            self.streams[event.stream_id] = task
        elif isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
            self.room.set()
        elif isinstance(event, h2.events.StreamReset):
            if task := self.streams.pop(event.stream_id, None):
                task.cancel()
        elif isinstance(event, h2.events.PingReceived):
            self.pings += 1
            if self.mute:
                self.h2.data_to_send()
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.writer.close()

    def goaway(self):
        self.raw(7, 0, 0, struct.pack(">II", self.h2.highest_inbound_stream_id, 0))
        self.ends = True

    def raw(self, kind, flags, stream, payload):
        """A frame past the library (RFC 9113, 4.1)."""
        length = struct.pack(">I", len(payload))[1:]
        self.write(length + struct.pack(">BBI", kind, flags, stream) + payload)

    async def guarded(self, stream, fields):
        try:
            await self.serve(stream, fields)
        except (h2.exceptions.H2Error, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.streams.pop(stream, None)
            if self.ends and not self.streams:
                self.writer.close()

    async def serve(self, stream, fields):
        method, path = fields[":method"], fields[":path"]
        fields["host"] = fields.get(":authority", "localhost")
        fields = {name: value for name, value in fields.items() if not name.startswith(":")}
        self.note(method, path, fields)
        rule = self.wire.take(new=False, path=path, method=method)
        kind = rule["kind"]
        if kind == "silent":
            await asyncio.Event().wait()
        if kind == "rst-before":
            return self.end_stream(stream, rule.get("code", 7))
        if kind in ("goaway-unseen", "goaway-drop"):
            last = rule.get("last", max(0, stream - 2)) if kind == "goaway-unseen" else stream
            self.raw(7, 0, 0, struct.pack(">II", last, 0))
            await self.drain()
            return self.writer.close()
        if kind == "goaway-graceful":
            self.goaway()
        if kind == "bad-frame":
            return self.write(b"\xff" * 64)
        if kind in ("continuation-flood", "empty-data-flood", "ping-flood", "settings-flood"):
            return await self.flood(kind, stream)
        if kind == "status":
            body = rule.get("body", "").encode()
            answer = [("content-length", str(len(body))), *rule.get("headers", {}).items()]
            return await self.send(stream, rule["status"], answer, parts(body if method == "GET" else b""), rule)
        status, answer, body = await self.wire.answer(method, path, fields)
        await self.send(stream, status, answer, body, rule)

    async def send(self, stream, status, answer, body, rule):
        kind = rule["kind"]
        if kind in ("headers", "many-headers"):
            answer = answer + flood_fields(rule)
        if kind == "endless":
            answer = [pair for pair in answer if pair[0] != "content-length"]
        self.h2.send_headers(stream, [(":status", str(status)), *answer])
        self.flush()
        broken = kind in ("rst-mid-body", "short", "short-close", "stall")
        async for part in halved(body, answer) if broken else body:
            await self.data(stream, part)
            if kind == "slow":
                await asyncio.sleep(len(part) / rule["rate"])
        while kind == "endless":
            await self.data(stream, bytes(CHUNK))
        if kind == "long":
            await self.data(stream, bytes(10))
        if kind == "stall":
            await asyncio.Event().wait()
        if kind == "rst-mid-body":
            return self.end_stream(stream, rule.get("code", 2))
        if kind == "short-close":
            return self.writer.close()
        self.h2.end_stream(stream)
        self.flush()

    async def data(self, stream, part):
        while part:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if room <= 0:
                self.room.clear()
                await self.room.wait()
                continue
            self.h2.send_data(stream, part[:room])
            part = part[room:]
            self.flush()
            await self.drain()

    def end_stream(self, stream, code):
        self.h2.reset_stream(stream, code)
        self.flush()

    async def flood(self, kind, stream):
        # An indexed ":status 200" and literal lines without indexing (RFC 7541, 6.1 and 6.2.2).
        line = b"\x00\x06x-many\x40" + b"y" * 64
        if kind == "continuation-flood":
            self.raw(1, 0, stream, b"\x88")
        if kind == "empty-data-flood":
            self.raw(1, 4, stream, b"\x88")
        frames = {
            "continuation-flood": (9, 0, stream, line * 200), "empty-data-flood": (0, 0, stream, b""),
            "ping-flood": (6, 0, 0, b"12345678"), "settings-flood": (4, 0, 0, b""),
        }
        while not self.writer.is_closing():
            self.raw(*frames[kind])
            await self.drain()
            await asyncio.sleep(0)


async def serve(wire, reader, writer):
    tls = writer.get_extra_info("ssl_object")
    protocol = tls.selected_alpn_protocol() if tls else None
    if tls:
        connection = (Two if protocol == "h2" else One)(wire, reader, writer, protocol or "http/1.1")
        rule = wire.take(new=True)
    else:
        # Control is no part of what is looked at.
        connection = One(wire, reader, writer, "control")
        wire.connections.pop()
        rule = {"kind": None}
    try:
        await connection.run(rule)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, h2.exceptions.H2Error, ValueError):
        pass
    finally:
        connection.open = False
        for task in list(getattr(connection, "streams", {}).values()):
            task.cancel()
        writer.close()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--upstream")
    options = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.key)
    context.set_alpn_protocols(["h2", "http/1.1"])

    async def origin():
        wire = Wire(options.upstream, origin)

        async def handle(reader, writer):
            await serve(wire, reader, writer)

        secure = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context, limit=1 << 20)
        plain = await asyncio.start_server(handle, "127.0.0.1", 0, limit=1 << 20)
        servers.extend((secure, plain))
        return {"port": secure.sockets[0].getsockname()[1], "control": plain.sockets[0].getsockname()[1]}

    servers = []
    print(json.dumps(await origin()), flush=True)
    # Ends when who started it does.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(main())
