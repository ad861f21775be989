# SPDX-License-Identifier: Apache-2.0
"""The gate that holds README's table of releases to the results of the matrix."""

import unittest

from test_gates import Tree

import check_matrix  # noqa: E402  test_gates has set the path
import matrix
import results

PASSED = {row.name: "16 of 16" for row in matrix.ROWS}


class Matrix(Tree):
    def setUp(self):
        super().setUp()
        self.releases = sorted({row.name.split("-")[1] for row in matrix.ROWS if row.name.startswith("whole-")})
        self.record(PASSED)
        self.claim(self.releases)

    def record(self, found):
        self.write(check_matrix.ROWS, results.write(f"{results.MARK_FIRST}\n{results.MARK_LAST}\n", matrix.ROWS, found))

    def claim(self, releases, tried=check_matrix.TRIED):
        self.write(check_matrix.README, f"| instance types | Kubernetes {', '.join(releases)} |\n|---|---|\n"
                   f"| a | {tried} of each |\n| b | unit tests |\n")

    def found(self, *words):
        self.assert_found(check_matrix.check(self.root), *words)

    def test_good(self):
        self.assert_clean(check_matrix.check(self.root))

    def test_failed_row(self):
        for result in ("**failed**: 15 of 16", "15 of 16", "not run"):
            with self.subTest(result):
                self.record({**PASSED, "whole-1.34-v1beta2": result})
                self.found(check_matrix.README, "1.34", "have not all passed")

    def test_unnamed_release(self):
        self.claim(self.releases[1:])
        self.found(check_matrix.README, self.releases[0], "passed the matrix")
        self.claim(self.releases, "unit tests")
        self.found(check_matrix.README, self.releases[0], "passed the matrix")

    def test_range_of_releases(self):
        first, last = self.releases[0], self.releases[-1]
        self.claim([f"{first} to {last}"])
        self.assert_clean(check_matrix.check(self.root))
        self.claim([f"{first} to 1.{int(last.split('.')[1]) + 1}"])
        self.found(check_matrix.README, "have not all passed")
        self.claim([first, f"{self.releases[2]} to {last}"])
        self.found(check_matrix.README, self.releases[1], "passed the matrix")
        self.claim([f"{first} and {last}"])
        self.found(check_matrix.README, "no table")

    def test_row_of_another_release(self):
        path = self.root / check_matrix.ROWS
        path.write_text(path.read_text().replace("| 1.34.4 | 1.34.4 |", "| 1.34.3 | 1.34.4 |"))
        self.found(check_matrix.ROWS, "UPDATE=1")
        self.found(check_matrix.README, "1.34", "have not all passed")

    def test_no_table(self):
        self.write(check_matrix.README, "# empty\n")
        self.found(check_matrix.README, "no table")

    def test_results_are_kept(self):
        """A run of some rows leaves the results of the others."""
        text = (self.root / check_matrix.ROWS).read_text()
        text = results.write(text, matrix.ROWS, {"whole-1.36": "**failed**: 3 of 16"})
        self.assertEqual(sorted(set(results.read(text).values())), ["**failed**: 3 of 16", "16 of 16"])


if __name__ == "__main__":
    unittest.main()
