# SPDX-License-Identifier: Apache-2.0
"""The field filter's tables: made from the comments of a projection, and each mistake in them refused."""

import pathlib
import unittest.mock

import test_gates

import generate

GOOD = """\
// object WatchEvent
// object Unknown
// object Claim
// object ClaimList: items(2) of Claim

// record none  WatchEvent
message TypeRecord {
  optional string type = 1 [(nanopb).max_length = 15];  // type(1), at once as EVENT
}

// record META  Claim.metadata(1)
message MetaRecord {
  optional string name = 1 [(nanopb).max_length = 253];  // name(1)
  optional int64 deleted = 2;  // deletedAt(9).seconds(1)
  optional bool extra = 3;  // *; Claim: odd(4).*
}
"""


class Rules(test_gates.Tree):
    def rules(self, text):
        self.write("projection.proto", text)
        out = pathlib.Path(self.root)
        with unittest.mock.patch.object(generate, "PROJECTION", out / "projection.proto"):
            generate.generate_rules(out)
        return (out / "kube_rules.h").read_text()

    def assert_refused(self, old, new, *words):
        self.assertIn(old, GOOD)
        with self.assertRaises(generate.Failure) as raised:
            self.rules(GOOD.replace(old, new))
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_tables(self):
        text = self.rules(GOOD)
        for row in ("KUBE_EVENT,", "KUBE_META,",
                    "/* 0 */ {KUBE_ROOT, KUBE_RECORD_FIELD, 1, KUBE_EVENT, 1, 15}, /* type */",
                    "/* 2 */ {1, KUBE_ENVELOPE, 1, 0, 0, 0}", "#define KUBE_ROW_ENVELOPE 2u",
                    "/* 5 */ {4, KUBE_RECORD, 1, KUBE_META, 0, 0}, /* metadata */",
                    "/* 6 */ {5, KUBE_KEEP, 1, 0, 1, 253}, /* metadata.name */",
                    "/* 8 */ {7, KUBE_KEEP, 1, 0, 2, 0}, /* metadata.deletedAt.seconds */",
                    "/* 9 */ {5, KUBE_PRESENT, 0, 0, 3, 0}, /* metadata.* */",
                    "#define KUBE_ROWS_CLAIM_LIST",
                    "/* 6 */ {5, KUBE_RECORD, 1, KUBE_META, 0, 0}, /* items.metadata */"):
            self.assertIn(row, text)
        self.assertIn("KUBE_PRESENT, 0, 0, 3, 0}, /* metadata.odd.* */", text)

    def test_words_behind_a_path(self):
        text = self.rules(GOOD.replace("// name(1)", "// name(1), cut, at most 9 bytes"))
        self.assertIn("{5, KUBE_KEEP_CUT, 1, 0, 1, 9}", text)

    def test_mistakes(self):
        self.assert_refused("  // name(1)", "", "projection.proto:13", "name", "which field")
        self.assert_refused("// name(1)", "// name", "cannot read 'name'")
        self.assert_refused("Claim: odd", "Clam: odd", "'Clam' is no record")
        self.assert_refused("Claim.metadata(1)", "Clam.metadata(1)", "no object Clam")
        self.assert_refused("Claim.metadata(1)", "Claim.metadata", "no path")
        self.assert_refused("// record META  Claim.metadata(1)\n", "", "MetaRecord", "no line '// record'")
        self.assert_refused(" [(nanopb).max_length = 253]", "", "max_length")
        self.assert_refused("  optional int64 deleted", "  optional int64 [] deleted", "cannot read")

    def test_nothing_understood(self):
        with self.assertRaisesRegex(generate.Failure, "not understood"):
            self.rules("syntax = \"proto2\";\n")
