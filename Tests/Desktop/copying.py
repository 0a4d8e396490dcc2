"""Copying with Ctrl+C and Ctrl+V."""

import os
import threading
import time

from lab import Lab
from managers import ALL
from scenarios import scenario
from table import Row


def files_below(folder):
    """Relative paths of all files below a folder, with their sizes."""
    found = {}
    for top, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(top, name)
            found[os.path.relpath(path, folder)] = os.lstat(path).st_size
    return found


def wait_for_copy(lab, manager, target, expected, limit=400):
    """Waits until a copy has as many files and then rests, or nothing moves for 25 s; the dialogs that were seen."""
    end, last, before, dialogs = time.monotonic() + limit, time.monotonic(), None, set()
    while time.monotonic() < end:
        now = files_below(target), lab.origin.mark()
        if now != before:
            before, last = now, time.monotonic()
        dialogs |= manager.dialogs()
        if time.monotonic() - last > (4 if len(now[0]) >= expected else 25):
            break
        time.sleep(0.4)
    return dialogs


def compare(source, copy, names):
    """Counts of files that are right, wrong and missing in a copy, by what the mount reads now."""
    right, wrong, missing = 0, [], []
    for name in names:
        try:
            with open(os.path.join(copy, name), "rb") as mine, open(os.path.join(source, name), "rb") as theirs:
                if mine.read() == theirs.read():
                    right += 1
                else:
                    wrong.append(name)
        except OSError:
            missing.append(name)
    return right, wrong, missing


class Person:
    """Somebody who lists another day meanwhile, in a thread of their own."""

    def __init__(self, path):
        self.path, self.seconds, self.count, self.error = path, None, 0, None
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self):
        start = time.monotonic()
        try:
            self.count = len(os.listdir(self.path))
        except OSError as error:
            self.error = error
        self.seconds = time.monotonic() - start

    def judge(self, row, limit):
        self.thread.join(30)
        shown = f"{self.seconds:.2f} s" if self.seconds is not None else "no answer in 30 s"
        row.note(f"another day for a person meanwhile: {self.count} names in {shown}" + (f", {self.error}" if self.error else ""))
        row.promise(self.count > 0 and self.seconds is not None and self.seconds <= limit,
                    f"a person's names within {limit:.0f} s")


@scenario("copy-mode", ALL)
def copy_mode(run, program):
    """A ranking with seven days nobody has been to."""
    days = run.service.recent(7, skip=0)
    other = run.service.recent(1, skip=40)[0]
    top, mode = run.service.copied, run.service.mode
    seed = run.readable_seed(days + [other], top)
    origin = run.origin("--seed", str(seed))
    kind = ALL[program]
    with Lab(run.place, origin, f"top={top}", desktop=kind.desktop) as lab:
        manager, row = kind(lab), Row("copy-mode", program)
        manager.open(lab.path("ranking"))
        took, found = manager.take(mode)
        row.promise(took, f"Ctrl+C took ranking/{mode} ({found[:3]})")
        run.picture(manager.windows, program, "copy-mode", "selected")
        target = os.path.join(lab.home, "out")
        manager.go(target)
        mark = origin.mark()
        manager.paste(target)
        lab.quiet(2, 20, is_done=lambda: origin.mark() > mark)
        person = Person(lab.day(other))
        dialogs = wait_for_copy(lab, manager, target, len(days) * top * 9 // 10)
        run.picture(manager.windows, program, "copy-mode", "end")
        row.dialogs = dialogs | manager.windows.complaints()
        row.tally = origin.tally(mark)
        expected = [os.path.join(mode, day, name) for day in days for name in os.listdir(lab.day(day))]
        right, wrong, missing = compare(lab.path("ranking"), target, expected)
        row.files = f"{right}/{len(expected)}"
        row.note(f"{len(wrong)} wrong, {len(missing)} missing; folders {sorted(os.listdir(target))} "
                 f"{sorted(os.listdir(f'{target}/{mode}')) if os.path.isdir(f'{target}/{mode}') else ''}")
        row.promise(right == len(expected) and not wrong, "every file right")
        row.promise(not row.dialogs, "no dialog")
        person.judge(row, 1)
        run.add(row)
        manager.close()
