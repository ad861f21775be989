# SPDX-License-Identifier: Apache-2.0
"""What the demo shows a person: headed steps, checked facts, indented texts, the grid of devices.

Owns the form only. Colours go to terminals; no line is wider than COLUMNS.
"""

import os
import sys
import textwrap

COLUMNS = 100
INDENT = "   "
BAR = "   | "  # in front of what others wrote
COLOURED = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
BOLD, GREEN, CYAN, RED, PLAIN = "1", "32", "36", "31", "0"
CELL = 19


class Surprise(Exception):
    """Something was not as it should be; the text says what."""


class Screen:
    """Counts steps and checked facts."""

    def __init__(self):
        self.steps = self.facts = 0

    def write(self, text=""):
        print(text, flush=True)

    def paint(self, text, colour):
        return f"\033[{colour}m{text}\033[{PLAIN}m" if COLOURED else text

    def step(self, title):
        self.steps += 1
        self.write()
        self.write(self.paint(f"{self.steps:2}  {title}", BOLD))

    def say(self, text):
        for line in textwrap.wrap(text, COLUMNS - len(INDENT) - 1):
            self.write(f"{INDENT} {line}")

    def quote(self, text):
        """Text as it came, in full: what a file or another program holds. Only its lines are folded."""
        for line in text.rstrip("\n").splitlines():
            inner = " " * (len(line) - len(line.lstrip()))
            for part in textwrap.wrap(line, COLUMNS - len(BAR), subsequent_indent=inner + "    ",
                                      drop_whitespace=False, break_on_hyphens=False) or [""]:
                self.write(BAR + self.paint(part, CYAN) if part else BAR.rstrip())

    def fact(self, holds, text, otherwise=""):
        """Something that was looked at: shown when it holds, the end of the demo when not."""
        if not holds:
            raise Surprise(f"not so: {text}" + (f"\n{otherwise}" if otherwise else ""))
        self.facts += 1
        lines = textwrap.wrap(text, COLUMNS - 10)
        self.write(f"{INDENT} {self.paint('ok', GREEN)}  {lines[0]}")
        for line in lines[1:]:
            self.write(f"{INDENT}     {line}")

    # --- the grid ---

    def grid(self, holders, links, columns=4):
        """Devices in rows with the name of who holds them; `links` are pairs of linked numbers.

        Lines between cells are links; those at the edges go round to the other side.
        """
        def linked(one, other):
            return (min(one, other), max(one, other)) in links

        count = len(holders)
        rows = count // columns
        edge = "   ".join(["|".center(CELL) if linked(column, count - columns + column)
                           else " " * CELL for column in range(columns)])
        self.write(f"{INDENT}     {edge}".rstrip())
        for row in range(rows):
            first = row * columns
            cells, names = [], []
            for number in range(first, first + columns):
                cells.append(f"[{f'neuron{number}'.center(CELL - 2)}]")
                names.append(self.holder(holders[number]))
            gaps = ["---" if linked(n, n + 1) else "   " for n in range(first, first + columns - 1)]
            around = "-" if linked(first, first + columns - 1) else " "
            line = cells[0] + "".join(gap + cell for gap, cell in zip(gaps, cells[1:]))
            self.write(f"{INDENT}    {around}{line}{around}".rstrip())
            self.write(f"{INDENT}     {'   '.join(names)}".rstrip())
            below = ["|".center(CELL) if linked(n, (n + columns) % count) else " " * CELL
                     for n in range(first, first + columns)]
            self.write(f"{INDENT}     {'   '.join(below)}".rstrip())
        self.say("Lines are links; those at the edges come back on the other side.")

    def holder(self, name):
        text = (name or ".")[:CELL].center(CELL)
        return self.paint(text, GREEN) if name else text
