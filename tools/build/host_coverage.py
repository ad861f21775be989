#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Says which lines of src/host the tests of `make host-coverage` ran in the agent's own processes.

  tools/build/host_coverage.py --build build --agent neuron-dra-agent

Reads the counters that the processes shared, and the log of the tests. Writes an HTML report and the part of the
evidence, prints a table of files, and fails below LINES_MIN of the lines. src/main.c counts with src/host: nothing else
runs it.
"""

import argparse
import pathlib
import re
import sys

import coverage  # sets the path to part
import line_coverage
import part

LINES_MIN = 95.0
SHOWN = 12
SOURCES = ("src/host/**/*.c", "src/main.c")
NOT_SHOWN = (
    "Lines only: a line that ran says nothing about its branches.",
    "Processes that the tests kill count as well, because their counters lie in a file that all of them map.")


def failed_tests(log):
    """The names of tests that failed with the agent that counts."""
    text = log.read_text(encoding="utf-8", errors="replace")
    return sorted(set(re.findall(r"^--- FAIL: (\S+)", text, re.MULTILINE)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--agent", required=True)
    given = parser.parse_args()
    folder = pathlib.Path(given.build) / "host-coverage"
    profile = folder / "agent.profdata"
    raw = sorted(folder.glob("*.profraw"))
    if not raw:
        sys.exit("host-coverage: no process of the agent left counters: the log is build/host-coverage/tests.log")
    coverage.tool("llvm-profdata", "merge", "-sparse", *raw, "-o", profile)
    sources = sorted(str(path) for pattern in SOURCES for path in coverage.ROOT.glob(pattern))
    arguments = [folder / given.agent, f"-instr-profile={profile}", *sources]
    coverage.tool("llvm-cov", "show", *arguments, "-format=html", f"-output-dir={folder / 'report'}")
    rows = line_coverage.rows_of(arguments)
    lines = line_coverage.total(rows.values())["lines"]
    worst = sorted(rows.items(), key=lambda item: item[1]["lines"].percent)
    for name, row in worst[:SHOWN]:
        print(f"  {name:<40} {row['lines']}")
    failed = failed_tests(folder / "tests.log")
    if failed:
        print(f"  {len(failed)} tests fail with the agent that counts: {' '.join(failed)}")
    summary = f"{lines.percent:.1f} % of {lines.count} lines of src/host and src/main.c"
    wanted = "" if lines.percent >= LINES_MIN else f"wanted {LINES_MIN:.0f} %"
    part.write_part("host-coverage", "Lines of the host that the conformance tests run",
                    {"clang and llvm-cov": coverage.version_of_llvm()}, "make host-coverage",
                    f"{summary}; {len(failed)} of the tests fail with the agent that counts",
                    ("file", "lines"), [(name, row["lines"]) for name, row in worst],
                    [*NOT_SHOWN, *(f"{name} fails with the agent that counts." for name in failed)], failed=wanted)
    print(f"host-coverage: {summary}; {folder / 'report' / 'index.html'}")
    if wanted:
        print(f"host-coverage: {wanted}")
    return 1 if wanted else 0


if __name__ == "__main__":
    sys.exit(main())
