# SPDX-License-Identifier: Apache-2.0
"""The ledger of the fuzz campaign, the table of the targets, and the checks of what OSS-Fuzz would build."""

import contextlib
import io
import itertools
import pathlib
import subprocess
import tempfile
import unittest
import zipfile
from unittest import mock

from test_gates import ROOT  # sets the path

import campaign
import built_targets
import fuzz
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
        for name, value in (("DATA", root / "campaign.json"), ("COPY", root / "build/campaign.json"),
                            ("LEDGER", ledger),
                            ("code_sum", lambda target: f"{target} of today")):
            patch = mock.patch.object(campaign, name, value)
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
        self.assertIn(f"1 of {len(targets.names())} targets have a row, 1 have reached their goal. No row: `agent`,",
                      text)
        self.assertNotIn("`hpack`", text)

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
        with mock.patch.object(campaign, "code_sum", return_value="other"):
            self.assertEqual(campaign.missing(campaign.today(["hpack"])[0]), 10 ** 7)

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
        row = {**campaign.today(["hpack"])[0], "commit": "1" * 40 + "-dirty"}
        self.assertEqual(campaign.cells(row)[2:4], ["1" * 12 + "-dirty", "hpack of today"])
        self.assertEqual(campaign.HEAD[2:4], ["commit", "code"])
        self.assertEqual(len(campaign.HEAD), len(campaign.cells(row)))

    def test_code_sum_leaves_inputs_out(self):
        self.assertRegex("src/wire/README.md", campaign.NO_CODE)
        self.assertNotRegex("src/wire/h2.c", campaign.NO_CODE)
        self.assertFalse([name for name in campaign.own_files("json") if name.startswith(("tests/fuzz/seeds/",
                                                                                          "tests/fuzz/corpus/"))])

    def test_code_sum_of_this_tree(self):
        self.doCleanups()
        self.assertRegex(campaign.code_sum("json"), "^[0-9a-f]{16}$")
        self.assertNotEqual(campaign.code_sum("json"), campaign.code_sum("dns"))

    def test_a_target_has_its_own_files_only(self):
        self.assertEqual(campaign.own_files("config"),
                         {f"tests/fuzz/{name}" for name in ("fuzz_config.c", "fuzz.h", "json_oracle.h")})
        self.assertIn("tests/sim", campaign.own_files("agent"))
        self.assertIn("tests/fuzz/protobuf_oracle.cc", campaign.own_files("protobuf"))

    def test_a_target_has_the_rooms_that_it_can_run(self):
        self.assertEqual(campaign.rooms("json"), ["src/base"])
        self.assertEqual(campaign.rooms("dns"), ["src/base", "src/wire"])
        self.assertEqual(campaign.rooms("x509"), ["src/base", "src/x509"])
        self.assertIn("src/agent/calls", campaign.rooms("agent"))
        files = campaign.code_files("dns", "ls-files")
        self.assertIn("src/wire/dns.c", files)
        self.assertFalse([name for name in files if name.startswith(("src/agent", "src/dra"))])

    def test_no_goal_before_the_first_run(self):
        fresh = campaign.today(["hpack"])[0]
        self.assertEqual(campaign.cells(fresh)[6:8], ["none before a first run measures the cost", "–"])
        with mock.patch.object(campaign.part, "write_part") as written, \
                mock.patch.object(campaign.part, "keep", return_value="files/fuzz-ledger.md"):
            campaign.write_evidence([fresh])
        self.assertIn("no target has run on this code", written.call_args.args[4])


class Stamp(unittest.TestCase):
    """Commit and release of a row, in a repository with two targets."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for module in (campaign, campaign.part):
            patch = mock.patch.object(module, "ROOT", self.root)
            patch.start()
            self.addCleanup(patch.stop)
        for name in ("src/base/a.c", "src/base/a.h", "src/base/README.md", "src/wire/b.c", "src/wire/b.h",
                     "tests/fuzz/fuzz_y.c", "tests/fuzz/campaign.json"):
            self.write(name, "old\n")
        self.write("tests/fuzz/fuzz_x.c", '#include "base/a.h"\n')
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

    def assert_stamp(self, target, dirty):
        self.assertEqual(campaign.stamp_of(target), {"commit": self.git("rev-parse", "HEAD") + "-dirty" * dirty,
                                                     "release": "1.2.3" + "+" * dirty})

    def test_only_code_counts(self):
        """The campaign's own file, documents, and what other targets alone run leave a row clean."""
        for name in ("tests/fuzz/campaign.json", "src/base/README.md", "src/wire/b.c", "tests/fuzz/fuzz_y.c"):
            self.write(name, "new\n")
            self.assert_stamp("x", False)
        self.assert_stamp("y", True)

    def test_each_change_of_code_counts(self):
        for name in ("src/base/a.c", "src/base/new.c", "tests/fuzz/fuzz_x.c"):
            with self.subTest(name):
                self.write(name, '#include "base/a.h"\nnew\n')
                self.assert_stamp("x", True)
                self.git("clean", "-qfd")
                self.git("checkout", "-q", ".")
                self.assert_stamp("x", False)
        (self.root / "src/base/a.c").unlink()
        self.assert_stamp("x", True)

    def test_a_second_slice_has_the_stamp_of_the_first(self):
        """What the campaign writes, and a commit made meanwhile, do not change of which code the row is."""
        began = self.git("rev-parse", "HEAD")

        def result(target, *_):
            self.write("src/base/a.c", "new\n")
            self.commit()
            return fuzz.Result(target, 6_000_000, 300, 7, 9, 3, [])
        clock = mock.patch.object(campaign, "processor_seconds", side_effect=itertools.count(0, 300))
        with clock, mock.patch.object(fuzz, "run_target", result), contextlib.redirect_stdout(io.StringIO()), \
                mock.patch.object(campaign, "DATA", self.root / "tests/fuzz/campaign.json"), \
                mock.patch.object(campaign, "COPY", self.root / "build/campaign.json"):
            campaign.DATA.write_text('{"runs": []}\n')
            campaign.run(["x"], 60, 1)
            row = campaign.read_data()["runs"][0]
        self.assertEqual((row["executions"], row["commit"]), (12_000_000, began))


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
