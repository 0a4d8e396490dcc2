"""A desk of its own for the actions: an X server, a bus with a notification server, programs that only note how they are called."""

import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "Tests/Wire"))
import parts  # noqa: E402
from parts import wait_for  # noqa: E402

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


class Desk:
    """An X server, a window manager, a session bus, an empty home and a mount in it."""

    def __init__(self, place, out):
        self.place, self.out = place, out
        self.home, self.prefix = place.path("home"), place.path("prefix")
        self.runtime, self.stubs = place.path("run"), place.path("stubs")
        for folder in (self.home, self.runtime, self.stubs, self.home + "/.cache", self.prefix + "/bin"):
            os.makedirs(folder, mode=0o700)
        self.calls = place.path("calls")
        self._install()
        self.env = {
            "HOME": self.home, "XDG_RUNTIME_DIR": self.runtime, "LANG": "C.UTF-8",
            "PATH": self.stubs + ":/usr/bin:/bin:/usr/sbin:/sbin", "XDG_DATA_DIRS": self.prefix + "/share:/usr/local/share:/usr/share",
            "XDG_CONFIG_HOME": self.home + "/.config", "XDG_CACHE_HOME": self.home + "/.cache",
            "XDG_DATA_HOME": self.home + "/.local/share", "XDG_STATE_HOME": self.home + "/.local/state",
            "GSETTINGS_BACKEND": "memory", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "GDK_BACKEND": "x11",
            "QT_QPA_PLATFORM": "xcb", "LIBGL_ALWAYS_SOFTWARE": "1",
            # Drawn by software, each frame of GTK 4 takes so long that nothing else is done.
            "GSK_RENDERER": "cairo",
        }
        self._display()
        address = f"unix:path={self.runtime}/bus"
        self.start("dbus", ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={address}"])
        wait_for(lambda: os.path.exists(self.runtime + "/bus"), "the session bus")
        self.env["DBUS_SESSION_BUS_ADDRESS"] = address
        self.start("notifier", ["/usr/bin/python3", "-c", NOTIFIER])
        self.start("openbox", ["openbox"])

    def _install(self):
        """What `make install` puts in place for the desktop; and stubs for what would leave this desk."""
        own = [f"{name.upper()}DIR={self.home}/.local/share/{name}-python/extensions" for name in ("nemo", "caja")]
        subprocess.run(["make", "-s", "install-desktop", f"PREFIX={self.prefix}", *own], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        os.symlink(os.path.abspath(parts.PROGRAMS) + "/rankfs", self.prefix + "/bin/rankfs")
        self.stub("xdg-open")
        # What asks for a folder: the answer is always this one.
        self.saved = os.path.join(self.home, "saved")
        for dialog in ("zenity", "kdialog"):
            self.stub(dialog, f"echo '{self.saved}'")
        open(self.calls, "w").close()

    def stub(self, name, more=""):
        path = os.path.join(self.stubs, name)
        with open(path, "w") as file:
            file.write(STUB % {"log": self.calls} + more + "\n")
        os.chmod(path, 0o755)

    def start(self, name, words, **more):
        self.place.ends.callback(self._end_all)
        return self.place.start(name, words, env=self.env, start_new_session=True, **more)

    def _end_all(self):
        """What programs left behind: all that has this desk's home in its environment, by its id."""
        mark = ("HOME=" + self.home).encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        os.kill(int(pid), 15)
            except OSError:
                continue

    def run(self, *words, seconds=30):
        environment = dict(os.environ, **self.env)
        try:
            return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, timeout=seconds).stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return ""

    def _display(self):
        read, write = os.pipe()
        self.start("Xvfb", ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"],
                   pass_fds=(write,))
        os.close(write)
        with open(read) as file:
            number = file.readline().strip()
        if not number:
            raise SystemExit("Xvfb did not start: " + self.place.errors("Xvfb"))
        self.env["DISPLAY"] = ":" + number

    # MARK: keyboard and screen

    def key(self, *names):
        self.run("xdotool", "key", "--clearmodifiers", "--delay", "60", *names)

    def picture(self, name):
        self.run("import", "-window", "root", os.path.join(self.out, name + ".png"))

    def rest(self, seconds=2.0, limit=120.0):
        """Waits until nothing has changed on the screen for some seconds, as people do."""
        end, last, since = time.monotonic() + limit, None, time.monotonic()
        while time.monotonic() < end and (last is None or time.monotonic() - since < seconds):
            now = subprocess.run(["import", "-window", "root", "rgb:-"], env=dict(os.environ, **self.env), capture_output=True).stdout
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(0.4)

    def menus(self, program):
        answer = self.run("/usr/bin/python3", "-c", MENUS, program)
        return json.loads(answer) if answer.startswith("[") else []

    def windows(self, kind):
        return self.run("xdotool", "search", "--onlyvisible", "--class", kind).split()

    def titled(self, kind, title):
        """Windows of a program whose title begins with a text."""
        return [window for window in self.windows(kind)
                if self.run("xdotool", "getwindowname", window).startswith(title)]

    def notices(self):
        return self.place.output("notifier").splitlines()

    def called(self):
        with open(self.calls) as file:
            return [line.split("\t") for line in file.read().splitlines()]
