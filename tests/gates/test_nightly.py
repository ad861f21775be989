# SPDX-License-Identifier: Apache-2.0
"""What nightly.yml keeps of a campaign that fails: each place where a tool leaves what it found."""

import fnmatch
import re
import unittest

from test_gates import ROOT  # sets the path

import defects  # noqa: E402
import fuzz  # noqa: E402
import model  # noqa: E402


def kept_on_failure():
    """The paths of the step that runs if one before it failed."""
    step = (ROOT / ".github/workflows/nightly.yml").read_text().split("- name: keep findings and logs\n", 1)[1]
    step = step.split("\n      - name:", 1)[0]
    assert "if: failure()" in step, step
    return re.search(r"^ +path: \|\n((?: {12}\S+\n)+)", step, re.M)[1].split()


class Kept(unittest.TestCase):
    def assert_kept(self, path):
        name = str(path.relative_to(ROOT))
        found = [kept for kept in kept_on_failure() if fnmatch.fnmatchcase(name, kept) or name.startswith(kept + "/")]
        self.assertTrue(found, f"{name} is lost")

    def test_findings_of_the_fuzz_targets(self):
        self.assert_kept(fuzz.BUILD / "findings/json/crash-1")

    def test_what_a_mistake_was_not_found_by(self):
        self.assertIn('(folder / "output").write_text', (ROOT / "tools/fuzz/defects.py").read_text())
        self.assert_kept(defects.SCRATCH / "h2-forgets/output")

    def test_counterexamples_and_searches_of_the_model(self):
        text = (ROOT / "tools/model/model.py").read_text()
        self.assertIn('.txt")', text)
        self.assertIn('"search.txt"', text)
        self.assert_kept(model.BUILD / "one.txt")
        self.assert_kept(model.BUILD / "one/search.txt")

    def test_log_of_the_build_elsewhere(self):
        path = re.search(r"^log=\$root/(\S+)$", (ROOT / "tools/fuzz/elsewhere.sh").read_text(), re.M)[1]
        self.assert_kept(ROOT / path)

    def test_logs_of_the_tests(self):
        self.assert_kept(ROOT / "build/test/conformance.log")


if __name__ == "__main__":
    unittest.main()
