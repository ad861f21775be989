#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Shell and Python: shellcheck's warnings, pyflakes, line length, no tabs or white space at the end of lines."""

import pathlib
import re
import subprocess
import sys

import gate

COLUMNS_MAX = {"sh": 120, "py": 120}


def kind_of(path, text):
    """"sh", "py" or None, by the first line or the name."""
    first = text.split("\n", 1)[0]
    if path.suffix == ".py" or re.match(r"#!.*\bpython", first):
        return "py"
    return "sh" if path.suffix == ".sh" or re.match(r"#!.*\b(ba|da)?sh\b", first) else None


def list_scripts(root):
    """kind -> paths."""
    scripts = {"sh": [], "py": []}
    for path in gate.tree_files(root):
        if path.suffix in ("", ".sh", ".py"):
            kind = kind_of(path, (pathlib.Path(root) / path).read_text(errors="replace"))
            if kind:
                scripts[kind].append(path)
    return scripts


def check_lines(report, root, path, columns):
    for number, line in enumerate((pathlib.Path(root) / path).read_text().splitlines(), 1):
        if len(line) > columns:
            report.add(f"{path}:{number}", f"{len(line)} columns: break the line at {columns}")
        if line != line.rstrip() or "\t" in line:
            report.add(f"{path}:{number}", "a tab, or white space at the end of the line")


def run_tool(report, root, command, form):
    """Findings of a tool that prints one line each; `form` finds place and text in it."""
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = 0
    for line in done.stdout.splitlines():
        match = re.match(form, line)
        if match:
            report.add(match[1], match[2])
            found += 1
    if done.returncode and not found:
        report.add(command[0], f"exit {done.returncode}: {done.stdout.strip()[:200]}")


def check(root):
    report = gate.Report()
    scripts = list_scripts(root)
    for kind, paths in scripts.items():
        for path in paths:
            check_lines(report, root, path, COLUMNS_MAX[kind])
    if scripts["sh"]:
        run_tool(report, root, ["shellcheck", "-x", "--severity=warning", "--format=gcc", *map(str, scripts["sh"])],
                 r"([^:]+:\d+):\d+: (.*)")
    if scripts["py"]:
        run_tool(report, root, ["pyflakes3", *map(str, scripts["py"])], r"([^:]+:\d+):\d+:? (.*)")
    if not any(scripts.values()):
        report.add("tools", "no scripts: the check is looking in the wrong place")
    report.looked_at = f"{len(scripts['sh'])} shell scripts, {len(scripts['py'])} of Python"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
