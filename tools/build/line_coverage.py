# SPDX-License-Identifier: Apache-2.0
"""Lines that were run, by file, from a profile of clang: what the fuzzers' and the host's coverage share.

coverage.py, which judges the unit tests, looks at branches and conditions too and has its own way to count.
"""
import json
import os
import pathlib

import coverage


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


def total(rows):
    return {"lines": sum((row["lines"] for row in rows), Count())}


def folder_of(name):
    """src/host of src/host/node/probe.c, boards of boards/trn.c."""
    return "/".join(pathlib.PurePosixPath(name).parts[:-1][:2])


def rows_of(arguments):
    """{file: {"lines": Count}} of what llvm-cov is asked for."""
    exported = coverage.tool("llvm-cov", "export", *arguments, "-summary-only")
    files = json.loads(exported)["data"][0]["files"]
    return {os.path.relpath(entry["filename"], coverage.ROOT):
            {"lines": Count(entry["summary"]["lines"]["covered"], entry["summary"]["lines"]["count"])}
            for entry in files}
