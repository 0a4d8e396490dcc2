"""Viewers on one picture of a day of 500, and dialogs that choose a file."""

import os
import re
import time

from lab import Lab
from scenarios import scenario
from table import Row
from windows import Windows

# A picture that is looked at, those by rank and time that are downloaded ahead of a reader, and one that the viewer itself opens.
FEW = 8
# The key for the next picture, and where the program is at home. gThumb goes on by time, which need not be the next name.
VIEWERS = {"gthumb": ("Page_Down", "GNOME"), "gwenview": ("Right", "KDE"), "eog": ("Right", "GNOME"), "feh": ("Right", "GNOME")}
CHOOSERS = {"zenity": ("--file-selection", "--filename={}/"), "kdialog": ("--getopenfilename", "{}")}


def rank_shown(windows, window):
    """The rank of the picture that a window names in its title, if any."""
    title = next((one.title for one in windows.all() if one.id == window.id), "")
    found = re.search(r"(?:^|[ /])(\d{3})-[^/]*\.\w{3,4}\b", title)
    return found and int(found[1])


@scenario("viewer", VIEWERS)
def viewer(run, program):
    """The third picture of a day, then the next one and the one after it."""
    origin = run.origin()
    key, desktop = VIEWERS[program]
    with Lab(run.place, origin, desktop=desktop) as lab:
        windows, row = Windows(lab), Row("viewer", program)
        day = lab.day(run.service.recent(1)[0])
        # Films are among the entries of some services.
        name = next(name for name in sorted(os.listdir(day))[2:] if name.endswith((".jpg", ".png")))
        lab.quiet(3, 60)
        mark = origin.mark()
        picture = os.path.join(day, name)
        lab.start(program, *(["--start-at", picture, day] if program == "feh" else [picture]))
        window = windows.wait(kind=program, seconds=90)
        if not window:
            row.promise(False, "a window")
            return run.add(row)
        windows.wait(name[:4], program, 60)
        lab.quiet(6, 150)
        run.picture(windows, program, "viewer")
        row.tally, row.dialogs = origin.tally(mark), windows.complaints()
        different = {entry["path"] for entry in origin.pictures(mark)}
        row.note(f"different pictures: {len(different)}")
        row.promise(len(different) <= FEW, f"at most {FEW} pictures read")
        row.promise(not row.dialogs, "no dialog")
        run.add(row)
        row, mark, shown = Row("viewer-next", program), origin.mark(), []
        for _ in range(2):
            before = rank_shown(windows, window)
            windows.focus(window)
            windows.key(key)
            end = time.monotonic() + 20
            # While a picture loads, the title may name none.
            while time.monotonic() < end and (now := rank_shown(windows, window)) in (before, None):
                time.sleep(0.1)
            shown.append(now)
        lab.quiet(4, 60)
        run.picture(windows, program, "viewer", "next")
        row.tally, row.dialogs = origin.tally(mark), windows.complaints()
        row.note(f"ranks shown: {shown}")
        row.promise(len({int(name[:3]), None} | set(shown)) == 4, "another picture at each key")
        row.promise(len({entry["path"] for entry in origin.pictures(mark)}) <= FEW, f"at most {FEW} more pictures read")
        row.promise(not row.dialogs, "no dialog")
        run.add(row)


@scenario("chooser", CHOOSERS)
def chooser(run, program):
    """A dialog to open a file, at a day of 500 that nobody has been to."""
    origin = run.origin()
    with Lab(run.place, origin, desktop="KDE" if program == "kdialog" else "GNOME") as lab:
        windows, row = Windows(lab), Row("chooser", program)
        day = lab.day(run.service.recent(1)[0])
        lab.start(program, *(word.format(day) for word in CHOOSERS[program]))
        window = windows.wait(kind=program, seconds=60)
        row.promise(window is not None, "a window")
        lab.quiet(6, 90)
        run.picture(windows, program, "chooser")
        row.tally, row.dialogs = origin.tally(), windows.complaints()
        row.promise(row.tally.pictures == 0, "0 pictures read")
        row.promise(row.tally.api <= 10, "10 API requests, a page each")
        row.promise(not row.dialogs, "no dialog")
        run.add(row)
        if window:
            windows.focus(window)
            windows.key("Escape")
