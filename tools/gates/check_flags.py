#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each flag of --help has a test that shows its effect: tests/flags.toml names it, and it exists. A flag without an
effect says so in its help, and has no entry."""

import pathlib
import re
import sys
import tomllib

import gate

ROWS = "src/agent/settings_table.c"
TESTS = "tests/flags.toml"
NO_EFFECT = "no effect yet"
PARSED_ONLY = re.compile(r"tests/unit/test_settings\w*\.c|tests/fuzz/.*")


def flags(text):
    """Help by flag. A row ends where the next one begins."""
    parts = re.split(r'\.flag = "(--[a-z-]+)"', text)
    return dict(zip(parts[1::2], parts[2::2]))


def fault(root, entry):
    """What is wrong with an entry, or None."""
    file, _, name = entry.partition(" ")
    path = root / file
    if PARSED_ONLY.fullmatch(file):
        return f"{file} only parses it: name a test that shows the effect"
    if not path.is_file():
        return f"there is no {file}"
    if not re.search(rf"^(func|static void) {re.escape(name)}\(", path.read_text(), re.MULTILINE):
        return f"{file} has no test {name!r}"
    return None


def check(root):
    root = pathlib.Path(root)
    report = gate.Report()
    rows = flags((root / ROWS).read_text())
    named = tomllib.loads((root / TESTS).read_text())
    for flag, row in rows.items():
        if NO_EFFECT in row and flag in named:
            report.add(ROWS, f"{flag} has a test of its effect: its help must not say {NO_EFFECT!r}")
        elif NO_EFFECT not in row and flag not in named:
            report.add(TESTS, f"{flag} lacks an entry: name the test that shows its effect")
    for flag, entry in named.items():
        wrong = fault(root, entry) if flag in rows else "there is no such flag"
        if wrong:
            report.add(TESTS, f"{flag}: {wrong}")
    if not rows:
        report.add(ROWS, "no row of a flag found: the form of the table changed")
    report.looked_at = f"{len(rows)} flags, {len(named)} with a test of their effect"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
