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
TRIED = "pods on real clusters"


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


def releases(words):
    """The releases of "1.33 to 1.35, 1.37"; None: it has another form."""
    found = set()
    for part in words.split(", "):
        ends = re.fullmatch(r"1\.(\d+)(?: to 1\.(\d+))?", part)
        if not ends:
            return None
        found |= {f"1.{minor}" for minor in range(int(ends[1]), int(ends[2] or ends[1]) + 1)}
    return found


def claimed(text):
    """The releases in the head of README's table, if its first row says TRIED; None: there is no such table."""
    found = re.search(r"^\| instance types \| Kubernetes ([^|]+) \|\n\|[-|]+\|\n\|[^|]*\|([^|]*)\|$", text,
                      re.MULTILINE)
    if not found:
        return None
    return releases(found[1]) if found[2].strip().startswith(TRIED) else set()


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
        report.add(README, f"Kubernetes {release} passed the matrix: name it in the head of that table")
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
