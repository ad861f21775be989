# SPDX-License-Identifier: Apache-2.0
"""The results of the matrix, a table in README.md beside this file.

Owns that block of the file: a row of the table is one of matrix.ROWS with what came of its last recorded run. The
result of a row that has changed since is forgotten. tools/cluster/check_matrix.py is the gate.
"""
import os
import re

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "README.md")
MARK_FIRST = "<!-- rows: written by make e2e-matrix UPDATE=1 -->"
MARK_LAST = "<!-- rows: end -->"
HEAD = ("| row | control plane | kubelet | resource.k8s.io | cases passed |", "|---|---|---|---|---|")
NOT_RUN = "not run"


def key(row):
    """The cells that say what a row is."""
    served = ", ".join(row.served)
    if row.agent_served:
        served += "; to the agent " + ", ".join(row.agent_served)
    if row.gates:
        served += f"; `{row.gates}`"
    return f"| `{row.name}` | {row.control_plane} | {row.kubelet} | {served} |"


def read(text):
    """Key -> result of every row in the block."""
    block = text.partition(MARK_FIRST)[2].partition(MARK_LAST)[0]
    return {found[1]: found[2] for found in re.finditer(r"^(\| `.*\|) ([^|]+) \|$", block, re.MULTILINE)}


def write(text, rows, new):
    """The text with these rows in its block; new: results by the row's name."""
    known = read(text)
    lines = [f"{key(row)} {new.get(row.name) or known.get(key(row), NOT_RUN)} |" for row in rows]
    before, _, rest = text.partition(MARK_FIRST)
    return before + "\n".join([MARK_FIRST, "", *HEAD, *lines, "", MARK_LAST]) + rest.partition(MARK_LAST)[2]


def update(rows, new):
    """Writes the results of a run into the file."""
    with open(README, encoding="utf-8") as stream:
        text = stream.read()
    with open(README, "w", encoding="utf-8") as stream:
        stream.write(write(text, rows, new))
