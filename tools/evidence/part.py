# SPDX-License-Identifier: Apache-2.0
"""Writes what one assurance tool shows into build/evidence/parts, from which `make evidence` makes its page.

Owns the form of such a file: its tool, version, command, date and commit, one table, the files that the page links, and
what it does not show. It runs no tool and judges nothing.
"""
import datetime
import json
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE_FOLDER = os.path.join(ROOT, "build", "evidence")
PARTS = os.path.join(PAGE_FOLDER, "parts")


def commit():
    """The commit that the tree has; `-dirty` after it where files differ from it."""
    # No tag is taken: the name of a commit is its hash, at a release too.
    done = subprocess.run(["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, check=True)
    return done.stdout.strip()


def release(dirty=None):
    """The newest release of the changelog, with a plus behind it when the tree differs from it. dirty: whether files
    differ from the commit; None: any file counts."""
    if dirty is None:
        dirty = commit().endswith("-dirty")
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as stream:
        newest = next(word for word in re.findall(r"^## (\S+)", stream.read(), re.M) if word != "Unreleased")
    tags = subprocess.run(["git", "tag", "--points-at", "HEAD"], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          check=True).stdout.split()
    return newest if f"v{newest}" in tags and not dirty else newest + "+"


def keep(name, content):
    """Writes a file that the page links; its path from the folder of the page."""
    path = os.path.join(PAGE_FOLDER, "files", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(content if isinstance(content, bytes) else content.encode())
    return os.path.relpath(path, PAGE_FOLDER)


def write_part(name, title, tools, command, summary, head, rows, not_shown, files=(), *, failed=""):
    """Writes NAME.json. tools: {name: version}; head and rows: texts; not_shown: a sentence for each thing that a
    reader might expect of this part and does not get; files: paths from the folder of the page, as `keep` returns;
    failed: why the tool fails after it has written this. Such a part is shown, and made again by the next call."""
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"{name}: a row of {len(row)} cells below a head of {len(head)}: {row}")
    content = {"name": name, "title": title,
               "tools": [{"name": tool, "version": version} for tool, version in sorted(tools.items())],
               "command": command, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
               "commit": commit(), "summary": summary,
               "table": {"head": list(head), "rows": [[str(cell) for cell in row] for row in rows]},
               "files": list(files), "not_shown": list(not_shown), "failed": failed}
    os.makedirs(PARTS, exist_ok=True)
    replace(os.path.join(PARTS, name + ".json"), content)


def mark_failed(name, why):
    """Says in a part that was written that its goal failed; what its tool says of that stays."""
    path = os.path.join(PARTS, name + ".json")
    with open(path, encoding="utf-8") as stream:
        content = json.load(stream)
    replace(path, {**content, "failed": "; ".join(filter(None, (content.get("failed"), why)))})


def replace(path, content):
    with open(path + ".new", "w", encoding="utf-8") as stream:
        json.dump(content, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    os.replace(path + ".new", path)
