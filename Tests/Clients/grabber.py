#!/usr/bin/env python3
"""Runs Imgbrd-Grabber's command line against the embedded origin as Danbooru and yande.re, and holds what it lists and saves against
the lists of the origin and against a mount (boards.py).

usage: grabber.py GRABBER SITES

GRABBER is the built Grabber-cli, SITES its folder of sites (with model.js made of each model.ts). PROGRAMS names the folder of rankfs and
its companions.
"""

import json
import os
import shutil
import subprocess
import sys

import boards
import parts

# Grabber's name of a board's engine, its tags, and the posts of a page.
BOARDS = {
    "danbooru": ("Danbooru (2.0)", f"date:{boards.DAY} order:score rating:g", 200),
    "yandere": ("Moebooru", f"date:{boards.DAY} order:score rating:s", 100),
}


def grabber(program, home, site, tags, *arguments):
    """What Grabber prints."""
    environment = dict(os.environ, HOME=home, QT_QPA_PLATFORM="offscreen", XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home)
    done = subprocess.run(
        [program, "-s", site, "-t", tags, "--no-login", "--ignore-error", *arguments], env=environment, cwd=home,
        capture_output=True, text=True, timeout=boards.TIMEOUT)
    if done.returncode != 0:
        sys.exit(f"Grabber ended with {done.returncode}:\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def check(program, home, place, origin):
    """Whether one board is as Grabber has it."""
    board = origin.service
    _, tags, size = BOARDS[board.name]
    answer = grabber(program, home, board.hosts[0], tags, "-i", str(size), "-m", "1000", "--return-images", "--json")
    found = [int(post["id"]) for post in json.loads(answer) if post.get("url_file")]
    folder = place.path(board.name)
    os.makedirs(folder)
    grabber(program, home, board.hosts[0], tags, "-i", str(size), "-m", str(board.wanted), "--download", "-l", folder, "-f", "%id%.bin")
    # It counts posts without a file.
    return boards.check(
        "Grabber", place, origin, tags, found, lambda number: f"{folder}/{number}.bin", lambda posts: posts[:board.wanted])


def main():
    program, sites = map(os.path.abspath, sys.argv[1:3])
    chosen = [boards.ALL[name] for name in BOARDS]
    with parts.Place(names=[name for board in chosen for name in board.hosts]) as place:
        home = place.path("home")
        os.makedirs(os.path.join(home, "Grabber", "sites"))
        shutil.copy(os.path.join(sites, "helper.js"), os.path.join(home, "Grabber", "sites"))
        for model, *_ in BOARDS.values():
            shutil.copytree(os.path.join(sites, model), os.path.join(home, "Grabber", "sites", model))
        # Danbooru turns away whoever calls itself a browser, as Grabber does unless it is told otherwise.
        with open(os.path.join(home, "Grabber", "settings.ini"), "w") as file:
            file.write("[General]\nuserAgent=Grabber/7.13.0\nsource_1=json\n")
        origins = [parts.Origin(place, "--now", str(boards.NOW), service=board) for board in chosen]
        boards.lead(place, origins)
        sys.exit(not all([check(program, home, place, origin) for origin in origins]))


if __name__ == "__main__":
    main()
