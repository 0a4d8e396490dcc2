"""What rankfs' parts on the desktop have in common: which paths lie in its mounts, and what is to be said to the user.

Nothing here looks at any file system but rankfs' own: the kernel's table of mounts tells which that is.
"""

import os
import re
import select
import shutil
import subprocess
import sys

# Bytes of the table of mounts that are looked at; each line takes some 150.
LONGEST_TABLE = 4 << 20
# Folders in the root that hold pictures, those that hold such folders, and those two above.
LISTINGS = ("bookmarks", "bookmarks-private", "recent", "hot", "feed", "feed-r18"), (
    "users", "artists", "works", "search", "series", "related", "family", "favorites", "pools", "favgroups", "following",
    "collections", "bookmark-tags", "bookmark-months"), ("author-tags",)
# The actions that lead to what only some sources have.
DOORS = {"pixiv": ("series", "related"), "danbooru": ("pools", "family"), "yandere": ("pools", "family"),
         "konachan": ("pools", "family")}
DAY = re.compile(r"latest|[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Mount:
    """A file system in the table; `owner` is the user who mounted it, as a number, for file systems of rankfs."""

    def __init__(self, path, device, root, kind, source, owner):
        self.path, self.device, self.root = path, device, root
        self.kind, self.source, self.owner = kind, source, owner

    is_own = property(lambda self: self.owner == os.getuid())
    is_rankfs = property(lambda self: self.kind == "fuse.rankfs")


def parsed(table):
    """The mounts of a mountinfo text (proc_pid_mountinfo(5)), as bytes, in the order in which they were made."""
    mounts = []
    for line in table.split(b"\n"):
        head, found, tail = line.partition(b" - ")
        fields, rest = head.split(b" "), tail.split(b" ")
        if not found or len(fields) < 6 or len(rest) < 3:
            continue
        text = [os.fsdecode(_unescaped(field)) for field in fields[:5]]
        owner = re.search(rb"(?:^|,)user_id=([0-9]+)(?:,|$)", rest[2])
        mounts.append(Mount(text[4], text[2], text[3], os.fsdecode(rest[0]), os.fsdecode(_unescaped(rest[1])),
                            int(owner.group(1)) if owner else None))
    return mounts


def _unescaped(field):
    """The kernel writes blanks and backslashes as three octal digits."""
    return re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found.group(1), 8) & 255]), field)


class Mounts:
    """The table of mounts, read anew only when the kernel says that it has changed."""

    def __init__(self, path="/proc/self/mountinfo"):
        self._path, self._file, self._mounts = path, None, []
        self._poll = select.poll()

    def all(self):
        if self._file is None:
            self._file = open(self._path, "rb", buffering=0)
            self._poll.register(self._file, select.POLLPRI)
        elif not self._poll.poll(0):
            return self._mounts
        table = b""
        self._file.seek(0)
        while len(table) < LONGEST_TABLE:
            piece = self._file.read(1 << 16)
            if not piece:
                break
            table += piece
        self._mounts = parsed(table)
        return self._mounts

    def place(self, path):
        """Where an absolute path lies in a mount of rankfs; None anywhere else. Looks at no file."""
        mounts = self.all()
        if not any(mount.is_rankfs for mount in mounts):
            return None
        path = os.path.normpath(path)
        for spelling in spellings(path):
            found = None
            for mount in mounts:
                # Of two on one folder the later one covers the other.
                if below(spelling, mount.path) is not None and (found is None or len(mount.path) >= len(found.path)):
                    found = mount
            if found is not None and found.is_rankfs:
                inner = [part for part in found.root.split("/") + below(spelling, found.path).split("/") if part]
                return Place(spelling, found, inner)
        return None

    def top(self, mount):
        """The path at which the root of a mount's file system is; None if only a folder of it is mounted."""
        tops = [other for other in self.all() if other.device == mount.device and other.root == "/"]
        return tops[0].path if tops else None


def below(path, folder):
    """What is left of a path behind a folder that it is in, or None."""
    if folder == "/":
        return path[1:]
    if path == folder:
        return ""
    return path[len(folder) + 1:] if path.startswith(folder + "/") else None


def spellings(path):
    """A path, and the same without links in the way to the user's home: the kernel knows it by that name."""
    yield path
    home = os.environ.get("HOME", "")
    if home.startswith("/") and below(path, home) is not None and os.path.realpath(home) != home:
        yield os.path.join(os.path.realpath(home), below(path, home))


class Place:
    """A path in a mount of rankfs; `parts` are those below the root of the file system."""

    def __init__(self, path, mount, parts):
        self.path, self.mount, self.parts = path, mount, parts

    def has(self, action):
        """Whether the source has what an action leads to, as far as its name says."""
        return action in DOORS.get(self.mount.source, (action,)) or all(action not in doors for doors in DOORS.values())

    def is_picture(self, is_folder):
        """Whether it is a file that belongs to a work."""
        return not is_folder and bool(self.parts) and self.parts[0] != ".rankfs" and (
            len(self.parts) > 1 or self.parts[0] == "random.jpg")

    def is_listing(self, is_folder):
        """Whether it is a folder of pictures or a link to one, which can be kept, saved and asked for again."""
        if not is_folder or not self.parts:
            return False
        if self.parts[0] in ("ranking", "by-date"):
            return len(self.parts) > 2 and DAY.fullmatch(self.parts[-1]) is not None
        return any(self.parts[0] in names for names in LISTINGS[:len(self.parts)])


def attribute(path, name):
    """An extended attribute as text, or None. rankfs answers from memory."""
    try:
        return os.getxattr(path, name).decode("utf-8", "replace")
    except OSError:
        return None


def artists(path):
    """The artists of a picture by the names that they have below `artists`; none where authors have numbers.

    `user.dublincore.creator` has up to some names as people read them, and among the tags each is as it is.
    """
    creator, tags = (attribute(path, name) or "" for name in ("user.dublincore.creator", "user.xdg.tags"))
    readable = {}
    for tag in tags.split(","):
        readable.setdefault(" ".join(filter(None, tag.split("_"))), tag)
    return [readable[name] for name in re.sub(r" and [0-9]+ more$", "", creator).split(", ") if name and name in readable]


# The user


def program(name):
    """The path of rankfs itself, which lies beside this folder, or of another program; None without it."""
    if name == "rankfs":
        own = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../bin/rankfs"))
        if os.access(own, os.X_OK):
            return own
    return shutil.which(name)


def has_bus():
    """Whether a session bus runs; programs that find none would start one."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return bool(os.environ.get("DBUS_SESSION_BUS_ADDRESS")) or bool(runtime) and os.path.exists(runtime + "/bus")


def tell(summary, body="", replacing=0):
    """Shows a notification, or writes to the standard error where that cannot be; returns its number, 0 without one."""
    # Desktops may take marks in the body, and in nothing else.
    marked = body.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if has_bus():
        for command in _gdbus(summary, marked, replacing), _notify_send(summary, marked):
            if command is None:
                continue
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, timeout=10)
            except (OSError, subprocess.TimeoutExpired):
                continue
            if done.returncode == 0:
                number = re.search(rb"uint32 ([0-9]+)", done.stdout)
                return int(number.group(1)) if number else 0
    print("rankfs: " + ": ".join(filter(None, (summary, body))), file=sys.stderr, flush=True)
    return 0


def _gdbus(summary, body, replacing):
    name = "org.freedesktop.Notifications"
    return program("gdbus") and [
        program("gdbus"), "call", "--session", "--timeout", "5", "--dest", name, "--object-path", "/" + name.replace(".", "/"),
        "--method", name + ".Notify", quoted("rankfs"), "uint32 %d" % replacing, quoted("rankfs"), quoted(summary),
        quoted(body), "@as []", "{'desktop-entry': <'org.rankfs.rankfs'>}", "int32 -1"]


def _notify_send(summary, body):
    return program("notify-send") and [
        program("notify-send"), "--app-name=rankfs", "--icon=rankfs", "--", clean(summary), clean(body)]


def clean(text):
    """Text that any program takes: no bytes that are no UTF-8, no zeros."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def quoted(text):
    """A string as GVariant's text format has it."""
    escapes = {"\\": "\\\\", "'": "\\'", "\n": "\\n"}
    return "'%s'" % "".join(
        escapes.get(sign, sign if sign >= " " and sign != "\x7f" else "\\u%04x" % ord(sign)) for sign in clean(text))


def launch(command):
    """Starts a program that goes on by itself; returns why it could not be, or None."""
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 start_new_session=True)
    except OSError as error:
        return "%s: %s" % (command[0], error.strerror)
    try:
        errors = child.communicate(timeout=3)[1]
    except subprocess.TimeoutExpired:
        return None
    if child.returncode == 0:
        return None
    return errors.decode("utf-8", "replace").strip() or "%s ended with status %d" % (command[0], child.returncode)
