#!/usr/bin/env python3
"""Compares the figures of several runs of `rankfs-bench --alone --kept` with those kept for this kind of machine.

    gate.py [--runs 5] [--keep] [PROGRAM [WORKLOAD...]]

A kind of machine is its architecture and its number of processors: `kept/x86_64-2.tsv`. A line there is wire, name, median, lowest
and highest of its runs. What the machine itself bounds is kept as a ratio to a plain directory, or to the disk, of the same run;
what the origin bounds (its 60 ms and 4 MiB/s) as it is. A figure is worse if its median is worse by more than a twentieth, and also
than the kept run's own spread. Exit status: 0 nothing is worse, 1 something is, 2 there is nothing to compare with.
"""

import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Figures that the machine bounds, and what the same run says of the machine.
RATIOS = {"cached": "plainCached", "direct": "plainDirect", "directTogether": "plainDirect", "stat": "plainStat",
          "listingAgain": "plainStat", "restartedListing": "plainStat", "dropped": "droppedDisk", "restartedReading": "restartedDisk"}
# Figures of which more is better.
RATES = {"cached", "direct", "directTogether", "dropped", "restartedReading"}
# Figures below this differ by chance: ms, s, MB or a count.
LEAST = {"pagingMedian": 3, "paging": 20, "droppedProcessor": 0.2}


def run(command):
    """The figures of one run, by wire and name."""
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures = {}
    for line in said.splitlines():
        if line.startswith("kept\t"):
            _, wire, name, value = line.split("\t")
            figures[wire, name] = float(value)
    for (wire, name), base in [(key, RATIOS[key[1]]) for key in figures if key[1] in RATIOS]:
        if figures.get((wire, base)):
            figures[wire, name] /= figures[wire, base]
    return {key: value for key, value in figures.items() if key[1] not in RATIOS.values()}


def summaries(runs):
    """Median, lowest and highest of each figure that all runs have."""
    keys = [key for key in runs[0] if all(key in each for each in runs)]
    return {key: (statistics.median(v), min(v), max(v)) for key in keys for v in [[each[key] for each in runs]]}


def is_worse(name, now, kept):
    """Whether a figure is worse than the one kept, beyond a twentieth, chance and the spread."""
    (median, _, _), (before, lowest, highest) = now, kept
    if name in RATES:
        return median < min(before * 0.95, lowest)
    return median > max(before * 1.05, highest, LEAST.get(name, 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help="keep these figures in place of the former ones")
    parser.add_argument("program", nargs="?", default=str(HERE.parent.parent / ".build/release/rankfs-bench"))
    parser.add_argument("workload", nargs="*")
    given = parser.parse_args()
    place = HERE / "kept" / f"{platform.machine()}-{os.cpu_count()}.tsv"
    now = summaries([run([given.program, "--alone", "--kept"] + given.workload) for _ in range(given.runs)])
    kept = {}
    if place.exists():
        for line in place.read_text().splitlines():
            wire, name, *values = line.split("\t")
            kept[wire, name] = tuple(float(value) for value in values)
    worse = 0
    for key, figures in now.items():
        before = kept.get(key)
        is_bad = before is not None and is_worse(key[1], figures, before)
        worse += is_bad
        print(f"{key[0]:8}{key[1]:20}{figures[0]:12.3f} ({figures[1]:.3f} to {figures[2]:.3f})"
              + (f"  kept {before[0]:.3f} ({before[1]:.3f} to {before[2]:.3f})" if before else "") + ("  WORSE" if is_bad else ""))
    if given.keep:
        kept.update(now)
        place.write_text("".join("\t".join([*key, *(f"{value:.4g}" for value in values)]) + "\n" for key, values in kept.items()))
        return 0
    if not kept:
        print(f"nothing is kept for this kind of machine ({place.name}); keep these with --keep", file=sys.stderr)
        return 2
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
