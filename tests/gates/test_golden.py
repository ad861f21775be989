# SPDX-License-Identifier: Apache-2.0
"""golden.py: what it adds to the golden files is what stands there by hand."""

import contextlib
import io
import pathlib
import re
import shutil
import tempfile
import unittest

from test_gates import ROOT

import attributes  # noqa: E402  test_gates has set the path
import golden  # noqa: E402


class Golden(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.vectors = self.root / attributes.VECTORS
        shutil.copytree(ROOT / attributes.VECTORS, self.vectors,
                        ignore=shutil.ignore_patterns("recorded", "dranet", "efa"))

    def read(self):
        return {path.name: path.read_text() for path in self.vectors.glob("*/*.txt")}

    def remove(self, lines, folder="boards"):
        """Without what fits `lines`, each file of a folder still differs from what it was."""
        for path in (self.vectors / folder).glob("*.txt"):
            text = re.sub(rf"^{lines}\n", "", path.read_text(), flags=re.M)
            self.assertNotEqual(text, path.read_text(), path)
            path.write_text(text)

    def run_with(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = golden.main(arguments, self.root)
        return code, said.getvalue()

    def test_each_file(self):
        whole = self.read()
        for key, *rest in (("deviceId", "int", "#"), ("resourceType", "string", "neuron_device"),
                           ("draDriverVersion", "version", "AGENT_VERSION")):
            self.remove(rf"\d+ {key} .*")
            self.assertEqual(self.run_with(key, *rest)[0], 0)
            self.assertEqual(self.read(), whole)
        self.remove(r"(node|\d+) neuronDriverVersion .*")
        self.assertEqual(self.run_with("neuronDriverVersion", "string", "2.26.5.0", "--node")[0], 0)
        self.assertEqual(self.read(), whole)

    def test_first_and_last_key(self):
        self.assertEqual(self.run_with("AAA", "bool", "true", "--on", "inf2.xlarge")[0], 0)
        self.assertEqual(self.run_with("zzz", "capacity", "#", "--on", "inf2.xlarge")[0], 0)
        lines = (self.vectors / "boards/inf2.xlarge.txt").read_text().splitlines()
        self.assertEqual(lines[-1], "0 zzz capacity 0")
        self.assertTrue(lines[lines.index("0 AAA bool true") - 1].startswith("module "))

    def test_more(self):
        whole = self.read()
        (self.vectors / "more/share-cores.txt").unlink()
        self.assertEqual(self.run_with("cores", "capacity", "8", "--on", "trn2.48xlarge", "--more", "share-cores",
                                       "--when", "with `--share-cores`")[0], 0)
        self.assertEqual(self.read(), whole)

    def test_refused(self):
        whole = self.read()
        for arguments, words in ((("coreCount", "int", "2"), "has coreCount already"),
                                 (("zone", "text", "a"), "is no line of a golden file"),
                                 (("zone", "int", "1", "--on", "xyz9.2xlarge"), "has no xyz9.2xlarge.txt"),
                                 (("zone", "int", "1", "--more", "zones", "--when", "always"), "--more needs --on"),
                                 (("zone", "int", "1", "--on", "trn2.48xlarge", "--more", "zones"), "--when"),
                                 (("zone", "int", "1", "--on", "trn2.48xlarge", "--more", "share-cores",
                                   "--when", "always"), "a name that")):
            code, said = self.run_with(*arguments)
            self.assertEqual((code, words in said), (1, True), said)
        self.assertEqual(self.read(), whole)


if __name__ == "__main__":
    unittest.main()
