#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each threat of .github/THREATS.md has something that bounds it, and names tests, fuzz targets, proofs, gates or goals
that exist; an invariant is one of the header behind it."""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import gate  # noqa: E402
import requirements  # noqa: E402

PAGE = ".github/THREATS.md"
HEAD = ["threat", "what bounds it", "shown by"]
LABEL = re.compile(r"\b[CIR]\d+\b(?: to [CIR]\d+\b)?")
INVARIANTS = re.compile(requirements.LABELS + r" of `([\w/]+\.h)`")
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
NAMED = re.compile(r"`((?:make|gate) [a-z-]+)`")


def rows_of(text):
    """(number of the line, heading, cells) of the tables whose head is HEAD."""
    inside, heading = False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells == HEAD:
            inside = True
        elif inside and not set(line) <= set("|-"):
            yield number, heading, cells


def reference_of(name, target):
    """A link as tests/requirements.toml would write it."""
    path = os.path.normpath(os.path.join(os.path.dirname(PAGE), target))
    whole = path in (f"tests/fuzz/fuzz_{name.removeprefix('fuzz ')}.c", f"tests/proofs/{name.removeprefix('proof ')}.c")
    return name if whole else f"{path} {name}"


def references_of(cell):
    return [reference_of(*link) for link in LINK.findall(cell)] + NAMED.findall(cell)


def unknown_invariants(root, bound):
    """What is wrong with the invariants that a cell names."""
    for label in LABEL.findall(INVARIANTS.sub("", bound)):
        yield f"{label}: name its header behind it, as in 'I5 of `src/agent/agent.h`'"
    for labels, header in INVARIANTS.findall(bound):
        path = pathlib.Path(root) / header
        known = requirements.invariants_of(path.read_text()) if path.is_file() else {}
        yield from (f"{header} has no {label}" for label in requirements.expand(labels) if label not in known)


def read(root):
    """[(from whom, threat, what bounds it, [references])]."""
    return [(heading, *cells[:2], references_of(cells[2]))
            for _, heading, cells in rows_of((pathlib.Path(root) / PAGE).read_text()) if len(cells) == len(HEAD)]


def check(root):
    report = gate.Report()
    rows = list(rows_of((pathlib.Path(root) / PAGE).read_text()))
    count = 0
    for number, heading, cells in rows:
        place = f"{PAGE}:{number}"
        if len(cells) != len(HEAD) or not all(cells) or not heading:
            report.add(place, f"a row has the cells {', '.join(HEAD)}, below a heading that says from whom")
            continue
        references = references_of(cells[2])
        count += len(references)
        if not references:
            report.add(place, "nothing shows it: link a test or a fuzz target")
        faults = filter(None, (requirements.fault(root, reference) for reference in references))
        for wrong in (*faults, *unknown_invariants(root, cells[1])):
            report.add(place, wrong)
    if not rows:
        report.add(PAGE, f"no table with the head {' | '.join(HEAD)}")
    report.looked_at = f"{len(rows)} threats, {count} references"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
