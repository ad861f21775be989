# SPDX-License-Identifier: Apache-2.0
"""Requirements and threats: orphans on either side."""

import unittest

from test_gates import ROOT, SPDX, Tree

import check_requirements  # noqa: E402  test_gates has set the path
import check_threats  # noqa: E402
import requirements  # noqa: E402

ONE = """
[KUBELET-1]
text = "It works."
source = "README.md"
code = ["src/base/good.c"]
shown = ["tests/unit/test_good.c test_one", "fuzz good", "proof good", "gate good", "make sim",
  "tests/e2e/good_test.go TestGood"]

[invariants]
"src/base/good.h I2" = ["tests/unit/test_good.c test_one"]
"""
HEADER = SPDX + "/*\n * Good.\n *\n * Invariants:\n * I1 One.\n * I2 Two, which goes on\n *    here.\n */\n"
FUZZ = SPDX + '/*\n * Checks I1 of base/good.h.\n */\n#include "x.h"\n'


class Promised(Tree):
    """A tree with one requirement, its code and its tests."""

    def setUp(self):
        super().setUp()
        self.write("README.md", "")
        self.write("Makefile", "sim: ## it\n")
        self.write("tools/gates/check_good.py", "")
        self.write("src/base/good.h", HEADER)
        self.write("tests/unit/test_good.c", "static void test_one(void **state)\n{\n}\n")
        self.write("tests/e2e/good_test.go", "func TestGood(t *testing.T) {\n}\n")
        self.write("tests/fuzz/fuzz_good.c", FUZZ)
        self.write("tests/proofs/good.c", SPDX)
        self.write(requirements.LIST, ONE)
        self.threats("`make sim`")
        requirements.tests_of.cache_clear()
        requirements.goals_of.cache_clear()


    def threats(self, cell, bound="b"):
        self.write(check_threats.PAGE, "## Strangers\n| threat | what bounds it | shown by |\n|---|---|---|\n"
                                       f"| a | {bound} | {cell} |\n")


class Requirements(Promised):
    def found(self, *words):
        self.assert_found(check_requirements.check(self.root), *words)

    def listed(self, old, new):
        self.assertIn(old, ONE)
        self.write(requirements.LIST, ONE.replace(old, new))

    def test_good(self):
        self.assert_clean(check_requirements.check(self.root))

    def test_what_shows_it_is_gone(self):
        for old, new, word in (('c test_one", "fuzz', 'c test_two", "fuzz', "no test 'test_two'"),
                               ("fuzz good", "fuzz bad", "no fuzz target 'bad'"),
                               ("proof good", "proof bad", "no proof 'bad'"),
                               ("gate good", "gate bad", "no gate 'bad'"), ("make sim", "make sum", "no goal 'sum'"),
                               ("TestGood", "TestBad", "no test 'TestBad'"),
                               ("tests/e2e/good_test.go", "tests/e2e/bad_test.go", "there is no tests/e2e/bad_test.go"),
                               ("tests/e2e/good_test.go TestGood", "it works", "there is no it")):
            with self.subTest(new):
                self.listed(old, new)
                self.found(requirements.LIST, "KUBELET-1", word)

    def test_no_code_and_nothing_that_shows_it(self):
        self.listed('code = ["src/base/good.c"]', "code = []")
        self.found("KUBELET-1", "no code does it")
        self.listed('["src/base/good.c"]', '["src/base/bad.c"]')
        self.found("KUBELET-1", "there is no code src/base/bad.c")
        self.write(requirements.LIST,
                   "[KUBELET-1]\ntext = 'It.'\nsource = 'review'\ncode = ['src/base/']\nshown = []\n")
        self.found("KUBELET-1", "nothing shows it")

    def test_no_source(self):
        self.listed("README.md", "README")
        self.found("KUBELET-1", "no source README")

    def test_form(self):
        self.listed("[KUBELET-1]", "[kubelet]")
        self.found("kubelet", "WORD-NUMBER")
        self.listed('source = "README.md"', 'origin = "README.md"')
        self.found(requirements.LIST, "keys")

    def test_code_without_a_requirement(self):
        self.write("src/base/orphan.c", SPDX)
        self.found("src/base/orphan.c", "no requirement")

    def test_fuzz_target_or_proof_that_nothing_names(self):
        for kind, path in (("fuzz", "tests/fuzz/fuzz_orphan.c"), ("proof", "tests/proofs/orphan.c")):
            with self.subTest(kind):
                self.write(path, SPDX)
                self.found(path, f"no requirement and no threat names it: add '{kind} orphan'")
                self.threats(f"[{kind} orphan](../{path})")
                self.assert_clean(check_requirements.check(self.root))
                self.listed(f'"{kind} good", ', "")
                self.found(f"'{kind} good'")
                (self.root / path).unlink()
                self.write(requirements.LIST, ONE)

    def test_invariant_that_nothing_checks(self):
        self.write("src/base/good.h", HEADER.replace(" */\n", " * I3 Three.\n */\n"))
        self.found("src/base/good.h", "nothing checks I3")

    def test_target_that_names_an_unknown_invariant(self):
        self.write("tests/fuzz/fuzz_good.c", FUZZ.replace("I1 of", "I1 and I9 of"))
        self.found("tests/fuzz/fuzz_good.c", "no I9")
        self.write("tests/fuzz/fuzz_good.c", FUZZ.replace("base/good.h", "wire/good.h"))
        self.found("tests/fuzz/fuzz_good.c", "no header wire/good.h")

    def test_entry_of_an_unknown_or_a_checked_invariant(self):
        self.listed("good.h I2", "good.h I7")
        self.found("good.h I7", "no such invariant")
        self.listed("good.h I2", "good.h I1")
        self.found("good.h I1", "fuzz good checks it")

    def test_forms_of_claims(self):
        self.write("src/base/good.h", HEADER.replace("I2 Two", "R2 Two"))
        for words, labels in (("Checks I1 of base/good.h, R2 of good.h.", ["I1", "R2"]),
                              ("Checks of src/base/good.h: I1, and\n * R2.", ["I1", "R2"]),
                              ("Checks I1 to I2 of src/base/good.h", ["I1", "I2"])):
            with self.subTest(words):
                path = self.root / "tests/fuzz/fuzz_good.c"
                path.write_text(SPDX + f'/*\n * {words}\n */\n#include "x.h"\n')
                self.assertEqual([label for _, _, label in requirements.claimed_by(self.root, path)], labels)

    def test_text_of_an_invariant(self):
        self.assertEqual(requirements.invariants_of(HEADER), {"I1": "One.", "I2": "Two, which goes on here."})

    def test_the_repository(self):
        listed, flags, invariants = requirements.read_all(ROOT)
        self.assertGreater(len(listed), 60)
        self.assertGreater(len(flags) + len(invariants), 150)
        self.assertEqual([one.name for one in (*listed, *flags, *invariants) if not one.shown], [])


class Threats(Promised):
    def setUp(self):
        super().setUp()
        self.threats("[test_one](../tests/unit/test_good.c), [fuzz good](../tests/fuzz/fuzz_good.c), `make sim`, "
                     "[proof good](../tests/proofs/good.c)")

    def found(self, *words):
        self.assert_found(check_threats.check(self.root), *words)

    def test_good(self):
        self.assert_clean(check_threats.check(self.root))

    def test_names(self):
        for cell, word in (("[test_two](../tests/unit/test_good.c)", "no test 'test_two'"),
                           ("[fuzz bad](../tests/fuzz/fuzz_bad.c)", "no fuzz target 'bad'"),
                           ("[fuzz bad](../tests/fuzz/fuzz_good.c)", "no test 'fuzz bad'"),
                           ("[proof bad](../tests/proofs/bad.c)", "no proof 'bad'"), ("`make sum`", "no goal"),
                           ("test_one", "nothing shows it"), ("", "a row has the cells")):
            with self.subTest(cell):
                self.threats(cell)
                self.found(f"{check_threats.PAGE}:4", word)

    def test_from_whom(self):
        self.assertEqual(check_threats.read(self.root)[0][:3], ("Strangers", "a", "b"))
        path = self.root / check_threats.PAGE
        path.write_text(path.read_text().replace("## ", ""))
        self.found("below a heading that says from whom")

    def test_invariants(self):
        self.write("src/base/good.h", "/*\n * Invariants:\n * I1 It holds.\n */\n")
        for bound, word in (("limits; I1", "I1: name its header"), ("I1 and I2 of `src/base/good.h`", "has no I2"),
                            ("I1 of `src/base/bad.h`", "bad.h has no I1")):
            with self.subTest(bound):
                self.threats("`make sim`", bound)
                self.found(f"{check_threats.PAGE}:4", word)
        self.threats("`make sim`", "limits; I1 of `src/base/good.h`")
        self.assert_clean(check_threats.check(self.root))

    def test_another_form(self):
        self.write(check_threats.PAGE, "nothing\n")
        self.found("no table")


if __name__ == "__main__":
    unittest.main()
