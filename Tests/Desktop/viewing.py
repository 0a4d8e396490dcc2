"""Viewers on one picture of a day of 500, and dialogs that choose a file."""

import os
import time

from lab import Lab
from parts import wait_for  # noqa: F401
from scenarios import scenario
from service import Service, recent_days
from table import Row
from windows import Windows

# A picture that is looked at, those by rank and time that are downloaded ahead of a reader, and one that the viewer itself opens.
FEW = 8
VIEWERS = {"gthumb": ("Right", "GNOME"), "gwenview": ("Right", "KDE"), "eog": ("Right", "GNOME"), "feh": ("Right", "GNOME")}
CHOOSERS = {"zenity": ("--file-selection", "--filename={}/"), "kdialog": ("--getopenfilename", "{}")}


@scenario("viewer", VIEWERS)
def viewer(run, program):
    """The third picture of a day, then the next one and the one after it."""
    service = Service(run.place)
    key, desktop = VIEWERS[program]
    with Lab(run.place, service, desktop=desktop) as lab:
        windows, row = Windows(lab), Row("viewer", program)
        day = lab.day(recent_days(1)[0])
        names = sorted(os.listdir(day))
        lab.quiet(3, 60)
        mark = service.mark()
        lab.start(program, os.path.join(day, names[2]))
        window = windows.wait(kind=program, seconds=90)
        if not window:
            row.promise(False, "a window")
            return run.add(row)
        windows.wait(names[2][:4], program, 60)
        lab.quiet(6, 150)
        run.picture(windows, program, "viewer")
        row.tally, row.dialogs = service.tally(mark), windows.complaints()
        different = {entry["path"] for entry in service.pictures(mark)}
        row.note(f"different pictures: {len(different)}")
        row.promise(len(different) <= FEW, f"at most {FEW} pictures read")
        row.promise(not row.dialogs, "no dialog")
        run.add(row)
        row, mark, shown = Row("viewer-next", program), service.mark(), []
        for _ in range(2):
            before = [one.title for one in windows.all() if one.id == window.id]
            windows.focus(window)
            windows.key(key)
            end = time.monotonic() + 20
            while time.monotonic() < end and (now := [one.title for one in windows.all() if one.id == window.id]) == before:
                time.sleep(0.1)
            shown += now
        lab.quiet(4, 60)
        run.picture(windows, program, "viewer", "next")
        row.tally, row.dialogs = service.tally(mark), windows.complaints()
        row.note(f"titles: {shown}")
        row.promise(len(set(shown)) == 2, "another picture at each key")
        row.promise(len({entry["path"] for entry in service.pictures(mark)}) <= FEW, f"at most {FEW} more pictures read")
        row.promise(not row.dialogs, "no dialog")
        run.add(row)


@scenario("chooser", CHOOSERS)
def chooser(run, program):
    """A dialog to open a file, at a day of 500 that nobody has been to."""
    service = Service(run.place)
    with Lab(run.place, service, desktop="KDE" if program == "kdialog" else "GNOME") as lab:
        windows, row = Windows(lab), Row("chooser", program)
        day = lab.day(recent_days(1)[0])
        process = lab.start(program, *(word.format(day) for word in CHOOSERS[program]))
        window = windows.wait(kind=program, seconds=60)
        row.promise(window is not None, "a window")
        lab.quiet(6, 90)
        run.picture(windows, program, "chooser")
        row.tally, row.dialogs = service.tally(), windows.complaints()
        row.promise(row.tally.pictures == 0, "0 pictures read")
        row.promise(row.tally.api <= 10, "10 API requests, a page each")
        row.promise(not row.dialogs, "no dialog")
        run.add(row)
        if window:
            windows.focus(window)
            windows.key("Escape")
        del process
