"""Places that are typed, and what a file manager then asks for."""

import os
import re
import time

import look
import thumbs
from lab import Lab
from managers import ALL, Nautilus, Stuck
from opening import judge_walk, settle
from scenarios import scenario
from table import Row


@scenario("typed-day", ALL)
def typed_day(run, program):
    """Days that are not listed, each typed once: from above, from among their own mode's days, and of another mode."""
    origin = run.origin()
    with Lab(run.place, origin, "top=50", desktop=ALL[program].desktop) as lab:
        manager, days = ALL[program](lab), run.service.recent(4, skip=60)
        manager.open(lab.path("ranking"))
        lab.quiet(3, 30)
        other = os.path.join(lab.path("ranking"), run.service.other_mode)
        for step, before, target in (("from-above", None, lab.day(days[0])), ("from-a-day", None, lab.day(days[1])),
                                     ("from-its-mode", lab.ranking, lab.day(days[2])),
                                     ("other-mode", None, os.path.join(other, days[3]))):
            if before:
                manager.go(before)
                lab.quiet(3, 30)
            mark, row = origin.mark(), Row("typed-day-" + step, program)
            try:
                row.note(f"there after {manager.go(target, 25, tries=1):.1f} s")
            except Stuck as stuck:
                row.promise(False, f"the first try leads there ({stuck})"[:300])
            lab.quiet(4, 60)
            run.picture(manager.windows, program, "typed-day", step)
            row.tally = origin.tally(mark)
            row.dialogs = manager.dialogs() | manager.windows.complaints()
            row.promise(row.tally.pictures == 0, "0 pictures read")
            row.promise(not row.dialogs, "no dialog")
            run.add(row)
        manager.close()


def authors_asked(origin, mark):
    """The authors who were asked for: numbers or names."""
    return {found[1] for entry in origin.since(mark) if (found := origin.service.author_asked.match(entry["path"]))}


@scenario("typed-author", ALL)
def typed_author(run, program):
    """An author's path: nobody else is asked for, or listed afterwards, because it was being typed."""
    authors, author = run.service.authors, run.service.author
    origin = run.origin()
    with Lab(run.place, origin, desktop=ALL[program].desktop) as lab:
        manager, row = ALL[program](lab), Row("typed-author", program)
        manager.open(lab.path(authors))
        lab.quiet(3, 30)
        mark = origin.mark()
        try:
            manager.go(lab.path(authors, author), 40, tries=1)
        except Stuck as stuck:
            row.promise(False, f"the first try leads there ({stuck})"[:300])
        lab.quiet(5, 60)
        run.picture(manager.windows, program, "typed-author")
        row.tally = origin.tally(mark)
        row.dialogs = manager.dialogs() | manager.windows.complaints()
        asked, listed = authors_asked(origin, mark), sorted(os.listdir(lab.path(authors)))
        row.note(f"authors asked for: {sorted(asked)}; ls {authors}: {listed}")
        row.promise(asked <= {author}, "only the author who was meant is asked for")
        row.promise(all(author in name for name in listed), "only the author who was meant is listed")
        row.promise(row.tally.pictures == 0, "0 pictures read")
        row.promise(not row.dialogs, "no dialog")
        run.add(row)
        manager.close()


@scenario("nautilus-behind", ("nautilus",))
def nautilus_behind(run, program):
    """The end of a day of 500, where no thumbnail was on the screen before."""
    origin = run.origin()
    with Lab(run.place, origin) as lab:
        manager, row = Nautilus(lab), Row("nautilus-behind", program)
        manager.open(lab.day(run.service.recent(1)[0]))
        manager.windows.wait(kind="nautilus")
        lab.quiet(0.5, 20, is_done=lambda: thumbs.made(lab.thumbnails) > 30)
        start, seconds = time.monotonic(), None
        manager.focus()
        manager.windows.key("Tab")
        while time.monotonic() - start < 60:
            manager.windows.key("End")
            moment = time.monotonic() - start
            own, same = look.thumbnails(run.picture(manager.windows, program, "behind"), run.service.alike)
            if own >= 8 and same == 0:
                seconds = moment
                break
            time.sleep(0.5)
        settle(lab, start)
        failed = thumbs.failures(lab.thumbnails)
        row.tally = origin.tally()
        row.note(f"{own} thumbnails, {same} generic icons after {moment:.1f} s; records of failure: {len(failed)}")
        row.promise(seconds is not None and seconds <= 20, "thumbnails of the end on the screen within 20 s")
        row.promise(row.tally.pictures == 0, "0 pictures read")
        row.promise(not failed, "no record of failure")
        run.add(row)
        manager.close()


@scenario("nautilus-properties", ("nautilus",))
def nautilus_properties(run, program):
    """Properties of a day that nobody has been to, and a search for what is in it."""
    origin = run.origin()
    with Lab(run.place, origin, "top=100") as lab:
        manager, row, day = Nautilus(lab), Row("nautilus-properties", program), run.service.recent(1, skip=3)[0]
        manager.open(lab.ranking)
        lab.quiet(2, 20)
        manager.select(day)
        manager.focus()
        manager.windows.key("alt+Return")
        manager.windows.wait("propert", seconds=15)
        lab.quiet(5, 60)
        time.sleep(3)
        run.picture(manager.windows, program, "properties")
        said = [text.replace("\u00a0", " ") for text in manager.windows.said()]
        row.tally = origin.tally()
        count = len(os.listdir(lab.day(day)))
        row.note(f"{count} entries; said: {[text for text in said if re.search('item|unread|total', text)][:4]}")
        row.promise(any(re.search(rf"\b{count} (items|files)", text) for text in said), f"{count} items shown")
        row.promise(not any("unreadable" in text for text in said), "nothing unreadable")
        size = sum(os.path.getsize(os.path.join(lab.day(day), name)) for name in os.listdir(lab.day(day)))
        row.promise(any(f"{size / 1e6:.1f} MB" in text for text in said), f"{size / 1e6:.1f} MB shown")
        judge_walk(row, origin)
        run.add(row)
        manager.windows.key("Escape")
        search(run, lab, manager, run.service.recent(1, skip=2)[0])
        manager.close()


def search(run, lab, manager, day):
    """Types a word that is in the names of one day, and counts what comes."""
    row, mark = Row("nautilus-search", "nautilus"), lab.origin.mark()
    word = os.listdir(lab.day(day))[4].split("-", 1)[0]
    manager.focus()
    manager.windows.key("ctrl+f")
    time.sleep(1)
    manager.windows.type(word)
    lab.quiet(8, 90)
    time.sleep(3)
    run.picture(manager.windows, "nautilus", "search")
    manager.windows.key("Down")
    manager.windows.key("ctrl+a")
    found = manager.copy(lambda found: len(found) >= 7, 10)[1]
    right = [one for one in found if f"/{word}-" in one and "/latest/" not in one]
    row.tally, row.files = lab.origin.tally(mark), f"{len(right)}/7"
    row.note(f"'{word}' is in the name of one picture of each of 7 days")
    row.promise(len(right) == 7, "what is in days that nobody has been to is found")
    judge_walk(row, lab.origin, mark)
    run.add(row)
