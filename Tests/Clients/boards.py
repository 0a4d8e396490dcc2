"""Image boards under their real names, and the comparison of a client with the lists of the origin and with a mount.

To be used as root in namespaces of their own for network and mounts, as `run` does: there the names lead to loopback, where nginx has
certificates for them and passes everything on to the origins. Nothing but loopback is used.
"""

import hashlib
import json
import os
import subprocess
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../Wire"))
import parts  # noqa: E402
import services  # noqa: E402

NOW = 1714618800  # 2024-05-02 03:00 UTC
DAY = "2024-04-30"
TIMEOUT = 240
# Where OpenSSL of this system has its authorities.
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
MOEBOORU = "/post.json?limit=100&page={}&tags="


class Board(services.Board):
    """A board: its hosts, the request for a page of a search, and how many files of the day a client saves."""

    def __init__(self, name, hosts, page, wanted):
        self.name, self.hosts, self.page_of, self.wanted = name, hosts, page, wanted


ALL = {board.name: board for board in (
    Board("danbooru", ["danbooru.donmai.us", "cdn.donmai.us"], "/posts.json?limit=200&page={}&tags=", 60),
    Board("yandere", ["yande.re", "files.yande.re", "assets.yande.re"], MOEBOORU, 30),
    Board("konachan", ["konachan.com", "konachan.net"], MOEBOORU, 30),
)}


def command(*words):
    subprocess.run(words, check=True, capture_output=True, timeout=TIMEOUT)


def listed(origin, tags):
    """The posts of a search, page after page, as the origin lists them."""
    posts, page = [], 1
    while found := json.loads(origin.get(origin.service.page_of.format(page) + urllib.parse.quote(tags))):
        posts += found
        page += 1
    return posts


def entries(folder, ordered=list):
    """The names and the numbers of the posts that a folder of a mount shows, without those that are withheld."""
    names = ordered(os.listdir(folder))
    shown = [name for name in names if os.stat(os.path.join(folder, name)).st_size > 0]
    return shown, [int(os.getxattr(os.path.join(folder, name), "user.rankfs.work")) for name in shown]


def lead(place, origins):
    """The names of boards lead to their origins, and all programs here believe the certificate."""
    with open(place.path("hosts"), "w") as file:
        file.write("127.0.0.1 localhost " + " ".join(name for origin in origins for name in origin.service.hosts) + "\n")
    command("mount", "--bind", file.name, "/etc/hosts")
    command("mount", "--bind", place.authority, AUTHORITIES)
    command("ip", "link", "set", "lo", "up")
    servers = "".join(
        f"server {{ listen 127.0.0.1:80; listen 127.0.0.1:443 ssl; server_name {' '.join(origin.service.hosts)};"
        f" ssl_certificate {place.leaf}; ssl_certificate_key {place.key};"
        # What the engine called its list before.
        f" rewrite ^/post/index.json$ /post.json;"
        f" location / {{ proxy_pass {origin.url}; proxy_set_header Host $host; proxy_http_version 1.1; }} }}\n"
        for origin in origins)
    folders = " ".join(f"{name}_temp_path {place.path(name)};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(place.path("nginx.conf"), "w") as file:
        file.write(
            f"daemon off; pid {place.path('nginx.pid')}; user root; worker_processes 1;\nevents {{}}\n"
            f"http {{ access_log off; {folders}\n{servers}}}\n")
    process = place.start("nginx", ["/usr/sbin/nginx", "-c", file.name, "-e", place.path("nginx.err")])
    parts.wait_for(lambda: os.path.exists(place.path("nginx.pid")) or process.poll() is not None, "nginx")


def check(name, place, origin, tags, found, path, saved, doors=()):
    """Prints a comparison of a client's list and files of the day with origin and mount; returns whether all is equal.

    `found` are numbers of posts in order, `path` is that of a post's file, of which the first `saved` posts have one. Of each door, the
    folder of a mount with another list, it has the numbers.
    """
    service, posts = origin.service.name, listed(origin, tags)
    visible, failures, equal = [post for post in posts if "file_url" in post], [], 0

    def expect(agrees, sentence):
        if not agrees:
            failures.append(sentence)

    expect(found == [post["id"] for post in visible],
           f"{name} lists {len(found)} posts, not the {len(visible)} served, or in another order")
    files = {}
    for post in (post for post in saved(posts) if "file_url" in post):
        if not os.path.exists(path(post["id"])):
            failures.append(f"{post['id']} ({post['file_url']}) was not saved")
            continue
        with open(path(post["id"]), "rb") as file:
            data = files[post["id"]] = file.read()
        expect(hashlib.md5(data).hexdigest() == post["md5"] and len(data) == post["file_size"],
               f"the file of {post['id']} is not the one listed")
    kinds = sorted({urllib.parse.urlsplit(post["file_url"]).path.rsplit(".")[-1] for post in saved(posts) if "file_url" in post})
    mount = parts.Mount(place, origin, service=origin.service)
    day, copy, counts = f"{mount.path}/ranking/day/{DAY}", place.path(f"copy-{service}"), []
    shown, ids = entries(day, sorted)
    expect(ids == found, f"the mount lists {len(ids)} posts, not the {len(found)} of {name}, or in another order")
    os.makedirs(copy)
    wanted = [(one, number) for one, number in zip(shown, ids) if number in files]
    command("cp", "-r", *[os.path.join(day, one) for one, _ in wanted], copy)
    for one, number in wanted:
        with open(os.path.join(copy, one), "rb") as file:
            same = file.read() == files[number]
        expect(same, f"the mount's {one} is not what {name} saved")
        equal += same
    for door, numbers in doors:
        _, ids = entries(os.path.join(mount.path, door))
        counts.append(f"; {door} {len(ids)}")
        expect(ids and ids == numbers, f"{door} has {len(ids)} posts, not the {len(numbers)} of {name}, or in another order")
    mount.unmount()
    print(f"{service}: {len(found)} of {len(posts)} posts listed, {len(files)} files saved ({', '.join(kinds)}), "
          f"{equal} compared with cp -r from the mount{''.join(counts)}" + (": all equal" if not failures else ""))
    for failure in failures[:5]:
        print(f"  {failure}")
    return not failures
