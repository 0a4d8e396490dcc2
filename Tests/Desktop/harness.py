"""Runs scenarios with the programs that take part in them and prints a table; see README.md."""

import argparse
import os
import re
import shutil
import signal
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../Wire")]

import parts  # noqa: E402
import services  # noqa: E402
import table  # noqa: E402
from lab import adopt_orphans, children_of, end_all  # noqa: E402
from scenarios import SCENARIOS  # noqa: E402
from service import WatchedOrigin, readable_seed  # noqa: E402

PICTURES = os.path.join(HERE, "../../build/desktop")


class Run:
    """What all scenarios of one run share: a folder, options, the rows so far, and the service whose turn it is."""

    def __init__(self, place, options):
        self.place, self.options, self.rows, self.service = place, options, [], None

    def origin(self, *options, **more):
        """The service, as a desktop meets it."""
        return WatchedOrigin(self.place, *options, service=self.service, **more)

    def readable_seed(self, days, top):
        """A seed of the origin with which nothing is withheld among the first `top` of the days."""
        return readable_seed(self.place, self.service, days, top)

    def programs(self, known):
        """Those of the known programs that take part, in the order of `known`."""
        wanted = self.options.programs
        return [name for name in known if not wanted or name in wanted]

    def add(self, row):
        row.service = self.service.name
        self.rows.append(row)
        print(row.text(), flush=True)
        return row

    def picture(self, windows, *names):
        """A screenshot in build/desktop, named by service, program and step."""
        os.makedirs(PICTURES, exist_ok=True)
        path = os.path.join(PICTURES, re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join([self.service.name, *names])) + ".png")
        windows.picture(path)
        return path


def main():
    parser = argparse.ArgumentParser(prog="Tests/Desktop/run", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--programs", type=lambda text: text.split(","), default=[], metavar="NAME,…")
    parser.add_argument("--visits", type=int, default=2, help="visits of Dolphin to a day (2)")
    parser.add_argument("--minutes", type=int, default=2, help="minutes that a walk by tree is watched (2)")
    parser.add_argument("--limit", type=int, default=900, help="seconds that one scenario may take with one program (900)")
    services.add_option(parser)
    options = parser.parse_args()
    if unknown := [name for name in options.scenarios if name not in SCENARIOS]:
        parser.error(f"no such scenario: {', '.join(unknown)}")
    adopt_orphans()
    # A shell starts what it puts in the background deaf to Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(table.heading(), flush=True)
    run = None
    try:
        with parts.Place() as place:
            # What is built meanwhile changes nothing of this run.
            programs = place.path("programs")
            os.mkdir(programs)
            for program in ("rankfs", "rankfs-render", "rankfs-origin"):
                shutil.copy2(os.path.join(parts.PROGRAMS, program), programs)
            parts.PROGRAMS = programs
            run = Run(place, options)
            for run.service in options.services:
                for name in options.scenarios or SCENARIOS:
                    perform(run, name)
    finally:
        end_all(children_of(os.getpid()))
    broken = sum(bool(row.broken) for row in run.rows)
    print(f"{len(run.rows)} rows, {broken} not as promised; screenshots in build/desktop", flush=True)
    sys.exit(1 if broken else 0)


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong()


def perform(run, name):
    """One scenario with each of its programs; what fails in the harness itself is a row, too."""
    scenario = SCENARIOS[name]
    signal.signal(signal.SIGALRM, too_long)
    for program in run.programs(scenario.programs):
        rows, start = len(run.rows), time.monotonic()
        signal.alarm(run.options.limit)
        try:
            scenario(run, program)
        except TooLong:
            run.add(table.Row(name, program)).promise(False, f"not done within {run.options.limit} s")
            print("  (not done in time)", flush=True)
        except (Exception, SystemExit) as error:
            if isinstance(error, SystemExit) and error.code == 143:
                raise
            row = table.Row(name, program)
            row.promise(False, f"{type(error).__name__}: {error}")
            run.add(row)
            traceback.print_exc()
        finally:
            signal.alarm(0)
        if os.environ.get("DESKTOP_TIMES"):
            print(f"  ({name} {program}: {time.monotonic() - start:.0f} s, {len(run.rows) - rows} rows)", flush=True)


main()
