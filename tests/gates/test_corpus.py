# SPDX-License-Identifier: Apache-2.0
"""The archives of the fuzz targets' inputs are what their inputs make, and nothing lies beside them."""

import pathlib
import tempfile
import unittest
from unittest import mock

from test_gates import ROOT

import corpus  # noqa: E402  test_gates has set the path

FUZZ = ROOT / "tests" / "fuzz"
TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.c"))


class Archives(unittest.TestCase):
    def test_each_is_rebuilt_byte_for_byte(self):
        with tempfile.TemporaryDirectory() as folder:
            for target in TARGETS:
                path = corpus.archive_of(target)
                inputs = corpus.read_archive(path)
                self.assertEqual(inputs, corpus.named_by_sum(inputs.values()), path)
                fresh = pathlib.Path(folder) / path.name
                corpus.write_archive(fresh, inputs)
                self.assertEqual(fresh.read_bytes(), path.read_bytes(), path)

    def test_each_target_has_inputs(self):
        self.assertTrue(TARGETS)
        for target in TARGETS:
            self.assertTrue(corpus.all_inputs(target), target)

    def test_each_input_has_a_target(self):
        self.assertLessEqual({path.name for path in corpus.ARCHIVES.iterdir()}, {f"{name}.zip" for name in TARGETS})
        self.assertLessEqual({path.name for path in corpus.SEEDS.iterdir()}, set(TARGETS))

    def test_names_of_seeds_are_words(self):
        for path in corpus.SEEDS.glob("*/*"):
            self.assertRegex(path.name, r"^[a-z0-9][a-z0-9.]*(-[a-z0-9.]+)+$")


class Folders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "seeds/t").mkdir(parents=True)
        for name in ("ARCHIVES", "SEEDS", "UNPACKED"):
            patch = mock.patch.object(corpus, name, self.root / name.lower())
            patch.start()
            self.addCleanup(patch.stop)
        corpus.ARCHIVES.mkdir()

    def test_both_kinds_lie_together(self):
        corpus.write_archive(corpus.archive_of("t"), corpus.named_by_sum([b"found"]))
        (self.root / "seeds/t/by-hand").write_bytes(b"\0")
        first = corpus.unpack("t")
        self.assertEqual(sorted(path.read_bytes() for path in first.iterdir()), [b"\0", b"found"])
        self.assertEqual([path.name for path in first.iterdir() if path.name.startswith(corpus.OWN)], ["seed-by-hand"])
        self.assertEqual(corpus.unpack("t"), first)

    def test_another_input_makes_another_folder(self):
        (self.root / "seeds/t/by-hand").write_bytes(b"\0")
        first = corpus.unpack("t")
        (self.root / "seeds/t/by-hand").write_bytes(b"\1")
        self.assertNotEqual(corpus.unpack("t"), first)
        self.assertEqual([path.read_bytes() for path in corpus.unpack("t").iterdir()], [b"\1"])


if __name__ == "__main__":
    unittest.main()
