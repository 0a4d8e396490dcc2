#!/usr/bin/env python3
"""Runs PixivUtil2 (github.com/Nandaka/PixivUtil2) from a checkout and notes what it parsed and saved in a catch (see visitor.py).

Lists are parsed by the program's own classes, files are saved by the program itself, started as a user starts it.

usage: pixivutil2.py CHECKOUT CATCH WHAT..., where WHAT is ranking:YYYY-MM-DD:PAGE, save-ranking:PAGE (the newest day), author:ID,
save-author:ID:PAGE, search:WORDS:PAGES, save-search:WORDS, work:ID, animation:ID, author-tag:ID:TAG, series:ID or save-series:ID:PAGE.

With the cookie of a session in SESSION also feed:PAGES, save-feed:PAGE, bookmarks:REST:TAG and save-bookmarks:REST:TAG, the first
page; REST is show or hide, TAG may be empty.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import types

CHECKOUT, CATCH = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
COOKIE = os.environ.get("SESSION", "1000_abcdefgh12345678")
WORKS_PER_PAGE = 48

SETTINGS = f"""[Network]
checkNewVersion = False
downloadDelay = 0
retry = 1
retryWait = 1
[Debug]
enableDump = False
disableLog = True
[Settings]
rootDirectory = {CATCH}
dbPath = {CATCH}/works.sqlite
setLastModified = False
[Filename]
filenameFormat = %urlFilename%
filenameMangaFormat = %urlFilename%
[Authentication]
cookie = {COOKIE}
[Pixiv]
numberOfPage = 0
"""


def note(**line):
    with open(CATCH / "catch.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def run(*arguments):
    """The program as its command line offers it; it says much and always succeeds."""
    with open(CATCH / "program.log", "a", encoding="utf-8") as log:
        subprocess.run(
            [sys.executable, str(CHECKOUT / "PixivUtil2.py"), "-c", str(CATCH / "config.ini"), "-x", *arguments],
            cwd=CATCH,
            env={**os.environ, "PYTHONIOENCODING": "utf-8", "TERM": "dumb"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            timeout=900,
            check=False,
        )


def browser():
    sys.path.insert(0, str(CHECKOUT))
    import common.PixivBrowserFactory as factory
    import common.PixivConfig as configuration
    import common.PixivHelper as helper

    config = configuration.PixivConfig()
    config.loadConfig(str(CATCH / "config.ini"))
    helper.set_config(config)
    return factory.getBrowser(config=config), helper


def bookmarked(client, rest, tag):
    """The numbers of the works that the user bookmarked, as the program collects them before it saves them."""
    import handler.PixivBookmarkHandler as handler

    caller = types.SimpleNamespace(__br__=client)
    return handler.get_image_bookmark(caller, client._config, rest == "hide", tag=tag)[0]


# The folder of a mount with a list of bookmarks, and what the option -p of the program calls it.
BOOKMARKS = {"show": ("bookmarks", "n"), "hide": ("bookmarks-private", "o")}


def main():
    CATCH.mkdir(parents=True, exist_ok=True)
    (CATCH / "config.ini").write_text(SETTINGS, encoding="utf-8")
    os.chdir(CATCH)
    client, helper = browser()
    if "SESSION" in os.environ and not client.loginUsingCookie():
        sys.exit("pixivutil2.py: not signed in")
    frames = {}
    for what in sys.argv[3:]:
        kind, *rest = what.split(":")
        if kind == "ranking":
            day, page = rest[0], int(rest[1])
            answer = client.getPixivRanking("daily", page, day.replace("-", ""))
            note(list=f"ranking/daily/{day}", entries=[ranked(slot) for slot in answer.contents])
        elif kind == "author":
            ids, page = [], 1
            while True:
                author, _ = client.getMemberPage(int(rest[0]), page)
                ids += [int(work) for work in author.imageList]
                if author.isLastPage:
                    break
                page += 1
            note(list=f"users/{rest[0]}", whole=True, entries=[{"work": work} for work in ids])
        elif kind == "search":
            ids = []
            for page in range(1, int(rest[1]) + 1):
                found, _ = client.getSearchTagPage(helper.encode_tags(rest[0]), page, wild_card=True)
                ids += [int(work.imageId) for work in found.itemList]
            note(list=f"search/{rest[0]}", entries=[{"work": work} for work in ids])
        elif kind == "author-tag":
            author, tag = rest
            found, ids = None, []
            while not found or not found.isLastPage:
                found, _ = client.getMemberPage(int(author), len(ids) // WORKS_PER_PAGE + 1, tags=helper.encode_tags(tag))
                ids += [int(work) for work in found.imageList]
            note(list=f"author-tags/{author}/{tag}", whole=True, entries=[{"work": work} for work in ids])
        elif kind == "series":
            found, works, page = None, [], 0
            while not found or not found.is_last_page:
                page += 1
                found = client.getMangaSeries(int(rest[0]), page)
                works += found.pages_with_order
            note(list=f"series/{rest[0]}", whole=True, entries=[{"work": int(work), "rank": order} for work, order in works])
        elif kind == "feed":
            ids = []
            for page in range(1, int(rest[0]) + 1):
                found = client.getFollowedNewIllusts(current_page=page)
                ids += found.imageList
            note(list="feed", whole=found.isLastPage, entries=[{"work": work} for work in ids])
        elif kind == "bookmarks":
            folder = f"bookmark-tags/{rest[1]}" if rest[1] else BOOKMARKS[rest[0]][0]
            note(list=folder, whole=True, entries=[{"work": work} for work in bookmarked(client, *rest)])
        elif kind in ("work", "animation"):
            work, _ = client.getImagePage(int(rest[0]))
            note(
                record=int(rest[0]),
                title=work.imageTitle,
                author={"id": int(work.artist.artistId), "name": work.artist.artistName},
                tags=work.imageTags,
                views=work.jd_rtv,
                likes=work.jd_rtc,
                bookmarks=work.bookmark_count,
                page_count=work.imageCount,
                created=work.worksDateDateTime.strftime("%Y-%m-%dT%H:%M:%SZ"),
            )
            if kind == "animation":
                frames[int(rest[0])] = [[f["file"], f["delay"]] for f in json.loads(work.ugoira_data)["frames"]]
            run("-s", "2", rest[0])
        elif kind == "save-ranking":
            run("-s", "16", "--rm", "daily", "--rc", "all", "--sp", rest[0], "--ep", rest[0], "x")
        elif kind == "save-author":
            run("-s", "1", "--sp", rest[1], "--ep", rest[1], rest[0])
        elif kind == "save-search":
            run("-s", "3", "--wt", rest[0])
        elif kind == "save-series":
            run("-s", "13", "--sp", rest[1], "--ep", rest[1], rest[0])
        elif kind == "save-feed":
            run("-s", "8", "--sp", rest[0], "--ep", rest[0])
        elif kind == "save-bookmarks":
            run("-s", "6", "-p", BOOKMARKS[rest[0]][1], "--sp", "1", "--ep", "1", *filter(None, rest[1:]))
        else:
            sys.exit(f"pixivutil2.py: {what} is nothing that can be asked for")
    saved(frames)


def ranked(slot):
    told = {"work": int(slot["illust_id"]), "rank": slot["rank"]}
    if "/limit_" in slot["url"]:
        return {**told, "withheld": True}
    return {
        **told,
        "title": slot["title"],
        "user": int(slot["user_id"]),
        "author": slot["user_name"],
        "tags": slot["tags"],
        "width": slot["width"],
        "height": slot["height"],
        "time": slot["illust_upload_timestamp"],
    }


def saved(frames):
    """Notes the files that the program left behind, by the names that the image host gave them."""
    for path in sorted(CATCH.iterdir()):
        name = path.name
        if page := re.fullmatch(r"(\d+)(?:-[0-9a-f]{32})?_p(\d+)\.\w+", name):
            note(picture=name, work=int(page[1]), page=int(page[2]), **{"as": "original"})
        elif archive := re.fullmatch(r"(\d+)(?:-[0-9a-f]{32})?_ugoira1920x1080\.zip", name):
            note(archive=name, work=int(archive[1]), frames=frames.get(int(archive[1])))


if __name__ == "__main__":
    main()
