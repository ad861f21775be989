# SPDX-License-Identifier: Apache-2.0
"""The way of a change through the files, measured: build/sim/way makes the change, tests/sim/way/way.c says which.

A function is on the way when the change makes it run and it does not run in a step that has nothing to do, or when it
leads to such a function. A file is on the way when one of its functions is. src/host is not in the simulator, so what
moves bytes between sockets and links, the probe and the files port are not in it.
"""

import collections
import pathlib
import subprocess

import gate
import graph

PROGRAM = "build/sim/way"
CHANGES = {"prepare": "a prepare", "sysfs": "a device that becomes unhealthy", "watch": "an edited ResourceSlice"}


class Way:
    """Files in the order in which they are entered, and the calls between rooms that go up."""

    def __init__(self, code, change="prepare"):
        self.code, self.change = code, change
        seen = [line.split() for line in gate.run([str(code.root / PROGRAM), change]).splitlines()]
        home = self._homes({word for words in seen for word in words})
        self.functions = collections.defaultdict(list)  # path -> names of functions
        self.up = collections.defaultdict(set)          # (unit, unit) -> names of functions
        for outermost, caller, callee in seen:
            # The models use files of ours as well: what counts is what the agent was called for.
            if not home[outermost][1].startswith("src/agent/"):
                continue
            name, path = home[callee]
            if name not in self.functions[path]:
                self.functions[path].append(name)
            self._see_call(home.get(caller), path, name)

    def _homes(self, addresses):
        """address -> (name, path) of the functions."""
        ordered = sorted(addresses - {"(nil)"})
        done = subprocess.run(["addr2line", "-f", "-e", str(self.code.root / PROGRAM)], input="\n".join(ordered),
                              stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        places = {}
        for address, name, place in zip(ordered, done[::2], done[1::2]):
            path = pathlib.Path(place.split(":")[0])
            inside = self.code.root.resolve()
            places[address] = (name, str(path.relative_to(inside)) if path.is_relative_to(inside) else str(path))
        return places

    def _see_call(self, caller, path, name):
        if caller is None or caller[1] not in self.code.unit or path not in self.code.unit:
            return
        first, second = self.code.unit[caller[1]], self.code.unit[path]
        if graph.room_rank(self.code.room[second]) > graph.room_rank(self.code.room[first]):
            self.up[first, second].add(name)

    def paths(self, room=""):
        """Files on the way, of one room and those within it."""
        return [path for path in self.functions if path.startswith("src/" + room) or not room]

    def line(self):
        modules = {self._module(path) for path in self.functions}
        return (f"{CHANGES[self.change]}: {len(self.functions)} files "
                f"({len(modules)} modules, as h2_stream.c is one of h2.h's), "
                f"{len(self.paths('agent/'))} of them in src/agent, {len(self.up)} pairs of files that call up")

    def _module(self, path):
        """h2_stream.c belongs to h2 where there is an h2.h beside it."""
        stem = path.rsplit(".", 1)[0]
        folder, _, name = stem.rpartition("/")
        first = f"{folder}/{name.split('_')[0]}"
        return first if first + ".h" in self.code.text else stem

    def text(self):
        """Markdown."""
        layers = collections.Counter(graph.layer_of_path(path) for path in self.functions)
        counts = ", ".join(f"{layer} {count}" for layer, count in layers.most_common())
        yield f"{self.line()[0].upper()}{self.line()[1:]} ({counts}). In the order in which they are entered:"
        yield ""
        for path, names in self.functions.items():
            shown = ", ".join(names[:6]) + (f", {len(names) - 6} more" if len(names) > 6 else "")
            yield f"- `{path}`: {shown}"
        if self.up:
            yield ""
            yield "Up, by a call or a pointer:"
            yield ""
        for (first, second), names in sorted(self.up.items()):
            yield f"- `{graph.short(first)}` → `{graph.short(second)}`: {', '.join(sorted(names))}"


def exists(root):
    return (pathlib.Path(root) / PROGRAM).exists()
