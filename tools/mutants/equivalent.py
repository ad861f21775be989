# SPDX-License-Identifier: Apache-2.0
"""The mutants that no test can find: tests/mutants/equivalent.toml, whose entries have to fit the code."""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
EQUIVALENT = ROOT / "tests" / "mutants" / "equivalent.toml"
KEYS = {"file", "function", "before", "after", "reason"}
FUNCTION = re.compile(r"^(?P<head>[A-Za-z_][^;{}=]*?\b(?P<name>\w+)\([^;{}]*\))\n\{\n.*?^\}$", re.M | re.S)


def functions_of(text):
    """[(name, first line, last line)] of the functions that a file defines."""
    found = []
    for match in FUNCTION.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        found.append((match["name"], first, text.count("\n", 0, match.end()) + 1))
    return found


def explained(path=EQUIVALENT):
    """{(file, function, line before, line after): reason}."""
    entries = tomllib.loads(path.read_text()).get("mutant", [])
    for entry in entries:
        if set(entry) != KEYS or not all(entry[key].strip() for key in KEYS - {"function"}):
            sys.exit(f"mutants: {path.name}: an entry has the keys {', '.join(sorted(KEYS))}: {entry}")
    return {(e["file"], e["function"], e["before"], e["after"]): e["reason"] for e in entries}


def stale(entries):
    """The entries whose line is not in their function any more, in words."""
    found = []
    for file, function, before, _ in entries:
        path = ROOT / file
        text = path.read_text() if path.is_file() else ""
        lines = text.split("\n")
        spans = [(1, len(lines))] if not function else [f[1:] for f in functions_of(text) if f[0] == function]
        if not any(before == lines[n].strip() for first, last in spans for n in range(first - 1, last)):
            found.append(f"{EQUIVALENT.name}: {file}: {function or 'no function'}: no line is \"{before}\" any more:"
                         " remove the entry")
    return found
