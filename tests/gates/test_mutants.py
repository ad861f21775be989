# SPDX-License-Identifier: Apache-2.0
"""The explained mutants fit the code of today, and the generator's order follows from its seed alone."""

import pathlib
import tempfile
import unittest

from test_gates import ROOT  # sets the path

import equivalent
import gate

ORDER = """
import candidates
for mutant in sorted(candidates.of_file("src/base/crc32c.c"), key=lambda m: m.rank({seed})):
    print(mutant)
"""


def order(seed):
    script = "import sys; sys.path.insert(0, 'tools/mutants')\n" + ORDER.format(seed=seed)
    return gate.run([gate.python_tool("python"), "-c", script], cwd=ROOT).splitlines()


class Explained(unittest.TestCase):
    def test_all_fit(self):
        self.assertEqual(equivalent.stale(equivalent.explained()), [])

    def test_stale(self):
        line = "return ~crc;"
        path, function = "src/base/crc32c.c", "no_such_function"
        self.assertEqual(len(equivalent.stale([(path, function, line, "return crc;")])), 1)
        self.assertEqual(len(equivalent.stale([(path, "", "no such line", "")])), 1)
        self.assertEqual(len(equivalent.stale([("src/no_such_file.c", "", line, "")])), 1)

    def test_an_entry_without_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "equivalent.toml"
            path.write_text('[[mutant]]\nfile = "a"\nfunction = "f"\nbefore = "x"\nafter = "y"\nreason = " "\n')
            with self.assertRaises(SystemExit):
                equivalent.explained(path)


class Generator(unittest.TestCase):
    def test_order(self):
        first = order(1)
        self.assertGreater(len(first), 50)
        self.assertEqual(first, order(1))
        other = order(2)
        self.assertNotEqual(first, other)
        self.assertEqual(sorted(first), sorted(other))
        self.assertFalse([mutant for mutant in first if ": ASSERT(" in mutant or ": #" in mutant])


if __name__ == "__main__":
    unittest.main()
