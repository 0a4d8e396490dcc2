"""Programs without a window: clean copies, animations, and walks of everything."""

import os
import subprocess
import time

import parts
from copying import Person, compare, wait_for_copy
from lab import Lab
from managers import ALL
from opening import judge_walk
from scenarios import scenario
from table import Row
from windows import Windows

LIVE = {"user.rankfs.state", "user.rankfs.progress"}


@scenario("clean", ("gio", "cp", "rsync", "thunar", "nautilus"))
def clean(run, program):
    """Copies carry the lasting attributes, and none that was true for a moment only."""
    day = run.service.recent(1)[0]
    origin = run.origin("--seed", str(run.readable_seed([day], 5)))
    with Lab(run.place, origin, "top=5", desktop="XFCE" if program == "thunar" else "GNOME") as lab:
        row, target = Row("clean", program), os.path.join(lab.home, "out")
        names = sorted(os.listdir(lab.day(day)))
        paths = [os.path.join(lab.day(day), name) for name in names]
        if program in ALL:
            manager = ALL[program](lab)
            manager.open(lab.day(day))
            took, found = manager.take_all(len(names))
            row.promise(took, f"Ctrl+C took all ({len(found)})")
            manager.go(target)
            manager.paste(target)
            row.dialogs = wait_for_copy(lab, manager, target, len(names), 60) | manager.windows.complaints()
            run.picture(manager.windows, program, "clean")
        else:
            words = {"gio": ["gio", "copy"], "cp": ["cp", "-a"], "rsync": ["rsync", "-aX"]}[program]
            answer = lab.run([*words, *paths, target + "/"], seconds=120)
            row.promise(answer.returncode == 0, f"status 0 ({answer.stderr.decode()[:200]})")
        kept = {name: set(os.listxattr(os.path.join(target, name))) for name in os.listdir(target)}
        row.tally, row.files = origin.tally(), f"{len(kept)}/{len(names)}"
        live = {one for attributes in kept.values() for one in attributes} & LIVE
        lasting = [name for name, attributes in kept.items() if "user.xdg.origin.url" in attributes]
        row.note(f"copies with user.xdg.origin.url: {len(lasting)}")
        row.promise(len(kept) == len(names), "all copied")
        row.promise(not live, f"no live attributes {sorted(live)}")
        row.promise(not row.dialogs, "no dialog")
        run.add(row)


COPIERS = {"cp": ["cp", "-rT", "{folder}", "{out}/copy"], "rsync": ["rsync", "-a", "--itemize-changes", "{folder}/", "{out}/copy"],
           "fetch": ["{rankfs}", "fetch", "{folder}", "--to", "{out}"], "pin": ["{rankfs}", "pin", "{folder}"]}


@scenario("door", COPIERS)
def door(run, program):
    """Folders of the root, of a service 60 ms away by TLS and HTTP/2: copied twice, and read again when the service is gone."""
    for place in run.service.doors:
        origin = run.origin(secure=True)
        with Lab(run.place, origin, *run.service.session(run.place)) as lab:
            row, folder, out = Row(f"door-{place.split('/')[0]}", program), lab.path(*place.split("/")), os.path.join(lab.home, "out")
            row.promise(lab.run(["ls", folder]).returncode == 0, "ls")
            names, listed = sorted(os.listdir(folder)), origin.tally()
            row.promise(listed.pictures == 0 and listed.heads == 0, "names cost no request for a picture")
            words = [word.format(folder=folder, out=out, rankfs=f"{parts.PROGRAMS}/rankfs") for word in COPIERS[program]]
            first = lab.run(words, seconds=240)
            lab.quiet(2, 60)
            row.tally, mark = origin.tally(), origin.mark()
            second = lab.run(words, seconds=240)
            row.promise(first.returncode == second.returncode == 0, f"done twice ({(first.stderr + second.stderr).decode()[:200]})")
            said = {"rsync": not second.stdout, "fetch": b"nothing new" in second.stdout}
            row.promise(said.get(program, True), f"nothing new the second time ({second.stdout.decode()[:200]})")
            row.promise(origin.mark() == mark, "no request the second time")
            lab.unmount()
            parts.end(origin.process)
            lab.mount("offline=on")
            copied = {"fetch": os.path.join(out, place), "pin": folder}.get(program, f"{out}/copy")
            right, wrong, missing = compare(folder, copied, names)
            row.files = f"{right}/{len(names)}"
            row.note(f"names cost {listed.api} API requests; {len(wrong)} wrong, {len(missing)} missing offline")
            row.promise(names and sorted(os.listdir(folder)) == names == sorted(os.listdir(copied)), "the same names copied, and offline")
            row.promise(right == len(names), "every file offline as it was copied")
            run.add(row)


@scenario("door-feh", ("feh",))
def door_feh(run, program):
    """The same folders as thumbnails of a viewer that reads each picture."""
    for place in run.service.doors:
        origin = run.origin(secure=True)
        with Lab(run.place, origin, *run.service.session(run.place)) as lab:
            windows, row, folder = Windows(lab), Row(f"feh-{place.split('/')[0]}", program), lab.path(*place.split("/"))
            # Films are among the entries of boards.
            pictures = [name for name in sorted(os.listdir(folder)) if not name.endswith((".mp4", ".webm", ".zip"))]
            lab.start("feh", "--thumbnails", "--limit-width", "1200", folder)
            row.promise(windows.wait(kind=program, seconds=90), "a window")
            lab.quiet(4, 90)
            run.picture(windows, *row.scenario.split("-"))
            row.tally, row.dialogs = origin.tally(), windows.complaints()
            row.promise({entry["status"] for entry in origin.pictures()} <= {200, 206}, "every picture is read")
            row.note(f"pictures listed {len(pictures)}, read {len({entry['path'] for entry in origin.pictures()})}")
            run.add(row)


@scenario("mpv", ("mpv",))
def mpv(run, program):
    """An animation: Matroska or MP4."""
    origin = run.origin()
    with Lab(run.place, origin) as lab:
        row = Row("mpv", program)
        answer = lab.run(["mpv", "--no-config", "--vo=null", "--ao=null", "--untimed", "--no-terminal", "--msg-level=all=v",
                          "--log-file=" + lab.log("mpv.log"), lab.path(run.service.film)], seconds=120)
        with open(lab.log("mpv.log"), errors="replace") as file:
            bad = [line.strip() for line in file if "iscarding" in line or "broken" in line.lower()]
        row.tally, row.dialogs = origin.tally(), set(bad)
        row.promise(answer.returncode == 0, f"mpv ends with 0 ({answer.returncode})")
        row.promise(not bad, "no word of a broken index")
        run.add(row)


@scenario("walk", ("find", "tree"))
def walk(run, program):
    """A walk of a fresh mount, and a person beside it; then a second walk of what was walked."""
    origin = run.origin()
    with Lab(run.place, origin) as lab:
        row = Row("walk", program)
        words = {"find": ["find", lab.mount_path], "tree": ["tree", "--du", lab.mount_path]}[program]
        out = open(lab.log("walk.out"), "wb")
        process = subprocess.Popen(words, env=lab.env, stdout=out, stderr=open(lab.log("walk.err"), "wb"))
        end, people = time.monotonic() + run.options.minutes * 60, []
        for skip in (40, 41, 42):
            time.sleep(max(0, min(25, end - time.monotonic())))
            if process.poll() is None:
                people.append(Person(lab.day(run.service.recent(1, skip=skip)[0])))
                people[-1].thread.join(30)
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.2)
        done = process.poll() is not None
        parts.end(process)
        row.tally = origin.tally()
        for person in people:
            person.judge(row, 2)
        row.note(f"{'done' if done else 'stopped'} within {run.options.minutes} minutes")
        judge_walk(row, origin)
        if program == "find":
            row.promise(row.tally.heads == 0, "0 HEADs")
        with open(lab.log("walk.err"), errors="replace") as file:
            said = {line.strip() for line in file if line.strip()}
        row.dialogs = said
        row.promise(not said, "no complaint")
        run.add(row)
        again(run, lab, program)


def again(run, lab, program):
    """A day walked twice: what was asked once is not asked again."""
    row, day = Row("walk-again", program), lab.day(run.service.recent(1)[0])
    words = {"find": ["find", day], "tree": ["tree", "--du", day]}[program]
    for _ in range(2):
        mark = lab.origin.mark()
        answer = lab.run(words, seconds=200)
        lab.quiet(2, 30)
        row.tally = lab.origin.tally(mark)
    row.promise(answer.returncode == 0, "it ends with 0")
    row.promise(row.tally.api + row.tally.heads + row.tally.pictures == 0, "a second walk asks nothing")
    run.add(row)


LOOKS = {"find": ["find", "{ranking}", "-name", "001-*"], "file": ["file", "{pictures}"], "identify": ["identify", "-ping", "{pictures}"],
         "random": ["cat", "{random}"]}


@scenario("heads", LOOKS)
def heads(run, program):
    """Programs that read no picture, or only the first bytes, and `random.jpg` twenty times: nothing is fetched for what comes next."""
    origin = run.origin()
    with Lab(run.place, origin, "top=100") as lab:
        row, day, count = Row("heads", program), lab.day(run.service.recent(1)[0]), 50
        words = LOOKS[program]
        if program != "find":
            lab.run(["ls", "-l", day])
        if program == "random":
            lab.run(["sh", "-c", f"cat {day}/0[0-4]*[05]-* {day}/001-*"])
        lab.quiet(3, 60)
        mark = origin.mark()
        pictures = [os.path.join(day, name) for name in sorted(os.listdir(day))[:count]]
        for _ in range(20 if program == "random" else 1):
            answer = lab.run([one for word in words for one in (
                pictures if word == "{pictures}" else [word.format(ranking=lab.ranking, random=lab.path("random.jpg"))])], 200)
            row.promise(answer.returncode == 0, f"it ends with 0 ({answer.stderr.decode(errors='replace')[:100]})")
        lab.quiet(3, 60)
        row.tally = origin.tally(mark)
        different = len({entry["path"] for entry in origin.pictures(mark)})
        connections = sum(entry["path"] == "/" for entry in origin.since(mark))
        row.note(f"different pictures {different}, connections made ahead {connections}")
        row.promise(different <= (count if "{pictures}" in words else 0), "no picture that was not read")
        row.promise(connections == 0, "no connection made ahead")
        run.add(row)
