# SPDX-License-Identifier: Apache-2.0
"""The gate `proofs`: which functions are on the list, and what it reports of proofs, exceptions and loops."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/gates"), str(ROOT / "tools/proofs")]

import check_proofs  # noqa: E402
import gate  # noqa: E402
import proof_report  # noqa: E402
import prove  # noqa: E402
import reading_functions  # noqa: E402

SOURCE = """#include <stdint.h>
struct view { const uint8_t *data; };
struct writer { uint8_t *data; };
struct outer { int number; struct inner { struct view v; } part; };
struct plain { int number; };
static int reads_view(struct view v) { return v.data[0]; }
static int reads_deep(const struct outer *o) { return reads_view(o->part.v); }
int reads_bytes(const uint8_t *data)
{
    return data[0];
}
int reads_none(struct plain p, struct writer *w, const char *text)
{
    return p.number + (w != 0) + text[0];
}
int calls(const struct outer *o)
{
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += reads_deep(o);
    }
    return sum;
}
"""
LOOP = {"file": "x.c", "function": "calls", "at": "for (int i = 0; i < 4; i++)", "invariant": "i <= 4"}


class List(unittest.TestCase):
    def test_rule(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "src/base").mkdir(parents=True)
            (root / "build/deps").mkdir(parents=True)
            (root / "build/deps/paths.mk").write_text("NANOPB_DIR := /nonexistent\n")
            (root / "src/base/x.c").write_text(SOURCE)
            names = [function for _, _, function in reading_functions.reading_functions(root)]
        self.assertEqual(sorted(names), ["calls", "reads_bytes", "reads_deep", "reads_view"])


class Gate(unittest.TestCase):
    def findings(self, proofs, exceptions):
        report = gate.Report()
        listed = [("src/base/x.c", 7, "read")]
        check_proofs.check_list(report, listed, proofs, exceptions)
        return report.findings

    def test_missing(self):
        self.assertIn("has neither a proof", self.findings({}, [])[0])

    def test_proof_or_exception(self):
        proof = {"x": {"source": "src/base/x.c", "functions": ["read"]}}
        exception = [("src/base/x.c", "read", {})]
        self.assertEqual(self.findings(proof, []), [])
        self.assertEqual(self.findings({}, exception), [])
        self.assertIn("remove the entry", self.findings(proof, exception)[0])

    def test_proof_of_another_file_does_not_count(self):
        proof = {"x": {"source": "src/base/y.c", "functions": ["read"]}}
        self.assertIn("has neither a proof", self.findings(proof, [])[0])

    def test_leftover_exception(self):
        proof = {"x": {"source": "src/base/x.c", "functions": ["read"]}}
        self.assertIn("remove the entry", self.findings(proof, [("src/base/x.c", "gone", {})])[0])

    def test_exception_without_a_stand_in(self):
        report = gate.Report()
        check_proofs.check_reasons(report, ROOT, [("src/x.c", "f", {"stands_in": "fuzz:none", "reason": "short"})])
        self.assertEqual(len(report.findings), 2)

    def test_source_without_a_defect(self):
        report = gate.Report()
        check_proofs.check_defects(report, {"x": {"source": "src/base/x.c"}}, [])
        self.assertIn("nothing shows that its proofs can fail", report.findings[0])


class Sources(unittest.TestCase):
    def test_contract_is_put_behind_the_head(self):
        text = prove.with_loop(SOURCE, LOOP)
        self.assertIn("i++) __CPROVER_loop_invariant(i <= 4) {", text)
        self.assertEqual(text.count("\n"), SOURCE.count("\n"))

    def test_changed_loop(self):
        with self.assertRaises(prove.Misfit):
            prove.with_loop(SOURCE.replace("i < 4", "i < 5"), LOOP)

    def test_defect_that_does_not_fit(self):
        with self.assertRaises(prove.Misfit):
            prove.with_defect(SOURCE, {"file": "x.c", "name": "n", "find": "absent", "replace": ""})

    def test_check_is_off_in_one_function(self):
        text = prove.without_check(SOURCE, "x.c", "reads_bytes", "conversion")
        inside = text.split("CPROVER check push")[1].split("CPROVER check pop")[0]
        self.assertIn("return data[0];", inside)
        self.assertNotIn("reads_none", inside)

    def test_proof_that_does_not_enter_its_function(self):
        proof = {"functions": ["entered", "missed"]}
        lines = {"src/x.c entered": [[1], [1, 2]], "src/x.c missed": [[], [3]]}
        self.assertEqual(len(prove.missed(proof, lines)), 1)

    def test_lines_of_inlined_functions(self):
        out = ("[a.coverage.1] file /f/src/x.c line 5 function a block 1 (lines /f/src/x.c:a:5,7-8; /f/src/x.c:b:2): "
               "SATISFIED\n[a.coverage.2] file /f/src/x.c line 9 function a block 2 (lines /f/src/x.c:a:9): FAILED\n")
        lines = prove.covered_lines(out, pathlib.Path("/f"))
        self.assertEqual(lines, {"src/x.c a": [[5, 7, 8], [5, 7, 8, 9]], "src/x.c b": [[2], [2]]})


class Report(unittest.TestCase):
    """What the page says of proofs with limits that are smaller than the product's."""

    def test_limits_are_named(self):
        proof = {"length": "any", "limits": {"HPACK_TABLE_BYTES": "64u"}, "harness": ROOT / "tests/proofs/dns.c"}
        product = {"HPACK_TABLE_BYTES": "4096"}
        self.assertEqual(proof_report.input_of(proof, product), "any\nwith HPACK_TABLE_BYTES 64 (product: 4096)")
        del proof["limits"]
        self.assertEqual(proof_report.input_of(proof, product), "any")

    def test_table_of_a_harness(self):
        with tempfile.TemporaryDirectory() as folder:
            harness = pathlib.Path(folder) / "x.c"
            (harness.parent / "y.h").write_text("#define TABLE 2u\n")
            harness.write_text('#include "y.h"\n#include "wire/y.h"\n')
            self.assertEqual(proof_report.streams_of({"harness": harness}), "2")
            self.assertEqual(proof_report.streams_of({"harness": harness, "defines": ["-DTABLE=16u"]}), "16")
            harness.write_text("")
            self.assertIsNone(proof_report.streams_of({"harness": harness}))

    def test_every_limit_is_smaller(self):
        product = proof_report.product_limits()
        for proof in prove.load().values():
            for name, value in proof.get("limits", {}).items():
                self.assertLess(int(proof_report.number_of(value)), int(product[name]), f"{proof['name']}: {name}")

    def test_counts(self):
        proofs = {"a": {"limits": {"X": 1}, "harness": ROOT / "tests/proofs/dns.c"},
                  "b": {"harness": ROOT / "tests/proofs/h2_engine.c"}}
        texts = proof_report.own_not_shown(proofs, {("src/base/x.c", "f"), ("src/base/x.c", "g")}, 1)
        self.assertIn("1 of 2 proofs shrink a limit", texts[0])
        self.assertIn("and 1 have a harness", texts[0])
        self.assertIn("1 of the 2 functions have no proof", texts[1])
        self.assertIn("src/host", texts[2])

    def test_folders_and_kept_results(self):
        held = [{"lines": {}, "properties": 3, "name": "a"}, {"lines": {}, "properties": 4, "name": "b"}]
        text = proof_report.summary_of({"a": {}, "b": {}}, held, {("src/base/x.c", "f")}, 1, 1)
        self.assertIn("1 of 1 functions of src/base, ", text)
        self.assertIn("1 proofs ran for this page, and 1 results are kept", text)


if __name__ == "__main__":
    unittest.main()
