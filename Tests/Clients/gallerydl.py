#!/usr/bin/env python3
"""Runs gallery-dl against the embedded origin as Danbooru, yande.re and konachan, and holds what it lists and saves against the
lists of the origin and against a mount.

usage: gallerydl.py PYTHON PROGRAMS WORK

PYTHON has gallery-dl (pip install gallery-dl), PROGRAMS is where rankfs and its companions are, WORK an empty directory. Nothing but loopback
is used: `root` of gallery-dl's categories is the origin, and the addresses of pictures, which are those of the real hosts, are
led there by a proxy within this script.
"""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

NOW = 1714618800  # 2024-05-02 03:00 UTC
DAY = "2024-04-30"
SERVICES = {
    "danbooru": ("Danbooru", "danbooru", "https://danbooru.donmai.us/posts?tags=", f"date:{DAY} order:score", 60),
    "yandere": ("moebooru", "yandere", "https://yande.re/post?tags=", f"date:{DAY} order:score rating:s", 30),
    "konachan": ("moebooru", "konachan", "https://konachan.com/post?tags=", f"date:{DAY} order:score rating:s", 30),
}
# Other lists: the folder of the mount, and the address by which gallery-dl knows it; a pool's posts in its order, favourites as liked.
DOORS = {
    "danbooru": [
        ("pools/6900", "https://danbooru.donmai.us/pools/6900"),
        ("favgroups/6900", "https://danbooru.donmai.us/favorite_groups/6900"),
    ],
    "yandere": [("pools/6400", "https://yande.re/pool/show/6400")],
    "konachan": [("pools/5917", "https://konachan.com/pool/show/5917")],
}
LIST = {
    "danbooru": "/posts.json?limit=200&page={}&tags=",
    "yandere": "/post.json?limit=100&page={}&tags=",
    "konachan": "/post.json?limit=100&page={}&tags=",
}
TIMEOUT = 240


def start(program, service, work):
    """The origin of a service, and its address."""
    process = subprocess.Popen(
        [os.path.join(program, "rankfs-origin"), "--service", service, "--now", str(NOW), "--log", os.path.join(work, service + ".log")],
        stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split()[-1]


def listed(origin, service, tags):
    """The posts of a search, page after page, as the origin lists them."""
    posts, page = [], 1
    while True:
        url = origin + LIST[service].format(page) + urllib.parse.quote(tags)
        request = urllib.request.Request(url, headers={"User-Agent": "rankfs-clients/1.0"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            found = json.load(answer)
        if not found:
            return posts
        posts += found
        page += 1


def relay(origin):
    """An HTTP server that answers every path of every host with the origin's answer."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            path = urllib.parse.urlsplit(self.path)
            target = path.path + ("?" + path.query if path.query else "")
            names = ["User-Agent", "Range", "Accept"]
            headers = {name: self.headers[name] for name in names if self.headers[name]}
            request = urllib.request.Request(origin + target, headers=headers)
            try:
                answer = urllib.request.urlopen(request, timeout=30)
            except urllib.error.HTTPError as error:
                answer = error
            body = answer.read()
            self.send_response(answer.status)
            for name in ["Content-Type", "Last-Modified", "ETag", "Content-Range"]:
                if answer.headers[name]:
                    self.send_header(name, answer.headers[name])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


# Started with gallery-dl's own Python: https addresses become http ones, which the proxy takes.
STARTER = """
import sys
from gallery_dl.extractor import common
from gallery_dl.downloader import http
import requests
send = requests.Session.request
def plain(self, method, url, *args, **kwargs):
    return send(self, method, url.replace("https://", "http://", 1), *args, **kwargs)
requests.Session.request = plain
import gallery_dl
sys.argv[0] = "gallery-dl"
sys.exit(gallery_dl.main())
"""


def run(python, config, work, arguments):
    """What gallery-dl prints."""
    environment = dict(os.environ, HOME=work, XDG_CONFIG_HOME=work)
    done = subprocess.run(
        [python, "-c", STARTER, "--config-ignore", "--config", config, *arguments], env=environment, cwd=work,
        capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode not in (0, 4):  # 4: a file was missing
        sys.exit(f"gallery-dl ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


class Mount:
    """A mount of the origin's service, as long as the block lasts."""

    def __init__(self, programs, service, origin, work):
        self.path = os.path.join(work, "mount-" + service)
        self.cache = os.path.join(work, "cache-" + service)
        self.program = os.path.join(programs, "rankfs")
        self.arguments = [service, self.path, "-o", f"api_url={origin},image_url={origin},cache_dir={self.cache},rate=1000"]

    def __enter__(self):
        os.makedirs(self.path)
        subprocess.run([self.program, "mount", *self.arguments], check=True, timeout=60)
        return self.path

    def __exit__(self, *_):
        subprocess.run([self.program, "unmount", self.path], check=True, timeout=60)


def entries(folder, ordered):
    """The names and the numbers of the posts that a folder of a mount shows, without those that are withheld."""
    names = ordered(os.listdir(folder))
    shown = [name for name in names if os.stat(os.path.join(folder, name)).st_size > 0]
    return shown, [int(os.getxattr(os.path.join(folder, name), "user.rankfs.work")) for name in shown]


def compare(day, posts, saved, service, copy):
    """What a mount's day has otherwise than gallery-dl: the numbers in order, and the bytes of those saved."""
    shown, ids = entries(day, sorted)
    failures = []
    if ids != posts:
        failures.append(f"{service}: the mount lists {len(ids)} posts, not the {len(posts)} of gallery-dl, or in another order")
    os.makedirs(copy)
    wanted = [(name, number) for name, number in zip(shown, ids) if number in saved]
    subprocess.run(["cp", "-r", *[os.path.join(day, name) for name, _ in wanted], copy], check=True, timeout=TIMEOUT)
    for name, number in wanted:
        with open(os.path.join(copy, name), "rb") as mine, open(saved[number], "rb") as theirs:
            if mine.read() != theirs.read():
                failures.append(f"{service}: the mount's {name} is not what gallery-dl saved")
    return failures, len(wanted)


def check(python, program, service, work):
    """The failures of one service, and a line about what was compared."""
    base, category, address, tags, wanted = SERVICES[service]
    process, origin = start(program, service, work)
    server = relay(origin)
    try:
        proxy = f"http://127.0.0.1:{server.server_address[1]}"
        folder = os.path.join(work, service)
        config = os.path.join(work, service + ".json")
        settings = {
            "proxy": {"http": proxy, "https": proxy}, "base-directory": folder, "retries": 1, "sleep-request": 0,
            category: {"ugoira": True}, base: {"ugoira": True, "sleep-request": 0},
        }
        with open(config, "w") as file:
            downloader = {"http": {"adjust-extensions": False}}
            json.dump({"extractor": settings, "downloader": downloader, "output": {"mode": "null"}}, file)
        posts = listed(origin, service, tags)
        visible = [post for post in posts if "file_url" in post]
        url = address + urllib.parse.quote(tags)

        def seen(url):
            """The posts that a mount shows without options, of those that gallery-dl lists."""
            entries = json.loads(run(python, config, work, ["--dump-json", url]))
            return [entry[-1]["id"] for entry in entries if entry[0] == 3 and entry[-1]["rating"] in "gs"]

        found = seen(url)
        failures = []
        if found != [post["id"] for post in visible]:
            failures.append(f"{service}: gallery-dl lists {len(found)} posts, not the {len(visible)} served, or in another order")
        run(python, config, work, ["--range", f"1-{wanted}", "--filename", "{id}.bin", "--directory", os.path.join(folder, "files"), url])
        saved = {}
        for post in visible[:wanted]:
            path = os.path.join(folder, "files", f"{post['id']}.bin")
            if not os.path.exists(path):
                failures.append(f"{service}: {post['id']} ({post['file_url']}) was not saved")
                continue
            with open(path, "rb") as file:
                data = file.read()
            saved[post["id"]] = path
            if hashlib.md5(data).hexdigest() != post["md5"] or len(data) != post["file_size"]:
                failures.append(f"{service}: the file of {post['id']} is not the one listed")
        kinds = sorted({urllib.parse.urlsplit(post["file_url"]).path.rsplit(".")[-1] for post in visible[:wanted]})
        with Mount(program, service, origin, work) as mount:
            day = os.path.join(mount, "ranking/day", DAY)
            others, equal = compare(day, found, saved, service, os.path.join(work, "copy-" + service))
            counts = []
            for door, url in DOORS[service]:
                wanted, (_, ids) = seen(url), entries(os.path.join(mount, door), list)
                counts.append(f"{door} {len(ids)}")
                if ids != wanted or not ids:
                    others.append(f"{service}: {door} has {len(ids)} posts, not the {len(wanted)} of gallery-dl, or in another order")
        return failures + others, (
            f"{service}: {len(found)} of {len(posts)} posts listed, {len(saved)} files saved ({', '.join(kinds)}), "
            f"{equal} compared with cp -r from the mount; {', '.join(counts)}")
    finally:
        server.shutdown()
        process.terminate()
        process.wait(10)


def main():
    python, program, work = sys.argv[1:4]
    failed = False
    for service in SERVICES:
        failures, line = check(python, program, service, work)
        print(line + (": all equal" if not failures else ""))
        for failure in failures[:5]:
            print("  " + failure)
        failed = failed or bool(failures)
    sys.exit(failed)


if __name__ == "__main__":
    main()
