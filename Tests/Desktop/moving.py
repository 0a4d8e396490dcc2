"""What used to move while it was looked at: random.jpg and recent/."""

import hashlib
import os
import shutil
import time

import look
from copying import compare, wait_for_copy
from lab import Lab
from managers import ALL, Thunar
from opening import images
from scenarios import scenario
from table import Row
from windows import Windows

TIMES, STORED = 100, 110
SEEN = 9


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def pictures(folder):
    """Names of what every viewer shows, and what can be read."""
    return [os.path.basename(path) for path in images(folder) if path.endswith((".jpg", ".png"))]


@scenario("random", ("cp", "feh", "convert"))
def random_picture(run, program):
    """A program that looks at random.jpg a hundred times, each time as a process of its own."""
    day = run.service.recent(1)[0]
    origin = run.origin(latency=5)
    with Lab(run.place, origin, "top=200") as lab:
        windows, row = Windows(lab), Row("random", program)
        for path in images(lab.day(day))[:STORED]:
            digest(path)
        lab.quiet(2)
        mark, picture, copy = origin.mark(), lab.path("random.jpg"), os.path.join(lab.home, "out/picture")
        words = {"cp": ["cp", picture, copy + ".jpg"], "feh": ["feh", "--bg-fill", picture],
                 "convert": ["/usr/bin/convert", picture, "-resize", "64x64", copy + ".ppm"]}[program]
        seen, failed, said = set(), 0, set()
        for _ in range(TIMES):
            answer = lab.run(words, seconds=30)
            words_said = answer.stderr.decode(errors="replace").strip()
            if answer.returncode or words_said:
                failed += 1
                said.add(words_said[:120] or f"status {answer.returncode}")
                continue
            if program == "feh":
                windows.picture(copy + ".ppm")
            made = copy + (".jpg" if program == "cp" else ".ppm")
            seen.add(digest(made))
            os.unlink(made)
        row.tally, row.files, row.dialogs = origin.tally(mark), f"{TIMES - failed}/{TIMES}", said
        row.note(f"{len(seen)} different pictures")
        row.promise(not failed, "no failure")
        wanted = run.service.different
        row.promise(len(seen) >= wanted, f"{wanted} different pictures of {TIMES}")
        run.add(row)


@scenario("recent", ("thunar", "cp", "eog"))
def recent(run, program):
    """`recent/` after nine pictures were read: copied whole, paged through, and the same names afterwards."""
    day = run.service.recent(1)[0]
    origin = run.origin()
    with Lab(run.place, origin, "top=50", "prefetch=0", desktop="XFCE") as lab:
        row, folder = Row("recent", program), lab.path("recent")
        expected = {digest(lab.day(day) + "/" + name) for name in pictures(lab.day(day))[:SEEN]}
        time.sleep(1)
        before, mark = pictures(folder), origin.mark()
        row.promise(len(before) == SEEN, f"{SEEN} entries ({len(before)})")
        target = os.path.join(lab.home, "out")
        {"thunar": copy_by_thunar, "cp": copy_by_cp, "eog": page_by_eog}[program](run, lab, row, folder, target, before)
        if program != "eog":
            copied = [os.path.join(top, name) for top, _, names in os.walk(target) for name in names]
            row.note(f"{len(copied)} copies, of which links: {sum(map(os.path.islink, copied))}")
            row.promise(not any(map(os.path.islink, copied)), "no links")
            right = {digest(path) for path in copied if os.path.exists(path)} & expected
            row.files = f"{len(right)}/{SEEN}"
            row.promise(len(right) == SEEN, "every entry copied right")
        row.tally = origin.tally(mark)
        after = pictures(folder)
        row.note(f"names the same afterwards: {after == before}")
        row.promise(after == before, "names that looking and copying do not change")
        row.promise(not row.dialogs, "no dialog")
        run.add(row)


def copy_by_thunar(run, lab, row, folder, target, names):
    manager = Thunar(lab)
    manager.open(folder)
    lab.quiet(3, 60)
    time.sleep(2)
    own, same = look.thumbnails(run.picture(manager.windows, "thunar", "recent"), run.service.alike)
    row.note(f"on the screen: {own} thumbnails, {same} generic icons")
    row.promise(own >= SEEN and not same, f"{SEEN} thumbnails on the screen")
    took, found = manager.take_all(len(names))
    row.promise(took, f"Ctrl+C took all ({len(found)})")
    manager.go(target)
    manager.paste(target)
    row.dialogs = wait_for_copy(lab, manager, target, len(names), 60) | manager.windows.complaints()
    run.picture(manager.windows, "thunar", "recent", "copied")
    manager.close()


def copy_by_cp(run, lab, row, folder, target, names):
    answer = lab.run(["cp", "-r", folder, target + "/recent"], seconds=120)
    row.dialogs = set(filter(None, answer.stderr.decode(errors="replace").splitlines()))
    row.promise(answer.returncode == 0, "cp ends with 0")


def page_by_eog(run, lab, row, folder, target, names):
    windows = Windows(lab)
    lab.start("eog", os.path.join(folder, names[0]))
    window = windows.wait(kind="eog", seconds=60)
    if not row.promise(window is not None, "a window"):
        return
    shown = set()
    for _ in range(len(names) + 2):
        end = time.monotonic() + 8
        while time.monotonic() < end:
            title = next((one.title for one in windows.all() if one.id == window.id), "")
            if title in names and title not in shown:
                shown.add(title)
                break
            time.sleep(0.2)
        windows.focus(window)
        windows.key("Right")
    row.files = f"{len(shown)}/{SEEN}"
    row.dialogs = windows.complaints()
    run.picture(windows, "eog", "recent")
    row.promise(len(shown) == SEEN, "every picture shown by paging")


@scenario("copy-latest", ALL)
def copy_latest(run, program):
    """`latest` itself copied: the pictures of a day, not a link that leads nowhere."""
    newest, top = run.service.recent(1, skip=0)[0], min(30, run.service.copied)
    origin = run.origin("--seed", str(run.readable_seed([newest], top)))
    with Lab(run.place, origin, f"top={top}", desktop=ALL[program].desktop) as lab:
        manager, row = ALL[program](lab), Row("copy-latest", program)
        manager.open(lab.ranking)
        lab.quiet(3, 60)
        took, found = manager.take("latest")
        row.promise(took, f"Ctrl+C took latest ({found[:2]})")
        target, mark = os.path.join(lab.home, "out"), origin.mark()
        manager.go(target)
        manager.paste(target)
        row.dialogs = wait_for_copy(lab, manager, target, top - 2, 90) | manager.windows.complaints()
        day, copy = lab.day("latest"), os.path.join(target, "latest")
        names = sorted(os.listdir(day))
        right, _, _ = compare(day, copy, names)
        row.files, row.tally = f"{right}/{len(names)}", origin.tally(mark)
        row.note(f"copied: {sorted(os.listdir(target))}, a link: {os.path.islink(target + '/latest')}")
        row.promise(right == len(names), "every file of the day right below the copy")
        row.promise(not row.dialogs, "no dialog")
        run.add(row)
        manager.close()
        shutil.rmtree(target, ignore_errors=True)
