"""Opening a day of 500, directly and through `latest`, and going to its parent and back."""

import collections
import os
import time

import look
import thumbs
from lab import Lab
from managers import ALL, wait_until
from scenarios import scenario
from table import Row

SOON = 20.0
# Seconds for 500 small previews, eight at once from an origin that waits 60 ms, when whoever makes them keeps ahead of the looker.
AHEAD = 30


def images(folder):
    """Paths of all that is in a directory of pictures, without what the service withholds: nobody has a preview of that."""
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return [path for path in paths if not is_withheld(path)]


def is_withheld(path):
    try:
        return bool(os.getxattr(path, "user.rankfs.withheld"))
    except OSError:
        return False


def watch_thumbnails(run, manager, row, step):
    """Looks at the screen until it shows thumbnails only; how many seconds after the window came, or None within SOON."""
    first, seconds, own, same, moment = None, None, 0, 0, 0
    while moment < SOON * 2:
        moment = time.monotonic() - manager.shown
        # The directory is not listed for their number: that would be a second program there, at the very moment.
        least = max(1, min(8, thumbs.made(manager.lab.thumbnails)))
        own, same = look.thumbnails(run.picture(manager.windows, manager.name, step), run.service.alike)
        first = first or (moment if own >= least else None)
        if own >= least and same <= own // 8:
            seconds = moment
            break
        time.sleep(0.1)
    row.note(f"on the screen: first pictures {first or moment:.1f} s, {own} thumbnails and {same} generic icons {moment:.1f} s after the window")
    row.promise(seconds is not None and seconds <= SOON, f"thumbnails on the screen within {SOON:.0f} s")
    return seconds


def settle(lab, since, limit=150):
    """Waits till the origin is quiet and neither thumbnails nor records of failure come or go; seconds till the last thumbnail.

    What a program noted as failed is removed ten seconds later, so records have longer to go.
    """
    start = last = time.monotonic()
    made_last, before = since, None
    while time.monotonic() - start < limit:
        now = thumbs.made(lab.thumbnails), lab.origin.mark(), len(thumbs.failures(lab.thumbnails))
        if before is None or now[0] != before[0]:
            made_last = time.monotonic()
        if now != before:
            before, last = now, time.monotonic()
        if time.monotonic() - last > (25 if now[2] else 8):
            break
        time.sleep(0.2)
    return made_last - since


def opening(run, program, name, where, *options, **origin):
    """Opens a directory with fresh caches and judges what that costs and shows."""
    origin = run.origin(**origin)
    kind = ALL[program]
    with Lab(run.place, origin, *options, desktop=kind.desktop) as lab:
        manager = kind(lab)
        row = Row(name, program)
        folder = where(lab)
        mark = origin.mark()
        manager.open(folder)
        watch_thumbnails(run, manager, row, name)
        took = settle(lab, manager.shown)
        row.tally = origin.tally(mark)
        row.dialogs = manager.dialogs() | manager.windows.complaints()
        run.picture(manager.windows, program, name, "end")
        paths = images(folder)
        good = thumbs.valid(lab.thumbnails, paths, kind.spelling)
        # On a busy machine Nautilus's thumbnailers go on after the last request.
        wait_until(lambda: not thumbs.failures(lab.thumbnails), 60)
        failed = thumbs.failures(lab.thumbnails)
        row.files = f"{good}/{len(paths)}"
        if strange := [path for path in paths if ";" in path or STRANGE & set(os.path.basename(path))]:
            row.note(f"of names with characters to escape: {thumbs.valid(lab.thumbnails, strange, kind.spelling)} of "
                     f"{len(strange)}, {sum(';' in path for path in strange)} with ;")
        row.note(f"thumbnails valid under this path: {good} of {len(paths)}, the last after {took:.0f} s; "
                 f"records of failure: {len(failed)}")
        seconds = [entry["t"] / 1000 for entry in origin.since(mark) if origin.kind(entry) == "previews"]
        if seconds:
            gap = max((after - before for before, after in zip(sorted(seconds), sorted(seconds)[1:])), default=0)
            row.note(f"previews: the last {max(seconds) - min(seconds):.0f} s after the first, at most {gap:.1f} s between two")
            row.promise(max(seconds) - min(seconds) <= AHEAD, f"previews to the end within {AHEAD} s")
        row.promise(row.tally.pictures == 0, "0 pictures read")
        row.promise(good == len(paths), "a valid thumbnail of every picture")
        row.promise(not failed, "no record of failure")
        row.promise(not row.dialogs, "no dialog")
        for entry in origin.pictures()[:3]:
            row.note(f"read: {entry['path']} range {entry['range']} {entry['bytes']} bytes at {entry['t'] / 1000:.1f} s")
        run.add(row)
        manager.close()


@scenario("open-day", ALL)
def open_day(run, program):
    opening(run, program, "open-day", lambda lab: lab.day(run.service.recent(1)[0]))


@scenario("open-far", ALL)
def open_far(run, program):
    """A day that nobody has seen of a service 60, 150 and 300 ms away, by TLS and HTTP/2."""
    for latency in (60, 150, 300):
        opening(run, program, f"open-far-{latency}", lambda lab: lab.day(run.service.recent(1)[0]), latency=latency, secure=True)


@scenario("open-door", ALL)
def open_door(run, program):
    """Folders of the root that nobody has seen, of a service 60 ms away by TLS and HTTP/2."""
    for door in run.service.doors:
        opening(run, program, f"open-{door.split('/')[0]}", lambda lab: lab.path(*door.split("/")),
                *run.service.session(run.place), secure=True)


@scenario("open-latest", ALL)
def open_latest(run, program):
    opening(run, program, "open-latest", lambda lab: lab.day("latest"))


STRANGE = set(";#%?&'+[]()~`!$*^{}|<>,=@\"\\:")


@scenario("hostile", ("thunar", "nautilus", "dolphin", "pcmanfm-qt"))
def hostile(run, program):
    """The day of a week with most `;` and other characters that addresses escape, or do not."""
    def strangest(lab):
        days = [lab.day(day) for day in run.service.recent(6)]
        return max(days, key=lambda day: (sum(";" in name for name in os.listdir(day)),
                                          sum(bool(STRANGE & set(name)) for name in os.listdir(day))))

    opening(run, program, "hostile", strangest)


@scenario("visits", ("dolphin",))
def visits(run, program):
    """A day of 500 again and again, each time with nothing stored: what is a race loses sometimes."""
    for number in range(run.options.visits):
        opening(run, program, f"visit-{number + 1}", lambda lab: lab.day(run.service.recent(1)[0]))


@scenario("parent", ALL)
def parent(run, program):
    """Alt+Up from a day, and back by Alt+Left: at most what the day cost, and the budget of what nobody waits for."""
    origin = run.origin()
    kind = ALL[program]
    with Lab(run.place, origin, desktop=kind.desktop) as lab:
        manager = kind(lab)
        day = lab.day(run.service.recent(1)[0])
        manager.open(day)
        settle(lab, manager.shown, 120)
        first, before = origin.mark(), origin.tally()
        for step, go, target in (("up", manager.up, os.path.dirname(day)), ("back", manager.back, day)):
            mark, row, start = origin.mark(), Row("parent-" + step, program), time.monotonic()
            go()
            manager.arrive(target)
            row.note(f"title after {time.monotonic() - start:.1f} s")
            settle(lab, start, 120)
            run.picture(manager.windows, program, "parent", step)
            row.tally, row.dialogs = origin.tally(mark), manager.dialogs() | manager.windows.complaints()
            judge_walk(row, origin, first)
            row.note(f"the day before: {before.api} API requests, {before.heads} HEADs, {before.previews} previews")
            if program != "dolphin" and step == "up":
                # Only Dolphin draws previews of folders; the others count entries at most.
                row.promise(row.tally.previews == 0, "no preview of what nobody looks at")
            judge_counts(row, origin, mark)
            failed = thumbs.failures(lab.thumbnails)
            row.promise(not failed, f"no record of failure ({len(failed)})")
            run.add(row)
        manager.close()


def judge_walk(row, origin, mark=0):
    """The budget of walks: no picture, no size of what nobody looks at, and bounded API requests a minute."""
    row.promise(row.tally.pictures == 0, "0 pictures read")
    row.promise(not row.dialogs, "no dialog")
    times = [entry["t"] for entry in origin.since(mark) if origin.kind(entry) == "api"]
    if times:
        minutes = collections.Counter((moment - times[0]) // 60_000 for moment in times)
        first, later = minutes.pop(0), max(minutes.values(), default=0)
        row.note(f"API requests in the first minute {first}, in the worst later one {later}")
        most, most_later = origin.service.walk
        row.promise(first <= most and later <= most_later, f"{most} API requests in the first minute, {most_later} in each later one")


# Sizes of what is only counted or previewed: GIO's programs stat(2) each entry that they count.
COUNTED, COUNTED_LATER = 600, 2


def judge_counts(row, origin, mark=0):
    """The budget of counts: so many HEADs at once, and so many a second for as long as they went on."""
    times = [entry["t"] / 1000 for entry in origin.since(mark) if origin.kind(entry) == "heads" and entry["method"] == "HEAD"]
    seconds = max(times, default=0) - min(times, default=0)
    row.note(f"{len(times)} HEADs in {seconds:.0f} s")
    most = COUNTED + COUNTED_LATER * (seconds + 1)
    row.promise(len(times) <= most, f"{COUNTED} sizes of what is only counted, then {COUNTED_LATER} a second")


@scenario("month", ALL)
def month(run, program):
    """A month of `by-date/`, of which nobody has been to any day: what counts and previews may cost in all."""
    origin = run.origin()
    with Lab(run.place, origin, desktop=ALL[program].desktop) as lab:
        manager, row = ALL[program](lab), Row("month", program)
        year, number, _ = run.service.recent(1, skip=40)[0].split("-")
        manager.open(lab.path("by-date", run.service.mode, year, number))
        lab.quiet(6, 100)
        run.picture(manager.windows, program, "month")
        row.tally, row.dialogs = origin.tally(), manager.dialogs() | manager.windows.complaints()
        judge_walk(row, origin)
        judge_counts(row, origin)
        # Only Dolphin draws previews: of each day that its window has, of eight pictures each.
        row.promise(row.tally.api <= 62 or program != "dolphin", "two API requests for each day")
        run.add(row)
        manager.close()
