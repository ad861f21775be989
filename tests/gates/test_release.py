# SPDX-License-Identifier: Apache-2.0
"""Which packages the statement of a release names, on machines with more than one of a name."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from test_gates import ROOT

import release  # noqa: E402  test_gates has set the path


class Packages(unittest.TestCase):
    """A machine whose dpkg says what a test has written."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.program("dpkg", "echo amd64")
        path = mock.patch.dict(os.environ, PATH=f"{self.root / 'bin'}:{os.environ['PATH']}")
        path.start()
        self.addCleanup(path.stop)

    def program(self, name, text):
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def packages(self, *lines):
        """What dpkg-query prints of each package, in the format that it is asked for: status, architecture, version."""
        prints = []
        for line in lines:
            status, arch, version = line.split()
            fields = {"db:Status-Status": status, "Architecture": arch, "Version": version}
            edits = " ".join(f"-e 's/${{{field}}}/{text}/'" for field, text in fields.items())
            prints.append(f'printf %b "$(printf %s "$3" | sed {edits})"')
        self.program("dpkg-query", "\n".join(prints) or "echo 'no packages found' >&2; exit 1")

    def debs(self, *names):
        folder = self.root / "build" / "arm64" / "deb"
        folder.mkdir(parents=True)
        for name in names:
            control = self.root / "package" / "DEBIAN" / "control"
            control.parent.mkdir(parents=True, exist_ok=True)
            control.write_text(f"Package: musl-dev\nVersion: {name}\nArchitecture: arm64\n"
                               "Maintainer: Nobody <nobody@example.com>\nDescription: none\n")
            subprocess.run(["dpkg-deb", "-b", self.root / "package", folder / f"musl-dev_{name}_arm64.deb"], check=True,
                           stdout=subprocess.DEVNULL)
        return str(folder / "musl-dev_*_arm64.deb")

    def test_one_architecture(self):
        self.packages("installed amd64 1.2.3-1")
        self.assertEqual(release.installed("musl-dev"), {"uri": "pkg:deb/debian/musl-dev@1.2.3-1?arch=amd64"})
        self.packages("installed all 4")
        self.assertEqual(release.installed("some-doc"), {"uri": "pkg:deb/debian/some-doc@4?arch=all"})

    def test_two_architectures(self):
        self.packages("installed amd64 1.2.3-1", "installed arm64 1.2.3-1", "config-files i386 1.1-1")
        self.assertEqual(release.installed("musl-dev"), {"uri": "pkg:deb/debian/musl-dev@1.2.3-1?arch=amd64"})

    def test_not_installed(self):
        for lines in ((), ("installed arm64 1.2.3-1",), ("config-files amd64 1.2.3-1",)):
            self.packages(*lines)
            with self.assertRaisesRegex(SystemExit, "^release.py: the package musl-dev is installed 0 times for amd64"):
                release.installed("musl-dev")

    def test_one_file(self):
        found = release.unpacked(self.debs("1.2.3-1"))
        self.assertEqual(found["uri"], "pkg:deb/debian/musl-dev@1.2.3-1?arch=arm64")

    def test_no_file_and_two(self):
        with self.assertRaisesRegex(SystemExit, "--deb: 0 files fit .*: make image-arm64 downloads one$"):
            release.unpacked(str(self.root / "musl-dev_*_arm64.deb"))
        pattern = self.debs("1.2.3-1", "1.2.5-1")
        with self.assertRaisesRegex(SystemExit, "--deb: 2 files fit .*: remove all but one: .*_1.2.3-1_.* .*_1.2.5-1_"):
            release.unpacked(pattern)

    def test_the_shell_hands_the_pattern_on(self):
        """Else a second file would be an argument that release.py does not know."""
        self.assertRegex((ROOT / "tools/make/release.mk").read_text(), r"--deb '[^' ]*musl-dev_\*_arm64\.deb'")

    def test_build_for_arm64_with_two_files(self):
        self.debs("1.2.3-1", "1.2.5-1")
        self.program("dpkg-query", "printf 'installed\\ninstalled\\ninstalled\\n'")
        script = self.root / "tools" / "image" / "arm64.sh"
        script.parent.mkdir(parents=True)
        shutil.copy(ROOT / "tools" / "image" / "arm64.sh", script)
        done = subprocess.run([script, "v1", "0" * 40, "1"], text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, "^arm64.sh: more than one musl-dev for arm64 lies in .*: remove all but one\n$")

    def test_image_of_one_architecture(self):
        """The version of musl in the image's SBOM is that of this machine's package alone."""
        rule = (ROOT / "tools/make/image.mk").read_text()
        self.assertIn("""-f '$${Version}' "musl-dev:$$(dpkg --print-architecture)")""", rule)


if __name__ == "__main__":
    unittest.main()
