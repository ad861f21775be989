# SPDX-License-Identifier: Apache-2.0
"""Seeded subjects that tools/gates/check_commits.py must find, and the histories in which it looks."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/gates"))

import check_commits  # noqa: E402

GOOD = "Refuse a claim whose device changed"
OLD = "2026-11-25T12:00:00Z"
NEW = "2026-11-27T12:00:00Z"


class Subjects(unittest.TestCase):
    def test_imperatives_pass(self):
        for subject in (GOOD, "Pass the claim on", "Focus on one room", "Embed the table", "Bring the node back",
                        "Say when a hang ends, and what it keeps from ending", "Re-read x.509: names and all",
                        'Revert "' + "x" * 72 + '"', "Exceed no bound", "Discuss limits"):
            self.assertEqual(list(check_commits.message_findings(subject + "\n\nWhy.\n")), [], subject)

    def test_other_forms_are_found(self):
        for subject, words in ((GOOD + " x" * 30, "columns"), (GOOD + ".", "full stop"), ("Refuse a; keep b", "two"),
                               ("refuse a claim", "capital"), ("Refused a claim", "imperative"),
                               ("Refuses a claim", "imperative"), ("Refusing a claim", "imperative"),
                               ("The claim is refused", "imperative"), ("A claim is refused", "imperative"),
                               ("", "capital")):
            self.assertIn(words, " ".join(check_commits.message_findings(subject)), subject)

    def test_a_body_begins_after_a_blank_line(self):
        self.assertIn("blank line", " ".join(check_commits.message_findings(GOOD + "\nbecause\n")))


class Histories(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "repository"
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *words, at=None, when=NEW):
        env = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "GIT_CONFIG_GLOBAL": "/dev/null",
               **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
        for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
            env.pop(name, None)
        subprocess.run(["git", *words], cwd=at or self.root, env=env, check=True, stdout=subprocess.DEVNULL)

    def commit(self, subject, when=NEW):
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", subject, when=when)

    def test_history_before_the_rule_is_left_alone(self):
        self.commit("an old form; of subjects.", OLD)
        self.commit(GOOD)
        report = check_commits.check(self.root)
        self.assertEqual((report.findings, report.looked_at), ([], "the last 1 commits"))

    def test_commits_of_a_branch_are_read(self):
        self.commit("a commit of main.")
        self.git("checkout", "-q", "-b", "change")
        self.commit("Refused a claim")
        report = check_commits.check(self.root)
        self.assertEqual(len(report.findings), 1)
        self.assertIn("'Refused' is no imperative", report.findings[0])
        self.assertEqual(report.looked_at, "1 commits that main does not have")

    def test_clones_show_the_last_commits(self):
        self.commit(GOOD)
        self.commit("Refused a claim")
        for depth in ((), ("--depth=1",)):
            clone = self.root.parent / f"clone{len(depth)}"
            self.git("clone", "-q", *depth, f"file://{self.root}", str(clone))
            self.assertEqual(len(check_commits.check(clone).findings), 1, depth)
            self.git("checkout", "-q", "--detach", at=clone)
            self.assertEqual(len(check_commits.check(clone).findings), 1, depth)

    def test_a_merge_is_left_alone(self):
        self.commit(GOOD)
        self.git("checkout", "-q", "-b", "change")
        self.commit(GOOD)
        self.git("checkout", "-q", "main")
        self.git("merge", "-q", "--no-ff", "-m", "merged a branch.", "change")
        self.assertEqual(check_commits.check(self.root).findings, [])

    def test_no_history_is_no_finding(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check_commits.check(folder).looked_at, "no history")
        self.assertEqual(check_commits.check(self.root).looked_at, "no history")

    def test_the_hook_reads_a_message(self):
        path = self.root / "message"
        for text, code in ((f"{GOOD}\n\nWhy.\n# comment\n", 0), ("Refused it\n", 1), ("fixup! refused it.\n", 0)):
            path.write_text(text)
            done = subprocess.run([sys.executable, check_commits.__file__, "--message", str(path)],
                                  stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, code, text)


if __name__ == "__main__":
    unittest.main()
