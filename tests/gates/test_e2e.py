# SPDX-License-Identifier: Apache-2.0
"""How tools/cluster/e2e.py shares the tests of tests/e2e out to clusters."""

import pathlib
import re
import tempfile
import unittest

from test_gates import ROOT

import e2e  # noqa: E402  test_gates has set the path

FUNCTION = re.compile(r"^func (\w+)\(.*?^}", re.M | re.S)


def read_functions():
    """name -> text of the functions of tests/e2e."""
    return {found[1]: found[0] for path in (ROOT / "tests/e2e").glob("*_test.go")
            for found in FUNCTION.finditer(path.read_text())}


class Shares(unittest.TestCase):
    def test_names_are_those_of_tests(self):
        functions = read_functions()
        for name in (*e2e.SECOND_TESTS, *e2e.GROUPS_TESTS):
            self.assertIn(name, functions)
        self.assertFalse(set(e2e.SECOND_TESTS) & set(e2e.GROUPS_TESTS))

    def test_the_image_is_built_for_one_cluster(self):
        functions = read_functions()
        builders = {name for name, text in functions.items() if '"## Install"' in text}
        while True:
            more = {name for name, text in functions.items()
                    if name not in builders and any(re.search(rf"\b{other}\(", text) for other in builders)}
            if not more:
                break
            builders |= more
        builders = {name for name in builders if name.startswith("Test")}
        self.assertGreater(len(builders), 3)
        self.assertFalse(builders - set(e2e.SECOND_TESTS))

    def test_what_one_run_reads_is_not_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(e2e.left_out(folder)), 1)      # nobody has said anything
            pathlib.Path(folder, "1").write_text("a\nb")
            self.assertEqual(e2e.left_out(folder), ["a", "b"])
            pathlib.Path(folder, "2").write_text("b\nc")
            self.assertEqual(e2e.left_out(folder), ["b"])
            pathlib.Path(folder, "3").write_text("")
            self.assertEqual(e2e.left_out(folder), [])


if __name__ == "__main__":
    unittest.main()
