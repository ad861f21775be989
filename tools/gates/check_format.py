#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every hand-written C file has the form that .clang-format describes; generated and third-party code is left out.

The sums of files whose form is right are kept in build/lint, so that only changed files are looked at again.
"""

import hashlib
import pathlib
import subprocess
import sys

import gate

FORMATTER = "clang-format-19"
FOLDERS = ("src", "boards", "cfg", "tests", "tools")
KEPT = "build/lint/format.txt"


def sources(root):
    return [str(path) for path in gate.tree_files(root)
            if path.suffix in (".c", ".h") and path.parts[0] in FOLDERS
            and not str(path).startswith("tests/fuzz/seeds/") and (pathlib.Path(root) / path).is_file()]


def sums_of(root, paths):
    """path -> sum of all that decides about its form."""
    rules = pathlib.Path(root) / ".clang-format"
    about = gate.run([FORMATTER, "--version"]).encode() + (rules.read_bytes() if rules.exists() else b"")
    return {path: hashlib.sha256(about + (pathlib.Path(root) / path).read_bytes()).hexdigest() for path in paths}


def look(report, root, paths):
    """Reports the files whose form is wrong; their names."""
    done = subprocess.run([FORMATTER, "--dry-run", *paths], cwd=root, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    places = sorted({line.split(": warning:")[0].rsplit(":", 1)[0] for line in done.stderr.splitlines()
                     if ": warning:" in line})
    wrong = {place.rsplit(":", 1)[0] for place in places}
    for place in places:
        report.add(place, f"run {FORMATTER} -i on this file")
    if done.returncode and not places:
        report.add(".clang-format", done.stderr.strip() or f"{FORMATTER} failed with {done.returncode}")
        wrong.update(paths)
    return wrong


def check(root):
    report = gate.Report()
    paths = sources(root)
    if not paths:
        report.add(root, "no C files: the check is looking in the wrong place")
        return report
    sums = sums_of(root, paths)
    kept = pathlib.Path(root) / KEPT
    known = set(kept.read_text().split()) if kept.exists() else set()
    fresh = [path for path in paths if sums[path] not in known]
    wrong = look(report, root, fresh) if fresh else set()
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("\n".join(sorted({sums[path] for path in paths if path not in wrong})) + "\n")
    report.looked_at = f"{len(paths)} files, {len(paths) - len(fresh)} of them unchanged"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
