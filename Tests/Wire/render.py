#!/usr/bin/python3
"""RENDER_SECONDS of damaged previews, WebP files and archives of animations, and of renderers that are killed and stopped at their work: the
mount goes on, its pictures are right, and what is damaged is EIO or a missing thumbnail. strace(1) sees what a renderer calls after it
shut itself in: no open, no socket, no other program.
"""

import glob
import http.client
import http.server
import os
import random
import signal
import subprocess
import threading
import time
import urllib.parse

from parts import *

SECONDS = number("RENDER_SECONDS", 60)
SEED = number("SEED", 1)
FILM = "works/900600000"
# Calls that bring something new into a process; a renderer makes none of them once it is ready.
FORBIDDEN = ("open", "openat", "openat2", "creat", "socket", "socketpair", "connect", "accept", "accept4", "bind", "execve",
             "execveat", "fork", "vfork", "clone", "clone3", "ptrace", "process_vm_readv", "kill", "tgkill", "mount", "unshare")


class Damage:
    """Bytes of pictures with some of them changed; never twice the same."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.strangers = []
        self.count = 0

    def preview(self, body):
        with self.lock:
            self.count += 1
            if self.strangers and self.random.random() < 0.2:
                body = self.random.choice(self.strangers)
            return body if self.random.random() < 0.1 else self._damaged(body, keeps=2)

    def archive(self, body):
        """As long as before, and with its ends: others are refused before anybody decodes them."""
        with self.lock:
            self.count += 1
            if self.random.random() < 0.1:
                return body
            data = bytearray(body)
            # The directory is a small part of it, and what is worth most.
            directory = max(4, len(body) - 22 - 60 * 70)
            for _ in range(self.random.randint(1, 30)):
                start = self.random.choice([4, directory])
                place = self.random.randrange(start, len(body) - 22)
                data[place] = self.random.choice([0, 0xff, 0x7f, self.random.randrange(256)])
            return bytes(data)

    def _damaged(self, body, keeps):
        data = bytearray(body)
        for _ in range(self.random.randint(1, 20)):
            if len(data) <= keeps + 1:
                break
            # Headers decide about sizes, tables and the way to decode: half of the damage is done there.
            place = self.random.randrange(keeps, min(len(data), 700) if self.random.random() < 0.5 else len(data))
            what = self.random.randrange(4)
            if what == 0:
                data[place] ^= 1 << self.random.randrange(8)
            elif what == 1:
                data[place] = self.random.choice([0, 0xff, 0xd8, 0xd9, 0xda, 0xc4, 0xdb, 0xc2])
            elif what == 2:
                del data[place:place + self.random.randrange(1, 40)]
            else:
                data[place:place] = data[place:place + self.random.randrange(1, 40)]
        return bytes(data)


class Spoiler:
    """Stands before the origin and damages what is decoded; what is only read goes through as it is."""

    options = ()

    def __init__(self, place, origin, damage):
        self.damage = damage
        host = urllib.parse.urlsplit(origin.url).netloc
        spoiler = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                connection = http.client.HTTPConnection(host, timeout=30)
                headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
                is_archive = ".zip" in self.path
                is_preview = "/c/480x960/" in self.path
                try:
                    connection.request(self.command, self.path, headers=headers)
                    answer = connection.getresponse()
                    body = answer.read()
                finally:
                    connection.close()
                if self.command == "GET" and answer.status == 200:
                    body = spoiler.damage.archive(body) if is_archive else spoiler.damage.preview(body) if is_preview else body
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length", "etag", "last-modified"):
                        self.send_header(name, value)
                length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(body))
                if length is not None:
                    self.send_header("Content-Length", length)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Who resets a connection has read enough.
        self.server.handle_error = lambda *_: None
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        place.ends.callback(self.server.shutdown)


def renderers(daemon):
    """The processes that decode for a daemon."""
    found = []
    for task in glob.glob(f"/proc/{daemon}/task/*/children"):
        try:
            with open(task) as file:
                children = file.read().split()
            for child in children:
                with open(f"/proc/{child}/comm") as file:
                    if file.read().strip() == "rankfs-render":
                        found.append(int(child))
        except OSError:
            continue
    return found


def daemon_of(mount):
    """The mounting process itself, which is strace's child."""
    with open(f"/proc/{mount.process.pid}/task/{mount.process.pid}/children") as file:
        return int(file.read().split()[0])


def read_film(path):
    try:
        with open(path, "rb") as file:
            return "read" if file.read() else "empty"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))


class Round:
    """What goes on at the same time, until time is up."""

    def __init__(self, mount, origin, damage):
        self.mount, self.origin, self.damage = mount, origin, damage
        self.end = time.monotonic() + SECONDS
        self.outcomes, self.slowest, self.wrong = {}, 0.0, 0
        self.right = self.killed = self.days = 0
        self.daemon = daemon_of(mount)
        self.random = random.Random(SEED + 1)

    def goes_on(self):
        return time.monotonic() < self.end and self.mount.is_alive

    def look_at_days(self):
        """As a file manager does: the first hundred previews of each day are decoded."""
        while self.goes_on():
            folder = self.mount.day(f"2023-{self.days // 28 % 12 + 1:02}-{self.days % 28 + 1:02}")
            self.days += 1
            try:
                os.listdir(folder)
                os.access(f"{folder}/.hidden", os.F_OK)
            except OSError as error:
                self.note("listing", errno.errorcode.get(error.errno, "?"))
            time.sleep(0.2)

    def play(self):
        while self.goes_on():
            for name in ("ugoira.mkv", "ugoira.webp"):
                self.note(name, read_film(f"{self.mount.path}/{FILM}/{name}"))
            subprocess.run([f"{PROGRAMS}/rankfs", "evict", f"{self.mount.path}/{FILM}"], capture_output=True, check=False)

    def kill(self):
        while self.goes_on():
            time.sleep(self.random.uniform(0.5, 3))
            for process in renderers(self.daemon)[:1]:
                with contextlib.suppress(OSError):
                    os.kill(process, self.random.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP]))
                    self.killed += 1

    def read(self):
        """Other pictures, meanwhile."""
        names = self.mount.names()
        expected = {}
        while self.goes_on():
            for rank in list(names)[:10]:
                path = f"{self.mount.day()}/{names[rank]}"
                start = time.monotonic()
                try:
                    with open(path, "rb") as file:
                        data = file.read()
                    os.statvfs(self.mount.path)
                except OSError as error:
                    self.note("other pictures", errno.errorcode.get(error.errno, "?"))
                    continue
                self.slowest = max(self.slowest, time.monotonic() - start)
                if expected.setdefault(rank, data) == data and data[:2] == b"\xff\xd8" and data[-2:] == b"\xff\xd9":
                    self.right += 1
                else:
                    self.wrong += 1
            time.sleep(0.05)

    def note(self, what, outcome):
        counts = self.outcomes.setdefault(what, {})
        counts[outcome] = counts.get(outcome, 0) + 1

    def run(self):
        threads = [threading.Thread(target=work, daemon=True) for work in (self.look_at_days, self.play, self.kill, self.read)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS + 60)
        return not any(thread.is_alive() for thread in threads)


def calls_of(traces):
    """How many renderers were seen, whether each was filtered, and what they called afterwards that they must not."""
    seen, unfiltered, found = 0, 0, []
    for name in traces:
        with open(name, errors="replace") as file:
            lines = list(file)
        if not any("execve(" in line and "rankfs-render" in line and line.rstrip().endswith("= 0") for line in lines):
            continue
        seen += 1
        ready = next((index for index, line in enumerate(lines) if "PR_SET_SECCOMP" in line and "= 0" in line), None)
        if ready is None:
            # Killed before it was ready.
            unfiltered += any("sendmsg(" in line for line in lines)
            continue
        found += [line.strip() for line in lines[ready + 1:] if line.split("(", 1)[0] in FORBIDDEN]
    return seen, unfiltered, found


def main():
    verdicts = Verdicts(f"{SECONDS} s of damaged pictures, seed {SEED}")
    with Place() as place:
        origin, damage = Origin(place), Damage(SEED)
        # Sound ones first: what they are made into are the strangers among the previews.
        with_sound = Mount(place, Spoiler(place, origin, Sound()), "images=small")
        with open(f"{with_sound.path}/{FILM}/ugoira.webp", "rb") as file:
            damage.strangers.append(file.read()[:200_000])
        with_sound.unmount()
        for name in glob.glob(os.path.join(HERE, "../FuzzTests/Corpus/jpeg/*")):
            with open(name, "rb") as file:
                damage.strangers.append(file.read())
        trace = place.path("trace")
        strace = ["strace", "-ff", "--seccomp-bpf", "-o", trace, "-e", "trace=prctl,sendmsg," + ",".join(FORBIDDEN)]
        mount = Mount(place, Spoiler(place, origin, damage), "top=100", prefix=strace)
        work = Round(mount, origin, damage)
        ended = work.run()
        verdicts.figure("the mount", "answers" if mount.is_alive else "is gone", mount.is_alive and ended)
        verdicts.figure("damaged pictures decoded", damage.count, damage.count > 0)
        verdicts.figure("renderers killed or stopped", work.killed, work.killed > 0)
        for what, counts in sorted(work.outcomes.items()):
            verdicts.figure(what, counts, set(counts) <= {"read", "EIO"})
        verdicts.figure("other pictures", f"{work.right} right, {work.wrong} wrong", work.right > 0 and work.wrong == 0)
        verdicts.figure("slowest of them", f"{work.slowest:.2f} s", work.slowest < 5, "5 s")
        thumbnails = glob.glob(place.path("xdg/thumbnails/*/*.png"))
        bad = 0
        for name in thumbnails:
            with open(name, "rb") as file:
                data = file.read()
            bad += not (data.startswith(b"\x89PNG\r\n") and data.endswith(b"IEND\xaeB`\x82"))
        verdicts.figure("thumbnails", f"{len(thumbnails)}, {bad} broken", len(thumbnails) > 0 and bad == 0)
        # Before strace: what it traces cannot make threads once its tracer is gone.
        os.kill(work.daemon, signal.SIGTERM)
        mount.process.wait(30)
        mount.unmount()
        seen, unfiltered, found = calls_of(glob.glob(trace + ".*"))
        verdicts.figure("renderers traced", f"{seen}, {unfiltered} without a filter", seen > 0 and unfiltered == 0)
        verdicts.figure("opens, sockets and programs", found[:3] if found else "none", not found)
    verdicts.done()


class Sound:
    """No damage."""

    def preview(self, body):
        return body

    archive = preview


main()
