"""File managers, by keyboard only: where they differ in keys, titles and words."""

import os
import re
import time

import thumbs
from windows import Windows


class Manager:
    """A file manager in a lab. `kind` matches the class of its windows, `desktop` is where it is at home."""

    name, kind, desktop = "", "", "GNOME"
    command = ()
    # What marks the entry with a name: "pattern" (Ctrl+S and a dialog) or "typing".
    marking = "pattern"
    # Milliseconds from key to key where a path is typed.
    delay = 20
    # How the program writes the address of a file, of which the name of a thumbnail is made.
    spelling = staticmethod(thumbs.glib_address)

    def __init__(self, lab):
        self.lab, self.windows, self.window = lab, Windows(lab), None
        self.known = set()

    def open(self, path, seconds=90):
        """Starts the program in a directory and waits for its window; seconds till its title says where it is."""
        start = time.monotonic()
        self.process = self.lab.start(*self.command, path)
        self.window = self.windows.wait(kind=self.kind, seconds=seconds)
        if not self.window:
            raise Stuck(f"{self.name} showed no window")
        self.shown = time.monotonic()
        self.windows.fill(self.window)
        self.arrive(path, seconds)
        self.known = {window.id for window in self.windows.all()}
        return time.monotonic() - start

    def titled(self, path):
        """What the title holds when the window shows a path, whichever way the program spells it."""
        return "|".join(re.escape(os.path.basename(spelling.rstrip("/"))) for spelling in {path, os.path.realpath(path)})

    def arrive(self, path, seconds=60):
        if not self.windows.wait(self.titled(path), self.kind, seconds):
            raise Stuck(f"{self.name} did not come to {path}: {self.windows.all()}, {self.windows.complaints()}")

    def focus(self):
        self.windows.focus(self.window)

    def go(self, path, seconds=60, tries=2):
        """Types a place, as after Ctrl+L; seconds till the title says so."""
        start = time.monotonic()
        for left in reversed(range(tries)):
            self.focus()
            self.windows.key("ctrl+l")
            self.before_typing()
            self.windows.type(self.typed(path), self.delay)
            self.after_typing()
            self.windows.key("Return")
            try:
                self.arrive(path, seconds)
                return time.monotonic() - start
            except Stuck:
                if not left:
                    raise
                self.windows.key("Escape")
                self.windows.key("Escape")

    def typed(self, path):
        """The characters that are typed for a path."""
        return path

    def before_typing(self):
        """Empties the field."""
        time.sleep(0.6)
        self.windows.key("ctrl+a")

    def after_typing(self):
        """Gives completions a moment, as fingers do."""
        time.sleep(0.3)

    def up(self):
        self.focus()
        self.windows.key("alt+Up")

    def back(self):
        self.focus()
        self.windows.key("alt+Left")

    def select_all(self):
        self.focus()
        self.windows.key("ctrl+a")

    def select(self, name):
        """Marks one entry by its name."""
        self.focus()
        before = {window.id for window in self.windows.all()}
        if self.marking == "pattern":
            self.windows.key("ctrl+s")
            asks = self.windows.wait(seconds=10, besides=before)
            if not asks:
                return
            self.windows.focus(asks)
            self.windows.type(name)
            self.windows.key("Return")
            wait_until(lambda: asks.id not in {window.id for window in self.windows.all()}, 10)
        else:
            self.windows.type(name)
        time.sleep(0.5)

    def take(self, name):
        """Marks one entry and copies it; whether the clipboard then has it alone, and what it has."""
        def is_it(found):
            return len(found) == 1 and found[0].endswith("/" + name)

        found = []
        for _ in range(3):
            self.select(name)
            took, found = self.copy(is_it, 6)
            if took:
                return True, found
            self.windows.key("Escape")
        return False, found

    def copy(self, wanted, seconds=30):
        """Ctrl+C until the clipboard has that many files; whether it has, and what."""
        end, found = time.monotonic() + seconds, []
        while time.monotonic() < end:
            self.focus()
            self.windows.key("ctrl+c")
            time.sleep(0.5)
            found = self.windows.clipboard()
            if wanted(found):
                return True, found
        return False, found

    def take_all(self, count):
        """Marks everything and copies it, once all of it is listed; whether the clipboard then has that many."""
        found = []
        for _ in range(8):
            self.select_all()
            took, found = self.copy(lambda found: len(found) == count, 3)
            if took:
                return True, found
        return False, found

    def paste(self, target):
        """Ctrl+V, once more where nothing came of it: a window that has just come to a place may not take the key yet."""
        mark = self.lab.origin.mark()
        for _ in range(3):
            self.focus()
            self.windows.key("ctrl+v")
            if wait_until(lambda: self.lab.origin.mark() != mark or os.listdir(target) or self.dialogs(), 10):
                return

    def dialogs(self):
        return self.windows.dialogs(self.known)

    def close(self):
        if self.window:
            self.lab.run(["wmctrl", "-i", "-c", self.window.id])


def wait_until(condition, seconds):
    """Whether a condition came true in time."""
    end = time.monotonic() + seconds
    while not (is_true := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return is_true


class Stuck(Exception):
    """A program did not do what a key asks of it."""


class Thunar(Manager):
    name, kind, desktop, command, marking = "thunar", "thunar", "XFCE", ("thunar",), "typing"


class Nautilus(Manager):
    name, kind, command = "nautilus", "nautilus", ("nautilus", "--new-window")

    # On a busy machine a completion comes when the next characters are there, and is put behind them.
    delay = 80

    def typed(self, path):
        return path.replace(self.lab.home, "~", 1)

    def after_typing(self):
        """Removes what a completion that came late has put behind the path."""
        super().after_typing()
        self.windows.key("shift+End")
        self.windows.key("Delete")

    def select_all(self):
        """By pattern: Ctrl+A marks what has the focus, which is not always the files."""
        self.select("*")


class Nemo(Manager):
    name, kind, desktop, command, marking = "nemo", "nemo", "X-Cinnamon", ("nemo", "--no-desktop"), "typing"


class Caja(Manager):
    name, kind, desktop, command = "caja", "caja", "MATE", ("caja", "--no-desktop", "--browser")


class Dolphin(Manager):
    name, kind, desktop, command, marking = "dolphin", "dolphin", "KDE", ("dolphin", "--new-window"), "typing"
    spelling = staticmethod(thumbs.qt_address)


class PCManFM(Manager):
    name, kind, desktop, command, marking = "pcmanfm-qt", "pcmanfm", "LXQt", ("pcmanfm-qt",), "typing"


ALL = {manager.name: manager for manager in (Thunar, Nautilus, Nemo, Caja, Dolphin, PCManFM)}
