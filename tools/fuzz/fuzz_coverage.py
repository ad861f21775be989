#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Replays the corpora of the fuzz targets and says which lines of the agent they reach: at least 95 % of src/wire.

  tools/fuzz/fuzz_coverage.py TARGET...     replay the corpora, write build/fuzz/coverage/report, judge

Nothing is fuzzed: the figure is that of the corpora as they lie in the repository.
"""

import argparse
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "build"))
import corpus  # noqa: E402
import coverage  # noqa: E402
import line_coverage  # noqa: E402

ROOT = coverage.ROOT
FOLDER = ROOT / "build" / "fuzz" / "coverage"
LINES_MIN = 95.0
GATED = "src/wire"
SHOWN = (GATED, "src/base", "src/x509", "src/kubeconfig", "src/dra", "src/agent", "src/host", "boards")
WORST_SHOWN = 8


def program_of(target):
    return ROOT / "build" / "fuzz" / "reach" / target


def replay(target):
    """Profile of one target's corpus."""
    raw = FOLDER / f"{target}.profraw"
    done = subprocess.run([program_of(target), corpus.unpack(target)], cwd=ROOT, text=True,
                          env=dict(os.environ, LLVM_PROFILE_FILE=str(raw)), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        sys.exit(f"fuzz-coverage: {target} failed on its corpus:\n{done.stdout[-2000:]}")
    return raw


def lines_of(rows, folder):
    return line_coverage.total(row for name, row in rows.items() if line_coverage.folder_of(name) == folder)["lines"]


def show(rows):
    for folder in SHOWN:
        print(f"  {folder:<24} {lines_of(rows, folder)}")
    wire = [(row["lines"].percent, name) for name, row in rows.items() if line_coverage.folder_of(name) == GATED]
    for percent, name in sorted(wire)[:WORST_SHOWN]:
        if percent < LINES_MIN:
            print(f"  {name:<32} {percent:6.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="+")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    profile = FOLDER / "corpora.profdata"
    coverage.tool("llvm-profdata", "merge", "-sparse", *map(replay, given.targets), "-o", profile)
    programs = list(map(program_of, given.targets))
    objects = [word for program in programs[1:] for word in ("-object", program)]
    sources = [name for name in coverage.own_sources() if line_coverage.folder_of(name) in SHOWN]
    arguments = [programs[0], *objects, f"-instr-profile={profile}", *sources]
    rows = line_coverage.rows_of(arguments)
    coverage.write_report(arguments, FOLDER)
    show(rows)
    reached = lines_of(rows, GATED)
    print(f"fuzz-coverage: {len(programs)} corpora reach {reached.percent:.1f} % of the lines of {GATED}"
          f" ({LINES_MIN:.0f} % at least)")
    return 0 if reached.percent >= LINES_MIN else 1


if __name__ == "__main__":
    sys.exit(main())
