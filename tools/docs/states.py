# SPDX-License-Identifier: Apache-2.0
"""Tables of the state machines of the claim table and of the handover, from the code that moves them.

docs.py writes them into the README of the room: for each state what it means, and where it may lead.
"""

import pathlib
import re

ROOM = "src/agent/ledger"
DOCUMENT = f"{ROOM}/README.md"
FIRST = "<!-- states: written by make docs -->"
LAST = "<!-- states: end -->"

# The array of moves, the headers of states (NAME.h) and of moves (NAME_states.h), the enum of the states, their common
# prefix, and what has such a state.
MACHINES = [
    ("ledger_slot_moves", "ledger", "ledger_state", "LEDGER_", "A slot of the claim table"),
    ("ledger_record_moves", "ledger", "ledger_record", "RECORD_", "The record of a held claim"),
    ("ledger_flush_moves", "ledger", "ledger_flush", "FLUSH_", "The half that counts"),
    ("handover_moves", "handover", "handover_state", "HANDOVER_", "An agent and the two locks"),
]


class Unreadable(ValueError):
    """The code has not the form that this file reads."""


def states_of(header, enum):
    """(name, meaning) of each state, without the last member, which counts them."""
    body = re.search(rf"^enum {enum} \{{\n(.*?)^\}};", header, re.M | re.S)
    rows = re.findall(r"^    (\w+), +/\* (.*?) \*/", body[1] if body else "", re.M | re.S)
    if not rows:
        raise Unreadable(f"enum {enum} has no members with a comment")
    return [(name, " ".join(meaning.split())) for name, meaning in rows]


def moves_of(text, array):
    """For each state the states that follow it."""
    body = re.search(rf"^static const uint8_t {array}\[\w+\] = \{{\n(.*?)^\}};", text, re.M | re.S)
    if body is None:
        raise Unreadable(f"no array {array}")
    rows = re.findall(r"\[(\w+)\] =\s([^,]*),", body[1])
    return {state: re.findall(r"MOVES_TO\((\w+)\)", to) for state, to in rows}


def tables(root, table):
    """Markdown: one table a machine; `table` makes one of heads and rows."""
    room = pathlib.Path(root) / ROOM
    made = []
    for array, header, enum, prefix, what in MACHINES:
        states = states_of((room / f"{header}.h").read_text(), enum)
        moves = moves_of((room / f"{header}_states.h").read_text(), array)
        if set(moves) != {name for name, _ in states}:
            raise Unreadable(f"{array} and enum {enum} have different states")
        rows = [[f"`{name.removeprefix(prefix)}`", meaning,
                 ", ".join(f"`{to.removeprefix(prefix)}`" for to in moves[name])] for name, meaning in states]
        made.append(table([what, "meaning", "may become"], rows))
    return "\n".join(made)
