#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the unit tests built for coverage and says what of the agent they reach.

  tools/build/coverage.py [--jobs N] [--build build] PROGRAM...   run, write the report, judge

Lines, branches and conditions (MC/DC: each shown to change its decision by itself; only decisions of two conditions
or more count) are clang's. coverage_gaps.py judges what is not reached: each gap has a record with its reason, or
counts against the number that its room may have. build/coverage/gaps.txt names them all. UPDATE=1 writes lower numbers.
Left out: generated code and nanopb (their generator's affair), mbedTLS, and src/main.c (run by the conformance tests
only).
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

import coverage_gaps as gaps
import run_unit

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/evidence"))
import part  # noqa: E402  pylint: disable=wrong-import-position

LLVM = "19"
FOLDERS = ("src/base", "src/wire", "src/x509", "src/dra", "src/kubeconfig", "src/agent", "src/command", "src/host",
           "boards")
KINDS = gaps.KINDS
HEAD = ("room", "lines", "branches", "MC/DC", "gaps with a reason", "gaps without")
NOT_SHOWN = (
    "Assertions are compiled out of the measured build: a condition that always holds has no other outcome to reach.",
    "A decision that holds another one in a call has branches but no MC/DC: clang 19 measures no nested decisions.",
    "src/host and src/main.c are mostly run by the conformance tests, which have a measurement of their own.",
    "Coverage says what ran, not whether a test would notice a mistake there: the mutants say that.")


def tool(name, *arguments):
    done = subprocess.run([f"{name}-{LLVM}", *map(str, arguments)], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"coverage: {name}-{LLVM} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


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
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.c")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def all_rooms():
    """In the order of FOLDERS."""
    return list(dict.fromkeys(gaps.room_of(name) for folder in FOLDERS for name in own_sources()
                              if name.startswith(folder + "/")))


def arguments_for(programs, profile, objects):
    """For llvm-cov. What no program holds is counted too, from its object; tables without code are in neither."""
    def arguments(binaries):
        more = [word for binary in binaries[1:] for word in ("-object", binary)]
        return [binaries[0], *more, f"-instr-profile={profile}", *own_sources()]

    exported = tool("llvm-cov", "export", *arguments(programs), "-summary-only")
    seen = {os.path.relpath(entry["filename"], ROOT) for entry in json.loads(exported)["data"][0]["files"]}
    unheld = [objects / pathlib.Path(name).with_suffix(".o") for name in own_sources() if name not in seen]
    return arguments([*programs, *(path for path in unheld if path.exists())])


def measure(arguments):
    """(functions, {file: number of lines with code})."""
    dark, count = gaps.lines_of(tool("llvm-cov", "export", *arguments, "-format=lcov"))
    exported = json.loads(tool("llvm-cov", "export", *arguments))["data"][0]
    return gaps.functions_of(exported, dark, set(own_sources())), count


def totals_of(functions, lines):
    """{room: {kind: how many there are}}."""
    totals = collections.defaultdict(collections.Counter)
    for file, count in lines.items():
        totals[gaps.room_of(file)]["lines"] += count
    for one in functions:
        totals[gaps.room_of(one.file)]["branches"] += 2 * len(one.conditions)
        totals[gaps.room_of(one.file)]["mcdc"] += sum(len(covered) for _, _, covered in one.decisions)
    return totals


def write_report(arguments, folder):
    """HTML with MC/DC: which lines nothing ran, and which side of a branch was never taken."""
    tool("llvm-cov", "show", *arguments, "-format=html", f"-output-dir={folder / 'report'}", "-show-mcdc",
         "-show-branches=count", "-show-line-counts-or-regions", "-project-title=neuron-dra-agent")


def write_gaps(found, folder):
    order = sorted(found, key=lambda gap: (gap.function.file, gap.line, gap.kind))
    (folder / "gaps.txt").write_text("".join(f"{gap}{'  (excused)' if gap.excused else ''}\n" for gap in order))


def share(missed, count):
    if not count:
        return "-"
    cut = int(10000 * (count - missed) / count) / 100    # cut, not rounded: 100 % means all
    return f"{cut:.2f} % {count - missed}/{count}"


def rows_of(found, totals, rooms):
    rows = []
    for room in rooms:
        here = [gap for gap in found if gaps.room_of(gap.function.file) == room]
        excused = sum(gap.excused for gap in here)
        rows.append([room, *(share(sum(gap.kind == kind for gap in here), totals[room][kind]) for kind in KINDS),
                     str(excused), str(len(here) - excused)])
    return rows


def show_table(rows):
    form = "  {:<22} {:<20} {:<20} {:<20} {:>8} {:>8}"
    print(form.format("", *HEAD[1:4], "excused", "open"))
    for row in rows:
        print(form.format(*row))


def judge(functions, totals, rooms, folder):
    """(gaps, problems in words)."""
    records = gaps.read_records()
    problems = gaps.check_records(records)
    if problems:
        return [], problems
    judged = gaps.Judge(functions, records)
    write_gaps(judged.gaps, folder)
    counted, missing = gaps.count_open(judged.gaps), gaps.read_missing()
    problems += judged.stale(records)
    problems += [f"{room}: nothing was measured: the report names no file of it" for room in rooms if not totals[room]]
    if os.environ.get("UPDATE") == "1" and not problems:
        missing = gaps.lowered(counted, missing, rooms)
        gaps.write_missing(missing)
    return judged.gaps, problems + gaps.check_missing(counted, missing, rooms)


def version_of_llvm():
    return next(word for word in tool("llvm-cov", "--version").split() if word.startswith(LLVM))


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
    functions, lines = measure(arguments)
    totals, rooms = totals_of(functions, lines), all_rooms()
    write_report(arguments, folder)
    found, problems = judge(functions, totals, rooms, folder)
    for problem in problems:
        print(f"coverage: {problem}")
    if not found:
        return 1
    rows = rows_of(found, totals, rooms)
    show_table(rows)
    partly = {row[0]: int(row[5]) for row in rows if row[5] != "0"}
    excused = sum(int(row[4]) for row in rows)
    summary = f"{excused} gaps with a reason; {len(rows) - len(partly)} of {len(rows)} rooms have no other gap"
    summary += "".join(f", {room} has {count}" for room, count in partly.items())
    part.write_part("coverage", "Coverage of the unit tests", {"clang and llvm-cov": version_of_llvm()},
                    "make coverage", summary, HEAD, rows, NOT_SHOWN,
                    [part.keep("coverage-exclusions.toml", (ROOT / gaps.EXCLUSIONS).read_text()),
                     part.keep("coverage-gaps.txt", (folder / "gaps.txt").read_text())],
                    failed="; ".join(problems))
    print(f"coverage: {summary}; {given.build}/coverage/gaps.txt, {given.build}/coverage/report/index.html")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
