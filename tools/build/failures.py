#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What failed in a long output, in a few lines.

  tools/build/failures.py COMMAND...   runs it, passes its output through, and repeats at the end what failed

Who keeps only the end of a log sees it there. Knows how the tools of this repository say that something is wrong: Go
tests (with and without -v), cmocka, sanitizers, compilers, make, and rows that begin with FAIL.
"""

import collections
import re
import signal
import subprocess
import sys

COLUMNS = 160
LINES = 12       # at most, of one output
OF_A_TEST = 3    # messages of one Go test
OF_A_ROW = 3     # lines behind a row that says FAIL

GO_RUNS = re.compile(r"=== (?:RUN|CONT|NAME|PAUSE) +(\S+)")
GO_FAILS = re.compile(r"\s*--- FAIL: (\S+)")
GO_ENDS = re.compile(r"\s*--- (?:PASS|SKIP): |(?:PASS|FAIL|ok)\b(?!  )|exit status ")
GO_SAYS = re.compile(r"\s+[\w./]+\.go:\d+: ")
GO_QUOTES = re.compile(r"\.go:\d+: (?:log of the agent in|the agent of \S+ said:)")  # and its log follows
ROW_FAILS = re.compile(r"\s*FAIL  |panic: |fatal error: ")
ROW = re.compile(r"\s*(?:ok    |\S+: \d+ (?:passed|scenarios|targets)|\[(?: RUN|       OK|=|  PASSED)|$)")
SAYS = re.compile("|".join((
    r"\[  ERROR   \]", r"\[   LINE   \]", r"\[  FAILED  \] (?!\d)",                       # cmocka
    r"ERROR: \w+Sanitizer", r"WARNING: \w+Sanitizer", r"runtime error: ",
    r":\d+: (?:fatal )?error: ", r"undefined reference", r"^\S+\.go:\d+:\d+: ",           # compilers
    r"^make(?:\[\d+\])?: \*\*\* ", r"^\w+(?:Error|Exception|Surprise)\b: ",
    r"^ *not so: ", r"assertion failed", r"^coverage: tests failed", r"^e2e\.py: no cluster")))
NOISE = re.compile(r"ts=\d{4}-|\|.*\|.*\|")             # logs of agents, tables

class Reader:
    """Takes the lines in order; `found` are the reasons."""

    def __init__(self):
        self.found = []
        self.test = ""                                   # that speaks, with -v
        self.said = collections.defaultdict(list)        # messages before the verdict on their test
        self.failed = None                               # Go test whose messages follow
        self.behind = 0                                  # lines to take behind a row

    def add(self, line):
        line = " ".join(line.split())[:COLUMNS]
        if line and line not in self.found:
            self.found.append(line)

    def go(self, line):
        """Whether it is a line of Go's."""
        runs, fails = GO_RUNS.match(line), GO_FAILS.match(line)
        if runs:
            self.test, self.failed = runs[1], None
        elif fails:
            self.failed = fails[1]
            self.add(line)
            for text in self.said[self.failed][-OF_A_TEST:]:
                self.add(text)
        elif GO_SAYS.match(line) and not GO_QUOTES.search(line):
            name = self.failed or self.test
            self.said[name].append(line)
            if self.failed and len(self.said[name]) <= OF_A_TEST:
                self.add(line)
        elif GO_ENDS.match(line):
            self.failed = None
        else:
            return GO_QUOTES.search(line) is not None
        return True

    def take(self, line):
        if NOISE.search(line) or self.go(line):
            self.behind = 0
        elif ROW_FAILS.match(line):
            self.add(line)
            self.behind = OF_A_ROW
        elif SAYS.search(line):
            self.add(line)
        elif ROW.match(line):
            self.behind = 0
        elif self.behind > 0:
            self.behind -= 1
            self.add(line)


def shortened(found, most):
    if len(found) <= most:
        return found
    return found[:most - 1] + [f"… and {len(found) - most + 1} lines more"]


def reasons(lines, most=LINES):
    """Up to `most` lines that say what failed; the last ones of the output if none does."""
    reader = Reader()
    for line in lines:
        reader.take(line)
    found = reader.found or [line[:COLUMNS] for line in lines if line.strip()][-most:] or ["it said nothing"]
    return shortened(found, most)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        # A terminal interrupts both: the command ends in its own time, and its last words are shown.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, _: child.send_signal(number))
        lines = []
        for raw in child.stdout:
            sys.stdout.buffer.write(raw)
            sys.stdout.buffer.flush()
            lines.append(raw.decode(errors="replace").rstrip("\n"))
    if child.returncode:
        print("\nfailed:")
        print("\n".join("  " + line for line in reasons(lines)), flush=True)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


if __name__ == "__main__":
    sys.exit(main())
