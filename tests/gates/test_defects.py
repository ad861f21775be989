# SPDX-License-Identifier: Apache-2.0
"""The mistakes of tests/defects fit the code of today, and each fuzz target has enough of them: the targets that look
for them run too long for every change."""

import contextlib
import io
import unittest
from unittest import mock

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

    def too_few(self, entries):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            count = defects.too_few(entries)
        return count, said.getvalue()

    def test_each_fuzz_target_has_some(self):
        self.assertEqual(self.too_few(defects.read_defects([])), (0, ""))

    def test_a_fuzz_target_with_one(self):
        entries = defects.read_defects([])
        ours = [entry for entry in entries if entry["target"] == "cdi"]
        others = [entry for entry in entries if entry["target"] != "cdi"]
        for left in (0, 1):
            with self.subTest(left):
                count, said = self.too_few([*others, *ours[:left]])
                self.assertEqual(count, 1)
                self.assertIn(f"the fuzz target cdi has {left} seeded mistakes, and needs 2", said)
        self.assertEqual(self.too_few([*others, *ours[:2]])[0], 0)

    def test_the_gate_counts(self):
        """Without names, which would leave the mistakes of other targets out."""
        one = [next(entry for entry in defects.read_defects([]) if entry["target"] == "cdi")]
        for arguments, code in ((["--dry-run"], 1), (["--dry-run", "data"], 0),
                                (["--dry-run", "--only", one[0]["name"]], 0)):
            with self.subTest(arguments), mock.patch("sys.argv", ["defects.py", *arguments]), \
                    mock.patch.object(defects, "read_defects", return_value=one), \
                    contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(defects.main(), code)


if __name__ == "__main__":
    unittest.main()
