# SPDX-License-Identifier: Apache-2.0
"""Writes what one assurance tool shows into build/evidence/parts, from which `make evidence` makes its page.

Owns the form of such a file: its tool, version, command, date and commit, one table, and what it does not show. It
runs no tool and judges nothing.
"""
import datetime
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PARTS = os.path.join(ROOT, "build", "evidence", "parts")


def commit():
    """The commit that the tree has; `-dirty` after it where files differ from it."""
    done = subprocess.run(["git", "describe", "--always", "--abbrev=40", "--dirty"], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, check=True)
    return done.stdout.strip()


def write_part(name, title, tools, command, summary, head, rows, not_shown):
    """Writes NAME.json. tools: {name: version}; head and rows: texts; not_shown: a sentence for each thing that a
    reader might expect of this part and does not get."""
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"{name}: a row of {len(row)} cells below a head of {len(head)}: {row}")
    content = {"name": name, "title": title,
               "tools": [{"name": tool, "version": version} for tool, version in sorted(tools.items())],
               "command": command, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
               "commit": commit(), "summary": summary,
               "table": {"head": list(head), "rows": [[str(cell) for cell in row] for row in rows]},
               "not_shown": list(not_shown)}
    os.makedirs(PARTS, exist_ok=True)
    path = os.path.join(PARTS, name + ".json")
    with open(path + ".new", "w", encoding="utf-8") as stream:
        json.dump(content, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    os.replace(path + ".new", path)
