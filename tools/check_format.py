#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every hand-written C file has the form that .clang-format describes; generated and third-party code is left out."""

import pathlib
import subprocess
import sys

import gate

FORMATTER = "clang-format-19"
FOLDERS = ("src", "boards", "cfg", "tests", "tools")


def sources(root):
    return [str(path) for path in gate.tree_files(root)
            if path.suffix in (".c", ".h") and path.parts[0] in FOLDERS
            and not str(path).startswith("tests/fuzz/corpus/") and (pathlib.Path(root) / path).is_file()]


def check(root):
    report = gate.Report()
    paths = sources(root)
    if not paths:
        report.add(root, "no C files: the check is looking in the wrong place")
        return report
    done = subprocess.run([FORMATTER, "--dry-run", *paths], cwd=root, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    places = sorted({line.split(": warning:")[0].rsplit(":", 1)[0] for line in done.stderr.splitlines()
                     if ": warning:" in line})
    for place in places:
        report.add(place, f"run {FORMATTER} -i on this file")
    if done.returncode and not places:
        report.add(".clang-format", done.stderr.strip() or f"{FORMATTER} failed with {done.returncode}")
    report.looked_at = f"{len(paths)} files"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
