"""Windows of a desk, keys for them, and what they say."""

import json
import os
import re
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Windows that tell how far a work is, not that something went wrong.
PROGRESS = re.compile(r"file operation|copying|copy files|progress|\d+ ?%|preparing", re.I)
COMPLAINT = re.compile(
    r"\b(error|could ?n.t|could not|cannot|can.t|unable|failed|busy|denied|unreadable|not found|does not exist|no such)\b", re.I)


class Window:
    def __init__(self, line):
        self.id, _, self.pid, self.kind, _, *title = line.split(None, 5)
        self.title = title[0] if title else ""

    def __repr__(self):
        return f"{self.kind}: {self.title}"


class Windows:
    """The windows of a lab, and the keyboard."""

    def __init__(self, lab):
        self.lab = lab

    def all(self):
        text = self.lab.run(["wmctrl", "-lpx"]).stdout.decode(errors="replace")
        return [Window(line) for line in text.splitlines() if len(line.split(None, 5)) >= 5]

    def find(self, title="", kind=""):
        """Windows whose title and class match."""
        return [window for window in self.all()
                if re.search(title, window.title, re.I) and re.search(kind, window.kind, re.I)]

    def wait(self, title="", kind="", seconds=60.0, besides=()):
        """The first window that matches and is not among some ids, or None if none came."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := [window for window in self.find(title, kind) if window.id not in besides]:
                return found[0]
            time.sleep(0.1)
        return None

    def focus(self, window):
        self.lab.run(["xdotool", "windowactivate", "--sync", window.id], seconds=10)

    def fill(self, window):
        """Makes a window as large as the screen, so that all screenshots show as much."""
        self.lab.run(["wmctrl", "-i", "-r", window.id, "-b", "add,maximized_vert,maximized_horz"])

    def key(self, *names):
        self.lab.run(["xdotool", "key", "--clearmodifiers", "--delay", "40", *names], seconds=20)

    def type(self, text, delay=20):
        self.lab.run(["xdotool", "type", "--clearmodifiers", "--delay", str(delay), text], seconds=60)

    def picture(self, path):
        """A screenshot."""
        self.lab.run(["import", "-window", "root", path], seconds=60)

    def clipboard(self):
        """Addresses of the files that were copied with Ctrl+C."""
        for target in ("x-special/gnome-copied-files", "text/uri-list"):
            answer = self.lab.run(["xclip", "-selection", "clipboard", "-o", "-t", target], seconds=5)
            if answer.returncode == 0 and answer.stdout:
                return [line for line in answer.stdout.decode(errors="replace").split() if line.startswith("file:")]
        return []

    def said(self):
        """Labels, buttons and windows of all programs, by the accessibility bus."""
        answer = self.lab.run(["/usr/bin/python3", f"{HERE}/said.py"], seconds=25)
        try:
            return json.loads(answer.stdout)
        except ValueError:
            return []

    def dialogs(self, known):
        """What windows beside the known ones say, and complaints within those: a set of texts."""
        found = set()
        for window in self.all():
            if window.id not in known and not PROGRESS.search(window.title) and window.title:
                found.add(window.title)
        return found

    def complaints(self):
        """Sentences on the screen that tell of a failure; a word alone is the name of a part of a window."""
        return {text for text in self.said() if COMPLAINT.search(text) and " " in text}
