"""A lab for the actions: the files installed for a desktop, a notification server, programs that only note how they are called."""

import json
import os
import subprocess
import time

import parts
from lab import Lab
from windows import Windows

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Notes each call: the name by which it was called, and what it was given.
STUB = """#!/bin/sh
printf '%%s' "${0##*/}" >> %(log)s
for word in "$@"; do printf '\\t%%s' "$word" >> %(log)s; done
printf '\\n' >> %(log)s
"""

NOTIFIER = """
import sys, dbus, dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib
NAME = "org.freedesktop.Notifications"
class Notifier(dbus.service.Object):
    count = 0
    @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, program, replaces, icon, summary, body, actions, hints, timeout):
        self.count += 1
        print(summary + ": " + body.replace("\\n", " / "), flush=True)
        return replaces or self.count
    @dbus.service.method(NAME, out_signature="as")
    def GetCapabilities(self): return ["body", "body-markup"]
    @dbus.service.method(NAME, out_signature="ssss")
    def GetServerInformation(self): return ("stub", "test", "1", "1.2")
    @dbus.service.method(NAME, in_signature="u")
    def CloseNotification(self, number): pass
DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
name = dbus.service.BusName(NAME, bus, do_not_queue=True)
notifier = Notifier(bus, "/org/freedesktop/Notifications")
GLib.MainLoop().run()
"""

# Prints the items of the menus that are open, as [label, is chosen, has a menu of its own], by the accessibility bus.
MENUS = """
import json, signal, sys
import pyatspi
signal.alarm(20)
found = []
def walk(node, depth):
    if node is None or depth > 40 or len(found) > 200: return
    role = node.getRoleName()
    states = node.getState()
    if "menu item" in role or role == "menu" or role in ("check menu item", "radio menu item"):
        if node.name and states.contains(pyatspi.STATE_SHOWING):
            chosen = any(states.contains(state) for state in (pyatspi.STATE_SELECTED, pyatspi.STATE_FOCUSED))
            found.append([node.name, chosen, role == "menu" or node.childCount > 0])
    if role in ("table", "tree table", "tree", "layered pane", "icon", "canvas"): return
    for child in node: walk(child, depth + 1)
for program in pyatspi.Registry.getDesktop(0):
    if program is None or sys.argv[1] not in program.name.lower(): continue
    for window in program:
        try: walk(window, 0)
        except Exception: continue
print(json.dumps(found))
"""


class Desk(Lab):
    """A lab that does not mount by itself, with notifications and a browser that are noted."""

    def __init__(self, place, origin, out):
        super().__init__(place, origin, "rate=1000")
        self.out, self.screen = out, Windows(self)
        self.prefix, self.stubs, self.calls = (place.path(self.name, name) for name in ("prefix", "stubs", "calls"))
        # What asks for a folder: the answer is always this one.
        self.saved = os.path.join(self.home, "saved")

    def furnish(self):
        """Installs the desktop's files, stubs for programs that would leave this desk, and a server of notifications."""
        for folder in (self.stubs, self.prefix + "/bin"):
            os.makedirs(folder)
        own = [f"{name.upper()}DIR={self.home}/.local/share/{name}-python/extensions" for name in ("nemo", "caja")]
        subprocess.run(["make", "-s", "install-desktop", f"PREFIX={self.prefix}", *own], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        os.symlink(os.path.abspath(parts.PROGRAMS) + "/rankfs", self.prefix + "/bin/rankfs")
        open(self.calls, "w").close()
        self.stub("xdg-open")
        for dialog in ("zenity", "kdialog"):
            self.stub(dialog, f"echo '{self.saved}'")
        self.env |= {"PATH": self.stubs + ":" + self.env["PATH"], "XDG_DATA_DIRS": self.prefix + "/share:/usr/local/share:/usr/share"}
        self._start("notifier", ["/usr/bin/python3", "-c", NOTIFIER])

    def stub(self, name, more=""):
        path = os.path.join(self.stubs, name)
        with open(path, "w") as file:
            file.write(STUB % {"log": self.calls} + more + "\n")
        os.chmod(path, 0o755)

    def do(self, *words, seconds=30):
        """The output of a program that ends by itself."""
        return self.run(words, seconds).stdout.decode(errors="replace")

    # MARK: keyboard and screen

    def key(self, *names):
        self.screen.key(*names)

    def picture(self, name):
        self.screen.picture(os.path.join(self.out, name + ".png"))

    def rest(self, seconds=2.0, limit=120.0):
        """Waits until nothing has changed on the screen for some seconds, as people do."""
        end, last, since = time.monotonic() + limit, None, time.monotonic()
        while time.monotonic() < end and (last is None or time.monotonic() - since < seconds):
            now = self.run(["import", "-window", "root", "rgb:-"]).stdout
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(0.4)

    def menus(self, program):
        answer = self.do("/usr/bin/python3", "-c", MENUS, program)
        return json.loads(answer) if answer.startswith("[") else []

    def windows(self, kind):
        return self.do("xdotool", "search", "--onlyvisible", "--class", kind).split()

    def titled(self, kind, title):
        """Windows of a program whose title begins with a text."""
        return [window for window in self.windows(kind)
                if self.do("xdotool", "getwindowname", window).startswith(title)]

    def notices(self):
        with open(self.log("notifier.out")) as file:
            return file.read().splitlines()

    def called(self):
        with open(self.calls) as file:
            return [line.split("\t") for line in file.read().splitlines()]
