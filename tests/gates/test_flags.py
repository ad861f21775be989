# SPDX-License-Identifier: Apache-2.0
"""The gate that wants a test of each flag's effect."""

import unittest

from test_gates import Tree

import check_flags  # noqa: E402  test_gates has set the path

ROWS = '{.flag = "--one", .help = "does"},\n{.flag = "--two", .help = "none; no effect yet"},\n'


class Flags(Tree):
    def setUp(self):
        super().setUp()
        self.write(check_flags.ROWS, ROWS)
        self.write("tests/unit/test_one.c", "static void test_one(void **state)\n{\n}\n")
        self.write("tests/unit/test_settings_one.c", "static void test_one(void **state)\n{\n}\n")
        self.name('"--one" = "tests/unit/test_one.c test_one"\n')

    def name(self, text):
        self.write(check_flags.TESTS, text)

    def found(self, *words):
        self.assert_found(check_flags.check(self.root), *words)

    def test_good(self):
        self.assert_clean(check_flags.check(self.root))

    def test_flag_without_a_test(self):
        self.name("")
        self.found(check_flags.TESTS, "--one", "lacks an entry")

    def test_flag_whose_effect_came(self):
        self.write(check_flags.ROWS, ROWS.replace("; no effect yet", ""))
        self.found(check_flags.TESTS, "--two", "lacks an entry")
        self.write(check_flags.ROWS, ROWS.replace("does", "no effect yet"))
        self.found(check_flags.ROWS, "--one", "must not say")

    def test_wrong_entries(self):
        for entry, word in (("tests/unit/test_one.c test_on", "no test 'test_on'"),
                            ("tests/unit/test_one.c", "no test ''"),
                            ("tests/unit/test_six.c test_one", "there is no tests/unit/test_six.c"),
                            ("tests/unit/test_settings_one.c test_one", "only parses")):
            with self.subTest(entry):
                self.name(f'"--one" = "{entry}"\n')
                self.found(check_flags.TESTS, "--one", word)

    def test_unknown_flag(self):
        self.name('"--one" = "tests/unit/test_one.c test_one"\n"--six" = "tests/unit/test_one.c test_one"\n')
        self.found(check_flags.TESTS, "--six", "no such flag")

    def test_table_in_another_form(self):
        self.write(check_flags.ROWS, "")
        self.name("")
        self.found(check_flags.ROWS, "no row")


if __name__ == "__main__":
    unittest.main()
