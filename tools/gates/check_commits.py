#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Subjects of commits: 72 columns at most, in the imperative as far as a machine can say, a blank line below.

Looks at the commits that the upstream branch does not have; where it has all, as in a fresh clone, at the last ones of
HEAD. Commits from before the rule are left alone, and so are merges. A shallow clone shows fewer, a folder without
history none.

  tools/gates/check_commits.py --message FILE    the message of one commit, for .githooks/commit-msg
"""

import pathlib
import re
import subprocess
import sys

import gate

COLUMNS_MAX = 72
RECENT_MAX = 30
BEGAN = "2026-11-26T00:00:00Z"  # committed before that: another form
UPSTREAMS = ("@{upstream}", "origin/HEAD", "origin/main", "main")
FIELD, RECORD = "\x1f", "\x1e"

# Imperatives whose end looks like another form.
IMPERATIVES = {
    "s": re.compile(r"\w*(ss|us|is)$", re.I),
    "ed": re.compile(r"(embed|exceed|feed|need|proceed|seed|shed|speed|spread|succeed|wed|weed)$", re.I),
    "ing": re.compile(r"(bring|fling|ping|ring|spring|string|swing|wring)$", re.I),
}
NO_VERBS = {"a", "an", "the", "this", "that", "these", "those", "it", "its", "some", "all", "what", "who", "each",
            "every", "no", "one", "two", "three", "and", "or", "but", "of", "in", "on", "for", "with", "new", "more"}


def subject_findings(subject):
    """What is wrong with a subject, each in words."""
    if subject.startswith('Revert "'):
        return  # git's own words, around a subject that was checked
    if len(subject) > COLUMNS_MAX:
        yield f"{len(subject)} columns: say what in {COLUMNS_MAX}, and why in the body"
    if subject.endswith("."):
        yield "ends with a full stop: leave it out"
    if ";" in subject:
        yield "two sentences: one change a commit"
    words = re.findall(r"[^\s:,]+", subject)
    first = words[0] if words else ""
    if not first[:1].isupper():
        yield "begins without a capital letter: 'Refuse a claim whose device changed'"
    end = re.search(r"(ed|ing|s)$", first)
    if first.lower() in NO_VERBS or (end and first.isalpha() and not IMPERATIVES[end[1]].fullmatch(first)):
        yield f"'{first}' is no imperative: 'Refuse a claim whose device changed'"


def message_findings(message):
    """What is wrong with a message as a commit holds it."""
    lines = message.rstrip("\n").split("\n")
    yield from subject_findings(lines[0])
    if len(lines) > 1 and lines[1].strip():
        yield "no blank line below the subject"


def git(root, *words):
    """Output of git, or None when it fails."""
    done = subprocess.run(["git", *words], cwd=root, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return done.stdout if done.returncode == 0 else None


def read_commits(root, revisions):
    """(abbreviated name, message) of the commits that the rule is for, the newest first."""
    listed = git(root, "log", "--no-merges", f"--since={BEGAN}", f"--max-count={RECENT_MAX}",
                 f"--format=%h{FIELD}%B{RECORD}", revisions)
    return [tuple(record.lstrip("\n").split(FIELD, 1)) for record in (listed or "").split(RECORD) if FIELD in record]


def commits_to_check(root):
    """The commits, and in words which ones they are."""
    if not (pathlib.Path(root) / ".git").exists() or git(root, "rev-parse", "--verify", "HEAD") is None:
        return [], "no history"
    upstream = next((name for name in UPSTREAMS if git(root, "merge-base", "HEAD", name)), None)
    ahead = read_commits(root, f"{upstream}..HEAD") if upstream else []
    if ahead:
        return ahead, f"{len(ahead)} commits that {upstream} does not have"
    recent = read_commits(root, "HEAD")
    return recent, f"the last {len(recent)} commits"


def check(root):
    report = gate.Report()
    commits, report.looked_at = commits_to_check(root)
    for name, message in commits:
        for words in message_findings(message):
            report.add(f"commit {name}", f"{words} (git commit --amend, git rebase -i)")
    return report


def check_message(path):
    """Exit code for one message, without the lines that git leaves out."""
    text = pathlib.Path(path).read_text(errors="replace").split("# ------------------------ >8 ---", 1)[0]
    message = "\n".join(line for line in text.split("\n") if not line.startswith("#")).strip("\n")
    findings = [] if re.match(r"(Merge|fixup!|squash!|amend!) ", message) else list(message_findings(message))
    for words in findings:
        print(f"commit message: {words}", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--message":
        sys.exit(check_message(sys.argv[2]))
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
