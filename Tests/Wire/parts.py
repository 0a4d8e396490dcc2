"""What the scripts beside this are made of: an origin, what stands before it, mounts, readers and a table.

Programs come from PROGRAMS, or .build/release. Everything is started in a folder of its own, on ports that were free, and ended
by its handle; nothing else on the machine is touched.
"""

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from services import PIXIV

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.environ.get("PROGRAMS") or os.path.join(HERE, "../../.build/release")


def number(name, default):
    """A bound of a script, which a variable of the environment changes."""
    return type(default)(os.environ.get(name, default))


def wait_for(condition, what, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not come within {seconds:.0f} s")
        time.sleep(0.02)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Place:
    """A folder with all that was started in it; leaving it ends everything, the youngest first.

    The certificate in it is also for `names`.
    """

    def __init__(self, names=()):
        self.names = names

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="rankfs-wire-")
        os.chmod(self.folder, 0o755)
        self.ends = contextlib.ExitStack()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self._certificates()
        return self

    def __exit__(self, *_):
        self.ends.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def start(self, name, arguments, prefix=(), **more):
        """A process whose output goes to files; it is ended with the place."""
        out, err = open(self.path(name + ".out"), "wb"), open(self.path(name + ".err"), "wb")
        more.setdefault("stdin", subprocess.DEVNULL)
        environment = dict(os.environ, SWIFT_BACKTRACE="enable=no", **more.pop("env", {}))
        process = subprocess.Popen([*prefix, *arguments], stdout=out, stderr=err, env=environment, **more)
        self.ends.callback(end, process)
        return process

    def output(self, name):
        with open(self.path(name + ".out"), errors="replace") as file:
            return file.read()

    def errors(self, name):
        with open(self.path(name + ".err"), errors="replace") as file:
            return file.read()

    def _certificates(self):
        def openssl(name, *more):
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                 "2", "-subj", f"/CN=rankfs {name}", "-keyout", self.path(name + ".key"), "-out", self.path(name + ".pem"),
                 *more], check=True, stderr=subprocess.DEVNULL)

        # Python from 3.13 on wants to know what a key is for.
        openssl("authority", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        openssl("leaf", "-CA", self.path("authority.pem"), "-CAkey", self.path("authority.key"), "-addext",
                "basicConstraints=critical,CA:FALSE", "-addext",
                "subjectAltName=IP:127.0.0.1,IP:10.213.77.1" + "".join(
                    f",DNS:{name}" for name in ("localhost", "api.test", "images.test", *self.names)))
        self.authority, self.leaf, self.key = map(self.path, ("authority.pem", "leaf.pem", "leaf.key"))


def end(process, seconds=8.0):
    """Ends a process that was started here."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Origin:
    """rankfs-origin, over plain HTTP/1.1, speaking for a service (services.py)."""

    count = 0

    def __init__(self, place, *options, service=PIXIV):
        Origin.count += 1
        name = f"origin-{Origin.count}"
        self.log = place.path(name + ".log")
        self.place, self.service = place, service
        self.process = place.start(
            name, [f"{PROGRAMS}/rankfs-origin", "--service", service.name, "--port", "0", "--log", self.log, *options])
        wait_for(lambda: "listening on" in place.output(name) or self.process.poll() is not None, "the origin")
        found = re.search(r"listening on (http://\S+)", place.output(name))
        if not found:
            raise SystemExit(f"rankfs-origin: {place.errors(name)}")
        self.url, self.options = found[1], []
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path):
        return self.opener.open(urllib.request.Request(self.url + path, headers=self.service.headers), timeout=30).read()

    def spoil(self, rules):
        """Puts rules in force instead of those before: see Fault."""
        text = "\n".join(json.dumps(rule, ensure_ascii=False) for rule in rules).encode()
        request = urllib.request.Request(
            self.url + "/_control", data=text, headers={"Content-Type": "text/plain"}, method="POST")
        answer = json.load(self.opener.open(request, timeout=30))
        assert answer.get("rules") == len(rules), answer

    def ranking(self, day=None):
        """The entries of a day that have a picture: rank and path of what the mount shows."""
        entries = self.service.entries(self, day or self.service.day)
        return [(entry.rank, entry.path) for entry in entries if entry.path]

    def requests(self):
        lines = []
        with open(self.log) as file:
            for line in file:
                with contextlib.suppress(ValueError):
                    lines.append(json.loads(line))
        return lines


class Front:
    """nginx before an origin: TLS and HTTP/2 for who offers it, or with `tls=False` plain HTTP/1.1."""

    count = 0

    def __init__(self, place, upstream, *, tls=True, buffering=True, address="127.0.0.1", prefix=()):
        Front.count += 1
        self.folder = place.path(f"front-{Front.count}")
        os.mkdir(self.folder)
        for _ in range(10):
            self.port = free_port()
            with open(f"{self.folder}/nginx.conf", "w") as file:
                file.write(self._configuration(place, upstream, tls, buffering, address))
            self.process = place.start(
                os.path.basename(self.folder), ["/usr/sbin/nginx", "-p", self.folder, "-c", "nginx.conf", "-e", "error.log"],
                prefix)
            wait_for(lambda: self._listens() or self.process.poll() is not None, "nginx")
            if self.process.poll() is None:
                break
        else:
            raise SystemExit(open(f"{self.folder}/error.log").read())
        self.url = f"http{'s' if tls else ''}://{address}:{self.port}"
        self.options = [f"ca_file={place.authority}"] if tls else []

    def _listens(self):
        with contextlib.suppress(OSError):
            return os.path.getsize(f"{self.folder}/pid") > 0

    def _configuration(self, place, upstream, tls, buffering, address):
        certificate = f"ssl_certificate {place.leaf}; ssl_certificate_key {place.key};" if tls else ""
        return f"""
            daemon off; pid pid; error_log error.log; worker_processes 1; events {{ worker_connections 4096; }}
            http {{
                access_log off;
                client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
                server {{
                    listen {address}:{self.port}{' ssl' if tls else ''}{' http2' if tls else ''}; {certificate}
                    location / {{
                        proxy_pass {upstream}; proxy_http_version 1.1; proxy_next_upstream off;
                        proxy_buffering {'on' if buffering else 'off'}; proxy_max_temp_file_size 0;
                        proxy_read_timeout 1h; send_timeout 1h; proxy_pass_header Date;
                    }}
                }}
            }}
            """


class Relay:
    """A TCP relay whose old connections can be made silent while new ones work."""

    def __init__(self, place, port, address="127.0.0.1"):
        self.target = (address, port)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.old, self.pairs, self.accepted = set(), {}, 0
        self.lock = threading.Lock()
        place.ends.callback(self.close)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(self.target)
            except OSError:
                return
            with self.lock:
                self.accepted += 1
                number = self.accepted
                self.pairs[number] = (near, far)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(number, source, sink), daemon=True).start()

    def _pass(self, number, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if number in self.old:
                    return
                sink.sendall(data)
        if number not in self.old:
            with contextlib.suppress(OSError):
                sink.shutdown(socket.SHUT_WR)

    def silence(self):
        """Connections that there are say nothing any more, not even that they end; what comes is left to the buffers."""
        with self.lock:
            self.old |= set(self.pairs)

    def close(self):
        self.listener.close()
        for near, far in self.pairs.values():
            near.close()
            far.close()


class Mount:
    """`rankfs mount -f` with a cache of its own."""

    count = 0

    def __init__(self, place, front, *options, cache=None, owner=0, prefix=(), env=None, url=None, service=PIXIV,
                 programs=PROGRAMS, rate=1000):
        Mount.count += 1
        self.service = service
        self.name = f"mount-{Mount.count}"
        self.place = place
        self.path = place.path(self.name)
        self.cache = cache or place.path(self.name + ".cache")
        os.mkdir(self.path)
        if owner:
            os.makedirs(self.cache, exist_ok=True)
            os.chown(self.path, owner, owner)
            os.chown(self.cache, owner, owner)
        url = url or front.url
        words = [f"api_url={url}", f"image_url={url}", *front.options, f"cache_dir={self.cache}", *options]
        words += [f"rate={rate}"] if rate else []
        self.process = place.start(
            self.name, [f"{programs}/rankfs", "mount", "-f", service.name, self.path, "-o", ",".join(words)], prefix,
            env=dict(env or {}, XDG_CACHE_HOME=place.path("xdg")))
        place.ends.callback(self.detach)
        wait_for(lambda: self.is_mounted() or self.process.poll() is not None, "the mount")
        if self.process.poll() is not None:
            raise SystemExit(f"not mounted: {place.errors(self.name)}")
        wait_for(lambda: os.path.isdir(f"{self.path}/ranking"), "the mount")

    def is_mounted(self):
        with open("/proc/self/mountinfo") as table:
            return any(line.split()[4] == self.path for line in table)

    @property
    def is_alive(self):
        return self.process.poll() is None

    def detach(self):
        if self.is_mounted():
            subprocess.run(["umount", "-l", self.path], stderr=subprocess.DEVNULL, check=False)

    def unmount(self):
        end(self.process)
        self.detach()

    def day(self, day=None):
        return f"{self.path}/ranking/{self.service.mode}/{day or self.service.day}"

    def names(self, day=None):
        """Names by rank."""
        return {int(name[:3]): name for name in os.listdir(self.day(day)) if name[:3].isdigit()}

    def status(self):
        with open(f"{self.path}/.rankfs/status.json") as file:
            return json.load(file)

    def log(self):
        return self.place.errors(self.name)


# MARK: reading

def read_whole(path, size):
    data = bytearray()
    with open_file(path) as file:
        while part := os.pread(file, 131072, len(data)):
            data += part
    return bytes(data)


@contextlib.contextmanager
def open_file(path):
    file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


def together(works, seconds):
    """Results of works on a thread each, "hang" for those not done in time; a thread that hangs stays until its mount ends."""
    results = ["hang"] * len(works)

    def run(index, work):
        results[index] = work()

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    return list(results)


def timed(work):
    start = time.monotonic()
    value = work()
    return time.monotonic() - start, value


def attempt(work):
    """What it returns, or its OSError."""
    try:
        return work()
    except OSError as error:
        return error


class Verdicts:
    """Lines of figures, and whether all were as promised."""

    def __init__(self, title):
        self.failed = 0
        print(title, flush=True)

    def figure(self, name, value, is_kept, promise=""):
        if not is_kept:
            self.failed += 1
        print(f"  {'ok   ' if is_kept else 'WRONG'} {name}: {value}" + (f" (promised: {promise})" if promise else ""), flush=True)

    def done(self):
        print("kept" if not self.failed else f"{self.failed} not kept", flush=True)
        sys.exit(1 if self.failed else 0)
