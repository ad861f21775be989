#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the graph of the code (tools/graph/graph.py).

  tools/graph/draw.py             build/graph/graph.md (the picture and the tables) and its summary on the terminal
  tools/graph/draw.py --readme    writes the picture into src/README.md, between its two marker comments
  tools/graph/draw.py --figures   sizes and shapes of the code by room, in Markdown
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import check_calls  # noqa: E402
import check_layers  # noqa: E402
import check_writers  # noqa: E402
import figures  # noqa: E402
import gate  # noqa: E402
import graph  # noqa: E402
import way  # noqa: E402


def whole(code):
    """The text of build/graph/graph.md."""
    known, rooms = code.edges(), code.room_edges()
    unit_circles, room_circles = graph.circles_of(code)
    lines = ["# The graph of the code", "",
             f"{len(known)} units, {sum(map(len, known.values()))} edges between them: {len(code.includes)} by "
             f"include, {len(code.calls)} by symbol. {graph.count_text(unit_circles, 'units')}, "
             f"{graph.count_text(room_circles, 'rooms')}.", "", graph.picture(code), "",
             "## Rooms", "", "| room | units | knows |", "|---|---|---|"]
    for room in sorted(rooms, key=graph.room_rank, reverse=True):
        count = sum(1 for unit in known if code.room[unit] == room)
        lines.append(f"| {room} | {count} | {', '.join(sorted(rooms[room], key=graph.room_rank, reverse=True))} |")
    lines += ["", "## Circles between rooms", "",
              *graph.circle_lines(code, rooms, room_circles, lambda a, b: graph.room_reason(code, a, b))]
    lines += ["", "## From a room to one above it", "", *graph.up_lines(code)]
    lines += ["", "## Circles between units", "", *graph.circle_lines(code, known, unit_circles, code.reason)]
    calls_only = {unit: set() for unit in known}
    for first, second in code.calls:
        calls_only[first].add(second)
    by_call = check_calls.find_cycles(calls_only)
    lines += ["", f"By symbols alone: {graph.count_text(by_call, 'units')}.", "",
              *graph.circle_lines(code, calls_only, by_call, code.reason)]
    lines += ["", "## Calls through pointers that go up", ""]
    for (first, second), names in sorted(graph.pointer_calls(code).items()):
        if graph.room_rank(code.room[first]) < graph.room_rank(code.room[second]):
            lines.append(f"- `{graph.short(first)}` → `{graph.short(second)}`: {', '.join(sorted(names))}")
    lines += ["", "## Writers of others' state", "", *writer_lines(code)]
    for change in way.CHANGES:
        lines += ["", f"## The way of {way.CHANGES[change]}", "", *way_lines(code, change)]
    lines += ["", "## Units", "", "| unit | knows by symbol | by include only |", "|---|---|---|"]
    for unit in sorted(known):
        called = sorted(graph.short(b) for a, b in code.calls if a == unit)
        included = sorted(graph.short(b) for a, b in code.includes if a == unit and (a, b) not in code.calls)
        lines.append(f"| {graph.short(unit)} | {', '.join(called)} | {', '.join(included)} |")
    return "\n".join(lines) + "\n"


def writer_lines(code):
    return check_writers.Writers(code).text()


def way_lines(code, change):
    return way.Way(code, change).text() if way.exists(code.root) else ["Not measured: `make graph` does."]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=gate.ROOT, type=pathlib.Path, help="tree to draw")
    parser.add_argument("--readme", action="store_true", help=f"write the picture into {graph.README}")
    parser.add_argument("--figures", action="store_true", help="print sizes and shapes of the code in Markdown")
    options = parser.parse_args()
    code = graph.Code(options.root)
    if not code.owner:
        sys.exit(f"graph: no objects in {check_layers.OBJECTS}: run 'make check-objects'")
    if options.figures:
        print(figures.whole(code), end="")
        return
    if options.readme:
        path = options.root / graph.README
        path.write_text(graph.replace_block(path.read_text() if path.exists() else "# The code\n", graph.block(code)))
    out = options.root / graph.OUT
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(whole(code))
    unit_circles, room_circles = graph.circles_of(code)
    print(f"graph: {len(code.units)} units, {graph.count_text(unit_circles, 'units')}, "
          f"{graph.count_text(room_circles, 'rooms')}; {graph.OUT}")
    print(next(iter(writer_lines(code))))
    for change in way.CHANGES:
        print(next(iter(way_lines(code, change))).split(". In the order")[0])


if __name__ == "__main__":
    main()
