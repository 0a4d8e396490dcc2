#!/usr/bin/env python3
"""Runs Imgbrd-Grabber's command line against the embedded origin as Danbooru and yande.re, and holds what it lists and saves against
the lists of the origin and against a mount.

usage: grabber.py GRABBER SITES PROGRAMS WORK

GRABBER is the built Grabber-cli, SITES its folder of sites (with model.js made of each model.ts), PROGRAMS is where rankfs and its
companions are, WORK an empty directory. To be run as root in namespaces of its own for network and mounts, as `run` does: there the real
names lead to loopback, where nginx has certificates for them and passes everything on to the origin.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time

import gallerydl

SERVICES = {
    "danbooru": (
        "Danbooru (2.0)", "danbooru.donmai.us", ["danbooru.donmai.us", "cdn.donmai.us"],
        f"date:{gallerydl.DAY} order:score rating:g", 200, 60),
    "yandere": (
        "Moebooru", "yande.re", ["yande.re", "files.yande.re", "assets.yande.re"],
        f"date:{gallerydl.DAY} order:score rating:s", 100, 30),
}
# Where OpenSSL of this system has its authorities.
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"


def command(*words):
    subprocess.run(words, check=True, capture_output=True, timeout=60)


def certify(work, names):
    """An authority that only this namespace believes, and a certificate for the names."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority, leaf = (os.path.join(work, name) for name in ("authority", "leaf"))
    command("openssl", "req", "-x509", *key, "-days", "2", "-subj", "/CN=rankfs clients", "-keyout", authority + ".key", "-out", authority + ".pem")
    command("openssl", "req", *key, "-subj", "/CN=" + names[0], "-keyout", leaf + ".key", "-out", leaf + ".csr")
    with open(leaf + ".ext", "w") as file:
        file.write("subjectAltName=" + ",".join("DNS:" + name for name in names))
    command(
        "openssl", "x509", "-req", "-in", leaf + ".csr", "-CA", authority + ".pem", "-CAkey", authority + ".key", "-CAcreateserial",
        "-days", "2", "-extfile", leaf + ".ext", "-out", leaf + ".pem")
    command("mount", "--bind", authority + ".pem", AUTHORITIES)


def lead(work, names):
    """The names lead to loopback."""
    hosts = os.path.join(work, "hosts")
    with open(hosts, "w") as file:
        file.write("127.0.0.1 localhost " + " ".join(names) + "\n")
    command("mount", "--bind", hosts, "/etc/hosts")
    command("ip", "link", "set", "lo", "up")


def front(work, origins):
    """nginx, which passes on what comes for each service's names."""
    servers = "".join(
        f"server {{ listen 127.0.0.1:80; listen 127.0.0.1:443 ssl; server_name {' '.join(SERVICES[service][2])};"
        f" ssl_certificate {work}/leaf.pem; ssl_certificate_key {work}/leaf.key;"
        # What the engine called its list before.
        f" rewrite ^/post/index.json$ /post.json;"
        f" location / {{ proxy_pass {origin}; proxy_set_header Host $host; proxy_http_version 1.1; }} }}\n"
        for service, origin in origins.items())
    folders = " ".join(f"{name}_temp_path {work}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(os.path.join(work, "nginx.conf"), "w") as file:
        file.write(
            f"daemon off; pid {work}/nginx.pid; error_log {work}/nginx.err; user root; worker_processes 1;\nevents {{}}\n"
            f"http {{ access_log {work}/nginx.log; {folders}\n{servers}}}\n")
    process = subprocess.Popen(["nginx", "-c", os.path.join(work, "nginx.conf"), "-e", os.path.join(work, "nginx.err")])
    while not os.path.exists(os.path.join(work, "nginx.pid")):
        if process.poll() is not None:
            sys.exit("nginx did not start")
        time.sleep(0.05)
    return process


def grabber(program, home, site, tags, arguments):
    """What Grabber prints."""
    environment = dict(os.environ, HOME=home, QT_QPA_PLATFORM="offscreen", XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home)
    done = subprocess.run(
        [program, "-s", site, "-t", tags, "--no-login", "--ignore-error", *arguments], env=environment, cwd=home,
        capture_output=True, text=True, timeout=gallerydl.TIMEOUT)
    if done.returncode != 0:
        sys.exit(f"Grabber ended with {done.returncode}:\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def check(program, home, programs, service, origin, work):
    """The failures of one service, and a line about what was compared."""
    _, site, _, tags, size, wanted = SERVICES[service]
    posts = gallerydl.listed(origin, service, tags)
    visible = [post for post in posts if "file_url" in post]
    answer = grabber(program, home, site, tags, ["-i", str(size), "-m", "1000", "--return-images", "--json"])
    found = [int(post["id"]) for post in json.loads(answer) if post.get("url_file")]
    failures = []
    if found != [post["id"] for post in visible]:
        failures.append(f"{service}: Grabber lists {len(found)} posts, not the {len(visible)} served, or in another order")
    folder = os.path.join(work, service)
    os.makedirs(folder)
    grabber(program, home, site, tags, ["-i", str(size), "-m", str(wanted), "--download", "-l", folder, "-f", "%id%.bin"])
    saved = {}
    first = [post for post in posts[:wanted] if "file_url" in post]
    for post in first:
        path = os.path.join(folder, f"{post['id']}.bin")
        if not os.path.exists(path):
            failures.append(f"{service}: {post['id']} ({post['file_url']}) was not saved")
            continue
        saved[post["id"]] = path
        with open(path, "rb") as file:
            data = file.read()
        if hashlib.md5(data).hexdigest() != post["md5"] or len(data) != post["file_size"]:
            failures.append(f"{service}: the file of {post['id']} is not the one listed")
    with gallerydl.Mount(programs, service, origin, work) as day:
        others, equal = gallerydl.compare(day, found, saved, service, os.path.join(work, "copy-" + service))
    return failures + others, (
        f"{service}: {len(found)} of {len(posts)} posts listed, {len(saved)} files saved, {equal} compared with cp -r from the mount")


def main():
    program, sites, programs, work = map(os.path.abspath, sys.argv[1:5])
    names = [name for service in SERVICES.values() for name in service[2]]
    certify(work, names)
    lead(work, names)
    home = os.path.join(work, "home")
    os.makedirs(os.path.join(home, "Grabber", "sites"))
    shutil.copy(os.path.join(sites, "helper.js"), os.path.join(home, "Grabber", "sites"))
    for model, *_ in SERVICES.values():
        shutil.copytree(os.path.join(sites, model), os.path.join(home, "Grabber", "sites", model))
    # Danbooru turns away whoever calls itself a browser, as Grabber does unless it is told otherwise.
    with open(os.path.join(home, "Grabber", "settings.ini"), "w") as file:
        file.write("[General]\nuserAgent=Grabber/7.13.0\nsource_1=json\n")
    started = {service: gallerydl.start(programs, service, work) for service in SERVICES}
    server = front(work, {service: origin for service, (_, origin) in started.items()})
    failed = False
    try:
        for service, (_, origin) in started.items():
            failures, line = check(program, home, programs, service, origin, work)
            print(line + (": all equal" if not failures else ""))
            for failure in failures[:5]:
                print("  " + failure)
            failed = failed or bool(failures)
    finally:
        for process in [server, *(process for process, _ in started.values())]:
            process.terminate()
            process.wait(10)
    sys.exit(failed)


if __name__ == "__main__":
    main()
