#!/usr/bin/env python3
"""Runs gallery-dl against the embedded origin as Danbooru, yande.re and konachan, and holds what it lists and saves against the
lists of the origin and against a mount (boards.py).

usage: gallerydl.py PYTHON

PYTHON has gallery-dl (pip install gallery-dl). PROGRAMS names the folder of rankfs and its companions.
"""

import json
import os
import subprocess
import sys
import urllib.parse

import boards
import parts

# gallery-dl's names of a board's engine and of the board, the address of a search, and its tags.
BOARDS = {
    "danbooru": ("Danbooru", "danbooru", "https://danbooru.donmai.us/posts?tags=", f"date:{boards.DAY} order:score"),
    "yandere": ("moebooru", "yandere", "https://yande.re/post?tags=", f"date:{boards.DAY} order:score rating:s"),
    "konachan": ("moebooru", "konachan", "https://konachan.com/post?tags=", f"date:{boards.DAY} order:score rating:s"),
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


def run(python, config, place, *arguments):
    """What gallery-dl prints."""
    done = subprocess.run(
        [python, "-m", "gallery_dl", "--config-ignore", "--config", config, *arguments], cwd=place.folder, capture_output=True,
        env=dict(os.environ, HOME=place.folder, XDG_CONFIG_HOME=place.folder, REQUESTS_CA_BUNDLE=place.authority), text=True,
        timeout=boards.TIMEOUT)
    if done.returncode not in (0, 4):  # 4: a file was missing
        sys.exit(f"gallery-dl ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def check(python, place, origin):
    """Whether one board is as gallery-dl has it."""
    board = origin.service
    engine, category, address, tags = BOARDS[board.name]
    folder, config = place.path(board.name), place.path(board.name + ".json")
    settings = {
        "base-directory": folder, "retries": 1, "sleep-request": 0, category: {"ugoira": True},
        engine: {"ugoira": True, "sleep-request": 0},
    }
    with open(config, "w") as file:
        downloader = {"http": {"adjust-extensions": False}}
        json.dump({"extractor": settings, "downloader": downloader, "output": {"mode": "null"}}, file)
    url = address + urllib.parse.quote(tags)

    def seen(url):
        """The posts that a mount shows without options, of those that gallery-dl lists."""
        entries = json.loads(run(python, config, place, "--dump-json", url))
        return [entry[-1]["id"] for entry in entries if entry[0] == 3 and entry[-1]["rating"] in "gs"]

    run(python, config, place, "--range", f"1-{board.wanted}", "--filename", "{id}.bin", "--directory", folder, url)
    return boards.check(
        "gallery-dl", place, origin, tags, seen(url), lambda number: f"{folder}/{number}.bin",
        lambda posts: [post for post in posts if "file_url" in post][:board.wanted],
        [(door, seen(url)) for door, url in DOORS[board.name]])


def main():
    with parts.Place(names=[name for board in boards.ALL.values() for name in board.hosts]) as place:
        origins = [parts.Origin(place, "--now", str(boards.NOW), service=board) for board in boards.ALL.values()]
        boards.lead(place, origins)
        sys.exit(not all([check(os.path.abspath(sys.argv[1]), place, origin) for origin in origins]))


if __name__ == "__main__":
    main()
