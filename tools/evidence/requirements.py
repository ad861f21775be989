# SPDX-License-Identifier: Apache-2.0
"""Reads the requirements and what shows each: tests/requirements.toml, tests/flags.toml, and the invariants of headers.

Owns the form of tests/requirements.toml and of the references in it. It decides nothing: check_requirements.py
compares, and the page of `make evidence` shows.
"""
import functools
import pathlib
import re
import tomllib

import gate

LIST = "tests/requirements.toml"
FLAGS = "tests/flags.toml"
CODE = ("src", "boards")
INVARIANT = re.compile(r"^ \* +(?:Invariant: )?([CIR]\d+)[. ] *(.*)$")
LABELS = r"((?:,? ?(?:and )?[CIR]\d+(?: to [CIR]\d+)?)+)"
# "I1 to I6 of dra/claim.h", and "of src/wire/grpc.h: I7, and I4 to I6".
BEFORE = re.compile(LABELS + r" of ([\w/]+\.h)")
BEHIND = re.compile(r"of ([\w/]+\.h):" + LABELS)


class Requirement:
    """One thing that has to hold: where it is promised, which files do it, and what shows it."""

    def __init__(self, name, text, source, code, shown):
        self.name, self.text, self.source, self.code, self.shown = name, text, source, code, shown


@functools.lru_cache(maxsize=None)
def tests_of(path):
    """Names of the tests that a file has."""
    text = path.read_text(errors="replace")
    if path.suffix == ".go":
        return frozenset(re.findall(r"^func (Test\w+)\(\w+ \*testing\.T\)", text, re.M))
    return frozenset(re.findall(r"^static void (\w+)\(void \*\*\w+\)", text, re.M))


@functools.lru_cache(maxsize=None)
def goals_of(root):
    return frozenset(re.findall(r"^([a-z0-9-]+):", (root / "Makefile").read_text(), re.M))


def fault(root, reference):
    """What is wrong with a reference to a test, fuzz target, proof, gate or goal; None: it exists."""
    root = pathlib.Path(root)
    kind, _, name = reference.partition(" ")
    if kind == "fuzz":
        return None if (root / f"tests/fuzz/fuzz_{name}.c").is_file() else f"there is no fuzz target {name!r}"
    if kind == "proof":
        return None if (root / f"tests/proofs/{name}.c").is_file() else f"there is no proof {name!r}"
    if kind == "gate":
        return None if list(root.glob(f"tools/*/check_{name}.py")) else f"there is no gate {name!r}"
    if kind == "make":
        return None if name in goals_of(root) else f"the Makefile has no goal {name!r}"
    path = root / kind
    if not kind.startswith(("tests/", "tools/")) or not path.is_file():
        return f"there is no {kind}"
    return None if name in tests_of(path) else f"{kind} has no test {name!r}"


def read_listed(root):
    """Requirements of the list, and its table of invariants."""
    listed = tomllib.loads((pathlib.Path(root) / LIST).read_text())
    invariants = listed.pop("invariants", {})
    return [Requirement(name, **entry) for name, entry in listed.items()], invariants


def read_flags(root):
    """Each flag of --help is a requirement; check_flags.py compares them with the table in the code."""
    named = tomllib.loads((pathlib.Path(root) / FLAGS).read_text())
    return [Requirement(flag, "The flag has the effect that --help describes.", "cfg/deploy/reference.md",
                        ["src/agent/settings_table.c"], [entry]) for flag, entry in named.items()]


def invariants_of(text):
    """{label: text} of a header's numbered invariants."""
    found, label = {}, None
    for line in text.splitlines():
        begun = INVARIANT.match(line)
        if begun:
            label = begun[1]
            found[label] = begun[2].strip()
        elif label and re.match(r"^ \* {3,}\S", line):
            found[label] += " " + line[2:].strip()
        else:
            label = None
    return found


def expand(words):
    """I1, I4 to I6 -> I1, I4, I5, I6."""
    for letter, begin, end in re.findall(r"([CIR])(\d+)(?: to [CIR](\d+))?", words):
        yield from (f"{letter}{number}" for number in range(int(begin), int(end or begin) + 1))


def header_of(root, name):
    """Path of a header as a comment names it: from the top, from src, or by its last part where that is one file."""
    root = pathlib.Path(root)
    for path in (name, f"src/{name}"):
        if (root / path).is_file():
            return path
    found = [] if "/" in name else sorted(root.glob(f"src/**/{name}"))
    return str(found[0].relative_to(root)) if len(found) == 1 else None


def claimed_by(root, path):
    """(header as named, its path or None, label) for each invariant that the head of a fuzz target names."""
    head = path.read_text().split("*/\n#include", 1)[0]
    words = " ".join(line.strip(" */") for line in head.splitlines())
    for labels, header in BEFORE.findall(words):
        yield from ((header, header_of(root, header), label) for label in expand(labels))
    for header, labels in BEHIND.findall(words):
        yield from ((header, header_of(root, header), label) for label in expand(labels))


def read_claims(root):
    """{"HEADER LABEL": [fuzz targets]}, and what names no invariant: (place, words)."""
    root = pathlib.Path(root)
    claims, unknown = {}, []
    for path in sorted(root.glob("tests/fuzz/fuzz_*.c")):
        for named, header, label in claimed_by(root, path):
            known = invariants_of((root / header).read_text()) if header else {}
            if label not in known:
                unknown.append((path.relative_to(root), f"{named} has no {label}" if header else f"no header {named}"))
                continue
            claims.setdefault(f"{header} {label}", []).append(f"fuzz {path.stem.removeprefix('fuzz_')}")
    return claims, unknown


def read_invariants(root, listed):
    """A requirement for each numbered invariant of a header of src."""
    root = pathlib.Path(root)
    claims, _ = read_claims(root)
    found = []
    for path in sorted(root.glob("src/**/*.h")):
        name = str(path.relative_to(root))
        for label, text in invariants_of(path.read_text()).items():
            key = f"{name} {label}"
            shown = sorted(set(claims.get(key, []))) + listed.get(key, [])
            code = [name] + [str(twin.relative_to(root)) for twin in [path.with_suffix(".c")] if twin.is_file()]
            found.append(Requirement(key, text, name, code, shown))
    return found


def sources(root):
    """C files that have to belong to a requirement."""
    return [str(path) for path in gate.own_c_files(root, CODE) if path.suffix == ".c"]


def read_all(root):
    listed, invariants = read_listed(root)
    return listed, read_flags(root), read_invariants(root, invariants)
