#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cfg/deploy/chart/README.md: the chart's values with their defaults, from values.yaml and its comments.

Reads the part of YAML that values.yaml is written in: two spaces a level, one key a line, lists of scalars or of
maps. The comment above a key is its description. A key without a comment belongs to the default of the next key above
it that has one; a value that nobody describes is an error.
"""
import json
import pathlib
import re

CHART = "cfg/deploy/chart"
DOCUMENT = f"{CHART}/README.md"
VALUES = f"{CHART}/values.yaml"
KEY = re.compile(r"( *)([A-Za-z_]+):(?: (.*))?")
# A default that takes more room than this is not repeated.
DEFAULT_CAP = 60

HEAD = """# Chart neuron-dra-agent

<!-- Written by `make docs` from values.yaml and Chart.yaml. -->

{description}. Kubernetes {kubernetes}.

[cfg/deploy]({home}/tree/main/cfg/deploy) describes how to install, operate and uninstall it; `helm install` prints a
claim to start from. `helm test` asks the agent of one node whether it is ready, and runs a pod with a claim for one
device.

`values.schema.json` refuses a value with a wrong name or type, those inside `resources`, `securityContext`, `affinity`
and `tolerations` too. Names of AWS's chart are kept, and its defaults unless a description says otherwise. Its other
top-level objects are accepted: `global`, `npd` and `nodeProblemDetector*` whatever they hold, `devicePlugin` and
`scheduler` unless they are on, any other one with `enabled: false`.

Two releases stand side by side when each has names and nodes of its own. With `nameOverride`, `namespaceOverride`,
`fullnameOverride` and `serviceAccount.name` empty all names follow the release; `nodeSelector` chooses its nodes. A
name that another release has is refused, by an error that names the object. DeviceClasses are shared: the first release
owns them.

| value | default | |
| --- | --- | --- |
"""


class Unreadable(ValueError):
    """values.yaml or Chart.yaml does not have the form that this program reads."""


class Entry:
    """A key of values.yaml: its path, comment, the text of its value or the lines of its list, the entries below it."""

    def __init__(self, path, comment, value):
        self.path, self.comment, self.value, self.items, self.below = path, comment, value, [], []

    def default(self):
        """The value as one line of YAML."""
        if self.below:
            pairs = [f"{one.path.rsplit('.', 1)[-1]}: {one.default()}" for one in self.below]
            return "{" + ", ".join(pairs) + "}"
        return "[" + ", ".join(self.items) + "]" if self.items else self.value

    def described(self):
        """Whether an entry below it has a comment."""
        return any(one.comment or one.described() for one in self.below)


def entries(text):
    """The entries of the top level. Each line is a key, a comment, an item of a list or empty."""
    top, open_entries, comment = Entry("", "", ""), [], []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        found = KEY.fullmatch(line)
        if stripped.startswith("#"):
            comment.append(stripped.removeprefix("#").strip())
        elif not stripped:
            comment = []
        elif found:
            level = len(found[1]) // 2
            if open_entries and level >= len(open_entries) and open_entries[-1].items:
                open_entries[-1].items.append(stripped)   # of a map in the list
                continue
            above = open_entries[level - 1] if level else top
            path = f"{above.path}.{found[2]}".lstrip(".")
            one = Entry(path, " ".join(comment), found[3] or "")
            above.below.append(one)
            open_entries, comment = open_entries[:level] + [one], []
        elif stripped.startswith("- "):
            open_entries = open_entries[:(len(line) - len(line.lstrip())) // 2 + 1]
            open_entries[-1].items.append(stripped[2:])
        else:
            raise Unreadable(f"{VALUES}:{number}: neither a key nor an item of a list: {stripped}")
    return top.below


def rows(found):
    """(path, default, description) of each described entry; an entry that nobody describes is an error."""
    for one in found:
        if not one.comment and not one.described():
            raise Unreadable(f"{VALUES}: {one.path} has no comment above it")
        if one.described():
            if one.comment:
                yield one.path, "", one.comment
            yield from rows(one.below)
            continue
        default = one.default()
        yield one.path, f"`{default}`" if len(default) <= DEFAULT_CAP else "see values.yaml", one.comment


def scalar(text, key):
    """A line `key: value` of Chart.yaml."""
    found = re.search(rf"^{key}: (.*)$", text, re.MULTILINE)
    if not found:
        raise Unreadable(f"{CHART}/Chart.yaml lacks {key}")
    return json.loads(found[1]) if found[1].startswith('"') else found[1]


def document(root):
    """The whole text of the README."""
    chart = (pathlib.Path(root) / CHART / "Chart.yaml").read_text(encoding="utf-8")
    values = (pathlib.Path(root) / VALUES).read_text(encoding="utf-8")
    text = HEAD.format(home=scalar(chart, "home"), description=scalar(chart, "description"),
                       kubernetes=scalar(chart, "kubeVersion").removesuffix("-0"))
    found = list(rows(entries(values)))
    if len(found) < 2:
        raise Unreadable(f"{VALUES} has no values")
    cells = ((part.replace("|", "\\|") for part in row) for row in found)
    return text + "".join(f"| `{path}` | {default} | {words} |\n" for path, default, words in cells)
