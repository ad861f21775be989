# SPDX-License-Identifier: Apache-2.0
"""The bound of `make coverage`, on counts made by hand."""

import unittest

from test_gates import ROOT

# pylint: disable=wrong-import-position
import coverage  # noqa: E402


def row(covered, count):
    return {kind: coverage.Count(covered, count) for kind in coverage.KINDS}


class Judge(unittest.TestCase):
    def judge(self, **changes):
        rows = {f"{folder}/part.c": row(96, 100) for folder in coverage.GATED}
        rows |= {"src/agent/agent.c": row(0, 1000)}
        rows |= {name.replace("__", "/") + ".c": value for name, value in changes.items()}
        return coverage.judge({name: value for name, value in rows.items() if value})

    def test_folders(self):
        for folder in coverage.GATED + coverage.SHOWN:
            self.assertTrue(list((ROOT / folder).glob("*.c")), folder)

    def test_good(self):
        self.assertEqual(self.judge(), [])
        self.assertEqual(self.judge(src__base__part=row(95, 100)), [])

    def test_one_folder_below(self):
        problems = self.judge(src__dra__part=row(949, 1000))
        self.assertEqual(len(problems), 1)
        self.assertIn("src/dra: 94.90 %", problems[0])

    def test_all_below(self):
        """A large folder just below hides behind no small one."""
        self.assertEqual(len(self.judge(src__wire__other=row(9000, 10000))), 2)

    def test_nothing_measured(self):
        self.assertIn("src/wire: nothing was measured", self.judge(src__wire__part=None)[0])


if __name__ == "__main__":
    unittest.main()
