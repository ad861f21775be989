# SPDX-License-Identifier: Apache-2.0
"""The Makefile names each goal under the file of tools/make that has its rules."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = "tools/make"
WITHOUT_GOALS = {"compile.mk"}
LINES_MAX = 160

sys.path.insert(0, str(ROOT / "tools/build"))
import run_tests  # noqa: E402

PARTS = {*run_tests.CPU_PARTS, *run_tests.BESIDE_PARTS, *run_tests.ALONE_PARTS} - {"cluster-programs"}


def read_contents():
    """file of tools/make, or "" -> its goals in the Makefile."""
    contents, file = {}, ""
    for line in (ROOT / "Makefile").read_text().splitlines():
        heading = re.match(r"# --- .*?(?:: tools/make/(\S+))? -+$", line)
        goal = re.match(r"([a-z0-9-]+):[^#]*## ", line)
        if heading:
            file = heading[1] or ""
        elif goal:
            contents.setdefault(file, []).append(goal[1])
    return contents


class TableOfContents(unittest.TestCase):
    def test_each_goal_has_its_rules_where_the_heading_says(self):
        contents = read_contents()
        self.assertGreater(sum(map(len, contents.values())), 30)
        for file, goals in contents.items():
            rules = (ROOT / FOLDER / file).read_text() if file else (ROOT / "Makefile").read_text()
            for goal in goals:
                rule = re.search(rf"^{goal}:[^#\n]*\S[^#\n]*$|^{goal}:.*\n\t", rules, re.M)
                self.assertTrue(rule, f"{goal}: no rule in {file or 'Makefile'}")

    def test_each_file_is_included_and_has_a_heading(self):
        files = {path.name for path in (ROOT / FOLDER).iterdir()}
        text = (ROOT / "Makefile").read_text()
        included = re.search(r"^include \$\(addprefix tools/make/,(.*?)\)$", text, re.M | re.S)[1]
        self.assertEqual(files, set(included.replace("\\", "").split()))
        self.assertEqual(files - WITHOUT_GOALS, set(read_contents()) - {""})

    def test_the_makefile_stays_short(self):
        self.assertLessEqual(len((ROOT / "Makefile").read_text().splitlines()), LINES_MAX)


class PartsOfTheTests(unittest.TestCase):
    """What `make test` runs, by the documents, and what they say to be for every night."""

    def setUp(self):
        text = (ROOT / "tests/README.md").read_text()
        self.inside, self.outside = text.split("\n## ", 1)[0].split("\nNot part of `make test`:\n")

    @staticmethod
    def goals(rows):
        heads = re.findall(r"^\| (`[a-z0-9`, -]+`) \|", rows, re.M)
        return {goal for head in heads for goal in re.findall(r"`([a-z0-9-]+)`", head)}

    def test_first_table(self):
        self.assertEqual(PARTS, self.goals(self.inside))

    def test_second_table(self):
        self.assertEqual(set(), PARTS & self.goals(self.outside))

    def test_help(self):
        words = re.search(r"^test: .*## everything CI needs: (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
        self.assertEqual(PARTS, set(words.split(", ")))

    def test_what_is_for_every_night(self):
        nightly = (ROOT / ".github/workflows/nightly.yml").read_text()
        rows = [row for row in self.outside.splitlines() if "for every night" in row]
        self.assertGreater(len(rows), 2)
        for row in rows:
            self.assertTrue(any(re.search(rf"run: make {goal}(\s|$)", nightly, re.M) for goal in self.goals(row)), row)


if __name__ == "__main__":
    unittest.main()
