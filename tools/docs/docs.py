#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/agent/report/CATALOGUE.md: log events, Kubernetes Events, metrics, pages and system calls,
from the tables in the code; the flags, and what to do about each Event, into cfg/deploy/reference.md;
the flags of run into cfg/deploy/chart/files/flags.yaml; cfg/deploy/ATTRIBUTES.md (tools/docs/attributes.py);
cfg/deploy/chart/README.md (tools/docs/chart.py); and the tables of states into src/agent/ledger/README.md
(tools/docs/states.py).

  tools/docs/docs.py            writes them
  tools/docs/docs.py --check    compares them; exit code 1 when one differs

The tables are read from the sources, so that a row is written once. tools/docs/check_docs.py is the gate.
"""

import argparse
import pathlib
import re
import sys

import attributes
import chart
import states

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = "src/agent/report/CATALOGUE.md"
OPERATORS = "cfg/deploy/reference.md"
LOG = "src/agent/report/log_catalogue.h"
EVENTS = "src/agent/report/k8s_events.h"
METRICS = "src/agent/serve/metrics.c"
PAGES = "src/agent/serve/pages.c"
CALLS = "src/host/sandbox_calls.h"
FLAGS = "src/agent/settings_table.c"
CHART_FLAGS = "cfg/deploy/chart/files/flags.yaml"

MARK_FIRST = "<!-- events: written by make docs -->"
MARK_LAST = "<!-- events: end -->"
FLAGS_FIRST = "<!-- flags: written by make docs -->"
FLAGS_LAST = "<!-- flags: end -->"

HEAD = """# Catalogue

Written by `make docs` from the tables in the code; `make check` compares. The names below are stable: alerts and
scripts may rely on them.
"""

STRING = r'"((?:\\.|[^"\\])*)"'
TOKEN = re.compile(STRING + r"|(\w+)|([(),])")
# A member of a row with designated initialisers.
MEMBER = r"\.(name|help|labels|type) = ?((?:\{[^}]*\}|[^{}](?!\.\w+ =))+)"
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
# The text of AWS's own driver, which people search for.
FOREIGN_NAMES = {"Opaque device configs"}


class Unreadable(ValueError):
    """A table does not have the form that this program reads."""


def rows_of(text, macro, columns):
    """Rows of an X-macro: lists of `columns` texts; adjacent string literals are one."""
    found = re.search(r"#define " + macro + r"\(X\)((?:.*\\\n)*.*)", text)
    if not found:
        raise Unreadable(f"#define {macro}(X) is missing")
    body = re.sub(r"/\*.*?\*/", "", found[1].replace("\\\n", "\n"), flags=re.S)
    rows, row, column = [], None, ""
    for string, word, mark in TOKEN.findall(body):
        if row is None:
            row, column = ([], "") if mark == "(" else (None, "")
        elif mark:
            row.append(column)
            column = ""
            if mark == ")":
                rows.append(row)
                row = None
        else:
            column += word or string.replace('\\"', '"')
    wrong = [row for row in rows if len(row) != columns]
    if wrong or not rows or row is not None:
        raise Unreadable(f"{macro}: rows must have {columns} columns: {wrong}")
    return rows


def strings(text):
    """Adjacent string literals as one text."""
    return "".join(re.findall(STRING, text)).replace('\\"', '"')


def label_list(text, driver):
    """The labels named in the text, for a cell of the table."""
    return ", ".join([driver] * bool(driver) + [f"`{label}`" for label in re.findall(STRING, text)])


def families(text):
    """(name, help, type, labels) of each row of the table of metrics."""
    prefix = re.search(r'#define METRICS_PREFIX "(\w+)"', text)
    table = re.search(r"static const struct family families\[FAMILIES\] = \{(.*?)\n\};", text, re.S)
    if not prefix or not table:
        raise Unreadable("METRICS_PREFIX or the table of families is missing")
    rows = re.split(r"\[FAMILY_\w+\] =", table[1])[1:]
    found = []
    names = re.findall(r"\[(FAMILY_\w+)\] =", table[1])
    both = set(re.findall(r"\[(FAMILY_\w+)\] = true", text))
    shared = dict(re.findall(r'^#define (\w+_LABELS) (".+")$', text, re.M))
    for row, name in zip(rows, names, strict=True):
        driver = "`driver` with `--efa`" if name in both else ""
        for macro, named in shared.items():
            row = re.sub(rf"\b{macro}\b", lambda _, named=named: named, row)
        short = re.search(r"(SCALAR|MONITOR|PROCESS)\(\s*" + STRING + r",(?:\s*(GAUGE|COUNTER),)?"
                          r"((?:\s*" + STRING + r")+)\)", row)
        if short:
            labels = driver if short[1] != "MONITOR" else label_list(shared["MONITOR_LABELS"], "")
            name = prefix[1] + short[2] if short[1] == "SCALAR" else short[2]
            found.append((name, strings(short[4]), (short[3] or "gauge").lower(), labels))
            continue
        part = dict(re.findall(MEMBER, row))
        if set(part) != {"name", "help", "labels", "type"}:
            raise Unreadable(f"no row of a metric: {row.strip()}")
        labels = label_list(part["labels"], driver)
        kind = re.search(r"GAUGE|COUNTER|HISTOGRAM", part["type"])[0].lower()
        found.append((prefix[1] + strings(part["name"]), strings(part["help"]), kind, labels))
    if len(found) != len(re.findall(r"^    FAMILY_\w+,$", text, re.M)):
        raise Unreadable("the table of families and its enum have different lengths")
    return found


def table(heads, rows):
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def read(root, name):
    return (pathlib.Path(root) / name).read_text()


def catalogue(root):
    """The whole text of the file."""
    log = rows_of(read(root, LOG), "LOG_CATALOGUE", 5)
    events = rows_of(read(root, EVENTS), "K8S_EVENT_REASONS", 4)
    reason_of = {row[0]: row[2] for row in events}
    name_of = {row[0]: row[2] for row in log}
    unknown = set(reason_of) - set(name_of)
    odd = [row[2] for row in log if not NAME.fullmatch(row[2]) and row[2] not in FOREIGN_NAMES]
    twice = {name for name in name_of.values() if list(name_of.values()).count(name) > 1}
    wrong = [f"{name} of {EVENTS} is not in it" for name in sorted(unknown)]
    wrong += [f"{name} is not snake_case" for name in odd]
    wrong += [f"{name} stands there twice" for name in sorted(twice)]
    if wrong:
        raise Unreadable(f"{LOG}: {'; '.join(wrong)}")
    text = [HEAD, "## Log events\n",
            "The `event=` of a line. A warning or an error carries its remedy in `remedy=`; some causes have a more",
            "precise one than the table. Each event is also counted in `neuron_dra_log_events_total`.\n",
            table(["event", "level", "cause", "remedy", "Kubernetes Event"],
                  [[f"`{row[2]}`", row[1].removeprefix("LOG_").lower(), row[3], row[4],
                    f"`{reason_of[row[0]]}`" if row[0] in reason_of else ""] for row in log]),
            "The log itself adds `log_lines_lost` (with `count`) when lines came faster than they could be written.\n",
            "## Kubernetes Events\n",
            "They regard the Node, or the ResourceClaim that the log line names.\n",
            table(["reason", "type", "action", "log event"],
                  [[f"`{row[2]}`", "Warning" if row[1] == "true" else "Normal", f"`{row[3]}`", f"`{name_of[row[0]]}`"]
                   for row in events]),
            "## Metrics\n",
            table(["metric", "type", "labels", "meaning"],
                  [[f"`{row[0]}`", row[2], row[3], row[1]] for row in families(read(root, METRICS))]),
            "## Pages of the metrics port\n",
            table(["path", "response"], [[f"`{row[1]}`", row[2]] for row in rows_of(read(root, PAGES), "PAGES", 3)]),
            "## System calls\n",
            "After its start the agent can make only these system calls: "
            "seccomp refuses all others with EPERM (`--sandbox`).\n",
            calls(root, "SANDBOX_CALLS"),
            "The processes that read sysfs for the agent can make only these:\n",
            calls(root, "READER_CALLS")]
    return "\n".join(text)


def calls(root, name):
    return table(["system call", "purpose"],
                 [[f"`{row[0].removeprefix('SYS_')}`", row[1]] for row in rows_of(read(root, CALLS), name, 2)])


def flags(root):
    """(flag, variable, choices, default, help) of each row of the table of flags."""
    macros = dict(re.findall(r'^#define (\w+) "([^"]*)"', read(root, attributes.IDENTITY), re.M))
    body = re.search(r"setting_rows\[\] = \{\n(.*?)\};\n", read(root, FLAGS), re.S)
    if not body:
        raise Unreadable(f"{FLAGS}: the array setting_rows is missing")

    def text(row, member):
        """The string of a member: literals, and macros of cfg/identity.h, one after another."""
        found = re.search(r"\." + member + r" =((?:\s*(?:" + STRING + r"|[A-Z]\w+))+)", row)
        parts = re.findall(STRING + r"|(\w+)", found[1]) if found else []
        unknown = [word for _, word in parts if word and word not in macros]
        if unknown:
            raise Unreadable(f"{FLAGS}: {attributes.IDENTITY} does not define {unknown[0]}")
        return "".join(macros[word] if word else string for string, word in parts).replace('\\"', '"')

    rows = []
    for row in re.split(r"\{(?=\.flag = )", body[1])[1:]:
        choices = re.search(r"\.choices =\s*\{(.*?)\}", row, re.S)
        words = ", ".join(f"`{word}`" for word in re.findall(STRING, choices[1])) if choices else ""
        value = f"`{text(row, 'default_value')}`" if text(row, "default_value") else text(row, "default_text")
        variable = f"`{text(row, 'variable')}`" if text(row, "variable") else ""
        rows.append([f"`{text(row, 'flag')}`", variable, words, value, text(row, "help")])
        if not rows[-1][-1]:
            raise Unreadable(f"{FLAGS}: no row of a flag: {row.strip()}")
    return rows


def chart_flags(root):
    """The flags of the command run, with their variables, for the chart's check of extraArgs and extraEnv."""
    lines = [f"{row[0].strip('`')}: {row[1].strip('`')}\n" for row in flags(root) if row[1]]
    return ("# SPDX-License-" "Identifier: Apache-2.0\n# Written by `make docs` from " + FLAGS
            + ": each flag of the agent, and its variable.\n" + "".join(lines))


def between_marks(text, name, mark_first, mark_last, made):
    """The text of a document with what was made between two lines of it."""
    first, last = text.find(mark_first), text.find(mark_last)
    if first < 0 or last < first:
        raise Unreadable(f"{name} lacks the lines {mark_first} and {mark_last}")
    return f"{text[:first]}{mark_first}\n\n{made}\n{text[last:]}"


def operators(root):
    """The operator's document with its tables of flags and of Events: what happened, what to do."""
    log = {row[0]: row for row in rows_of(read(root, LOG), "LOG_CATALOGUE", 5)}
    rows = [[f"`{row[2]}`", f"`{log[row[0]][2]}`", log[row[0]][3], log[row[0]][4]]
            for row in rows_of(read(root, EVENTS), "K8S_EVENT_REASONS", 4)
            if row[0] in log]   # catalogue() refuses the others
    made = table(["the Event's reason", "the log's `event=`", "what happened", "what to do"], rows)
    text = between_marks(read(root, OPERATORS), OPERATORS, MARK_FIRST, MARK_LAST, made)
    made = table(["flag", "variable", "values", "default", "what"], flags(root))
    return between_marks(text, OPERATORS, FLAGS_FIRST, FLAGS_LAST, made)


def room_of_states(root):
    """The README of the ledger's room with its tables of states."""
    return between_marks(read(root, states.DOCUMENT), states.DOCUMENT, states.FIRST, states.LAST,
                         states.tables(root, table))


# Each file that is written, and its text.
WRITTEN = {CATALOGUE: catalogue, OPERATORS: operators, attributes.DOCUMENT: attributes.document,
           states.DOCUMENT: room_of_states, chart.DOCUMENT: chart.document, CHART_FLAGS: chart_flags}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    code = 0
    for name, written in WRITTEN.items():
        wanted = written(ROOT)
        path = ROOT / name
        if options.check:
            same = path.is_file() and path.read_text() == wanted
            print(f"{name}: {'as the code says' if same else 'differs: run make docs'}")
            code = code if same else 1
        else:
            path.write_text(wanted)
    return code


if __name__ == "__main__":
    sys.exit(main())
