#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The text of cfg/deploy/ATTRIBUTES.md: each attribute and capacity that the agent publishes.

Which there are, their types and the instance types that have them come from the golden slices in
tests/vectors: boards and efa (a file for each instance type), and more (what a flag or the machine's state adds).
What they mean and where they come from stands in cfg/deploy/attributes.toml. tools/docs/docs.py writes the file.
"""

import pathlib
import re
import sys
import tomllib

DOCUMENT = "cfg/deploy/ATTRIBUTES.md"
TEXTS = "cfg/deploy/attributes.toml"
VECTORS = "tests/vectors"
MORE = "more"
IDENTITY = "cfg/identity.h"
# The folder of golden files, the heading, the name of the driver in cfg/identity.h.
DRIVERS = {"boards": ("Neuron devices", "DRIVER_NAME"), "efa": ("EFA devices", "EFA_DRIVER_NAME")}
NODE = "node"    # what the device of a whole node is called in the golden files

# A line of a device: which, the attribute, its type, its value.
LINE = re.compile(r"(node|\d+|[0-9a-f]{4}:\S+) (\S+) (int|bool|string|version|capacity) (.*)")
# In CEL: what a device without the attribute is compared as, and the comparison with a golden value.
NOTHING = {"int": "-1", "bool": "false", "string": "''", "version": "semver('0.0.0')",
           "capacity": "quantity('0')"}
COMPARED = {"int": "{} == {}", "bool": "{}", "string": "{} == '{}'", "version": "{}.compareTo(semver('{}')) >= 0",
            "capacity": "{}.compareTo(quantity('{}')) >= 0"}
FIELDS = {"whose", "meaning", "source"}
MAY = {"example", "always"}
LISTED = 3       # more types than that in a cell are named by a letter
FOLDED_MIN = 5   # attributes whose names differ by their number alone are one row from so many on

HEAD = """# Attributes and capacities

Written by `make docs` from the golden slices in `tests/vectors` and `cfg/deploy/attributes.toml`; `make check`
compares, and `make chart-test` evaluates each expression on every golden device, in the API server's own CEL
environment. A row whose name has an N stands for one attribute for each N; its expression shows the first.

A name without a domain is in that of the driver: a claim's `matchAttribute` spells it with the domain
(`{neuron}/contiguous2_id`), CEL without. What sysfs or a label does not say is left out, so a device can have less
than its type, and an expression that fails on one device keeps the claim waiting: `.?` and `.orValue` read what can
be missing. "Whose" is who gave the name its meaning: AWS's driver, Kubernetes, dranet, or this agent alone ("own").
"All types" are those of [boards/](../../boards/README.md); for EFA devices those with an EFA map, and other types
have all but the groups.
"""


class Unreadable(ValueError):
    """A golden file or the table of texts does not have the form that this program reads."""


class Attribute:
    """One name of one driver: its type, and which devices have it, as `value_of[(type, device)]`."""

    def __init__(self, kind):
        self.kind = kind
        self.value_of = {}
        self.when = ""


class Driver:
    """What one folder of golden files has: all devices as (type, device), and the attributes by name."""

    def __init__(self):
        self.devices = set()
        self.attributes = {}

    def add(self, path, board, line, when):
        """One line of a golden file; those of the board and the module are none of a device."""
        found = LINE.fullmatch(line)
        if not found:
            return
        device, name, kind, value = found.groups()
        self.devices.add((board, device))
        attribute = self.attributes.setdefault(name, Attribute(kind))
        if attribute.kind != kind:
            raise Unreadable(f"{path}: {name} is {kind} here and {attribute.kind} elsewhere")
        attribute.value_of[(board, device)] = value
        attribute.when = when


def golden(root):
    """The drivers by their folders."""
    drivers = {}
    vectors = pathlib.Path(root) / VECTORS
    for folder in DRIVERS:
        drivers[folder] = Driver()
        for path in sorted((vectors / folder).glob("*.txt")):
            for line in path.read_text().splitlines():
                drivers[folder].add(path.name, path.stem, line, "")
        if not drivers[folder].attributes:
            raise Unreadable(f"{VECTORS}/{folder} has no line of a device")
    for path in sorted((vectors / MORE).glob("*.txt")):
        text = path.read_text()
        when = re.search(r"^when (.+)", text, re.M)
        board = re.search(r"^board (\S+) (\S+)$", text, re.M)
        if not when or not board or board[1] not in drivers:
            raise Unreadable(f"{VECTORS}/{MORE}/{path.name} lacks its lines 'when WORDS' and "
                             f"'board {'|'.join(DRIVERS)} TYPE'")
        for line in text.splitlines():
            drivers[board[1]].add(path.name, board[2], line, when[1])
    return drivers


def texts(root):
    """The table of texts: a pattern and its fields, by folder."""
    found = tomllib.loads((pathlib.Path(root) / TEXTS).read_text())
    if set(found) != set(DRIVERS):
        raise Unreadable(f"{TEXTS}: the tables are [{'], ['.join(DRIVERS)}]")
    for folder, rows in found.items():
        for name, row in rows.items():
            if set(row) - MAY != FIELDS or "GET" not in row.get("example", "GET"):
                raise Unreadable(f"{TEXTS}: [{folder}.{name}] needs {', '.join(sorted(FIELDS))}, and may have "
                                 "always, and an example with GET in it")
    return found


def text_of(rows, folder, name):
    """The fields of an attribute, and the name in the table."""
    for pattern, row in rows.items():
        if re.fullmatch(re.escape(pattern).replace(r"\#", r"\d+"), name):
            return row, pattern
    raise Unreadable(f"{TEXTS} says nothing of {name}, which {VECTORS}/{folder} or {MORE} has: "
                     f"add [{folder}.\"{name}\"]")


def example(driver, attribute, name, domain, row):
    """A CEL expression that some device fulfils and, where values differ, another does not."""
    prefix, _, short = name.rpartition("/")
    field = "capacity" if attribute.kind == "capacity" else "attributes"
    everywhere = row.get("always", False)
    if everywhere and len(attribute.value_of) < len(driver.devices):
        raise Unreadable(f"{TEXTS}: {name} is always there, but not in all golden files")
    get = f"device.{field}['{prefix or domain}']" + (f".{short}" if everywhere else
                                                     f".?{short}.orValue({NOTHING[attribute.kind]})")
    if "example" in row:
        return row["example"].replace("GET", get)
    number = attribute.kind == "int"
    values = sorted(attribute.value_of.values(), key=int if number else str)
    return COMPARED[attribute.kind].format(get, values[-1 if number else 0])


class Sets:
    """Sets of instance types that are too long for a cell, by letters."""

    def __init__(self):
        self.named = []

    def cell(self, types, every):
        """Where an attribute is: all types, a few, all but a few, or a letter."""
        if types == every:
            return "all types"
        if len(types) <= LISTED:
            return ", ".join(sorted(types))
        if len(every - types) <= LISTED:
            return "all but " + ", ".join(sorted(every - types))
        if types not in self.named:
            self.named.append(types)
        return f"types **{chr(ord('A') + self.named.index(types))}**"

    def lines(self):
        """The list of the letters."""
        return [f"- **{chr(ord('A') + at)}**: {', '.join(sorted(types))}" for at, types in enumerate(self.named)]


def where(driver, attribute, sets):
    """The cell that says which devices have an attribute."""
    if attribute.when:
        return attribute.when
    every = {board for board, _ in driver.devices}
    nodes = {board for board, device in driver.devices if device == NODE}
    with_node = {board for board, device in attribute.value_of if device == NODE}
    singles = {board for board, device in attribute.value_of if device != NODE}
    cell = sets.cell(singles | with_node, every)
    if not singles:
        return f"{cell}: `neuron-node` alone"
    if (nodes & singles) - with_node:
        return f"{cell}; not `neuron-node`"
    return cell


def numbers(names):
    """The numbers in names of one pattern, as 2 or 3 to 6 where they are consecutive."""
    found = [int(re.search(r"\d+", name)[0]) for name in names]
    if found == list(range(found[0], found[-1] + 1)) and len(found) > 1:
        return f"{found[0]} to {found[-1]}"
    return ", ".join(map(str, found))


def where_folded(driver, names, sets):
    """The cell of attributes that are one row: the numbers that are on the same devices, and where."""
    runs = []
    for name in names:
        cell = where(driver, driver.attributes[name], sets)
        if not runs or runs[-1][0] != cell:
            runs.append((cell, []))
        runs[-1][1].append(name)
    return ". ".join(f"N = {numbers(each)}: {cell}" for cell, each in runs)


def folded(driver, rows, folder):
    """(names, fields, pattern) of each row of the table: one name, or all of a pattern with many numbers."""
    families = {}
    for name in sorted(driver.attributes, key=key):
        row, pattern = text_of(rows, folder, name)
        families.setdefault(pattern, (row, []))[1].append(name)
    found = []
    for pattern, (row, names) in families.items():
        together = pattern.count("#") == 1 and len(names) >= FOLDED_MIN
        if together and len({driver.attributes[name].kind for name in names}) > 1:
            raise Unreadable(f"{TEXTS}: {pattern} is of several types")
        found += [(names, row, pattern)] if together else [([name], row, pattern) for name in names]
    return sorted(found, key=lambda one: key(one[0][0]))


def key(name):
    """Numbers in names ascend as numbers."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def document(root):
    """The whole text of the file."""
    identity = (pathlib.Path(root) / IDENTITY).read_text()
    rows, sets, used = texts(root), Sets(), set()
    domains = {}
    for folder, (_, macro) in DRIVERS.items():
        found = re.search(rf'^#define {macro} "([^"]+)"', identity, re.M)
        if not found:
            raise Unreadable(f"{IDENTITY}: #define {macro} is missing")
        domains[folder] = found[1]
    lines = [HEAD.format(neuron=domains["boards"])]
    for folder, driver in golden(root).items():
        lines.append(f"## {DRIVERS[folder][0]}: `{domains[folder]}`\n")
        lines.append("| name | type | on | whose | what | source | CEL |\n|---|---|---|---|---|---|---|")
        for names, row, pattern in folded(driver, rows[folder], folder):
            attribute = driver.attributes[names[0]]
            used.add((folder, pattern))
            cel = example(driver, attribute, names[0], domains[folder], row)
            many = len(names) > 1
            place = where_folded(driver, names, sets) if many else where(driver, attribute, sets)
            cells = [f"`{pattern.replace('#', 'N') if many else names[0]}`", attribute.kind, place, row["whose"],
                     row["meaning"], row["source"], f"`{cel}`"]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    idle = sorted(f"{folder}.{name}" for folder, table in rows.items() for name in table if (folder, name) not in used)
    if idle:
        raise Unreadable(f"{TEXTS}: no golden file has {', '.join(idle)}")
    lines += ["## Instance types\n", *sets.lines(), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(document(pathlib.Path(__file__).resolve().parents[2]))
    sys.exit(0)
