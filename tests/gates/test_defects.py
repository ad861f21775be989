# SPDX-License-Identifier: Apache-2.0
"""The mistakes of tests/defects fit the code of today: the targets that look for them run too long for every change."""

import contextlib
import io
import unittest

from test_gates import ROOT  # sets the path

import defects


class Defects(unittest.TestCase):
    def unfit(self, entries):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            count = defects.dry_run(entries)
        return count, said.getvalue()

    def test_all_fit(self):
        names = sorted(path.stem for path in (ROOT / "tests/defects").glob("*.toml"))
        entries = defects.read_defects(names)
        self.assertGreater(len(entries), 100)
        self.assertEqual(self.unfit(entries)[0], 0, self.unfit(entries)[1])

    def test_unfit(self):
        entry = defects.read_defects(["claims"])[0]
        for change in ({"find": "no such text"}, {"target": "unit/no_such_test"}, {"test": "test_no_such"}):
            with self.subTest(change):
                self.assertEqual(self.unfit([{**entry, **change}])[0], 1)


if __name__ == "__main__":
    unittest.main()
