#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Call graph and stack frames: no recursion, no frame of run-time size, no frame above its bound.

Recursion is looked for in objects built without optimisation (build/obj/calls), because the optimiser turns some
of it into loops; frames in those built with the product's options, each file by itself (build/obj/check).
`make check-objects` builds both, and gcc writes one .ci file beside each object.

Whole chains, calls through pointers and the libraries are tools/gates/check_stack.py's part.
"""

import pathlib
import re
import sys

import gate

FRAME_BYTES_MAX = 6144
CALLS = "build/obj/calls"
FRAMES = "build/obj/check"

NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "([^"]*)"')
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


class Graph:
    """Functions of all .ci files below a folder."""

    def __init__(self, folder):
        self.files = 0
        self.place = {}   # title -> file:line
        self.frame = {}   # title -> (bytes, of run-time size)
        self.calls = {}   # title -> set of titles
        for path in sorted(pathlib.Path(folder).rglob("*.ci")):
            if "nanopb" not in path.parts:
                self.files += 1
                self._read(path.read_text())

    def _read(self, text):
        for line in text.splitlines():
            node = NODE.match(line)
            if node:
                self._add_node(node[1], node[2].split("\\n"))
            edge = EDGE.match(line)
            if edge:
                self.calls.setdefault(edge[1], set()).add(edge[2])

    def _add_node(self, title, label):
        size = re.match(r"(\d+) bytes \(([a-z,]+)\)", label[2]) if len(label) > 2 else None
        if size:
            self.place[title] = ":".join(label[1].split(":")[:2])
            # "dynamic,bounded" is a frame that pushes arguments: the figure covers them.
            self.frame[title] = (int(size[1]), size[2] == "dynamic")


def name_of(title):
    return title.rsplit(":", 1)[-1]


def find_cycles(calls):
    """Strongly connected groups that can come back to themselves (Tarjan, with a stack of its own)."""
    index, low, on_stack, stack, cycles = {}, {}, set(), [], []
    for root in sorted(calls):
        if root in index:
            continue
        work = [(root, iter(sorted(calls.get(root, ()))))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(calls.get(target, ())))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1 or node in calls.get(node, ()):
                        cycles.append(sorted(group))
    return cycles


def check_recursion(report, graph):
    for group in find_cycles(graph.calls):
        names = ", ".join(name_of(title) + "()" for title in group)
        place = graph.place.get(group[0], group[0])
        report.add(place, f"recursion among {names}: use a loop with a bounded stack of its own")


def check_frames(report, graph):
    for title, (size, unbounded) in sorted(graph.frame.items()):
        if unbounded:
            report.add(graph.place[title], f"{name_of(title)}() has a stack frame of run-time size: "
                                           "use an array with a constant bound")
        elif size > FRAME_BYTES_MAX:
            report.add(graph.place[title], f"{name_of(title)}() takes {size} bytes of stack "
                                           f"({FRAME_BYTES_MAX} at most): keep the buffer in the agent struct")


def check(root):
    report = gate.Report()
    calls, frames = Graph(pathlib.Path(root) / CALLS), Graph(pathlib.Path(root) / FRAMES)
    sources = [path for path in gate.own_c_files(root, ("src", "boards", "generated"))
               if path.suffix == ".c"]
    for folder, graph in ((CALLS, calls), (FRAMES, frames)):
        for path in sources:
            if not (pathlib.Path(root) / folder / path.with_suffix(".ci")).exists():
                report.add(path, f"has no call graph in {folder}: run 'make check-objects'")
        if not graph.files:
            report.add(folder, "no call graphs: run 'make check-objects'")
    check_recursion(report, calls)
    check_frames(report, frames)
    largest = max((size for size, _ in frames.frame.values()), default=0)
    report.looked_at = f"{len(calls.frame)} functions, largest frame {largest} bytes"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
