"""The services over which scripts go: what they have to know of each, and nothing of how the program under test asks it.

Each has one ranking that is long enough for them, whose directories are days or, where a day has few posts, weeks.
"""

import argparse
import datetime
import json
import os
import re
import urllib.parse
import zoneinfo


class Service:
    """What is the same of all."""

    # Its name for `rankfs mount` and rankfs-origin, and the ranking that is used.
    name, mode = "", "day"
    # Another ranking, of which any day can be asked for.
    other_mode = "month"
    # Days from one directory of that ranking to the next.
    step = 1
    # The directory that scripts use when any would do.
    day = "2024-05-01"
    # Entries of each day that a program copies where days without a withheld picture are needed: of more, none would be without.
    copied = 100
    # How many others on one screen a picture may look like: the origin draws each of pixiv's by itself.
    alike = 1
    # How many of a hundred at random are different to look at, at least.
    different = 60
    # API requests that a walk may cost in its first minute and in each later one.
    walk = (90, 50)
    # Requests by path: of the API, of previews, of pictures.
    api, previews, pictures = re.compile(""), re.compile(""), re.compile("")
    # Directories of authors, one of them with many works, and what the API is asked for those: its group tells the author.
    authors, author, author_asked = "users", "", re.compile("")
    # Folders of the root besides rankings, below the mount, that hold between two and some hundred pictures; and the user by whose
    # session they are seen, if any.
    doors, user = (), None
    # An animation that players open, below the mount.
    film = ""
    # How the address of a work's page begins.
    page_of_work = ""
    # Sent with requests that scripts send themselves.
    headers = {}

    def entries(self, origin, day):
        """The ranking of a day as the origin tells it: `Entry` by `Entry`, as far as the mount shows them."""
        raise NotImplementedError

    def page(self, day, page):
        """Part of the path by which a page of a day's ranking is asked for, and nothing else."""
        raise NotImplementedError

    def newest(self, now):
        """The newest directory of the ranking at a moment."""
        raise NotImplementedError

    def session(self, place):
        """The options by which a mount is signed in as `user`."""
        if not self.user:
            return []
        with open(place.path("cookies.txt"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(f"127.0.0.1\tFALSE\t/\tFALSE\t0\tPHPSESSID\t{self.user}_visitorsecret\n")
        return [f"cookies={file.name}"]

    def recent(self, count, skip=1):
        """Published days, newest first, from `skip` before the newest one."""
        newest = self.newest(datetime.datetime.now(datetime.timezone.utc))
        return [(newest - datetime.timedelta(days=self.step * (skip + index))).isoformat() for index in range(count)]


class Entry:
    """An entry of a ranking: its rank, and the path of the picture that the mount shows; None if it is withheld."""

    def __init__(self, rank, path):
        self.rank, self.path = rank, path


class Pixiv(Service):
    name, mode, other_mode = "pixiv", "daily", "weekly"
    api = re.compile(r"/(ranking\.php|ajax/|rpc/)")
    previews = re.compile(r"/c/|.*_(square|custom)1200\.jpg$")
    pictures = re.compile(r"/img-(master|original|zip-ugoira)/")
    author, author_asked = "1001", re.compile(r"/ajax/user/(\d+)")
    film = "works/900600000/ugoira.mkv"
    doors = ("related/900600000", "collections/35931581765300001006", "author-tags/1006/landscape",
             "search/風景,size=1500,shape=landscape", "series/7045", "feed", "bookmark-tags/未分類", "bookmark-months/2024-05",
             "bookmarks-private")
    # Follows few authors, who have few works.
    user = 1007
    page_of_work = "https://www.pixiv.net/artworks/"
    headers = {"Referer": "https://www.pixiv.net/"}

    def entries(self, origin, day):
        found = []
        for page in range(1, 11):
            answer = json.loads(origin.get("/ranking.php?format=json&mode=daily&" + self.page(day, page)))
            for entry in answer["contents"]:
                path = urllib.parse.urlsplit(entry["url"]).path
                picture = re.sub(r"^/c/[0-9x]+(_[0-9]+)?(_[a-z0-9]+)?/", "/", path)
                found.append(Entry(entry["rank"], None if "/limit_" in path else picture))
            if answer["next"] is False:
                break
        return found

    def page(self, day, page):
        return f"date={day.replace('-', '')}&p={page}"

    def newest(self, now):
        """A ranking appears at noon in Japan (3:00 UTC) of the day after."""
        return (now - datetime.timedelta(hours=3)).date() - datetime.timedelta(days=1)


class Board(Service):
    """An image board: originals, of which the listing tells size and digest."""

    # All posts are of some thirty drawings.
    alike, different = 7, 15
    authors, author = "artists", "busy_artist"
    api = re.compile(r"/[^?]*\.json")
    # Posts on a page of a listing, and where lists of posts are.
    per_page, lists = 100, "/post.json"
    rating, zone = "s", "UTC"
    # The first of the posts that the help of rankfs-origin tells of.
    landmarks = 0
    # Ten that are left to people, and one a second: no minute has more.
    walk = (70, 70)

    @property
    def film(self):
        return f"works/{self.landmarks + 3}/original.mp4"

    def days(self, day):
        """What is asked for to get the ranking of a directory: a day, or the first and the last one of a week."""
        last = datetime.date.fromisoformat(day) + datetime.timedelta(days=self.step - 1)
        return day if self.step == 1 else f"{day}..{last.isoformat()}"

    def page(self, day, page):
        return f"date:{self.days(day)}+order:score+rating:{self.rating}&limit={self.per_page}&page={page}"

    def entries(self, origin, day):
        found, page = [], 1
        while posts := json.loads(origin.get(f"{self.lists}?tags={self.page(day, page)}")):
            found += posts
            page += 1
        ranked = enumerate(found, 1)
        # Flash files are left out; their ranks are gaps.
        return [self.entry(rank, post) for rank, post in ranked if not (post.get("file_url") or "").endswith(".swf")]

    def entry(self, rank, post):
        path = urllib.parse.urlsplit(post["file_url"]).path if post.get("file_url") else None
        return Entry(rank, path)

    def newest(self, now):
        """A day is complete at midnight where the board is; weeks begin on Mondays."""
        newest = now.astimezone(zoneinfo.ZoneInfo(self.zone)).date() - datetime.timedelta(days=self.step)
        return newest - datetime.timedelta(days=newest.weekday() if self.step == 7 else 0)


class Danbooru(Board):
    name = "danbooru"
    doors = ("pools/Book_of_2024-04-30", "favgroups/6917", "hot", "favorites/someone", "family/10622977")
    # About one in a hundred is withheld from everybody without an account.
    copied = 20
    per_page, lists, rating, zone = 200, "/posts.json", "g", "America/New_York"
    previews = re.compile(r"/(180x180|360x360|720x720)/")
    pictures = re.compile(r"/(original|sample)/")
    author_asked = re.compile(r"/posts\.json\?tags=([^&+:]+)\+rating:")
    landmarks = 10_622_977
    page_of_work = "https://danbooru.donmai.us/posts/"


class Yandere(Board):
    name, mode, step = "yandere", "week", 7
    day = "2024-04-29"
    doors = ("pools/Book_of_2024-04-30", "favorites/someone", "family/829697")
    previews = re.compile(r"/data/preview/")
    pictures = re.compile(r"/(image|sample|jpeg)/")
    author_asked = re.compile(r"/post\.json\?(?:[^&]*&)*tags=([^&+:]+)\+rating:")
    landmarks = 829_697
    page_of_work = "https://yande.re/post/show/"


PIXIV = Pixiv()
ALL = {service.name: service for service in (PIXIV, Danbooru(), Yandere())}


def add_option(parser):
    """`--service NAME`; the services chosen are in `options.services`."""
    class Choice(argparse.Action):
        def __call__(self, parser, namespace, name, _=None):
            setattr(namespace, self.dest, list(ALL.values()) if name == "all" else [ALL[name]])

    parser.add_argument("--service", dest="services", action=Choice, choices=[*ALL, "all"], default=[PIXIV],
                        help="whose pictures: %(choices)s (pixiv)")
