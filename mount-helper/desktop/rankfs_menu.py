"""rankfs in Nautilus, Nemo, Caja and Thunar: actions on what lies in its mounts, emblems and a column for what is stored.

Each loads this file by its own binding (nautilus-python, nemo-python, caja-python, thunarx-python) under a link in a folder of
that name. Menus are made from names alone; attributes are read in the background, for a mount may be silent.
"""

import os
import sys
from collections import deque
from importlib import import_module
from urllib.parse import unquote_to_bytes

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
import rankfs_desktop as desktop  # noqa: E402

from gi.repository import Gio, GLib, GObject  # noqa: E402

# .../nautilus-python/extensions/rankfs_menu.py
PROGRAM = os.path.basename(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))).split("-")[0]
if PROGRAM not in ("nautilus", "nemo", "caja"):
    PROGRAM = "thunar"
manager = import_module("gi.repository." + {
    "nautilus": "Nautilus", "nemo": "Nemo", "caja": "Caja", "thunar": "Thunarx"}[PROGRAM])

# Name of the action, what the menu calls it, its icon.
WORK_ITEMS = (
    ("page", "Open the _Page of the Work", "web-browser"),
    ("author", "Go to the A_uthor", "avatar-default"),
    ("pages", "_All Pages of the Work", "view-grid"),
    ("series", "Go to the Se_ries", "view-list"),
    ("related", "Rela_ted Works", "edit-find"),
    ("pools", "P_ools of the Post", "folder-pictures"),
    ("family", "_Family of the Post", "system-users"),
)
OWN_ITEMS = (
    ("keep", "K_eep", "emblem-rankfs-kept"),
    ("release", "Re_lease", "edit-undo"),
    ("refresh", "Ask A_gain", "view-refresh"),
    ("save", "_Save Pictures To…", "document-save-as"),
)
mounts = desktop.Mounts()
# Those that run; each one is forgotten when it has ended.
running = set()


def path_of(file):
    """The path of a file manager's file, or None for what is not in the file system."""
    address = file.get_uri()
    return os.fsdecode(unquote_to_bytes(address[7:])) if address.startswith("file:///") else None


def items(files):
    """The actions for a selection: none unless all of it lies in mounts of rankfs and means something to them."""
    places = []
    for file in files:
        path = path_of(file)
        place = path and mounts.place(path)
        is_folder = file.is_directory()
        if not place or not (place.is_picture(is_folder) or place.is_listing(is_folder)):
            return []
        places.append((place, is_folder))
    if not places:
        return []
    found = [item for item in WORK_ITEMS if all(not is_folder and place.has(item[0]) for place, is_folder in places)]
    if all(place.mount.is_own for place, _ in places):
        found += OWN_ITEMS
    return found


def act(action, files):
    """Starts the script; emblems are asked for again when it has ended."""
    paths = [path_of(file) for file in files]
    try:
        child = Gio.Subprocess.new(
            [os.path.join(HERE, "rankfs-action"), "--in", PROGRAM, "--stdin", action], Gio.SubprocessFlags.STDIN_PIPE)
    except GLib.Error as error:
        print("rankfs:", error.message, file=sys.stderr)
        return
    running.add(child)

    def ended(child, result):
        running.discard(child)
        for file in files:
            if hasattr(file, "invalidate_extension_info"):
                file.invalidate_extension_info()

    given = b"".join(os.fsencode(path) + b"\0" for path in paths if path)
    child.communicate_async(GLib.Bytes.new(given), None, ended)


def menu(files, where):
    """One item with a menu below it, or nothing."""
    files = list(files)
    found = items(files)
    if not found:
        return []
    tip = "tooltip" if PROGRAM == "thunar" else "tip"

    def item(name, label, icon):
        return manager.MenuItem(name="Rankfs::%s-%s" % (where, name), label=label, icon=icon, **{tip: ""})

    top, submenu = item("menu", "Ran_kings", "rankfs"), manager.Menu()
    for name, label, icon in found:
        entry = item(name, label, icon)
        entry.connect("activate", lambda _, name=name: act(name, files))
        submenu.append_item(entry)
    top.set_menu(submenu) if PROGRAM == "thunar" else top.set_submenu(submenu)
    return [top]


class RankfsMenu(GObject.GObject, manager.MenuProvider):
    # Nautilus 43 gives the files alone, the others a window first.
    def get_file_items(self, *arguments):
        return menu(arguments[-1], "files")

    def get_background_items(self, *arguments):
        return menu([arguments[-1]], "folder")

    def get_file_menu_items(self, window, files):
        return menu(files, "files")

    def get_folder_menu_items(self, window, folder):
        return menu([folder], "folder")


if PROGRAM != "thunar":
    # The live attributes, which are asked for by name (GIO writes user. as xattr::).
    NAMES = ["xattr::rankfs." + name for name in ("state", "kept", "type")]
    # Questions at once: the program's own go the same way.
    MOST_ASKED = 4

    class RankfsInfo(GObject.GObject, manager.InfoProvider, manager.ColumnProvider):
        """Answers at once with what is known, and has the program ask again about files of which more was learned.

        Waiting for each answer would hold up a folder: Nautilus asks about one file at a time.
        """

        def __init__(self):
            super().__init__()
            self._learned, self._waiting, self._asked = {}, deque(), 0

        def get_columns(self):
            return [manager.Column(
                name="Rankfs::state_column", attribute="rankfs_state", label="Rankings",
                description="Whether rankfs has stored a picture, and keeps it")]

        def update_file_info(self, file):
            path = path_of(file)
            place = path and mounts.place(path)
            # What is another picture each time has no emblem that stays.
            if not place or not place.is_picture(file.is_directory()) or place.parts == ["random.jpg"]:
                return manager.OperationResult.COMPLETE
            words = self._learned.pop(file.get_uri(), None)
            if words is None:
                self._waiting.append(file)
                self._ask()
                words = []
            for word in words:
                file.add_emblem("rankfs-" + word)
            file.add_string_attribute("rankfs_state", ", ".join(words))
            return manager.OperationResult.COMPLETE

        def _ask(self):
            while self._waiting and self._asked < MOST_ASKED:
                file = self._waiting.popleft()
                self._asked += 1
                Gio.File.new_for_uri(file.get_uri()).query_info_async(
                    ",".join(NAMES), Gio.FileQueryInfoFlags.NONE, GLib.PRIORITY_LOW, None, self._answered, file)

        def _answered(self, location, result, file):
            self._asked -= 1
            self._ask()
            try:
                info = location.query_info_finish(result)
            except GLib.Error:
                return
            state, kept, kind = (info.get_attribute_as_string(name) for name in NAMES)
            # Emblems lie over the picture: of what is kept, one says enough.
            words = [word for word, holds in (
                ("kept", kept == "yes"), ("stored", state == "stored" and kept != "yes"), ("animation", kind == "animation"))
                if holds]
            if words:
                self._learned[file.get_uri()] = words
                file.invalidate_extension_info()
