# SPDX-License-Identifier: Apache-2.0
"""Each line of .github/CODEOWNERS fits a file, so that a room that moves takes its owners with it."""

import fnmatch
import unittest

from test_gates import ROOT

import gate  # noqa: E402  test_gates has set the path


class Owners(unittest.TestCase):
    def test_each_line_fits_a_file(self):
        files = [f"/{path}" for path in gate.tree_files(ROOT)]
        lines = (ROOT / ".github/CODEOWNERS").read_text().splitlines()
        rules = [line.split() for line in lines if line and not line.startswith("#")]
        self.assertGreater(len(rules), 20)
        for pattern, *owners in rules:
            wanted = pattern + "*" if pattern.endswith("/") else pattern
            self.assertTrue(owners and all(owner.startswith("@") for owner in owners), pattern)
            self.assertTrue(fnmatch.filter(files, wanted), f"{pattern}: no file")


if __name__ == "__main__":
    unittest.main()
