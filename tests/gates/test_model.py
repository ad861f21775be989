# SPDX-License-Identifier: Apache-2.0
"""The model's part of the evidence says only what was found in the files of today."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

from test_gates import ROOT

sys.path.insert(0, str(ROOT / "tools/model"))
import model  # noqa: E402
import part  # noqa: E402  model has set the path

FOUND = {"states": 7, "transitions": 8, "depth": 9, "seconds": 1.0, "broken": None}


class Evidence(unittest.TestCase):
    """A tree with the model's files, in which no search runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path in {path for paths in model.READS.values() for path in paths}:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / path).is_file():
                shutil.copy(ROOT / path, self.root / path)
            else:
                (self.root / path).mkdir()
                (self.root / path / "one.c").write_text("one\n", encoding="utf-8")
        for holder, name, value in ((model, "ROOT", self.root), (model, "BUILD", self.root / "build"),
                                    (model, "MODEL", self.root / "tests/model"),
                                    (model, "spin_version", lambda: "0"),
                                    (model, "show", lambda *_: None), (model, "print", lambda *_, **__: None),
                                    (model, "check_one", lambda _: dict(FOUND)),
                                    (part, "PARTS", str(self.root / "parts")), (part, "commit", lambda: "c")):
            patch = mock.patch.object(holder, name, value, create=name == "print")
            patch.start()
            self.addCleanup(patch.stop)

    def change(self, path):
        with open(self.root / path, "a", encoding="utf-8") as stream:
            stream.write("\n")

    def part(self):
        path = self.root / "parts/model.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def names(self):
        return {row[0] for row in self.part()["table"]["rows"]}

    def run_others(self):
        """Leaves results of the deep search, the defects and the comparison."""
        model.check(quick=False, deep=True)
        defects = model.read("defects.toml")["defect"]
        with mock.patch.object(model, "find_or_say", lambda d: {**FOUND, "about": "", "property": d["property"]}):
            model.defects([])
        model.BUILD.joinpath("steps.txt").write_text("A one two\n", encoding="utf-8")
        steps = self.root / "simulated.txt"
        steps.write_text("A one two 100 1\n" * 50, encoding="utf-8")
        model.trace(steps, 3, only_compare=False)
        with mock.patch.object(model.subprocess, "run", lambda *_, **__: mock.Mock(returncode=0)):
            model.trace_defects(None)
        return {"defect " + d["name"] for d in defects} | {"agent defect answer-without-a-flush"}

    def test_results_of_the_same_files(self):
        defects = self.run_others()
        self.assertIsNone(self.part(), "what broke nothing was not searched yet")
        model.check(quick=False, deep=False)
        self.assertLessEqual(defects | {"two-faults", "one-fault", "comparison with the simulator"}, self.names())

    def test_results_of_another_model(self):
        self.run_others()
        self.change("tests/model/claim.pml")
        model.check(quick=False, deep=False)
        self.assertEqual({c["name"] for c in model.read("configurations.toml")["configuration"]
                          if model.is_chosen(c, False, False)}, self.names())
        self.assertEqual(4, sum("was not run" in said for said in self.part()["not_shown"]))

    def test_each_result_by_what_it_reads(self):
        for path, left in (("tests/model/defects.toml", {"check", "deep", "trace", "trace-defects"}),
                           ("tests/model/steps.h", {"check", "deep", "defects"}),
                           ("tests/defects/steps.toml", {"check", "deep", "defects", "trace"}),
                           ("src/one.c", {"check", "deep", "defects"}),
                           ("tools/build/pins", set())):
            self.run_others()
            model.check(quick=False, deep=False)
            self.change(path)
            self.assertEqual(left, {name for name in model.READS if model.kept(name)}, path)

    def test_mistakes_in_the_agent_that_are_not_found(self):
        self.run_others()
        with mock.patch.object(model.subprocess, "run", lambda *_, **__: mock.Mock(returncode=1)):
            self.assertRaises(model.Failure, model.trace_defects, None)
        self.assertIsNone(model.kept("trace-defects"))

    def test_one_mistake_alone_is_no_result(self):
        with mock.patch.object(model.subprocess, "run", lambda *_, **__: mock.Mock(returncode=0)):
            model.trace_defects("answer-without-a-flush")
        self.assertIsNone(model.kept("trace-defects"))

    def test_a_broken_property_leaves_nothing(self):
        model.check(quick=False, deep=False)
        pathlib.Path(part.PARTS, "model.json").unlink()
        with mock.patch.object(model, "check_one", side_effect=model.Failure("broken")):
            self.assertRaises(model.Failure, model.check, False, False)
        self.run_others()
        self.assertIsNone(self.part())


if __name__ == "__main__":
    unittest.main()
