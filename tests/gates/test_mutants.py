# SPDX-License-Identifier: Apache-2.0
"""The explained mutants fit the code of today, and the generator's order follows from its seed alone."""

import json
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

PROSE = """
import json
import candidates
print(json.dumps([candidates.without_prose(line) for line in {lines}]))
"""


def tool(script):
    script = "import sys; sys.path.insert(0, 'tools/mutants')\n" + script
    return gate.run([gate.python_tool("python"), "-c", script], cwd=ROOT)


def order(seed):
    return tool(ORDER.format(seed=seed)).splitlines()


def without_prose(*lines):
    return json.loads(tool(PROSE.format(lines=list(lines))))


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


FAILING = """
import argparse
from unittest import mock
import mutants
with mock.patch.object(mutants.part, "write_part") as written, mock.patch.object(mutants.part, "keep"), \\
        mock.patch.object(mutants, "stale", return_value={problems}):
    given = argparse.Namespace(sample=False, only=None, seed=1, count=1, budget=1)
    mutant = mutants.candidates.of_file("src/base/crc32c.c")[0]
    code = mutants.judge([(mutant, "killed", "test")], 0, given)
print("\\n%d %s" % (code, written.call_args.kwargs["failed"]))
"""


class Evidence(unittest.TestCase):
    def test_a_run_that_fails_says_so_in_its_part(self):
        for problems, wanted in ((["no such line"], "1 no such line"), ([], "0 ")):
            self.assertEqual(tool(FAILING.format(problems=problems)).splitlines()[-1], wanted)


class Generator(unittest.TestCase):
    def test_order(self):
        first = order(1)
        self.assertGreater(len(first), 50)
        self.assertEqual(first, order(1))
        other = order(2)
        self.assertNotEqual(first, other)
        self.assertEqual(sorted(first), sorted(other))
        self.assertFalse([mutant for mutant in first if ": ASSERT(" in mutant or ": #" in mutant])

    def test_prose_is_left_out(self):
        for before, after in (('x = "left the module in 2.25";', 'x = "left the module in 2.0";'),
                              ('WRITE(w, "% of % cores", n, m);', 'WRITE(w, "% if % cores", n, m);'),
                              ('{7, "no issuer is known "', '{7, "no -issuer is known "')):
            self.assertEqual(*without_prose(before, after))

    def test_what_is_no_prose(self):
        for before, after in (('{7, "no issuer is known"', '{8, "no issuer is known"'),
                              ('f("no issuer is known", a);', 'f("no issuer is known", b);'),
                              ('WRITE(w, "it has % of % cores", n, m);', 'WRITE(w, "it has % of * cores", n, m);'),
                              ('text[sizeof "it has 10 of 20 cores"];', 'text[sizeof "it has 1 of 20 cores"];'),
                              ('x = "boot-id";', 'x = "boot+id";'),
                              ('x = "4: ACTIVE";', 'x = "-1: ACTIVE";'),
                              ('x = "Bearer %";', 'x = "Bearer -";'),
                              ('x = " true";', 'x = " false";'),
                              ('x = "Allow: of, all\\r\\n";', 'x = "Allow: of- all\\r\\n";')):
            self.assertNotEqual(*without_prose(before, after))


REPORT = """
import json
import mutants
print(json.dumps([mutants.earlier_rate(), mutants.not_shown(["src/a.c:7: x  ->  y"], {seed!r}, "88.0")]))
"""
REUSED = """
import json, time, types
import mutants
mutant = types.SimpleNamespace(file="src/a.c", text=lambda: "x")
verdicts = object.__new__(mutants.Verdicts)
verdicts.kept, verdicts.inputs, verdicts.earlier = {{}}, "now", set()
verdicts.put(mutant, "verdict", verdict="killed", by="test_a", thorough=True)
verdicts.inputs = {inputs!r}
print(json.dumps([mutants.try_one(mutant, [], verdicts, True, time.monotonic() - 1), len(verdicts.earlier)]))
"""


class Page(unittest.TestCase):
    """What the page says of mutants that live, of the seed, and of verdicts of an earlier run."""

    def test_each_survivor_is_named(self):
        rate, texts = json.loads(tool(REPORT.format(seed="1")))
        self.assertRegex(rate, r"^\d\d\.\d$")
        self.assertIn("Not found, and not explained: src/a.c:7: x  ->  y", texts)
        self.assertTrue([text for text in texts if "In that run 88.0 % were found" in text])

    def test_another_seed(self):
        _, texts = json.loads(tool(REPORT.format(seed="7")))
        self.assertFalse([text for text in texts if "88.0" in text])

    def test_verdicts_of_an_earlier_run(self):
        self.assertEqual(json.loads(tool(REUSED.format(inputs="now"))), [["killed", "test_a"], 1])
        self.assertEqual(json.loads(tool(REUSED.format(inputs="others"))), [["unfinished", ""], 0])


if __name__ == "__main__":
    unittest.main()
