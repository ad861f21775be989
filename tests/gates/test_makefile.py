# SPDX-License-Identifier: Apache-2.0
"""The Makefile names each goal under the file of tools/make that has its rules."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = "tools/make"
WITHOUT_GOALS = {"compile.mk"}
LINES_MAX = 160


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


if __name__ == "__main__":
    unittest.main()
