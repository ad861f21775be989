# SPDX-License-Identifier: Apache-2.0
"""The graph of the code, read from the code: who includes whom, who calls whom, by file and by room.

tools/graph/draw.py draws it; tools/graph/check_graph.py is the gate: no circles, and a picture in src/README.md that
is of today.

Includes are read from the sources. Calls are the symbols that one object needs and another defines, in the objects
of `make check-objects`; functions and tables alike, so a table of functions depends on what its rows name. A call
through a pointer is no such edge: its caller does not know whom it calls. Those that cfg/lint/stack.txt resolves are
listed apart. What the host provides to the layers below (PORTS of tools/gates/check_layers.py) belongs to the header
that declares it.

A unit is a .c file with the header of its name. A header is a unit of its own when it has no .c file, when it
declares functions of several files, or when a private header of its room (room.h, _internal.h) includes it: then it is
what the files of the room share, and stands below them. No header is left out of the search for circles.

A room is a folder; the files directly in src/agent are two: what the rooms share, and the frame on top.
"""

import collections
import pathlib
import re

import check_calls
import check_layers
import gate

FOLDERS = ("src", "boards", "generated", "cfg")
OUT = "build/graph/graph.md"
README = "src/README.md"
MARK_FIRST = "<!-- graph: written by tools/graph/draw.py --readme -->"
MARK_LAST = "<!-- graph: end -->"
# Units that join the rooms of their folder, and so stand above them.
FRAMES = {"src/agent/agent": "agent.c", "src/agent/instance": "agent.c", "src/agent/state.h": "agent.c",
          "src/host/loop": "host/loop.c", "src/host/files": "host/loop.c"}
STACK_TABLE = "cfg/lint/stack.txt"
# Rooms from the bottom up: a call from an earlier one to a later one goes up.
ORDER = ("cfg", "base", "generated", "boards", "wire", "x509", "kubeconfig", "dra", "agent", "agent/api",
         "agent/report", "agent/node", "agent/publish", "agent/ledger", "agent/pods", "agent/claim", "agent/recovery",
         "agent/calls", "agent/commands", "agent/serve", "agent.c", "command", "host", "host/apiserver", "host/node",
         "host/commands", "host/loop.c", "main.c")
# Known by nearly every room, so drawn without arrows.
COMMON = ("cfg", "base", "generated")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


class Code:
    """Files, units and rooms of a tree, and the edges between units with the reason for each."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = [str(path) for path in gate.own_c_files(root, FOLDERS)
                      if not str(path).startswith(check_layers.FOREIGN_CONFIGURATION)]
        self.text = {path: (self.root / path).read_text() for path in self.files}
        self.needed, self.owner = read_symbols(root)
        self.shared = self._find_shared()
        self.unit = {path: self._unit(path) for path in self.files}
        self.units = sorted(set(self.unit.values()))
        # A folder in src/agent makes rooms; before there was one, src/agent was a single room.
        self.has_rooms = any(path.count("/") > 2 for path in self.files if path.startswith("src/agent/"))
        self.room = {unit: self._room(unit) for unit in self.units}
        self.includes = collections.defaultdict(set)  # (unit, unit) -> headers
        self.calls = collections.defaultdict(set)     # (unit, unit) -> symbols
        self._read_includes()
        self._read_calls()

    def _find_shared(self):
        """Headers of a room that its room.h includes, directly or through others of them."""
        found, left = set(), [path for path in self.text if path.endswith("/room.h")]
        while left:
            path = left.pop()
            inner = {f"src/{name}" for name in INCLUDE.findall(self.text.get(path, ""))
                     if f"src/{name}".rpartition("/")[0] == path.rpartition("/")[0]} - found
            found |= inner
            left += inner
        return found

    def _unit(self, path):
        """Unit of a file: the stem, or the header itself where several files share it."""
        stem, suffix = path.rsplit(".", 1)
        if suffix == "c":
            return stem
        if stem + ".c" not in self.text or stem + "_internal.h" in self.text or path in self.shared:
            return path
        names = set(re.findall(r"\b(\w+)\s*\(", gate.code_only(self.text[path])))
        homes = {self.owner[name] for name in names if name in self.owner}
        return stem if homes <= {stem + ".c"} else path

    def _room(self, unit):
        parts = pathlib.PurePath(unit).parts
        if parts[0] != "src":
            return parts[0]
        if len(parts) == 2:
            return "main.c"
        if self.has_rooms and unit in FRAMES:
            return FRAMES[unit]
        return "/".join(parts[1:-1])

    def _read_includes(self):
        for path, text in self.text.items():
            for name in INCLUDE.findall(text):
                target = next((p + name for p in ("src/", "") if p + name in self.text), None)
                if target is None:
                    continue
                pair = (self.unit[path], self.unit[target])
                if pair[0] != pair[1]:
                    self.includes[pair].add(name)

    def _read_calls(self):
        for path, names in self.needed.items():
            for name in names:
                target = None if name in check_layers.PORTS else self.owner.get(name)
                if target and self.unit[target] != self.unit[path]:
                    self.calls[self.unit[path], self.unit[target]].add(name)

    def edges(self):
        """unit -> units it knows."""
        known = {unit: set() for unit in self.units}
        for first, second in (*self.includes, *self.calls):
            known[first].add(second)
        return known

    def room_edges(self):
        """room -> rooms it knows."""
        known = {room: set() for room in self.room.values()}
        for first, second in (*self.includes, *self.calls):
            if self.room[first] != self.room[second]:
                known[self.room[first]].add(self.room[second])
        return known

    def text_of_users(self, header):
        """How many files include a header, and which."""
        users = sorted(short(path) for path, text in self.text.items()
                       if header.removeprefix("src/") in INCLUDE.findall(text))
        return f"{len(users)} ({', '.join(users)})" if users else "none"

    def reason(self, first, second):
        """Why one unit knows another, in short."""
        names = sorted(name + "()" for name in self.calls.get((first, second), ()))
        return ", ".join(names[:3] + (["…"] if len(names) > 3 else []) +
                         sorted(self.includes.get((first, second), ())))


def list_symbols(root):
    """(path, name, kind as nm writes it) of every global symbol of our objects."""
    objects = {str(obj): str(source) for source, obj in check_layers.source_objects(root)}
    for line in gate.run(["nm", "-A", "-g", "-P", *objects]).splitlines() if objects else ():
        place, words = line.split(": ", 1)
        yield objects[place], *words.split()[:2]


def read_symbols(root):
    """(path -> names its object needs, name -> path whose object defines it)."""
    needed, owner = collections.defaultdict(set), {}
    for path, name, kind in list_symbols(root):
        if kind in "Uw":
            needed[path].add(name)
        else:
            owner[name] = path
    return needed, owner


def shortest_way(known, group, first):
    """The shortest circle within a group through one of its members."""
    queue, before = collections.deque([first]), {}
    while queue:
        node = queue.popleft()
        for target in sorted(known[node] & group):
            if target == first:
                way = [node]
                while way[-1] != first:
                    way.append(before[way[-1]])
                return [*reversed(way), first]
            if target not in before:
                before[target] = node
                queue.append(target)
    return []


def example(known, group):
    """A shortest circle of a group: what to look at first."""
    return min((shortest_way(known, set(group), node) for node in group), key=len)


def pointer_calls(code):
    """(unit, unit) -> names, of the calls through pointers that the stack check's table resolves."""
    table = code.root / STACK_TABLE
    home = {}
    for path in (code.root / check_calls.CALLS).rglob("*.ci"):
        for line in path.read_text().splitlines():
            node = check_calls.NODE.match(line)
            label = node[2].split("\\n") if node else []
            if len(label) > 2:
                home.setdefault(label[0], label[1].split(":")[0])
    found = collections.defaultdict(set)
    for line in table.read_text().splitlines() if table.exists() else ():
        words = line.split("#")[0].split()
        if not words or words[0] != "call":
            continue
        for path in code.files:
            if not pathlib.PurePath(path).match(words[1]) or words[2] not in code.text[path]:
                continue
            for name in words[3:]:
                target = home.get(name)
                if target in code.unit and code.unit[target] != code.unit[path]:
                    found[code.unit[path], code.unit[target]].add(name)
    return found


def room_rank(room):
    return ORDER.index(room) if room in ORDER else len(ORDER)


def leave_out_shown(known):
    """Without the arrows that follow from others; only for graphs without circles."""
    def reach(node, seen):
        for target in known[node]:
            if target not in seen:
                seen.add(target)
                reach(target, seen)
        return seen
    return {node: {target for target in targets
                   if not any(target in reach(other, set()) for other in targets if other != target)}
            for node, targets in known.items()}


def picture(code):
    """The rooms in Mermaid."""
    known = code.room_edges()
    drawn = {room: {t for t in targets if t not in COMMON} for room, targets in known.items() if room not in COMMON}
    circles = check_calls.find_cycles(drawn)
    if not circles:
        drawn = leave_out_shown(drawn)
    rooms = sorted(drawn, key=room_rank, reverse=True)
    name = {room: re.sub(r"\W", "_", room) for room in rooms}
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'    {name[room]}["{label(room)}"]' for room in rooms]
    for room in rooms:
        targets = sorted(drawn[room], key=room_rank, reverse=True)
        if targets:
            lines.append(f"    {name[room]} --> {' & '.join(name[target] for target in targets)}")
    return "\n".join([*lines, "```"])


def label(room):
    return {"agent": "agent: contract, settings", "agent.c": "agent.c: the frame",
            "host": "host: sockets, process", "host/loop.c": "host/loop.c, files.c"}.get(room, room)


def circles_of(code):
    """(circles between units, circles between rooms)."""
    return check_calls.find_cycles(code.edges()), check_calls.find_cycles(code.room_edges())


def count_text(circles, what):
    members = sum(map(len, circles))
    return f"{len(circles)} circles between {what}" + (f" ({members} {what} in them)" if members else "")


def block(code):
    """What stands in src/README.md."""
    units, rooms = circles_of(code)
    follows = "" if rooms else " Nor are arrows that follow from others."
    return "\n".join([
        MARK_FIRST, "",
        f"An arrow means: includes or calls. {', '.join(COMMON[:-1])} and {COMMON[-1]} are open to every room and not "
        f"drawn.{follows}", "",
        picture(code), "",
        f"{count_text(units, 'files')}, {count_text(rooms, 'rooms')}. Files that include the joined state, "
        f"`agent/state.h`: {code.text_of_users(check_layers.STATE)}.",
        f"`make graph` writes the table of files, and the ways of three changes through them, into {OUT}.",
        "", MARK_LAST])


def replace_block(text, new):
    """The text with its marked block replaced; a text without one gets it at its end."""
    if MARK_FIRST not in text or MARK_LAST not in text:
        return text.rstrip("\n") + "\n\n" + new + "\n"
    return text[:text.index(MARK_FIRST)] + new + text[text.index(MARK_LAST) + len(MARK_LAST):]


def circle_lines(code, known, circles, why):
    for group in circles:
        way = example(known, group)
        yield f"- {len(group)}: {', '.join(f'`{short(node)}`' for node in group)}"
        for first, second in zip(way, way[1:]):
            yield f"  - `{short(first)}` → `{short(second)}`: {why(first, second)}"


def layer_of_path(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" else parts[0]


def short(unit):
    return unit.removeprefix("src/")


def up_lines(code):
    """What keeps the rooms from their order."""
    for first, second in sorted({*code.includes, *code.calls}):
        if room_rank(code.room[first]) < room_rank(code.room[second]):
            yield f"- `{short(first)}` → `{short(second)}`: {code.reason(first, second)}"


def room_reason(code, first, second):
    pairs = [(a, b) for a, b in {*code.includes, *code.calls} if (code.room[a], code.room[b]) == (first, second)]
    texts = sorted(f"`{short(a)}` → `{short(b)}`" for a, b in pairs)
    return "; ".join(texts[:3]) + (f"; {len(texts) - 3} more" if len(texts) > 3 else "")
