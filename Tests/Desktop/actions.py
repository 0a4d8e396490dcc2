#!/usr/bin/env python3
"""The actions of rankfs in the context menus of file managers, by keyboard, on a desk of their own.

    Tests/Desktop/actions.py [--out FOLDER] [--service pixiv|danbooru|yandere] [entry] [PROGRAM…]

Installs mount-helper/desktop into a folder, mounts an origin's pictures, opens a day in each program, opens the context menu of a
picture and of a folder, chooses each action and looks at what came of it: which address the browser got, which folder was opened,
what the mount says of the picture, which notifications came. Then the same outside of the mount, where nothing may be shown.
Screenshots and a table go to FOLDER (build/desktop). PROGRAMS names the folder of the programs, .build/release if unset.

Needs: xvfb openbox xdotool imagemagick at-spi2-core python3-pyatspi dbus gvfs librsvg2-common, the programs, and
python3-nautilus nemo-python python3-caja thunarx-python.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "Tests/Wire"))
import parts  # noqa: E402
import services  # noqa: E402
from lab import adopt_orphans  # noqa: E402
from notedesk import Desk  # noqa: E402
from parts import wait_for  # noqa: E402
from service import WatchedOrigin  # noqa: E402

PROGRAMS = {
    "nautilus": ("GNOME", ["nautilus", "--new-window"]),
    "nemo": ("X-Cinnamon", ["nemo", "--no-desktop"]),
    "caja": ("MATE", ["caja", "--no-desktop", "--browser"]),
    "thunar": ("XFCE", ["thunar"]),
    "dolphin": ("KDE", ["dolphin", "--new-window"]),
}
LABELS = {
    "page": "Open the Page of the Work", "author": "Go to the Author", "pages": "All Pages of the Work",
    "keep": "Keep", "release": "Release", "refresh": "Ask Again", "save": "Save Pictures To…",
}
# The rows of Dolphin's menu, which has those of every source.
ROWS = ("page", "author", "pages", "series", "related", "pools", "family", "keep", "release", "refresh", "save")


class Manager:
    """One file manager on the desk."""

    # Letters that open the menu and choose in it; Dolphin's are its own choice, so there arrows go.
    LETTERS = {"page": "p", "author": "u", "pages": "a", "keep": "e", "release": "l", "refresh": "g", "save": "s"}
    # From the end of Dolphin's menu of a file, and of a folder: Properties, Activities, Share, Rankings.
    FROM_END = 4

    def __init__(self, desk, name):
        self.desk, self.name = desk, name
        desktop, self.command = PROGRAMS[name]
        desk.be_at_home(desktop)

    def open(self, path):
        """Starts the program in a folder and waits until the folder has come to rest."""
        self.process = self.desk.start(*self.command, path)
        wait_for(lambda: self.desk.titled(self.name, os.path.basename(path)), f"{self.name} in {path}", 60)
        self.window = self.desk.titled(self.name, os.path.basename(path))[0]
        self.desk.do("xdotool", "windowsize", self.window, "1240", "740", "windowmove", self.window, "20", "30")
        time.sleep(3)
        self.desk.rest()

    def select(self, name):
        """Marks an entry by the beginning of its name."""
        self.desk.do("xdotool", "windowactivate", "--sync", self.window)
        self.desk.key("Escape")
        if self.name == "dolphin":
            self.desk.do("xdotool", "type", "--delay", "60", name)
        else:
            self.desk.key("ctrl+s")
            time.sleep(1)
            self.desk.rest(1.0, 20)
            self.desk.do("xdotool", "type", "--delay", "20", name + "*")
            time.sleep(0.5)
            self.desk.key("Return")
        time.sleep(1)
        self.desk.rest()

    def open_menu(self, picture=None):
        """The context menu, and then rankfs' own in it."""
        self.desk.key("Menu")
        time.sleep(2)
        self.desk.rest()
        if picture:
            self.desk.picture(f"{self.name}-{picture}")
        labels = {label for label, _, _ in self.desk.menus(self.name)}
        self.desk.key(*(["Up"] * self.FROM_END + ["Right"] if self.name == "dolphin" else ["k"]))
        time.sleep(2)
        if picture:
            self.desk.picture(f"{self.name}-{picture}-actions")
        return labels

    def choose(self, action, actions=ROWS):
        if self.name == "dolphin":
            self.desk.key(*["Down"] * actions.index(action), "Return")
        else:
            self.desk.key(self.LETTERS[action])

    def close(self):
        self.desk.key("Escape", "Escape")
        for window in self.desk.windows(self.name):
            self.desk.do("xdotool", "windowquit", window)
        if self.name in ("nautilus", "nemo", "caja", "thunar"):
            self.desk.do(self.name, "--quit", seconds=5)
        parts.end(self.process)


class Trial:
    """What came of each action in one program."""

    def __init__(self, desk, origin, mount, name):
        self.desk, self.origin, self.mount = desk, origin, mount
        self.manager, self.name = Manager(desk, name), name
        self.service = origin.service
        self.day = f"{mount}/ranking/{self.service.mode}/{self.service.day}"
        self.picture = first_with_author(self.day)

    def run(self):
        manager, row = self.manager, {}
        manager.open(self.day)
        first, path = self.picture, f"{self.day}/{self.picture}"
        for action in LABELS:
            manager.select(first[:4])
            labels = manager.open_menu("picture" if action == "page" else None)
            if labels and "menu" not in row:
                row["menu"] = "yes" if "Rankings" in labels else "no"
            effect = self.effect(action, path)
            manager.choose(action)
            row[action] = self.seen(effect)
            if action == "keep":
                time.sleep(3)
                self.desk.picture(self.name + "-kept")
            for window in set(self.desk.windows(self.name)) - {manager.window}:
                if action in ("author", "pages"):
                    self.desk.picture(f"{self.name}-{action}")
                    self.desk.do("xdotool", "windowquit", window)
        if self.name != "thunar" and manager.process.poll() is not None:
            row["menu"] = f"no: the program ended with {manager.process.poll()}"
        manager.close()
        row["folder"] = self.folder()
        row["elsewhere"] = self.elsewhere()
        # Programs whose menus the accessibility bus does not show: what was chosen in it was there.
        row.setdefault("menu", "yes" if row["page"] != "no" else "no")
        return row

    def effect(self, action, path):
        """A question whether the action has been done, which says how that is seen."""
        notices, calls, marks = len(self.desk.notices()), len(self.desk.called()), self.origin.mark()
        work = os.getxattr(path, "user.rankfs.work").decode() if os.path.isfile(path) else ""
        authors, author = author_of(path)

        def kept(value, word):
            is_so = os.getxattr(path, "user.rankfs.kept").decode() == value
            said = self.desk.notices()[notices:]
            return is_so and any(word in notice for notice in said) and f"kept={value}; {said[-1]}"

        def page():
            return next((words[1] for words in self.desk.called()[calls:] if words[1:] == [self.service.page_of_work + work]), None)

        def folder(kind, number):
            return self.desk.titled(self.name, number) and f"window of {kind}/{number}"

        def saved(path):
            # A day in by-date is a link; its pictures are saved where they are.
            copy = self.desk.saved + os.path.realpath(path).removeprefix(self.mount)
            said = [notice for notice in self.desk.notices()[notices:] if notice.startswith("Saved in ")]
            names = os.listdir(path) if os.path.isdir(path) else None
            is_whole = names and os.path.isdir(copy) and set(os.listdir(copy)) == set(names) or not names and os.path.exists(copy)
            return said and is_whole and f"{len(names) if names else 1} saved; {said[-1]}"

        def asked():
            page = self.service.page(self.service.day, 1)
            paths = [entry["path"] for entry in self.origin.since(marks) if page in entry["path"]]
            said = self.desk.notices()[notices:]
            return paths and any("refreshed" in notice for notice in said) and f"asked again; {said[-1]}"

        return {"page": page, "author": lambda: folder(authors, author), "pages": lambda: folder("works", work),
                "keep": lambda: kept("yes", "pinned"), "release": lambda: kept("no", "released"), "refresh": asked,
                "save": lambda: saved(path)}[action]

    def seen(self, effect, seconds=25):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := effect():
                return found
            time.sleep(0.2)
        self.desk.picture(self.name + "-failed")
        return "no"

    def folder(self):
        """The menu of a day in its mode's folder: to ask again is chosen."""
        self.manager.open(os.path.dirname(self.day))
        self.manager.select(self.service.day)
        self.manager.open_menu("folder")
        effect = self.effect("refresh", f"{self.day}/{self.picture}")
        self.manager.choose("refresh", ("keep", "release", "refresh"))
        result = self.seen(effect)
        self.manager.close()
        if result == "no":
            return "no"
        # The same day as a link, by mouse: what copying it cannot do.
        mode, year, month = self.service.mode, *self.service.day.split("-")[:2]
        self.manager.open(f"{self.mount}/by-date/{mode}/{year}/{month}")
        self.manager.select(self.service.day)
        self.manager.open_menu("link")
        effect = self.effect("save", f"{self.mount}/by-date/{mode}/{year}/{month}/{self.service.day}")
        self.manager.choose("save", ("keep", "release", "refresh", "save"))
        result = self.seen(effect, 120)
        self.desk.picture(self.name + "-saved")
        self.manager.close()
        return f"ask again; {result}"

    def elsewhere(self):
        """Outside of the mount nothing may be shown."""
        plain = os.path.join(self.desk.home, "plain")
        os.makedirs(plain, exist_ok=True)
        shutil.copy(f"{self.day}/{self.picture}", plain + "/001-copy.jpg")
        self.manager.open(plain)
        self.manager.select("001-")
        notices, calls = len(self.desk.notices()), len(self.desk.called())
        if self.name == "dolphin":
            # Arrows would choose something else of the menu. This is the question that decides.
            self.desk.key("Menu")
            time.sleep(3)
            self.desk.picture(self.name + "-elsewhere")
            answers = [self.desk.do(
                "gdbus", "call", "--session", "--dest", "org.rankfs.Menus", "--object-path", "/org/rankfs/Menus", "--method",
                "org.rankfs.Menus." + method, f"['file://{plain}/001-copy.jpg']").strip() for method in ("Works", "Own")]
            shown = answers != ["(false,)", "(false,)"]
        else:
            labels = self.manager.open_menu("elsewhere")
            self.desk.key("p")
            time.sleep(3)
            shown = "Rankings" in labels or len(self.desk.notices()) > notices or len(self.desk.called()) > calls
        self.manager.close()
        return "SHOWN" if shown else "nothing"


def author_of(path):
    """The folder of authors and a picture's folder in it; None where it has no author, or more than one."""
    try:
        return "users", os.getxattr(path, "user.rankfs.user").decode()
    except OSError:
        pass
    try:
        creator = os.getxattr(path, "user.dublincore.creator").decode()
    except OSError:
        return "artists", None
    return "artists", None if "," in creator else creator.replace(" ", "_")


def first_with_author(day):
    """The first picture of a day that is not withheld and has one author, whose folder's name is the author's."""
    for name in sorted(os.listdir(day)):
        path = f"{day}/{name}"
        if os.path.getsize(path) and name.endswith((".jpg", ".png")) and author_of(path)[1]:
            return name
    raise SystemExit(f"nothing in {day} has an author")


def entry(desk, origin):
    """What the entry in the menu of applications does, each action after the other; a line for each."""
    address = {"RANKFS_API_URL": origin.url, "RANKFS_IMAGE_URL": origin.url}
    desk.env |= address
    desk.stub("x-terminal-emulator")
    folder = os.path.join(desk.home, "Pictures/Rankings")
    lines = []

    def run(action, is_done, text):
        calls, notices = len(desk.called()), len(desk.notices())
        desk.do("timeout", "60", desk.prefix + "/libexec/rankfs/rankfs-desktop", action)
        found = is_done(desk.called()[calls:], desk.notices()[notices:])
        lines.append(f"{action}: {text if found else 'no: %s' % desk.notices()[notices:]}")

    def is_mounted():
        return os.path.ismount(folder)

    try:
        run("open", lambda calls, _: is_mounted() and calls == [["xdg-open", folder]], "mounted Pictures/Rankings and opened it")
        run("open", lambda calls, _: calls == [["xdg-open", folder]], "opened it")
        run("sign-in", lambda calls, _: calls and calls[0][-1] == "login", "opened a terminal with rankfs login")
        run("unmount", lambda _, notices: not is_mounted() and "Unmounted" in notices[-1], "unmounted it")
        run("unmount", lambda _, notices: "Nothing is mounted" in notices[-1], "said that nothing is mounted")
        run("mount", lambda calls, _: is_mounted() and not calls, "mounted it")
        # A terminal that runs what it is given, and goes on.
        desk.stub("x-terminal-emulator", 'shift; setsid "$@" < /dev/null > /dev/null 2>&1 &')
        demo = os.path.join(desk.home, "Rankings")
        run("demo", lambda calls, _: ["xdg-open", demo] in calls, "showed the demo and opened ~/Rankings")
        run("unmount", lambda _, notices: not is_mounted() and demo in notices[-1], "unmounted both")
    finally:
        if is_mounted():
            subprocess.run(["umount", "-l", folder], check=False)
        for name in address:
            del desk.env[name]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=os.path.abspath, default=os.path.join(ROOT, "build/desktop"))
    services.add_option(parser)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="entry, " + ", ".join(PROGRAMS))
    options = parser.parse_args()
    service, words = options.services[0], options.programs
    os.makedirs(options.out, exist_ok=True)
    adopt_orphans()
    rows, said = {}, []
    with parts.Place() as place, Desk(place, WatchedOrigin(place, service=service, latency=0), options.out) as desk:
        origin = desk.origin
        # The entry mounts without a question for a service.
        if "entry" in words or not words and service is services.PIXIV:
            said = entry(desk, origin)
            print("\n".join(said), flush=True)
        if words != ["entry"]:
            desk.mount()
            os.listdir(desk.day(service.day))
        for name in (name for name in PROGRAMS if not words or name in words):
            rows[name] = Trial(desk, origin, desk.mount_path, name).run()
            print(f"{name}: " + "\n    ".join(f"{key}: {value}" for key, value in rows[name].items()), flush=True)
    columns = ["menu", *LABELS, "folder", "elsewhere"]
    lines = ["| program | " + " | ".join(columns) + " |", "| --- " * (len(columns) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(row[column] for column in columns) + " |" for name, row in rows.items()]
    with open(os.path.join(options.out, "actions.md"), "w") as file:
        file.write("\n".join([*said, "", *lines]) + "\n")
    print("\n".join(lines))
    bad = any(": no" in line for line in said) or any(
        row["elsewhere"] != "nothing" or any(value.startswith("no:") or value == "no" or value.endswith("; no") for value in row.values())
        for row in rows.values())
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
