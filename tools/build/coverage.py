#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the unit tests built for coverage and says what of the agent they reach.

  tools/build/coverage.py [--jobs N] [--build build] PROGRAM...   run, write the report, judge

Lines, branches and conditions (MC/DC: each shown to change its decision by itself; only decisions of two conditions
or more count) are clang's. Fails when a folder of LINES_MIN, or all of them together, is below it. Left out:
generated code and nanopb (their generator's affair), mbedTLS, and src/main.c (run by the conformance tests only).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import run_unit

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM = "19"
LINES_MIN = 95.0
GATED = ("src/base", "src/wire", "src/dra")
SHOWN = ("src/x509", "src/kubeconfig", "src/agent", "src/command", "src/host", "boards")
WORST_SHOWN = 10
KINDS = ("lines", "branches", "mcdc")


def tool(name, *arguments):
    done = subprocess.run([f"{name}-{LLVM}", *map(str, arguments)], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"coverage: {name}-{LLVM} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


class Count:
    """Covered of all, of one kind."""

    def __init__(self, covered=0, count=0):
        self.covered, self.count = covered, count

    def __add__(self, other):
        return Count(self.covered + other.covered, self.count + other.count)

    @property
    def percent(self):
        return 100.0 * self.covered / self.count if self.count else 100.0

    def __str__(self):
        return f"{self.percent:6.2f} % {self.covered:5}/{self.count:<5}" if self.count else f"{'-':>8} {'':11}"


def counts_of(summary):
    return {kind: Count(summary[kind]["covered"], summary[kind]["count"]) for kind in KINDS}


def total(rows):
    rows = list(rows)
    return {kind: sum((row[kind] for row in rows), Count()) for kind in KINDS}


def folder_of(name):
    """src/host of src/host/node/probe.c, boards of boards/trn.c."""
    return "/".join(pathlib.PurePosixPath(name).parts[:-1][:2])


def run_programs(programs, jobs, raw):
    """Runs every test; False when one fails: figures of a failed run say nothing."""
    raw.mkdir(parents=True, exist_ok=True)
    for old in raw.glob("*.profraw"):
        old.unlink()
    os.environ["LLVM_PROFILE_FILE"] = str(raw / "%m-%p.profraw")
    results = list(run_unit.run_all(programs, jobs))
    for result in results:
        if not result.good:
            run_unit.show(result)
    return all(result.good for result in results)


def own_sources():
    found = [path for folder in GATED + SHOWN for path in (ROOT / folder).rglob("*.c")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def rows_of(arguments):
    """{file: {kind: Count}} of our own sources."""
    exported = tool("llvm-cov", "export", *arguments, "-show-mcdc-summary", "-summary-only")
    files = json.loads(exported)["data"][0]["files"]
    return {os.path.relpath(entry["filename"], ROOT): counts_of(entry["summary"]) for entry in files}


def arguments_for(programs, profile, objects):
    """For llvm-cov. What no program holds is counted too, from its object; tables without code are in neither."""
    def arguments(binaries):
        more = [word for binary in binaries[1:] for word in ("-object", binary)]
        return [binaries[0], *more, f"-instr-profile={profile}", *own_sources()]

    seen = rows_of(arguments(programs))
    unheld = [objects / pathlib.Path(name).with_suffix(".o") for name in own_sources() if name not in seen]
    return arguments([*programs, *(path for path in unheld if path.exists())])


def write_report(arguments, folder):
    """HTML with MC/DC: which lines nothing ran, and which side of a branch was never taken."""
    tool("llvm-cov", "show", *arguments, "-format=html", f"-output-dir={folder / 'report'}", "-show-mcdc",
         "-show-branches=count", "-show-line-counts-or-regions", "-project-title=neuron-dra-agent")


def show_table(rows):
    print(f"  {'':<24} {'lines':<20} {'branches':<20} MC/DC")

    def line(name, row):
        print(f"  {name:<24} {row['lines']} {row['branches']} {row['mcdc']}".rstrip())

    for folder in GATED + SHOWN:
        line(folder, total(row for name, row in rows.items() if folder_of(name) == folder))
    line("base, wire and dra", total(row for name, row in rows.items() if folder_of(name) in GATED))


def show_worst(rows):
    worst = sorted(rows.items(), key=lambda item: item[1]["lines"].percent)
    worst = [(name, row) for name, row in worst if row["lines"].percent < 100.0][:WORST_SHOWN]
    if worst:
        print("  fewest lines:")
    for name, row in worst:
        print(f"    {name:<32} {row['lines']}")


def judge(rows):
    """What is below the bound, in words."""
    wanted = [(folder, [folder]) for folder in GATED] + [("all of these", list(GATED))]
    problems = []
    for name, folders in wanted:
        lines = total(row for path, row in rows.items() if folder_of(path) in folders)["lines"]
        if not lines.count:
            problems.append(f"{name}: nothing was measured: the report names no file of it")
        elif lines.percent < LINES_MIN:
            problems.append(f"{name}: {lines.percent:.2f} % of lines, wanted {LINES_MIN:.0f} %: "
                            "the report names them")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--build", default="build")
    parser.add_argument("programs", nargs="+")
    given = parser.parse_args()
    folder = ROOT / given.build / "coverage"
    raw = folder / "raw"
    if not run_programs(given.programs, given.jobs, raw):
        print("coverage: tests failed")
        return 1
    profile = folder / "tests.profdata"
    tool("llvm-profdata", "merge", "-sparse", *sorted(raw.glob("*.profraw")), "-o", profile)
    arguments = arguments_for(given.programs, profile, ROOT / given.build / "obj" / "coverage")
    rows = rows_of(arguments)
    write_report(arguments, folder)
    show_table(rows)
    show_worst(rows)
    problems = judge(rows)
    for problem in problems:
        print(f"coverage: {problem}")
    if not problems:
        lines = total(row for name, row in rows.items() if folder_of(name) in GATED)["lines"]
        print(f"coverage: {lines.percent:.1f} % of the lines of base, wire and dra; "
              f"{given.build}/coverage/report/index.html")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
