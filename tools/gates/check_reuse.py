#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each file has its licence, which is the project's, as REUSE asks for.

cfg/lint/REUSE.toml names files without comments. REUSE wants it at the top, beside a folder LICENSES, where this
project has LICENSE alone: a copy of the tree has them.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import gate

LICENCE = "LICENSE"
ANNOTATIONS = "cfg/lint/REUSE.toml"
PLACES = {LICENCE: "LICENSES/Apache-2.0.txt", ANNOTATIONS: "REUSE.toml"}


def lay_out(root, files, folder):
    for path in files:
        place = folder / PLACES.get(str(path), path)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, place)


def check(root):
    report = gate.Report()
    files = gate.tree_files(root)
    if not files:
        report.add(root, "no files: the check is looking in the wrong place")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lay_out(pathlib.Path(root), files, folder)
        done = subprocess.run([gate.python_tool("reuse"), "--root", name, "lint", "--lines"], cwd=name, text=True,
                              env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
    if done.returncode:
        report.findings += done.stdout.splitlines() or [f"reuse failed: {done.returncode}"]
    report.looked_at = f"{len(files)} files"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
