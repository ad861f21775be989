# SPDX-License-Identifier: Apache-2.0
"""Tests of run_unit.py's counts, in the words of both releases of cmocka that Debian 12 and 13 have."""

import unittest

from test_gates import ROOT

# pylint: disable=wrong-import-position
import run_unit  # noqa: E402


class Counts(unittest.TestCase):
    def counts(self, output, problem=""):
        result = run_unit.Result(ROOT / "build/unit/test_text", output, problem)
        return result.passed, result.failed, result.skipped

    def test_of_cmocka_1_1_5(self):
        self.assertEqual((3, 1, 2), self.counts(
            "[==========] 6 test(s) run.\n[  PASSED  ] 3 test(s).\n"
            "[  SKIPPED ] 2 test(s), listed below:\n[  SKIPPED ] test_a\n[  SKIPPED ] test_b\n"
            "[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] test_c\n", "exit 1"))

    def test_of_cmocka_1_1_7(self):
        self.assertEqual((0, 0, 4), self.counts(
            "[==========] tests: 4 test(s) run.\n[  PASSED  ] 0 test(s).\n"
            "[  SKIPPED ] tests: 4 test(s), listed below:\n[  SKIPPED ] test_a\n"))
        self.assertEqual((0, 2, 0), self.counts(
            "[  PASSED  ] 0 test(s).\n[  FAILED  ] tests: 2 test(s), listed below:\n", "exit 2"))

    def test_no_count_is_a_failure(self):
        self.assertEqual((0, 1, 0), self.counts(""))
        self.assertEqual((0, 1, 0), self.counts("", "killed by signal 11"))


if __name__ == "__main__":
    unittest.main()
