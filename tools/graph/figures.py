# SPDX-License-Identifier: Apache-2.0
"""Sizes and shapes of the code by room, in Markdown: what `tools/graph/draw.py --figures` prints.

Lines are those of the files, comments and blank ones too. A public function has a global symbol in the objects of
`make check-objects`. Complexity is lizard's modified McCabe number. Bytes are tools/graph/size.py's.
"""

import collections
import pathlib

import check_style
import gate
import graph
import size

WORST = 5


def spread(numbers):
    """median / 95th percentile / maximum."""
    ordered = sorted(numbers)
    if not ordered:
        return "–"
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95)]
    return f"{at[0]} / {at[1]} / {ordered[-1]}"


class Structs:
    """Members of each struct of our headers and sources, by ctags."""

    def __init__(self, root, paths):
        self.members, self.flags = collections.Counter(), collections.Counter()
        tags = gate.run(["ctags", "-f", "-", "--sort=no", "--fields=+Zst", "--kinds-C=m", "--language-force=C",
                         *paths], cwd=root)
        for line in tags.splitlines():
            words = line.split("\t")
            scope = next((word for word in words[3:] if word.startswith(("struct:", "scope:struct:"))), "")
            # Members of a struct without a name belong to the one around it.
            name = scope.rsplit("struct:", 1)[-1].split("::")[0]
            if not name or name.startswith("__anon"):
                continue
            key = (words[1], name)
            self.members[key] += 1
            self.flags[key] += "typeref:typename:bool" in words

    def worst(self, counter):
        rows = sorted(counter.items(), key=lambda entry: (-entry[1], entry[0]))[:WORST]
        return ", ".join(f"{name} {count}" for (_, name), count in rows if count)


def public_functions(root):
    """path -> number of functions that its object offers to others."""
    return collections.Counter(path for path, _, kind in graph.list_symbols(root) if kind == "T")


def rooms_of(code):
    """room -> files, from the top down; then what src/agent is in all, and everything."""
    rooms = collections.defaultdict(list)
    for path in code.files:
        rooms[code.room[code.unit[path]]].append(path)
    ordered = sorted(rooms, key=graph.room_rank, reverse=True)
    yield from ((room, rooms[room]) for room in ordered)
    agent = [path for room in ordered if room.startswith("agent") for path in rooms[room]]
    if agent != rooms.get("agent"):
        yield "src/agent in all", agent
    yield "src in all", [path for path in code.files if path.startswith("src/")]


def shapes(code):
    """The functions of hand-written C."""
    return check_style.list_functions(code.root, [path for path in code.files if not path.startswith("generated/")])


def whole(code):
    """The tables, in Markdown."""
    functions = shapes(code)
    public = public_functions(code.root)
    lines = ["| room | files | lines | public functions | function lines, median / p95 / max | "
             "complexity, median / p95 / max | struct members, median / p95 / max |",
             "|---|---|---|---|---|---|---|"]
    structs = Structs(code.root, [path for path in code.files if not path.startswith("generated/")])
    for room, paths in rooms_of(code):
        chosen = set(paths)
        lengths = [f.last - f.first + 1 for f in functions if f.path in chosen]
        numbers = [f.complexity for f in functions if f.path in chosen]
        members = [count for (path, _), count in structs.members.items() if path in chosen]
        lines.append(f"| {room} | {len(paths)} | {sum(code.text[path].count(chr(10)) for path in paths):,} | "
                     f"{sum(public[path] for path in paths)} | {spread(lengths)} | {spread(numbers)} | "
                     f"{spread(members)} |")
    lines += ["", f"Structs with the most members: {structs.worst(structs.members)}.",
              f"Structs with the most flags (bool): {structs.worst(structs.flags)}; "
              f"{sum(structs.flags.values())} flags in all.", ""]
    return "\n".join([*lines, *bytes_table(code.root)]) + "\n"


def bytes_table(root):
    if not (pathlib.Path(root) / size.DEBUG).exists():
        return ["Bytes: not known, the program is not built."]
    rooms = size.measure(root)
    binary = (pathlib.Path(root) / size.PROGRAM).stat().st_size
    lines = [f"Bytes of the program ({binary:,} stripped):", "", f"| room | {' | '.join(size.KINDS)} |",
             "|---|---|---|---|---|"]
    rows = [*rooms.items(), ("all", {kind: sum(kinds[kind] for kinds in rooms.values()) for kind in size.KINDS})]
    for room, kinds in rows:
        lines.append(f"| {room} | {' | '.join(f'{kinds[kind]:,}' for kind in size.KINDS)} |")
    return lines
