# SPDX-License-Identifier: Apache-2.0
"""What the checkers share: findings, files of the tree, C text without comments and strings.

A checker is a module check_NAME.py in a room of tools/ with a function check(root) that returns a Report. Run by
itself it checks the repository it lies in; tools/gates/check.py runs all of them.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOWN_MAX = 20  # findings printed per checker; the rest is counted


def open_rooms():
    """Lets modules of all rooms be imported by name."""
    rooms = {str(path.parent) for path in (ROOT / "tools").glob("*/*.py")}
    sys.path[:0] = sorted(rooms - set(sys.path))


class Report:
    """Findings of one checker, and in words what it looked at."""

    def __init__(self):
        self.findings = []
        self.looked_at = ""

    def add(self, place, text):
        """`place` is file or file:line; `text` says what is wrong and what to do."""
        self.findings.append(f"{place}: {text}")

    def show(self, out=sys.stdout):
        """The findings, the first ones in full."""
        for line in self.findings[:SHOWN_MAX]:
            print(line, file=out)
        if len(self.findings) > SHOWN_MAX:
            print(f"… and {len(self.findings) - SHOWN_MAX} more", file=out)


def tree_files(root):
    """Relative paths of what is or would be committed."""
    root = pathlib.Path(root)
    if (root / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=root,
                                stdout=subprocess.PIPE, check=True).stdout
        names = [name for name in listed.decode().split("\0") if name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
        names = [name for name in names if not name.startswith(("build/", ".git/"))]
    return sorted(pathlib.Path(name) for name in set(names) if (root / name).is_file())


def own_c_files(root, folders=("src", "boards", "cfg", "tests")):
    """C files and headers that people write."""
    return [path for path in tree_files(root)
            if path.suffix in (".c", ".h") and path.parts[0] in folders]


def blank_match(match):
    """Spaces instead of a comment or literal; lines stay where they are."""
    return re.sub(r"[^\n]", " ", match.group(0))


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_only(text):
    """C text with comments, strings and character constants blanked."""
    return TOKEN.sub(blank_match, text)


def run(command, **options):
    """Standard output of a tool that must succeed."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def deps_path(variable):
    """A folder that tools/build/deps.sh has found, by its name in build/deps/paths.mk; None when it is not there."""
    paths = ROOT / "build/deps/paths.mk"
    found = re.search(rf"^{variable} := (.+)$", paths.read_text(), re.M) if paths.exists() else None
    return found and found[1]


def python_tool(name):
    """Path of a program of tools/build/python.txt."""
    folder = deps_path("PYTHON_TOOLS")
    if not folder:
        raise ValueError("no PYTHON_TOOLS in build/deps/paths.mk: run 'make deps-test'")
    return f"{folder}/bin/{name}"


def main(check, description):
    """Entry of a checker that is run by itself."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", default=ROOT, type=pathlib.Path, help="tree to check")
    report = check(parser.parse_args().root)
    report.show()
    print(f"{len(report.findings)} findings in {report.looked_at}")
    return 1 if report.findings else 0
