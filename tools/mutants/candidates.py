# SPDX-License-Identifier: Apache-2.0
"""Mutants of the code in question: every change of one line that universalmutator's rules for C make, ranked by a seed.

Owns the scope, and which lines are left out. It compiles nothing. Needs the Python of tools/build/python.txt.
"""

import contextlib
import dataclasses
import hashlib
import io
import re
import subprocess

from universalmutator import mutator

from equivalent import ROOT, functions_of

SCOPE = ("src/base", "src/wire", "src/x509", "src/dra", "src/agent/ledger", "src/agent/calls", "src/agent/recovery")
RULES = ["universal.rules", "c_like.rules", "c.rules"]
# Assertions only get stricter or weaker; a directive is no statement.
LEFT_OUT = re.compile(r"^[ \t]*(?:ASSERT|_Static_assert|status_ignore)\(.*?\);$|^#(?:[^\n]*\\\n)*[^\n]*$", re.M | re.S)
LITERAL = re.compile(r'(sizeof )?"((?:[^"\\\n]|\\.)*)"')
# A word of a sentence: names, values and formats that a program reads hold at most one between spaces.
WORD = re.compile(r"(?<![^ ])[a-z]{2,}[,;:.)]*(?![^ ])")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One line of a file, and what stands in its place."""

    file: str
    line: int
    function: str  # "": outside of functions
    before: str
    after: str

    def rank(self, seed):
        """Where it stands in the order of a seed, whatever else of its file changes."""
        text = "\0".join((str(seed), self.file, self.function, self.before.strip(), self.after.strip()))
        return hashlib.sha256(text.encode()).hexdigest()

    def text(self):
        """The file with the mutant in it."""
        lines = (ROOT / self.file).read_text().split("\n")
        lines[self.line - 1] = self.after
        return "\n".join(lines)

    def room(self):
        return next(folder for folder in SCOPE if self.file.startswith(folder + "/"))

    def __str__(self):
        return f"{self.file}:{self.line}: {self.before.strip()}  ->  {self.after.strip()}"


def sources():
    return sorted(str(path.relative_to(ROOT)) for folder in SCOPE for path in (ROOT / folder).glob("*.c"))


def left_out(text):
    """Numbers of the lines that no mutant changes."""
    lines = set()
    for match in LEFT_OUT.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        lines.update(range(first, text.count("\n", 0, match.end()) + 2))
    return lines


def is_prose(text):
    """Whether the content of a string literal is words for a reader. An escape stands in what a program reads."""
    return "\\" not in text and len(WORD.findall(text)) > 1


def without_prose(line):
    """The line without the words of its messages; their "%" stay, because WRITE puts a value in place of each."""
    def emptied(literal):
        size, text = literal.groups()
        return literal[0] if size or not is_prose(text) else f'"{"%" * text.count("%")} "'
    return LITERAL.sub(emptied, line)


def of_file(name):
    """All mutants of a file."""
    text = (ROOT / name).read_text()
    lines = text.split("\n")
    functions, skipped = functions_of(text), left_out(text)
    with contextlib.redirect_stdout(io.StringIO()):
        made = mutator.mutants_regexp([line + "\n" for line in lines], ruleFiles=RULES, ignorePatterns=[])
    found = []
    for number, after, *_ in made:
        # A line more would move the numbers that assertions carry.
        after = " ".join(part.strip() if at else part for at, part in enumerate(after.rstrip("\n").split("\n")))
        before = lines[number - 1]
        function = next((f[0] for f in functions if f[1] <= number <= f[2]), "")
        if number not in skipped and without_prose(after).split() != without_prose(before).split():
            found.append(Mutant(name, number, function, before, after))
    return found


def ranked(seed, changed, only):
    """The mutants of files below `only` in the order of the seed; first those of `changed`, {file: set of lines}."""
    def key(mutant):
        return mutant.line not in changed.get(mutant.file, ()), mutant.rank(seed)
    return sorted((mutant for name in sources() if name.startswith(only) for mutant in of_file(name)), key=key)


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)


def changed_since(revision):
    """{file: set of lines} of what differs from a commit; empty if the history does not reach it."""
    changed, file = {}, None
    for line in git("diff", "--unified=0", "--no-color", revision, "--", "src").stdout.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ b/")
        match = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if match:
            first = int(match[1])
            changed.setdefault(file, set()).update(range(first, first + int(match[2] or 1)))
    return changed
