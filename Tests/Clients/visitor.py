#!/usr/bin/env python3
"""A small client of pixiv's web API that shares nothing with rankfs: only Python's own library.

Written from the description of the service and from recorded answers. It notes what it is told and what it downloads
in a catch, a directory that `compare.py` holds against mounts:

    catch.jsonl   one JSON object a line: {"list", "entries"}, {"picture", "work", "page", "as"}, {"archive", "work", "frames"}
    *             the files downloaded, as they came

usage: visitor.py --api URL --images URL --catch DIR [--pictures N] WHAT...

WHAT is ranking:MODE:YYYY-MM-DD:PAGE, author:ID, work:ID, search:WORDS:PAGES or animation:ID; N is how many works of
each list are downloaded.
"""

import argparse
import json
import pathlib
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

REFERER = "https://www.pixiv.net/"
# What one request for short records may ask for.
MOST_IDS = 100


class Visitor:
    def __init__(self, api, images, catch):
        self.api, self.images = api.rstrip("/"), images.rstrip("/")
        self.catch = pathlib.Path(catch)
        self.catch.mkdir(parents=True, exist_ok=True)
        # Both hosts are on loopback: no proxy of the environment has a part in it.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, url):
        request = urllib.request.Request(url, headers={"Referer": REFERER, "User-Agent": "Mozilla/5.0"})
        with self.opener.open(request, timeout=60) as answer:
            return answer.read()

    def ask(self, path, **query):
        return json.loads(self.get(self.api + path + "?" + urllib.parse.urlencode(query, doseq=True)))

    def body(self, path, **query):
        answer = self.ask(path, **query)
        if answer["error"]:
            raise RuntimeError(f"{path}: {answer['message']}")
        return answer["body"]

    def note(self, **line):
        with open(self.catch / "catch.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def download(self, url, kind):
        # Renditions of one picture have the same name.
        name = kind + "-" + url.rsplit("/", 1)[1]
        (self.catch / name).write_bytes(self.get(self.images + urllib.parse.urlsplit(url).path))
        return name

    # Lists

    def ranking(self, mode, day, page, pictures):
        answer = self.ask("/ranking.php", format="json", mode=mode, date=day.replace("-", ""), p=page)
        if answer["date"] != day.replace("-", ""):
            raise RuntimeError(f"asked for {day}, got {answer['date']}")
        shown = [slot for slot in answer["contents"] if not withheld(slot)]
        entries = [
            {"work": int(slot["illust_id"]), "rank": slot["rank"], "withheld": True}
            if withheld(slot)
            else {
                "work": int(slot["illust_id"]),
                "rank": slot["rank"],
                "title": slot["title"],
                "user": int(slot["user_id"]),
                "author": slot["user_name"],
                "tags": slot["tags"],
                "width": slot["width"],
                "height": slot["height"],
                "time": slot["illust_upload_timestamp"],
            }
            for slot in answer["contents"]
        ]
        self.note(list=f"ranking/{mode}/{day}", entries=entries)
        for slot in shown[:pictures]:
            small = slot["url"]
            self.note(picture=self.download(small, "small"), work=int(slot["illust_id"]), page=0, **{"as": "small"})
            regular = re.sub(r"/c/\d+x\d+/", "/", small)
            name = self.download(regular, "regular")
            self.note(picture=name, work=int(slot["illust_id"]), page=0, **{"as": "regular"})

    def author(self, user, pictures):
        everything = self.body(f"/ajax/user/{user}/profile/all")
        # Empty maps come as lists.
        ids = sorted((int(i) for kind in ("illusts", "manga") for i in everything[kind]), reverse=True)
        entries = []
        for start in range(0, len(ids), MOST_IDS):
            part = ids[start : start + MOST_IDS]
            works = self.body(
                f"/ajax/user/{user}/profile/illusts",
                **{"ids[]": part, "work_category": "illustManga", "is_first_page": int(start == 0)},
            )["works"]
            entries += [brief(works[str(i)]) for i in part if str(i) in works]
        self.note(list=f"users/{user}", whole=True, entries=entries)
        self.pictures(entries, pictures)

    def search(self, words, pages, pictures):
        path = "/ajax/search/artworks/" + urllib.parse.quote(words, safe="")
        entries = []
        for page in range(1, pages + 1):
            found = self.body(path, word=words, order="date_d", mode="all", p=page, s_mode="s_tag", type="all")
            entries += [brief(work) for work in found["illustManga"]["data"] if not work.get("isAdContainer")]
            if page >= found["illustManga"].get("lastPage", page):
                break
        self.note(list=f"search/{words}", entries=entries)
        self.pictures(entries, pictures)

    # Works

    def pictures(self, entries, most):
        for entry in [entry for entry in entries if not entry.get("withheld")][:most]:
            work = entry["work"]
            regular = self.work(work)[0]["urls"]["regular"]
            self.note(picture=self.download(regular, "regular"), work=work, page=0, **{"as": "regular"})

    # Works

    def work(self, work):
        pages = self.body(f"/ajax/illust/{work}/pages")
        for number, page in enumerate(pages):
            try:
                name = self.download(page["urls"]["original"], "original")
            except urllib.error.HTTPError as refusal:
                # Some originals answer 500 for good; then the smaller picture is what there is.
                if refusal.code != 500:
                    raise
                continue
            self.note(picture=name, work=work, page=number, **{"as": "original"})
        return pages

    def details(self, work):
        record = self.body(f"/ajax/illust/{work}")
        self.note(
            record=work,
            title=record["title"],
            author={"id": int(record["userId"]), "name": record["userName"]},
            tags=[tag["tag"] for tag in record["tags"]["tags"]],
            width=record["width"],
            height=record["height"],
            page_count=record["pageCount"],
            views=record["viewCount"],
            likes=record["likeCount"],
            bookmarks=record["bookmarkCount"],
        )

    def animation(self, work):
        moving = self.body(f"/ajax/illust/{work}/ugoira_meta")
        frames = [[frame["file"], frame["delay"]] for frame in moving["frames"]]
        self.note(archive=self.download(moving["originalSrc"], "archive"), work=work, frames=frames)


def withheld(slot):
    return "/limit_" in slot["url"]


def brief(work):
    if withheld(work) or work.get("isMasked"):
        return {"work": int(work["id"]), "withheld": True}
    return {
        "work": int(work["id"]),
        "title": work["title"],
        "user": int(work["userId"]),
        "author": work["userName"],
        "tags": work["tags"],
        "width": work["width"],
        "height": work["height"],
    }


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--api", default="https://www.pixiv.net")
    parser.add_argument("--images", default="https://i.pximg.net")
    parser.add_argument("--catch", required=True)
    parser.add_argument("--pictures", type=int, default=5)
    parser.add_argument("what", nargs="+")
    options = parser.parse_args()
    visitor = Visitor(options.api, options.images, options.catch)
    for what in options.what:
        kind, *rest = what.split(":")
        if kind == "ranking":
            visitor.ranking(rest[0], rest[1], int(rest[2]), options.pictures)
        elif kind == "author":
            visitor.author(int(rest[0]), options.pictures)
        elif kind == "search":
            visitor.search(":".join(rest[:-1]), int(rest[-1]), options.pictures)
        elif kind == "work":
            visitor.details(int(rest[0]))
            visitor.work(int(rest[0]))
        elif kind == "animation":
            visitor.details(int(rest[0]))
            visitor.animation(int(rest[0]))
        else:
            sys.exit(f"visitor.py: {what} is nothing that can be asked for")


if __name__ == "__main__":
    main()
