# SPDX-License-Identifier: Apache-2.0
"""The ledger of the fuzz campaign and the files that decide on a target, the table of the targets, and the checks of
what OSS-Fuzz would build."""

import contextlib
import io
import itertools
import json
import pathlib
import re
import subprocess
import tempfile
import unittest
import zipfile
from unittest import mock

from test_gates import ROOT  # sets the path

import campaign
import built_targets
import fuzz
import linked
import targets


class Targets(unittest.TestCase):
    def test_each_says_what_it_takes_in(self):
        for name in targets.names():
            self.assertTrue(targets.head(name, "Input"), name)

    def test_table_is_what_the_heads_say(self):
        text = targets.README.read_text()
        self.assertEqual(targets.with_table(text), text, "tools/fuzz/targets.py --write")

    def test_another_head_is_seen(self):
        with mock.patch.object(targets, "head", return_value="-lyaml"):
            text = targets.README.read_text()
            self.assertNotEqual(targets.with_table(text), text)


class Project(unittest.TestCase):
    """What OSS-Fuzz reads is there, and names no host of an image."""

    def test_dockerfile(self):
        lines = (ROOT / "tests/fuzz/Dockerfile").read_text().splitlines()
        self.assertEqual([line for line in lines if line.startswith(("ARG", "FROM"))],
                         ["ARG BASE_BUILDER", "FROM ${BASE_BUILDER}"])

    def test_project(self):
        text = (ROOT / "tests/fuzz/project.yaml").read_text()
        for word in ("homepage:", "main_repo:", "language: c\n", "libfuzzer", "afl", "address", "undefined", "memory"):
            self.assertIn(word, text)

    def test_build_script_can_be_run(self):
        self.assertTrue((ROOT / "tests/fuzz/build.sh").stat().st_mode & 0o100)


class Campaign(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        ledger = root / "LEDGER.md"
        ledger.write_text(f"head\n{campaign.BEGIN}\nold\n{campaign.END}\ntail\n")
        for module, name, value in ((campaign, "DATA", root / "campaign.json"),
                                    (campaign, "COPY", root / "build/campaign.json"), (campaign, "LEDGER", ledger),
                                    (linked, "files_of", lambda target: [target, "Makefile"]),
                                    (linked, "sum_of", lambda files, commit="": f"{''.join(files[:1])} of today")):
            patch = mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def run_with(self, executions, seconds, findings=(), limit=60):
        def result(target, build, _seconds, _seed):
            return fuzz.Result(target, executions, seconds, 7, 9, 3, list(findings))
        clock = mock.patch.object(campaign, "processor_seconds", side_effect=itertools.count(0, seconds))
        with clock, mock.patch.object(fuzz, "run_target", result), contextlib.redirect_stdout(io.StringIO()) as said:
            code = campaign.run(["hpack"], limit, 1)
        return code, said.getvalue()

    def test_targets_without_a_row_are_named(self):
        self.run_with(30_000_000, 300)
        text = campaign.ledger_text()
        self.assertIn(f"On the code of any row, 1 of {len(targets.names())} targets have run, and 1 have reached their "
                      "goal. No row: `agent`,", text)
        self.assertNotIn("`hpack`", text)

    def test_rows_of_other_code_are_not_progress_on_this_one(self):
        count = len(targets.names())
        self.run_with(30_000_000, 300)
        other = {**campaign.new_row("dns", "other", ["dns"]), "executions": 10 ** 9, "fast_executions": 1,
                 "fast_seconds": 1}
        begun = {**campaign.new_row("json", "json of today", ["json"]), "executions": 5}
        campaign.write_data({"runs": [self.row(), other, begun]})
        progress = f"1 of {count} targets have reached their goal, 1 have begun, {count - 2} were not run"
        text = campaign.ledger_text()
        self.assertRegex(text, rf"\nOn the code of commit [0-9a-f]{{12}}(-dirty)?, {progress}\.\n")
        self.assertIn(f"On the code of any row, 3 of {count} targets have run, and 2 have reached their goal.", text)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            campaign.state(targets.names())
        self.assertIn(f"campaign: on this code {progress}; ", said.getvalue())

    def test_ledger_names_the_commit_that_it_judges(self):
        with mock.patch.object(campaign, "stamp_of", return_value={"commit": "2" * 40 + "-dirty", "release": ""}):
            self.assertIn(f"On the code of commit {'2' * 12}-dirty, 0 of", campaign.ledger_text())

    def row(self):
        return campaign.read_data()["runs"][0]

    def test_a_cheap_target_needs_ten_times_as_many(self):
        self.assertEqual(self.run_with(30_000_000, 300)[0], 0)
        self.assertEqual(campaign.goal_of(self.row()), 10 ** 8)
        self.assertEqual(campaign.missing(self.row()), 0)
        self.assertGreaterEqual(self.row()["executions"], 10 ** 8)

    def test_a_dear_target_is_done_at_ten_million(self):
        _, said = self.run_with(6_000_000, 300)
        self.assertEqual(self.row()["executions"], 12_000_000)
        self.assertIn("every target has reached its goal", said)

    def test_goes_on_where_it_was(self):
        for _ in range(2):
            self.run_with(1000, 1, limit=0.001)
        self.assertEqual(len(campaign.read_data()["runs"]), 1)
        self.assertGreater(self.row()["address"], 0)
        self.assertGreater(self.row()["fast_executions"], 0)

    def test_a_checkout_of_the_ledger_loses_nothing(self):
        self.run_with(6_000_000, 300)
        campaign.DATA.write_text('{"runs": []}\n')
        self.assertEqual(self.row()["executions"], 12_000_000)

    def test_other_code_begins_anew(self):
        self.run_with(6_000_000, 300)
        with mock.patch.object(linked, "sum_of", return_value="other"):
            fresh = campaign.today(["hpack"])[0]
            self.assertEqual((fresh["code"], fresh["executions"]), ("", 0))
            self.run_with(1000, 1, limit=0.001)
        self.assertEqual({row["code"] for row in campaign.read_data()["runs"]}, {"hpack of today", "other"})

    def test_the_tree_is_judged_without_a_build(self):
        """A fresh clone has no program whose files could be asked for."""
        self.run_with(6_000_000, 300)
        with mock.patch.object(linked, "files_of", side_effect=AssertionError), \
                contextlib.redirect_stdout(io.StringIO()) as said:
            campaign.state(["dns", "hpack"])
        self.assertRegex(said.getvalue(), r"dns +– +not run .*\n +hpack +hpack of today .* done\n")
        self.assertIn("1 of 2 targets have reached their goal", said.getvalue())

    def test_a_list_is_kept_once(self):
        """Rows of two states of the code that have the same files name the same list; a list that no row names goes."""
        rows = [campaign.new_row("hpack", code, ["a.c", "b.h"]) for code in "12"]
        campaign.write_data({"runs": [*rows, campaign.new_row("dns", "3", ["c.c"])]})
        content = json.loads(campaign.DATA.read_text())
        self.assertEqual(sorted(content["files"].values()), ["a.c b.h", "c.c"])
        self.assertEqual([row["files"] for row in campaign.read_data()["runs"]], [["a.c", "b.h"]] * 2 + [["c.c"]])
        campaign.write_data({"runs": rows})
        self.assertEqual(list(json.loads(campaign.DATA.read_text())["files"].values()), ["a.c b.h"])

    def test_of_two_rows_on_the_same_code_the_longer_counts(self):
        self.run_with(6_000_000, 300)
        content = json.loads(campaign.COPY.read_text())
        content["runs"][0]["executions"] = 5
        campaign.DATA.write_text(json.dumps(content))
        self.assertEqual([row["executions"] for row in campaign.read_data()["runs"]], [12_000_000])

    def test_a_sum_of_folders_is_left_out(self):
        row = {**campaign.new_row("hpack", "old"), "executions": 7}
        del row["files"]
        campaign.DATA.write_text(json.dumps({"runs": [row]}))
        self.assertEqual(campaign.read_data(), {"runs": []})

    def test_a_finding_of_a_first_slice_is_kept(self):
        self.run_with(1, 0, ["broken"], limit=0.001)
        self.assertGreater(self.row()["findings"], 0)

    def test_a_finding_fails(self):
        self.assertEqual(self.run_with(1000, 1, ["broken"], limit=0.001)[0], 1)

    def test_ledger_has_each_row(self):
        self.run_with(6_000_000, 300)
        campaign.write_ledger()
        text = campaign.LEDGER.read_text()
        self.assertIn("| hpack |", text)
        self.assertIn("12,000,000", text)
        self.assertNotIn("old", text)
        self.assertTrue(text.startswith("head\n") and text.endswith("tail\n"))

    def test_evidence_changes_no_tracked_file(self):
        """The part of a commit has the rows of both files, and leaves ledger and data as they are."""
        self.run_with(6_000_000, 300)
        campaign.DATA.write_text('{"runs": []}\n')
        before = [path.read_text() for path in (campaign.LEDGER, campaign.DATA)]
        with mock.patch.object(campaign.part, "write_part") as written, mock.patch("sys.argv", ["c", "evidence"]), \
                mock.patch.object(campaign.part, "keep") as kept:
            self.assertEqual(campaign.main(), 0)
        self.assertEqual([path.read_text() for path in (campaign.LEDGER, campaign.DATA)], before)
        self.assertIn("| 12,000,000 |", kept.call_args.args[1])
        head, rows = written.call_args.args[5:7]
        row = next(row for row in rows if row[0] == "hpack")
        self.assertEqual(row[head.index("code")], "hpack of today")

    def test_ledger_writes_no_evidence(self):
        """It changes a tracked file, so a part that it wrote would be of no commit."""
        self.run_with(6_000_000, 300)
        with mock.patch.object(campaign.part, "write_part") as written, mock.patch("sys.argv", ["c", "ledger"]):
            self.assertEqual(campaign.main(), 0)
        self.assertFalse(written.called)
        self.assertIn("12,000,000", campaign.LEDGER.read_text())

    def test_ledger_says_which_code_ran(self):
        row = {**campaign.new_row("hpack", "hpack of today"), "commit": "1" * 40 + "-dirty"}
        self.assertEqual(campaign.cells(row)[2:4], ["1" * 12 + "-dirty", "hpack of today"])
        self.assertEqual(campaign.HEAD[2:4], ["commit", "code"])
        self.assertEqual(len(campaign.HEAD), len(campaign.cells(row)))

    def test_no_goal_before_the_first_run(self):
        fresh = campaign.today(["hpack"])[0]
        self.assertEqual(campaign.cells(fresh)[3], "–")
        self.assertEqual(campaign.cells(fresh)[6:8], ["none before a first run measures the cost", "–"])
        with mock.patch.object(campaign.part, "write_part") as written, \
                mock.patch.object(campaign.part, "keep", return_value="files/fuzz-ledger.md"):
            campaign.write_evidence([fresh])
        self.assertIn("no target has run on this code", written.call_args.args[4])


class Tracked(unittest.TestCase):
    """tests/fuzz/campaign.json: what its rows say of this tree's targets."""

    @classmethod
    def setUpClass(cls):
        with mock.patch.object(campaign, "COPY", pathlib.Path("/nonexistent")):
            cls.rows = campaign.read_data()["runs"]

    def test_each_row_was_kept(self):
        content = json.loads(campaign.DATA.read_text())
        self.assertEqual(len(self.rows), len(content["runs"]))
        self.assertEqual({row["files"] for row in content["runs"]}, set(content["files"]))

    def test_ledger_says_what_a_finding_of_a_row_is(self):
        """Its sum is not the number of findings that the text names."""
        head = campaign.LEDGER.read_text().partition(campaign.BEGIN)[0]
        self.assertIn("The column `findings` counts", head)

    def test_each_list_has_what_decides(self):
        for row in self.rows:
            self.assertEqual(row["files"], sorted(set(row["files"])))
            self.assertLessEqual({f"tests/fuzz/fuzz_{row['target']}.c", "cfg/limits.h", *linked.RULES},
                                 set(row["files"]), row["target"])
            self.assertRegex(row["code"], "^[0-9a-f]{16}$")

    def test_no_list_has_documents_inputs_or_what_is_made(self):
        for row in self.rows:
            for name in row["files"]:
                self.assertNotRegex(name, r"\.(md|json|dict|options|zip)$|^build/|/seeds/|^/|^\.\.")

    def test_a_list_has_the_linked_units_alone(self):
        lists = {row["target"]: row["files"] for row in self.rows}
        self.assertIn("src/wire/dns.c", lists["dns"])
        self.assertNotIn("src/wire/grpc.c", lists["dns"])
        self.assertIn("src/agent/calls/calls.c", lists["agent"])
        self.assertIn("proto/projection.proto", lists["protobuf"])


class Tree(unittest.TestCase):
    """A repository with two targets of one room, and the lists of their files."""

    RULES = {"Makefile": "SOURCES := a\nNAME := n\n", "tools/make/compile.mk": "DEFINES := -DA\nHARDEN := h\n",
             "tools/make/fuzz.mk": "# Fuzzers.\nlink: with -O2\n\n.PHONY: fuzz\nfuzz:\n\t@run\n",
             "tools/build/pins": 'GO_MINIMUM=1\nNANOPB_ACCEPT="0.4.9.1:0"\n'}
    X = ["Makefile", "cfg/limits.h", "src/wire/a.c", "src/wire/a.h", "tests/fuzz/fuzz_x.c", "tools/make/compile.mk",
         "tools/make/fuzz.mk"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for module, name, value in ((campaign, "ROOT", self.root), (campaign.part, "ROOT", self.root),
                                    (linked, "ROOT", self.root), (fuzz, "ROOT", self.root),
                                    (fuzz, "BUILD", self.root / "build/fuzz")):
            patch = mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        for name in ("src/wire/a.c", "src/wire/a.h", "src/wire/b.c", "src/wire/README.md", "cfg/limits.h",
                     "tests/fuzz/fuzz_x.c", "tests/fuzz/fuzz_y.c", "tests/fuzz/campaign.json"):
            self.write(name, "old\n")
        for name, text in self.RULES.items():
            self.write(name, text)
        self.write("CHANGELOG.md", "## 1.2.3\n")
        self.git("init", "-q")
        self.commit()
        self.git("tag", "v1.2.3")

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.com", *words], cwd=self.root,
                              check=True, text=True, stdout=subprocess.PIPE).stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "State")


class Linked(Tree):
    """The list of a target's files, from what the tools say of its program, and the sum of it."""

    def unit(self, name, folder):
        return (f"  Compilation Unit @ offset 0xa77a:\n   Length:        0x3827 (32-bit)\n"
                f" <0><a786>: Abbrev Number: 1 (DW_TAG_compile_unit)\n"
                f"    <a787>   DW_AT_producer    : (indexed string: 0): Debian clang version 19.1.7\n"
                f"    <a78a>   DW_AT_name        : (indexed string: 0x1): {name}\n"
                f"    <a793>   DW_AT_comp_dir    : (indexed string: 0x2): {folder}\n"
                f"    <a794>   DW_AT_low_pc      : 0\n <1><a7a9>: ...\n")

    def build(self, units, folder=None):
        """A program of the units in each build, by what readelf would say of it, and .d files as clang writes them."""
        for build in linked.BUILDS:
            self.write(f"build/fuzz/{build}/x", "")
            for name, read in units.items():
                self.write(f"build/obj/fuzz/{build}/{pathlib.Path(name).with_suffix('.d')}",
                           f"build/obj/fuzz/{build}/o.o: {name} \\\n  " + " \\\n  ".join(read) + "\n"
                           + "".join(f"{other}:\n" for other in read))
        said = "Contents of the .debug_info section:\n\n" + "".join(
            self.unit(name, folder or self.root) for name in [*units, "/cache/nanopb-0.4.9.1/pb_common.c",
                                                              "build/cache/nanopb/pb_decode.c", "../fuzzer/Main.cpp"])
        patch = mock.patch.object(linked.subprocess, "run",
                                  side_effect=[mock.Mock(stdout=said)] * len(linked.BUILDS))
        patch.start()
        self.addCleanup(patch.stop)

    def test_files_of_a_program(self):
        self.build({"tests/fuzz/fuzz_x.c": ["cfg/limits.h"], "src/wire/a.c": ["src/wire/../wire/a.h"]})
        self.assertEqual(linked.files_of("x"), self.X)

    def test_messages_have_their_sources_and_the_pin_of_nanopb(self):
        self.build({"tests/fuzz/fuzz_x.c": ["generated/store.pb.h"]})
        self.assertEqual(set(linked.files_of("x")) - set(linked.RULES),
                         {"generated/store.pb.h", "proto/store.proto", "tests/fuzz/fuzz_x.c", "tools/build/pins"})

    def test_what_the_assembler_embeds_counts(self):
        """No .d file names it."""
        self.write("tests/fuzz/oracle.cc", 'EMBED(oracle_dra, "proto/dra.proto")\n')
        self.build({"tests/fuzz/fuzz_x.c": ["cfg/limits.h"], "tests/fuzz/oracle.cc": ["tests/fuzz/oracle.h"]})
        self.assertIn("proto/dra.proto", linked.files_of("x"))

    def test_a_program_that_is_not_there(self):
        with self.assertRaisesRegex(SystemExit, "build/fuzz/fast/x is not there"):
            linked.files_of("x")

    def test_a_program_of_another_folder(self):
        """Its list would be empty, and its sum the same for ever."""
        self.build({"tests/fuzz/fuzz_x.c": ["cfg/limits.h"]}, "/elsewhere")
        with self.assertRaisesRegex(SystemExit, "does not name the target's own file"):
            linked.files_of("x")

    def test_each_file_of_the_list_counts(self):
        old = linked.sum_of(self.X)
        self.assertRegex(old, "^[0-9a-f]{16}$")
        for name in ("src/wire/a.c", "src/wire/a.h", "cfg/limits.h", "tests/fuzz/fuzz_x.c"):
            with self.subTest(name):
                self.write(name, "new\n")
                self.assertNotEqual(linked.sum_of(self.X), old)
                (self.root / name).unlink()
                self.assertNotEqual(linked.sum_of(self.X), old)
                self.git("checkout", "-q", ".")
                self.assertEqual(linked.sum_of(self.X), old)

    def test_no_other_file_counts(self):
        old = linked.sum_of(self.X)
        for name in ("src/wire/b.c", "src/wire/new.c", "src/wire/README.md", "tests/fuzz/fuzz_y.c",
                     "tests/fuzz/campaign.json", "tests/fuzz/seeds/x/one"):
            self.write(name, "new\n")
        self.assertEqual(linked.sum_of(self.X), old)

    def test_comments_do_not_count(self):
        self.write("src/wire/a.c", 'int a; /* one */ char *s = "/* not */ // one";\n')
        old = linked.sum_of(self.X)
        for text, counts in (('/* another */\nint a; char *s = "/* not */ // one"; // and more\n', False),
                             ('int a; /* one */ char *s = "/* but */ // one";\n', True),
                             ('int a; /* one */ char *s = "/* not */ // two";\n', True),
                             ('int b; /* one */ char *s = "/* not */ // one";\n', True)):
            with self.subTest(text):
                self.write("src/wire/a.c", text)
                self.assertEqual(linked.sum_of(self.X) != old, counts)

    def test_of_the_limits_those_that_are_named_count(self):
        limits = "#define USED OTHER\n#define OTHER 1u\n#define LONG \\\n    2u\n#define FREE 3u\n"
        self.write("cfg/limits.h", limits)
        self.write("src/wire/a.c", "int a = USED + LONG;\n")
        old = linked.sum_of(self.X)
        for word, other, counts in (("OTHER 1u", "OTHER 4u", True), ("USED OTHER", "USED 1u", True),
                                    ("    2u", "    5u", True), ("FREE 3u", "FREE 6u", False),
                                    ("#define FREE", "/* Why. */\n\n#define MORE 7u\n#define FREE", False),
                                    ("#define FREE 3u", "_Static_assert(FREE > 2u)", True)):
            with self.subTest(other):
                self.write("cfg/limits.h", limits.replace(word, other))
                self.assertEqual(linked.sum_of(self.X) != old, counts)

    def test_of_the_rules_what_decides_counts(self):
        files = [*self.X, "tools/build/pins"]
        old = linked.sum_of(files)
        for name, word, counts in (("Makefile", "SOURCES", True), ("Makefile", "NAME", False),
                                   ("tools/make/compile.mk", "-DA", True), ("tools/make/compile.mk", "HARDEN", False),
                                   ("tools/make/fuzz.mk", "-O2", True), ("tools/make/fuzz.mk", "run", False),
                                   ("tools/build/pins", "0.4.9.1", True), ("tools/build/pins", "GO_MINIMUM", False)):
            with self.subTest(f"{word} of {name}"):
                self.write(name, self.RULES[name].replace(word, "OTHER"))
                self.assertEqual(linked.sum_of(files) != old, counts)
                self.write(name, self.RULES[name])

    def test_the_rules_of_this_tree_are_found(self):
        """A setting that moves to another file would be summed no more."""
        found = {name: re.findall(pattern, (ROOT / name).read_text()) for name, pattern in linked.PARTS.items()}
        self.assertEqual({name: len(parts) for name, parts in found.items()},
                         {"Makefile": 4, "tools/make/compile.mk": 5, "tools/make/fuzz.mk": 1, "tools/build/pins": 1})
        for word in ("define fuzz_build", "endef", "-fsanitize=fuzzer-no-link"):
            self.assertIn(word, found["tools/make/fuzz.mk"][0])
        self.assertNotIn("CAMPAIGN_SECONDS", found["tools/make/fuzz.mk"][0])

    def test_sum_of_a_commit(self):
        old = linked.sum_of(self.X)
        self.assertEqual(linked.sum_of(self.X, "HEAD"), old)
        self.write("src/wire/a.c", "new\n")
        self.assertEqual(linked.sum_of(self.X, "HEAD"), old)
        self.assertEqual(linked.sum_of(["new.c"], "HEAD"), linked.sum_of(["new.c"]))
        self.write("src/wire/a.h", "one\ntwo blob 3\n\n")
        self.commit()
        self.assertEqual(linked.sum_of(self.X, "HEAD"), linked.sum_of(self.X))
        self.assertEqual(linked.sum_of(self.X, "HEAD~"), old)


class Stamp(Tree):
    """Commit and release of a row."""

    Y = ["src/wire/b.c", "tests/fuzz/fuzz_y.c"]

    def assert_stamp(self, files, dirty):
        self.assertEqual(campaign.stamp_of(files), {"commit": self.git("rev-parse", "HEAD") + "-dirty" * dirty,
                                                    "release": "1.2.3" + "+" * dirty})

    def test_only_code_counts(self):
        """The campaign's own file, documents, and what other targets alone run leave a row clean."""
        for name in ("tests/fuzz/campaign.json", "src/wire/README.md", "src/wire/b.c", "tests/fuzz/fuzz_y.c"):
            self.write(name, "new\n")
            self.assert_stamp(self.X, False)
        self.assert_stamp(self.Y, True)

    def test_each_change_of_code_counts(self):
        self.assert_stamp([*self.X, "src/wire/new.c"], False)
        for name in ("src/wire/a.c", "src/wire/new.c", "tests/fuzz/fuzz_x.c"):
            with self.subTest(name):
                self.write(name, "new\n")
                self.assert_stamp([*self.X, "src/wire/new.c"], True)
                self.git("clean", "-qfd")
                self.git("checkout", "-q", ".")
                self.assert_stamp([*self.X, "src/wire/new.c"], False)
        (self.root / "src/wire/a.c").unlink()
        self.assert_stamp(self.X, True)

    def test_a_second_slice_has_the_stamp_of_the_first(self):
        """What the campaign writes, and a commit made meanwhile, do not change of which code the row is."""
        began = self.git("rev-parse", "HEAD")

        def result(target, *_):
            self.write("src/wire/a.c", "new\n")
            self.commit()
            return fuzz.Result(target, 6_000_000, 300, 7, 9, 3, [])
        clock = mock.patch.object(campaign, "processor_seconds", side_effect=itertools.count(0, 300))
        with clock, mock.patch.object(fuzz, "run_target", result), contextlib.redirect_stdout(io.StringIO()), \
                mock.patch.object(linked, "files_of", return_value=self.X), \
                mock.patch.object(campaign, "DATA", self.root / "tests/fuzz/campaign.json"), \
                mock.patch.object(campaign, "COPY", self.root / "build/campaign.json"):
            campaign.DATA.write_text('{"runs": []}\n')
            old = linked.sum_of(self.X)
            campaign.run(["x"], 60, 1)
            row = campaign.read_data()["runs"][0]
        self.assertEqual((row["executions"], row["commit"], row["code"]), (12_000_000, began, old))


class Build(unittest.TestCase):
    """Each check of a build on a program that is none of a fuzz target."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        source = cls.folder / "main.cc"
        source.write_text("#include <string>\n"
                          "int main(int n, char **a) { return (int)std::string(a[0]).size() + n; }\n")
        cls.program = cls.folder / "fuzz_json"
        subprocess.run(["clang++-19", source, "-o", cls.program], check=True)

    def test_a_library_that_the_runner_lacks(self):
        self.assertIn("needs libstdc++.so.6, which the runner lacks", list(built_targets.check_program(self.program)))

    def test_no_program(self):
        self.assertEqual(list(built_targets.check_program(self.folder / "main.cc")), ["is no program for this machine"])

    def test_no_sanitizer(self):
        self.assertIn("0 calls of asan: it is not compiled with it",
                      list(built_targets.check_calls(self.program, "address", "libfuzzer")))

    def test_alone_where_it_should_compare(self):
        self.assertEqual(list(built_targets.check_compared("fuzz_json", "alone", "address")),
                         ["compares with alone, not with -ljansson"])
        self.assertEqual(list(built_targets.check_compared("fuzz_json", "alone", "memory")), [])

    def test_does_not_start(self):
        mistakes = list(built_targets.check_libfuzzer(self.folder, "fuzz_json", self.folder))
        self.assertTrue(mistakes[0].startswith("does not start"), mistakes)

    def test_seeds_and_options(self):
        with zipfile.ZipFile(self.folder / "fuzz_json_seed_corpus.zip", "w") as archive:
            archive.writestr("one", "1")
        (self.folder / "fuzz_json.options").write_text("[libfuzzer]\nmax_len = 7\n")
        self.assertEqual(built_targets.seeds_of(self.folder, "fuzz_json", self.folder / "seeds"), 1)
        self.assertEqual(built_targets.arguments_of(self.folder, "fuzz_json"), ["-max_len=7"])
        self.assertEqual(built_targets.seeds_of(self.folder, "fuzz_none", self.folder / "seeds"), 0)

    def test_not_built(self):
        self.assertEqual(built_targets.check_target(self.folder, "fuzz_none", "", "address", "libfuzzer"),
                         (["was not built"], 0))


if __name__ == "__main__":
    unittest.main()
