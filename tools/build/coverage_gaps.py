# SPDX-License-Identifier: Apache-2.0
"""What no unit test reaches, by room: read from the export of llvm-cov, with the records that excuse some of it.

A gap is an outcome of a condition that never came (a branch), a condition that never changed its decision by itself
(MC/DC), or a line that nothing ran. tests/coverage/exclusions.toml has a record, with its reason, for each outcome that
no test can produce; tests/coverage/missing.toml says how many other gaps each room has, which may only become fewer.
A record names its function and the text of the condition, so that it holds when lines move.
"""

import collections
import dataclasses
import itertools
import os
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXCLUSIONS = "tests/coverage/exclusions.toml"
MISSING = "tests/coverage/missing.toml"
RECORDS_MAX = 150
REASON_MIN = 30       # characters; less is no reason
SLACK = 3             # gaps that may be fewer than missing.toml says before it must be written anew
KINDS = ("lines", "branches", "mcdc")
EXPANSION = 1         # kind of a region of llvm-cov
OUTCOMES = ("true", "false", "both", "alone")
FIELDS = {"function", "text", "never", "reason", "lines", "count"}


@dataclasses.dataclass
class Condition:
    """A condition in the source, with how often it was true and false."""
    place: tuple        # line, column, line, column
    text: str
    true: int
    false: int


@dataclasses.dataclass
class Function:
    """A function of our own sources: all its conditions, decisions and lines."""
    file: str
    name: str
    first: int
    last: int
    conditions: list
    decisions: list     # (place, text, [covered?])
    dark: list = dataclasses.field(default_factory=list)  # lines that nothing ran

    @property
    def key(self):
        return f"{self.file}:{self.name}"


@dataclasses.dataclass
class Gap:
    """One thing that no test reaches. `excused`: a record has its reason."""
    kind: str
    function: Function
    line: int
    text: str
    what: str
    excused: bool = False

    def __str__(self):
        return f"{self.function.file}:{self.line}: {self.function.name}: {self.what}: {self.text}"


def room_of(name):
    """src/agent/ledger of src/agent/ledger/ledger.c, src/host of src/host/node/probe.c, boards of boards/trn.c."""
    parts = pathlib.PurePosixPath(name).parts[:-1]
    return "/".join(parts[:3] if parts[:2] == ("src", "agent") else parts[:2])


def text_at(lines, place):
    """The source between two places, on one line."""
    line, column, last, end = place
    if line == last:
        return lines[line - 1][column - 1:end - 1]
    words = [lines[line - 1][column - 1:], *lines[line:last - 1], lines[last - 1][:end - 1]]
    return " ".join(word.strip() for word in words)


# --- reading the export ---

def sites(regions):
    """{file id: place of the macro in the function's own file}, for what comes out of macros."""
    above = {region[6]: (region[5], tuple(region[:4])) for region in regions if region[7] == EXPANSION}

    def site(number):
        parent, place = above[number]
        return site(parent) if parent in above else place

    return {number: site(number) for number in above}


def is_default(lines, branch):
    """Whether this is the default that a switch has not: it names every value of its enum (MISRA record 16.4)."""
    return lines[branch[0] - 1][:branch[1] - 1].endswith("switch (")


def conditions_of(function, lines, sized):
    """All conditions of a function. Those in sizeof are never evaluated: the list of a WRITE stands in one, too."""
    places = sites(function["regions"])
    found = []
    for branch in function["branches"]:
        number = branch[6]
        if number == 0 and is_default(lines, branch):
            continue
        if number == 0:
            place, text = tuple(branch[:4]), text_at(lines, branch[:4])
        elif (os.path.basename(function["filenames"][number]), branch[0]) in sized:
            continue
        else:
            place = places[number]
            text = "in " + lines[place[0] - 1][place[1] - 1:].strip()
        found.append(Condition(place, text, branch[4], branch[5]))
    return found


def sized_lines():
    """(file, line) of the macros that count their arguments by sizeof."""
    name = "src/base/bytes.h"
    lines = (ROOT / name).read_text().splitlines()
    return {(os.path.basename(name), at) for at, line in enumerate(lines, 1) if "sizeof((const struct fill[])" in line}


def functions_of(exported, dark, own):
    """Every function of the files `own`. dark: {file: lines that nothing ran}."""
    sources, sized, found = {}, sized_lines(), {}
    for entry in exported["functions"]:
        file = os.path.relpath(entry["filenames"][0], ROOT)
        if file not in own:
            continue
        lines = sources.setdefault(file, (ROOT / file).read_text().splitlines())
        whole = entry["regions"][0]
        decisions = [(tuple(record[:4]), text_at(lines, record[:4]), record[-1]) for record in entry["mcdc_records"]]
        one = Function(file, entry["name"].rpartition(":")[2], whole[0], whole[2],
                       conditions_of(entry, lines, sized), decisions)
        one.dark = [line for line in dark.get(file, ()) if one.first <= line <= one.last]
        found[one.key] = one
    return sorted(found.values(), key=lambda one: (one.file, one.first))


def lines_of(lcov):
    """({file: lines that nothing ran}, {file: number of lines with code}) of an export in lcov's form."""
    dark, count, file = collections.defaultdict(list), collections.Counter(), ""
    for line in lcov.splitlines():
        if line.startswith("SF:"):
            file = os.path.relpath(line[3:], ROOT)
        elif line.startswith("DA:"):
            number, times = line[3:].split(",")[:2]
            count[file] += 1
            if int(times) == 0:
                dark[file].append(int(number))
    return dark, count


# --- which conditions could be shown by themselves ---

def within(inner, outer):
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def leaves_of(function, decision):
    """The conditions of a decision in the order of the source: llvm-cov counts them so. None: they do not add up,
    as when a condition comes out of a macro."""
    place, _, covered = decision
    leaves = [one for one in function.conditions if within(one.place, place)]
    return leaves if len(leaves) == len(covered) else None


def form_of(text, leaves):
    """The decision as an expression of Python over c[0], c[1], ... None: it cannot be read so."""
    at, parts = 0, []
    for number, leaf in enumerate(leaves):
        start = text.find(leaf.text, at)
        if start < 0:
            return None
        parts += [text[at:start], f" c({number}) "]
        at = start + len(leaf.text)
    form = "".join([*parts, text[at:]]).replace("&&", " and ").replace("||", " or ").replace("!", " not ")
    return form if re.fullmatch(r"(?:c\(\d+\)|and|or|not|[() ])+", form) else None


def runs_of(form, count, forbidden):
    """Each way through a decision: ({condition: its outcome} of what was evaluated, the result)."""
    code, found = compile(form.strip(), "decision", "eval"), {}
    for values in itertools.product((False, True), repeat=count):
        seen = {}

        def c(number, values=values, seen=seen):
            seen[number] = values[number]
            return values[number]

        result = bool(eval(code, {"__builtins__": {}, "c": c}))  # pylint: disable=eval-used
        if not any((number, value) in forbidden for number, value in seen.items()):
            found[tuple(sorted(seen.items()))] = result
    return [(dict(key), result) for key, result in found.items()]


def can_be_shown(number, runs):
    """Whether two ways through differ in this condition, agree in what both evaluated besides, and end otherwise."""
    for one, two in itertools.combinations(runs, 2):
        (seen, result), (other, ended) = one, two
        if result == ended or number not in seen or number not in other or seen[number] == other[number]:
            continue
        if all(seen[key] == other[key] for key in seen.keys() & other.keys() if key != number):
            return True
    return False


# --- records ---

def outcomes(record):
    return {"true": (True,), "false": (False,), "both": (True, False), "alone": ()}[record["never"]]


def read_records(root=ROOT):
    return tomllib.loads((pathlib.Path(root) / EXCLUSIONS).read_text()).get("exclusion", [])


def check_records(records):
    """What is wrong with the form of the records, in words."""
    problems = []
    for record in records:
        name = f"{EXCLUSIONS}: {record.get('function')}: {record.get('text')}"
        wrong = sorted({"function", "text", "never", "reason"} - set(record)) + sorted(set(record) - FIELDS)
        if wrong:
            problems.append(f"{name}: fields missing or unknown: {', '.join(wrong)}")
        elif record["never"] not in OUTCOMES:
            problems.append(f"{name}: 'never' is one of {', '.join(OUTCOMES)}")
        elif len(" ".join(record["reason"].split())) < REASON_MIN:
            problems.append(f"{name}: say why no test can produce this, in a sentence")
    if len(records) > RECORDS_MAX:
        problems.append(f"{EXCLUSIONS}: {len(records)} records, at most {RECORDS_MAX}")
    return problems


def branch_gaps(function):
    for one in function.conditions:
        for outcome, count in ((True, one.true), (False, one.false)):
            if count == 0:
                yield one, outcome


class Judge:
    """The gaps of all functions, each with its record where there is one."""

    def __init__(self, functions, records):
        self.records = collections.defaultdict(list)
        for record in records:
            self.records[record["function"]].append(record)
        self.used = collections.Counter()
        self.gaps = []
        for function in functions:
            self.look_at(function)

    def record_for(self, function, text, outcome):
        for record in self.records[function.key]:
            if record["text"] == text and (outcome in outcomes(record)):
                return record
        return None

    def look_at(self, function):
        excused = set()
        for condition, outcome in branch_gaps(function):
            record = self.record_for(function, condition.text, outcome)
            if record:
                self.used[id(record)] += 1
                excused.add((condition.place, outcome))
            self.gaps.append(Gap("branches", function, condition.place[0], condition.text,
                                 "never " + ("true" if outcome else "false"), record is not None))
        for decision in function.decisions:
            self.look_at_decision(function, decision, excused)
        allowed = sum(record.get("lines", 0) for record in self.records[function.key])
        fits = allowed <= len(function.dark)
        for number, line in enumerate(function.dark):
            text = (ROOT / function.file).read_text().splitlines()[line - 1].strip()
            self.gaps.append(Gap("lines", function, line, text, "never run", fits and number < allowed))
        if not fits:
            for record in self.records[function.key]:
                if record.get("lines"):
                    self.used[id(record)] = -1

    def look_at_decision(self, function, decision, excused):
        place, text, covered = decision
        leaves = leaves_of(function, decision)
        forbidden = {(number, outcome) for number, leaf in enumerate(leaves or ())
                     for outcome in (True, False) if (leaf.place, outcome) in excused}
        form = form_of(text, leaves) if forbidden and not all(covered) else None
        runs = runs_of(form, len(leaves), forbidden) if form else None
        for number, good in enumerate(covered):
            if good:
                continue
            name = leaves[number].text if leaves else f"condition {number + 1}"
            alone = next((record for record in self.records[function.key]
                          if record["text"] == name and record["never"] == "alone"), None)
            if alone:
                self.used[id(alone)] += 1
            hidden = runs is not None and not can_be_shown(number, runs)
            self.gaps.append(Gap("mcdc", function, place[0], text, f"not shown by itself: {name}",
                                 hidden or alone is not None))

    def stale(self, all_records):
        """Records that excuse nothing, or another number of gaps than they say."""
        problems = []
        for record in all_records:
            wanted = record.get("count", len(outcomes(record)) or 1)
            found = self.used[id(record)]
            if found != wanted:
                what = "more lines than are never run" if found < 0 else f"{max(found, 0)} gaps, not {wanted}"
                problems.append(f"{EXCLUSIONS}: {record['function']}: {record['text']}: the record excuses {what}")
        return problems


def count_open(gaps):
    """{room: {kind: gaps without a record}}."""
    counted = collections.defaultdict(collections.Counter)
    for gap in gaps:
        if not gap.excused:
            counted[room_of(gap.function.file)][gap.kind] += 1
    return counted


# --- the table of what is missing ---

def read_missing(root=ROOT):
    return tomllib.loads((pathlib.Path(root) / MISSING).read_text())["missing"]


def check_missing(counted, missing, rooms):
    """Rooms with more gaps than the table says, or with so few that the table is old."""
    problems = [f"{MISSING}: {room}: no such room" for room in sorted(set(missing) - set(rooms))]
    for room in rooms:
        if room not in missing:
            problems.append(f"{MISSING}: {room}: not in the table")
            continue
        for kind in KINDS:
            found, most = counted[room][kind], missing[room][kind]
            if found > most:
                problems.append(f"{room}: {kind}: {found} gaps, at most {most}: build/coverage/gaps.txt names them")
            elif found + missing[room].get("varies", SLACK) < most:
                problems.append(f"{room}: {kind}: {found} gaps, the table says {most}: "
                                "UPDATE=1 make coverage lowers it")
    return problems


def lowered(counted, missing, rooms):
    """The table with the figures of this run, none higher than before."""
    table = {}
    for room in rooms:
        old = missing.get(room)
        table[room] = {kind: min(counted[room][kind], old[kind]) if old else counted[room][kind] for kind in KINDS}
        if old and "varies" in old:
            table[room] |= {kind: old[kind] for kind in KINDS if counted[room][kind] + old["varies"] >= old[kind]}
            table[room]["varies"] = old["varies"]
    return table


def write_missing(table, root=ROOT):
    path = pathlib.Path(root) / MISSING
    head = [line for line in path.read_text().splitlines() if line.startswith("#")] if path.exists() else []
    rows = [f'"{room}" = {{ {", ".join(f"{kind} = {value}" for kind, value in row.items())} }}'
            for room, row in table.items()]
    path.write_text("\n".join([*head, "", "[missing]", *rows, ""]))
