#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""README.md names a release of Kubernetes as tried on a real cluster when every whole-cluster row of it passed in the
matrix, and no other; the table of tools/cluster/README.md has the rows of today."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import gate  # noqa: E402
import matrix  # noqa: E402
import results  # noqa: E402

ROWS = "tools/cluster/README.md"
README = "README.md"
TRIED = "pods on a real cluster"


def passed(result):
    """Whether it says N of N."""
    count = re.fullmatch(r"(\d+) of (\d+)", result)
    return bool(count) and count[1] == count[2]


def proven(text):
    """The releases, as 1.36, of which every row of a whole cluster passed."""
    known = results.read(text)
    outcome = {}
    for row in matrix.ROWS:
        release = re.fullmatch(r"whole-(\d+\.\d+)(-.*)?", row.name)
        if release:
            outcome.setdefault(release[1], []).append(passed(known.get(results.key(row), results.NOT_RUN)))
    return {release for release, each in outcome.items() if all(each)}


def claimed(text):
    """The releases over those columns of README's table that say TRIED in its first row."""
    found = re.search(r"^\| instance type \|(.*)\|\n\|[-|]+\|\n\|[^|]*\|(.*)\|$", text, re.MULTILINE)
    if not found:
        return None
    columns = zip(found[1].split("|"), found[2].split("|"))
    return {head.split()[-1] for head, cell in columns if cell.strip() == TRIED}


def check(root):
    report = gate.Report()
    report.looked_at = f"{len(matrix.ROWS)} rows of the matrix"
    text = (pathlib.Path(root) / ROWS).read_text()
    if results.write(text, matrix.ROWS, {}) != text:
        report.add(ROWS, "the rows are not those of matrix.py: make e2e-matrix ROWS=... UPDATE=1")
    named = claimed((pathlib.Path(root) / README).read_text())
    if named is None:
        report.add(README, "no table of instance types and releases found")
        return report
    for release in sorted(named - proven(text)):
        report.add(README, f"Kubernetes {release} is '{TRIED}', but its rows in {ROWS} have not all passed")
    for release in sorted(proven(text) - named):
        report.add(README, f"Kubernetes {release} passed the matrix: say '{TRIED}' in its column")
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
