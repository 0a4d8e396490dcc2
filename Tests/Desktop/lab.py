"""A desk of its own: an X server, a window manager, a session bus, a home with nothing in it, and a mount in that home."""

import ctypes
import os
import signal
import subprocess
import time

import parts
from parts import wait_for

SCREEN = "1400x900"
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """What a started program leaves behind becomes a child of this process, so that it is found and ended by its id."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children_of(pid):
    """Ids of all processes below one, the youngest last."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parents.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
        except OSError:
            continue
    found, todo = [], [pid]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return sorted(found)


def end_all(pids, seconds=5.0):
    """Ends processes by their ids, and takes leave of those that were adopted."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in reversed(pids):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        end = time.monotonic() + seconds
        while pids and time.monotonic() < end:
            pids = [pid for pid in pids if not gone(pid)]
            time.sleep(0.02)


def gone(pid):
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return not os.path.exists(f"/proc/{pid}")


class Lab:
    """Leaving it ends everything that was started in it, unmounts and removes nothing outside its folder.

    `options` are those of the mount; `desktop` is what XDG_CURRENT_DESKTOP says.
    """

    count = 0

    def __init__(self, place, origin, *options, desktop="GNOME", cache=None):
        Lab.count += 1
        self.place, self.origin, self.options = place, origin, options
        self.name = f"lab-{Lab.count}"
        self.home = place.path(self.name, "home")
        self.mount_path = os.path.join(self.home, "Rankings")
        self.cache = cache or place.path(self.name, "cache")
        self.thumbnails = os.path.join(self.home, ".cache/thumbnails")
        self.desktop = desktop
        self.serial = 0

    def __enter__(self):
        for folder in (self.home, self.mount_path, self.thumbnails, os.path.join(self.home, "out"),
                       self.place.path(self.name, "run")):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        self.before = set(children_of(os.getpid()))
        self.env = {
            "HOME": self.home, "USER": "root", "LOGNAME": "root", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": self.place.path(self.name, "run"),
            "XDG_CONFIG_HOME": f"{self.home}/.config", "XDG_CACHE_HOME": f"{self.home}/.cache",
            "XDG_DATA_HOME": f"{self.home}/.local/share", "XDG_STATE_HOME": f"{self.home}/.local/state",
            "GSETTINGS_BACKEND": "memory", "QT_ACCESSIBILITY": "1", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            "GDK_BACKEND": "x11", "QT_QPA_PLATFORM": "xcb", "LIBGL_ALWAYS_SOFTWARE": "1",
            # Drawn by OpenGL without a graphics card, GTK 4's spinner alone takes all of a program's time.
            "GSK_RENDERER": "cairo",
        }
        self.be_at_home(self.desktop)
        try:
            self._display()
            self._bus()
            self._start("openbox", ["openbox"])
            wait_for(lambda: self.run(["wmctrl", "-m"]).returncode == 0, "the window manager")
            self.furnish()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.unmount()
        end_all([pid for pid in children_of(os.getpid()) if pid not in self.before])

    def be_at_home(self, desktop):
        """Programs find themselves in a desktop."""
        self.env["XDG_CURRENT_DESKTOP"] = desktop
        if desktop == "KDE":
            self.env |= {"KDE_FULL_SESSION": "true", "KDE_SESSION_VERSION": "5"}

    def furnish(self):
        """Prepares the lab before the first program starts."""
        self.mount()

    # MARK: programs

    def _start(self, name, words, **more):
        self.serial += 1
        return subprocess.Popen(
            words, env=self.env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=open(self.log(name + ".out"), "ab"),
            stderr=open(self.log(name + ".err"), "ab"), start_new_session=True, **more)

    def log(self, name):
        return self.place.path(self.name, name)

    def start(self, *words):
        """A program of the desk, whose words go to a file of its name."""
        return self._start(os.path.basename(words[0]), list(words))

    def run(self, words, seconds=60, **more):
        """A program that ends by itself; what it says is in the result."""
        more.setdefault("stdin", subprocess.DEVNULL)
        try:
            return subprocess.run(words, env=self.env, cwd=self.home, capture_output=True, timeout=seconds, **more)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(words, 124, late.stdout or b"", late.stderr or b"")

    def _display(self):
        read, write = os.pipe()
        self._start("Xvfb", ["Xvfb", "-displayfd", str(write), "-screen", "0", SCREEN + "x24", "-nolisten", "tcp", "-noreset"],
                    pass_fds=(write,))
        os.close(write)
        with open(read) as file:
            number = file.readline().strip()
        if not number:
            raise SystemExit("Xvfb did not start: " + open(self.log("Xvfb.err")).read())
        self.env["DISPLAY"] = ":" + number

    def _bus(self):
        address = f"unix:path={self.place.path(self.name, 'run', 'bus')}"
        self._start("dbus", ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={address}"])
        self.env["DBUS_SESSION_BUS_ADDRESS"] = address
        wait_for(lambda: os.path.exists(address.split("=", 1)[1]), "the session bus")

    # MARK: the mount

    def mount(self, *more):
        """Mounts at HOME/Rankings with the rate that rankfs has by itself: what desktops ask for must fit into it."""
        address, options = self.origin.address, [*self.origin.mount_options, *self.options, *more]
        words = [f"api_url={address}", f"image_url={address}", f"cache_dir={self.cache}", *options]
        self.daemon = self._start(
            "rankfs", [f"{parts.PROGRAMS}/rankfs", "mount", "-f", self.origin.service.name, self.mount_path, "-o", ",".join(words)])
        wait_for(lambda: self.is_mounted() or self.daemon.poll() is not None, "the mount")
        if self.daemon.poll() is not None:
            raise SystemExit("not mounted: " + open(self.log("rankfs.err")).read())
        wait_for(lambda: os.path.isdir(f"{self.mount_path}/ranking"), "the mount")

    def is_mounted(self):
        with open("/proc/self/mountinfo") as table:
            return any(line.split()[4] == self.mount_path for line in table)

    def unmount(self):
        if getattr(self, "daemon", None):
            parts.end(self.daemon)
            self.daemon = None
        if self.is_mounted():
            subprocess.run(["umount", "-l", self.mount_path], stderr=subprocess.DEVNULL, check=False)

    def path(self, *names):
        """A path in the mount."""
        return os.path.join(self.mount_path, *names)

    @property
    def ranking(self):
        """The directory of the ranking that the service is looked at by."""
        return self.path("ranking", self.origin.service.mode)

    def day(self, day):
        return os.path.join(self.ranking, day)

    def quiet(self, seconds=4.0, limit=240.0, is_done=lambda: False):
        """Waits till nothing was asked of the origin for some seconds; whether that came within the limit."""
        end, last, count = time.monotonic() + limit, time.monotonic(), self.origin.mark()
        while time.monotonic() < end:
            if is_done():
                return True
            now = self.origin.mark()
            if now != count:
                count, last = now, time.monotonic()
            if time.monotonic() - last > seconds:
                return True
            time.sleep(0.1)
        return False
