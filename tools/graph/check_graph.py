#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The graph of the code: no circles between files or rooms, and the picture in src/README.md is of today.

tools/graph/graph.py says what a unit, a room and an edge are.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import gate  # noqa: E402
import graph  # noqa: E402

ENFORCED = True  # False: what is found is counted in the line of the gate, and fails nothing


def check_circles(report, code):
    for what, known, circles in (("files", code.edges(), graph.circles_of(code)[0]),
                                 ("rooms", code.room_edges(), graph.circles_of(code)[1])):
        for group in circles:
            way = graph.example(known, group)
            steps = [f"{first} uses {second} ({reason})" if reason else f"{first} uses {second}"
                     for first, second in zip(way, way[1:])
                     for reason in [code.reason(first, second) if what == "files"
                                    else graph.room_reason(code, first, second)]]
            report.add(way[0], f"a circle of {len(group)} {what}: {'; '.join(steps)}: one of them must not know the "
                               "other")


def check_readme(report, root, code):
    path = pathlib.Path(root) / graph.README
    text = path.read_text() if path.exists() else ""
    if graph.block(code) not in text:
        report.add(graph.README, "the picture of the rooms is not of this code: run 'tools/graph/draw.py --readme' and "
                                 "look at what changed")


def check(root, enforced=None):
    report = gate.Report()
    code = graph.Code(root)
    if not code.owner:
        report.add("build/obj/check", "no objects: run 'make check-objects'")
        return report
    check_circles(report, code)
    check_readme(report, root, code)
    report.looked_at = (f"{len(code.units)} units, {len(code.includes)} pairs by include, {len(code.calls)} by call")
    if not (ENFORCED if enforced is None else enforced):
        report.looked_at += f"; {len(report.findings)} findings, not enforced yet"
        report.findings = []
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
