#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs cmocka test programs, shows what failed in full, and closes with one total.

  tools/build/run_unit.py [--jobs N] PROGRAM...

A program that crashes, that a sanitizer stops, that runs too long or that runs no test counts as a
failed test of its own.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

LIMIT_SECONDS = 900  # of a program: the longest takes a minute of CPU on its own
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "CMOCKA_MESSAGE_OUTPUT": "stdout",
}


class Result:
    """What one program did."""

    def __init__(self, program, output, problem):
        self.name = pathlib.Path(program).name
        self.output = output
        self.passed = self._count("PASSED")
        self.failed = self._count("FAILED")
        self.skipped = self._count("SKIPPED")
        self.problem = problem
        if not problem and self.passed + self.failed + self.skipped == 0:
            self.problem = "ran no test"
        # A crash leaves no count behind: it is one failure besides those that were counted.
        if self.problem and self.failed == 0:
            self.failed = 1

    def _count(self, word):
        # cmocka of Debian 13 names the group before some of its counts.
        return sum(int(n) for n in re.findall(rf"^\[ +{word} +\] (?:\w+: )?(\d+) test", self.output, re.M))

    @property
    def good(self):
        return self.failed == 0


def run(program):
    """Runs one program to its end; never raises."""
    try:
        done = subprocess.run([os.path.abspath(program)], env={**os.environ, **ENVIRONMENT},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, errors="replace",
                              stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        return Result(program, (late.stdout or b"").decode(errors="replace"),
                      f"still running after {LIMIT_SECONDS} s")
    except OSError as error:
        return Result(program, "", str(error))
    problem = ""
    if done.returncode < 0:
        problem = f"killed by signal {-done.returncode}"
    elif done.returncode > 0:
        problem = f"exit {done.returncode}"
    return Result(program, done.stdout, problem)


def run_all(programs, jobs):
    """Results in the order of the programs, each as soon as it and those before it are there."""
    with concurrent.futures.ThreadPoolExecutor(max(1, jobs)) as pool:
        yield from pool.map(run, programs)


def show(result):
    counts = f"{result.passed} passed"
    if result.skipped:
        counts += f", {result.skipped} skipped"
    if result.good:
        print(f"  ok    {result.name}: {counts}")
        return
    print(f"  FAIL  {result.name}: {counts}, {result.failed} failed"
          + (f" ({result.problem})" if result.problem else ""))
    for line in result.output.splitlines():
        if not re.match(r"\[ +(RUN|OK) +\]", line):
            print("        " + line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--name", default="unit", help="of this build of the tests, for the last line")
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    results = []
    for result in run_all(arguments.programs, arguments.jobs):
        show(result)
        results.append(result)
    if not results:
        print(f"{arguments.name}: no test programs")
        return 1
    passed, failed, skipped = (sum(getattr(r, key) for r in results)
                               for key in ("passed", "failed", "skipped"))
    print(f"{arguments.name}: {passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
