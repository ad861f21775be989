#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who writes whose state in src/agent: one writer per piece is the rule of agent/frame.h.

A struct belongs to the module whose header defines it; one that a room.h defines, to all files of that room; a member
of struct agent that is no such struct, to agent.c. A write is an assignment, or ++ and --, through `a->` or through a
pointer to a struct of another module. What a function does with a pointer that it hands on is that function's. Text is
what is read, function by function, so a write behind a macro or a cast is not seen.
"""

import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import check_style  # noqa: E402
import gate  # noqa: E402
import graph  # noqa: E402

# agent/state.h is laid out for the file that holds it.
LAYOUT = {"src/agent/state": "src/agent/instance"}
# Memory for one step of work, which every room writes.
SHARED = "src/agent/frame"
ENFORCED = True  # False: what is found is counted in the line of the gate, and fails nothing
AGENT = "src/agent/"
FRAME = "src/agent/agent"
FRAME_HEADER = "src/agent/frame.h"
DEFINED = re.compile(r"^struct (\w+) \{", re.M)
WHOLE = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.M | re.S)
POINTER = re.compile(r"\bstruct (\w+) \*(?:const )?(\w+)\b(?!\s*\()")
MEMBER = re.compile(r"^    (?:struct (\w+) \*?|[\w ]+?[ *]+)(\w+)(?:\[[^;]*\])?;", re.M)
INDEX = re.compile(r"\[[^]]*\]")
# pointer->member.part[index] = …
WRITE = re.compile(r"\b(\w+)(?:\[\w+\])?->(\w+)((?:\[[^][]*\]|\.\w+|->\w+)*)\s*(?:[-+*/|&^]|<<|>>)?(?:=(?!=)|\+\+|--)")


class Writers:
    """(unit that writes, unit that owns) -> the places written, as `struct.member`."""

    def __init__(self, code):
        self.code = code
        self.owner = {}
        for path, text in code.text.items():
            if path.startswith(AGENT) and path.endswith(".h"):
                self.owner.update({name: self._module(path) for name in DEFINED.findall(text)})
        self.declarer = self._find_declarers()
        frame = code.text.get(FRAME_HEADER, "")
        self.members = {name: kind for kind, name in MEMBER.findall(frame[frame.find("\nstruct agent {"):])}
        self.parts = {}  # struct of a room.h -> its members
        for path, text in code.text.items():
            if path.startswith(AGENT) and path.endswith("/room.h"):
                self.parts.update({name: {part: kind for kind, part in MEMBER.findall(body)}
                                   for name, body in WHOLE.findall(text)})
        self.found = collections.defaultdict(set)
        sources = [path for path in code.files if path.startswith(AGENT) and path.endswith(".c")]
        functions = check_style.list_functions(code.root, sources) if sources else ()
        lines = {path: gate.code_only(code.text[path]).splitlines() for path in sources}
        self.looked_at = len(functions)
        for function in functions:
            self._read(function.path, "\n".join(lines[function.path][function.first - 1:function.last]))

    def _find_declarers(self):
        """path of a .c file without a header of its name -> module whose header declares most of its functions."""
        votes = collections.defaultdict(collections.Counter)
        for path, text in self.code.text.items():
            if path.startswith(AGENT) and path.endswith(".h"):
                for name in set(re.findall(r"\b(\w+)\(", gate.code_only(text))):
                    votes[self.code.owner.get(name)][self._module(path)] += 1
        return {path: counts.most_common(1)[0][0] for path, counts in votes.items() if path}

    def _module(self, path):
        """publish_plan.h is of the module of publish.h where one stands beside it, and so is publish_internal.h."""
        stem = path.rsplit(".", 1)[0]
        if path.endswith(".c") and stem + ".h" not in self.code.text:
            return self.declarer.get(path, stem)
        stem = LAYOUT.get(stem, stem.removesuffix("_internal"))
        folder, _, name = stem.rpartition("/")
        words = name.split("_")
        for count in range(1, len(words) + 1):
            first = f"{folder}/{'_'.join(words[:count])}"
            if first + ".h" in self.code.text or first + "_internal.h" in self.code.text:
                return first
        return stem

    def _read(self, path, body):
        types = {name: kind for kind, name in POINTER.findall(body)}
        mine = self._module(path)
        for pointer, member, rest in WRITE.findall(body):
            kind = types.get(pointer)
            if kind == "agent":
                owner = self._owner_in(self.members.get(member), rest)
                place = f"a->{member}{INDEX.sub('', rest)}"
            elif kind in self.owner:
                owner, place = self.owner[kind], f"{kind}.{member}"
            else:
                continue
            if owner not in (mine, SHARED, f"{mine.rpartition('/')[0]}/room"):
                self.found[mine, owner].add(place)

    def _owner_in(self, kind, rest):
        """Module that owns what lies behind a member of struct agent of this kind, `rest` of the way further."""
        part = re.match(r"->(\w+)(.*)", rest)
        if kind in self.parts and part and part[2]:
            inner = self.parts[kind].get(part[1])
            kind = inner if inner in self.owner else kind
        return self.owner.get(kind, FRAME)

    def count(self):
        return sum(map(len, self.found.values()))

    def text(self):
        """Markdown."""
        yield f"{self.count()} places of state are written by a module that does not own them."
        yield ""
        for (writer, owner), places in sorted(self.found.items()):
            shown = ", ".join(f"`{place}`" for place in sorted(places))
            yield f"- `{graph.short(writer)}` writes {shown} of `{graph.short(owner)}`"


def check(root, enforced=None):
    report = gate.Report()
    code = graph.Code(root)
    writers = Writers(code)
    if not code.owner or not writers.looked_at:
        report.add("build/obj/check", "no objects of src/agent: run 'make check-objects'")
        return report
    for (writer, owner), places in sorted(writers.found.items()):
        report.add(writer, f"writes {', '.join(sorted(places))} of {owner}: give that a function that does it, or "
                           "hand the result back")
    report.looked_at = f"{writers.looked_at} functions, {len(writers.owner)} structs and {len(writers.members)} members"
    if not (ENFORCED if enforced is None else enforced):
        report.looked_at += f"; {len(report.findings)} findings, not enforced yet"
        report.findings = []
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
