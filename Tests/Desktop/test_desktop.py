"""What mount-helper/desktop makes of paths, mounts and words; nothing is mounted, and nothing shown.

    python3 Tests/Desktop/test_desktop.py
"""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.normpath(os.path.join(HERE, "../../mount-helper/desktop"))
sys.path.insert(0, FOLDER)
import rankfs_desktop as desktop  # noqa: E402


def script(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), os.path.join(FOLDER, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


action = script("rankfs-action")
OPTIONS = "ro,nosuid,nodev,noexec,relatime"
TABLE = "\n".join((
    f"21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
    f"30 21 0:50 / /home/me/Rankings {OPTIONS} shared:5 - fuse.rankfs pixiv ro,user_id={os.getuid()},group_id=0,allow_other",
    f"31 21 0:51 / /media/a\\040b\\134c\\012d {OPTIONS} - fuse.rankfs demo ro,user_id=4242,group_id=0",
    f"32 21 0:50 /ranking/daily /srv/daily {OPTIONS} - fuse.rankfs pixiv ro,user_id={os.getuid()},group_id=0",
    f"33 30 0:52 / /home/me/Rankings/users rw - tmpfs none rw",
    f"34 21 0:53 / /net rw - nfs4 server:/ rw,user_id=7",
    f"35 21 0:54 / /covered {OPTIONS} - fuse.rankfs pixiv ro,user_id=1",
    f"36 35 0:55 / /covered rw - tmpfs none rw",
    f"37 21 0:56 / /sshfs rw - fuse.sshfs fuse.rankfs rw,user_id=1",
    "nonsense", "", "38 21 0:57 / /cut rw - fuse.rankfs",
))


class Table(unittest.TestCase):
    def setUp(self):
        self.file = tempfile.NamedTemporaryFile("wb", suffix=".mountinfo")
        self.file.write(TABLE.encode() + b"\n39 21 0:58 / /bytes/\xff ro - fuse.rankfs pixiv ro,user_id=1\n")
        self.file.flush()
        self.addCleanup(self.file.close)
        self.mounts = desktop.Mounts(self.file.name)

    def place(self, path):
        return self.mounts.place(path)

    def test_only_what_lies_in_rankfs_does(self):
        inside = {
            "/home/me/Rankings": [], "/home/me/Rankings/": [], "/home/me/Rankings/ranking/daily": ["ranking", "daily"],
            "/home/me/Rankings/./a/../b": ["b"], "/home/me/Rankings/'; rm -rf ~ #\n": ["'; rm -rf ~ #\n"],
            "/media/a b\\c\nd/works/1": ["works", "1"], "/srv/daily/2024-05-01/001.jpg": ["ranking", "daily", "2024-05-01", "001.jpg"],
            os.fsdecode(b"/bytes/\xff/\xfe"): [os.fsdecode(b"\xfe")],
        }
        for path, rest in inside.items():
            self.assertEqual(self.place(path).parts, rest, path)
        for path in ("/", "/home/me", "/home/me/Rankings2", "/home/me/Rankings/../x", "/home/me/Rankings/users/1", "/net/x",
                     "/covered/ranking", "/sshfs/x", "/media/a", "/cut", "/nonsense", "/home/me/Ranking"):
            self.assertIsNone(self.place(path), path)

    def test_whose_mount_it_is(self):
        self.assertTrue(self.place("/home/me/Rankings").mount.is_own)
        self.assertFalse(self.place("/media/a b\\c\nd").mount.is_own)
        self.assertEqual(self.place("/media/a b\\c\nd").mount.source, "demo")

    def test_the_root_of_a_part_is_where_all_of_it_is(self):
        self.assertEqual(self.mounts.top(self.place("/srv/daily/x").mount), "/home/me/Rankings")
        self.mounts._mounts = [mount for mount in self.mounts.all() if mount.path == "/srv/daily"]
        self.assertIsNone(self.mounts.top(self.mounts._mounts[0]))

    def test_kinds(self):
        pictures = ("ranking/daily/2024-05-01/001-A.jpg", "users/1/2-B.jpg", "works/1/p0.png", "search/a b/1-C.jpg", "recent/001-D.jpg",
                    "random.jpg")
        listings = ("ranking/daily/2024-05-01", "ranking/daily/latest", "by-date/daily/2024/05/2024-05-01", "users/1", "recent",
                    "users/1/bookmarks", "artists/some_one", "works/1", "search/a", "following/1-E", "bookmarks",
                    "bookmarks-private", "feed", "feed-r18", "hot", "collections/3", "bookmark-tags/x", "bookmark-months/2024-05",
                    "author-tags/1/x")
        neither = ("", "ranking", "ranking/daily", "by-date", "by-date/daily/2024", "by-date/daily/2024/05", "users", "artists",
                   ".rankfs", "collections", "bookmark-tags", "bookmark-months", "author-tags", "author-tags/1")
        for path in pictures:
            self.assertTrue(self.place("/home/me/Rankings/" + path if not path.startswith("users") else
                                       "/srv/daily/" + path).is_picture(False), path)
            self.assertFalse(self.kind(path).is_listing(False), path)
        for path in listings:
            self.assertTrue(self.kind(path).is_listing(True), path)
            self.assertFalse(self.kind(path).is_picture(True), path)
        for path in neither:
            self.assertFalse(self.kind(path).is_listing(True) or self.kind(path).is_picture(True), path)
        for path in (".rankfs/version", "CACHEDIR.TAG", ".xdg-volume-info"):
            self.assertFalse(self.kind(path).is_picture(False), path)

    def kind(self, path):
        return desktop.Place("/x/" + path, None, [part for part in path.split("/") if part])

    def test_a_home_behind_a_link_is_known_by_both_names(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/real/me")
            os.symlink(folder + "/real/me", folder + "/home")
            before = os.environ.get("HOME")
            self.addCleanup(lambda: os.environ.update(HOME=before) if before else os.environ.pop("HOME"))
            os.environ["HOME"] = folder + "/home"
            table = f"30 21 0:50 / {os.path.realpath(folder)}/real/me/R ro - fuse.rankfs pixiv ro,user_id=1"
            self.mounts._mounts = desktop.parsed(table.encode())
            self.mounts.all = lambda: self.mounts._mounts
            self.assertEqual(self.place(folder + "/home/R/works/1").parts, ["works", "1"])
            self.assertIsNone(self.place(folder + "/other/R/works/1"))

    def test_a_table_without_end_is_bounded(self):
        with open("/dev/zero", "rb"):
            self.assertLess(len(desktop.Mounts("/dev/zero").all()), 1)

    def test_the_real_table_is_read_anew_only_when_it_changes(self):
        mounts = desktop.Mounts()
        self.assertTrue(mounts.all())
        self.assertIs(mounts.all(), mounts.all())


class Words(unittest.TestCase):
    def mounted(self, top, source, values, *names):
        """Places by their paths in a mount, each with the values of these attributes, and the mounts with that one."""
        self.addCleanup(setattr, desktop, "attribute", desktop.attribute)
        desktop.attribute = lambda path, name: values[path][names.index(name)] if name in names else None
        mount, mounts = desktop.Mount(top, "0:9", "/", "fuse.rankfs", source, 0), desktop.Mounts()
        mounts.all = lambda: [mount]
        return [desktop.Place(path, mount, [path.removeprefix(top + "/")]) for path in values], mounts

    def test_quotes_are_read_back_as_they_were(self):
        from ast import literal_eval
        for text in ("plain", "it's", "back\\slash", "two\nlines", "<b>&", "\x01\x7f", "絵", "'\\'", ""):
            self.assertEqual(literal_eval(desktop.quoted(text)), text)
        self.assertEqual(desktop.quoted("a\0b" + os.fsdecode(b"\xff")), "'ab?'")

    def test_batches_hold_everything_and_fit(self):
        paths = ["/m/%05d-%s" % (number, "x" * 180) for number in range(3000)]
        batches = list(action.batches(paths))
        self.assertEqual(sum(batches, []), paths)
        self.assertTrue(1 < len(batches) and all(sum(len(path) + 9 for path in batch) <= action.LONGEST_CALL for batch in batches))
        self.assertEqual(list(action.batches(["/x" * 100_000])), [["/x" * 100_000]])
        self.assertEqual(list(action.batches([])), [])

    def test_what_is_opened(self):
        values = {"/m/a": ("https://h/1", "11", "1"), "/m/b": ("https://h/1", "11", "1"), "/m/c": (None, None, None),
                  "/m/d": ("file:///etc/passwd", "../../etc", "-1"), "/m/e": ("--help", "１", " 2")}
        places, mounts = self.mounted("/m", "pixiv", values, "user.xdg.origin.url", "user.rankfs.user", "user.rankfs.work")
        self.assertEqual(action.opened("page", places, None, mounts), ([("xdg-open", "https://h/1")], 3))
        self.assertEqual(action.opened("author", places, "thunar", mounts), ([("thunar", "/m/users/11")], 3))
        self.assertEqual(action.opened("pages", places, None, mounts), ([("xdg-open", "/m/works/1")], 3))

    def test_series_related_pools_and_family(self):
        with tempfile.TemporaryDirectory() as top:
            os.makedirs(top + "/related")
            records = {1: '{"parent": 7, "has_children": false}', 2: '{"has_children": true}', 3: '{"has_children": false}',
                       4: "[1]", 5: "no record"}
            for number, text in records.items():
                os.makedirs(f"{top}/works/{number}")
                with open(f"{top}/works/{number}/info.json", "w") as file:
                    file.write(text)
            # The number of a work, its series, its pools.
            values = {f"{top}/a": ("1", "30", "5,61"), f"{top}/b": ("2", None, "5"), f"{top}/c": ("3", "../x", "../5,,x"),
                      f"{top}/d": ("4", None, None), f"{top}/e": ("5", None, ""), f"{top}/f": ("6", None, None),
                      f"{top}/g": (None, None, None)}
            places, mounts = self.mounted(top, "danbooru", values, "user.rankfs.work", "user.rankfs.series", "user.rankfs.pools")

            def opened(name):
                commands, silent = action.opened(name, places, "thunar", mounts)
                return [path.removeprefix(top + "/") for _, path in commands], silent

            self.assertEqual(opened("series"), (["series/30"], 6))
            self.assertEqual(opened("pools"), (["pools/5", "pools/61"], 5))
            self.assertEqual(opened("family"), (["family/1", "family/2"], 5))
            self.assertEqual(opened("related"), (["related/%d" % number for number in range(1, 7)], 1))
            os.rmdir(top + "/related")
            self.assertEqual(opened("related"), ([], 7))

    def test_menus_have_what_the_source_has(self):
        for source, own in (("pixiv", {"series", "related"}), ("danbooru", {"pools", "family"}),
                            ("demo", {"series", "related", "pools", "family"})):
            place = desktop.Place("/m/a", desktop.Mount("/m", "0:9", "/", "fuse.rankfs", source, 0), ["a"])
            found = {name for name in ("page", "author", "keep", "series", "related", "pools", "family") if place.has(name)}
            self.assertEqual(found, own | {"page", "author", "keep"})

    def test_saving_asks_for_a_folder_and_tells_what_came_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            scripts = {"zenity": "echo '/home/me/a folder'", "kdialog": "exit 1",
                       "rankfs": f"printf '%s\\n' \"$@\" > {folder}/words; echo '10 %  4/40 files'; read -r _ < {folder}/go; "
                                 "echo 'rankfs: 1 path could not be fetched.' >&2; exit 1"}
            for name, text in scripts.items():
                with open(f"{folder}/{name}", "w") as file:
                    file.write("#!/bin/sh\n" + text + "\n")
                os.chmod(f"{folder}/{name}", 0o755)
            os.mkfifo(folder + "/go")
            said = []

            def tell(summary, body="", replacing=0):
                said.append((summary, body, replacing))
                if summary.startswith("Saving"):
                    with open(folder + "/go", "w") as file:
                        file.write("\n")
                return 7

            for name, value in (("program", lambda name: f"{folder}/{name}"), ("tell", tell)):
                self.addCleanup(setattr, desktop, name, getattr(desktop, name))
                setattr(desktop, name, value)
            self.addCleanup(setattr, action, "PATIENCE", action.PATIENCE)
            action.PATIENCE = 0.2
            places = [desktop.Place(path, None, path.split("/")[1:]) for path in ("/m/a b", "/m/c")]
            self.assertEqual(action.run("save", places), 1)
            with open(folder + "/words") as file:
                self.assertEqual(file.read().splitlines(), ["fetch", "--to", "/home/me/a folder", "/m/a b", "/m/c"])
            self.assertEqual(said[0][0], "Saving 2 paths")
            self.assertEqual(said[-1], ("That did not work", "1 path could not be fetched.", 7))
            # Whoever closes the dialog wants nothing.
            os.unlink(folder + "/words")
            with unittest.mock.patch.dict(os.environ, XDG_CURRENT_DESKTOP="KDE"):
                self.assertEqual(action.run("save", places), 1)
            self.assertFalse(os.path.exists(folder + "/words"))

    def test_asking_again_is_for_folders_of_their_own(self):
        paths = ("/m/random.jpg", "/m/recent/001-a.jpg", "/m/ranking/daily/latest/001-a.jpg", "/m/users/1/2-b.jpg", "/m/users/1/3-c.jpg")
        places = [desktop.Place(path, None, path.split("/")[2:]) for path in paths]
        self.assertEqual(action.targets("refresh", places), ["/m/ranking/daily/latest", "/m/users/1"])
        self.assertEqual(action.targets("keep", places), list(paths))

    def test_artists_have_names(self):
        values = {
            "/m/a": ("some one (circle)", "1girl,some_one_(circle),some"), "/m/b": ("a, b c", "b_c,_a"), "/m/c": ("a, b, c and 2 more", "c,a,b,d"),
            "/m/d": ("", "a"), "/m/e": (None, None), "/m/f": ("unheard", "a"), "/m/g": (".., x/y", "..,x/y"), "/m/h": ("a b", "a__b,a_b"),
        }
        places, mounts = self.mounted("/m", "danbooru", values, "user.dublincore.creator", "user.xdg.tags")
        wanted = {"/m/a": ["some_one_(circle)"], "/m/b": ["_a", "b_c"], "/m/c": ["a", "b", "c"], "/m/h": ["a__b"]}
        for path, place in zip(values, places):
            found, silent = action.opened("author", [place], "thunar", mounts)
            self.assertEqual(found, [("thunar", "/m/artists/" + name) for name in wanted.get(path, [])], path)
            self.assertEqual(silent, int(path not in wanted), path)

    def run_action(self, *words, given=b""):
        environment = {"PATH": "/nonexistent", "HOME": "/nonexistent"}
        return subprocess.run([sys.executable, os.path.join(FOLDER, "rankfs-action"), *words], input=given, env=environment,
                              capture_output=True)

    def test_calls_that_are_wrong(self):
        for words in ([], ["keep"], ["nothing", "/x"], ["--in", "bash", "page", "/x"], ["--in"], ["--other", "keep", "/x"],
                      ["--stdin", "keep"]):
            done = self.run_action(*words)
            self.assertEqual(done.returncode, 64, words)
            self.assertIn(b"rankfs-action", done.stderr)

    def test_outside_of_mounts_nothing_is_done(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "mark")
            hostile = [f"$(touch {mark})", f"; touch {mark} #", f"`touch {mark}`", "-rf", "--help", "a\nb"]
            for name in ("keep", "page", "author", "refresh"):
                done = self.run_action("--stdin", name, given=b"\0".join(map(os.fsencode, hostile)) + b"\0")
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"Not in a mount of rankfs", done.stderr)
            self.assertFalse(os.path.exists(mark))

    def test_the_launcher_says_what_is_missing(self):
        for words, status in ((["nonsense"], 64), (["open", "more"], 64), (["open"], 1), (["sign-in"], 1), (["demo"], 1)):
            done = subprocess.run([sys.executable, os.path.join(FOLDER, "rankfs-desktop"), *words], capture_output=True,
                                  env={"PATH": "/nonexistent", "HOME": "/nonexistent"})
            self.assertEqual(done.returncode, status, words)
            self.assertTrue(done.stderr.startswith(b"rankfs"), done.stderr)
            self.assertNotIn(b"Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
