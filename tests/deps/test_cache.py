# SPDX-License-Identifier: Apache-2.0
"""What builds that share a cache see of each other: nothing half made, nothing replaced, no work done twice."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
import zipfile

import mirror

PATIENCE_S = 60
# Counts its calls, and compiles once the file of that name is there.
COMPILER = """#!/bin/sh
echo >>"$TEST_CALLS"
while [ ! -e "$TEST_GATE" ]; do sleep 0.02; done
exec {compiler} "$@"
"""
# A Go of which only `version` and `build` are used. What it builds is empty.
GO = """#!/bin/sh
if [ "$1" = version ]; then
    echo go version go1.26.0 linux/amd64
    exit
fi
echo >>"$TEST_CALLS"
while [ "$1" != -o ]; do shift; done
to=$2
shift 2
for package; do : >"$to$(basename "$package")"; done
while [ ! -e "$TEST_GATE" ]; do sleep 0.02; done
"""
BUILD_PROGRAMS = "import sys; sys.path.insert(0, sys.argv[1]); import build; print(build.build(sys.argv[2]))"
PRODUCT = "cni-1.9.1"


class CacheTest(mirror.MachineTest):
    """Builds that stop at a gate, so that one is always in its midst when another comes."""

    def setUp(self):
        super().setUp()
        self.calls = self.folder / "calls"
        self.gate = self.folder / "gate"
        self.machine.env.update(TEST_CALLS=str(self.calls), TEST_GATE=str(self.gate), PYTHONDONTWRITEBYTECODE="1")

    def write_program(self, name, text):
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def count_calls(self):
        return len(self.calls.read_text()) if self.calls.exists() else 0

    def wait_at_gate(self, process):
        """Until a compiler has been called."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.count_calls():
            self.assertIsNone(process.poll(), "it ended before it compiled")
            self.assertLess(time.monotonic(), deadline, "it does not compile")
            time.sleep(0.02)

    def owned(self, process):
        """The process group ends with the test."""
        def end():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        self.addCleanup(end)
        return process

    def kill(self, process):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def finish(self, process):
        """What it printed; it must succeed."""
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, out + err)
        return out


class Library(CacheTest):
    """The archive of mbedTLS."""

    def setUp(self):
        super().setUp()
        self.mirror.suite("forky", [("mbedtls", "3.6.7", mirror.archive("mbedtls", "3.6.7"))])
        self.mirror.suite("trixie", [("nanopb", "0.4.9.1", mirror.archive("nanopb", "0.4.9.1"))])
        self.compiler = self.write_program("compiler", COMPILER.format(compiler="gcc"))
        self.archive = pathlib.Path(self.machine.make_variable("MBEDTLS_PRODUCT"))
        self.assertEqual(self.archive.parent, self.machine.cache / "lib")

    def start(self, machine):
        return self.owned(machine.start_make(f"MUSL_CC={self.compiler}", str(self.archive)))

    def assert_whole(self):
        """The archive with its one member, and nothing else but its lock."""
        done = subprocess.run(["ar", "t", self.archive], text=True, stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout, "version.o\n")
        self.assertEqual({path.name for path in self.archive.parent.iterdir()},
                         {self.archive.name, self.archive.name + ".lock"})

    def test_builds_side_by_side(self):
        """Two clones: one builds. A second archive would replace the first one while a linker reads it."""
        other = self.make_machine("other")
        other.env.update(self.machine.env)
        self.assertEqual(other.make_variable("MBEDTLS_PRODUCT"), str(self.archive))
        first = self.start(self.machine)
        self.wait_at_gate(first)
        second = self.start(other)
        self.assertIn("waiting for another build of mbedTLS", second.stdout.readline())
        self.gate.touch()
        self.finish(first)
        self.finish(second)
        self.assertEqual(self.count_calls(), 1, "compiled more than once")
        self.assert_whole()

    def test_killed_build(self):
        killed = self.start(self.machine)
        self.wait_at_gate(killed)
        self.kill(killed)
        self.assertFalse(self.archive.exists())
        self.gate.touch()
        self.finish(self.start(self.machine))
        self.assert_whole()

    def test_failing_build_removes_nothing(self):
        """What has come into the cache while a build failed is another build's, and stays."""
        script = self.machine.root / "tools/build/build_mbedtls.sh"
        script.write_text('#!/bin/sh\nmkdir -p "$(dirname "$1")"\necho whole >"$1"\nexit 1\n')
        self.archive = pathlib.Path(self.machine.make_variable("MBEDTLS_PRODUCT"))
        process = self.start(self.machine)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertNotEqual(process.returncode, 0, out + err)
        self.assertEqual(self.archive.read_text(), "whole\n")


class Programs(CacheTest):
    """The programs of a node, which tools/cluster/build.py keeps."""

    def setUp(self):
        super().setUp()
        self.write_program("go", GO)
        self.machine.env["PATH"] = f"{self.folder / 'bin'}:{self.machine.env['PATH']}"

    def start(self):
        return self.owned(subprocess.Popen(
            [sys.executable, "-c", BUILD_PROGRAMS, str(mirror.ROOT / "tools/cluster"), PRODUCT], env=self.machine.env,
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True))

    def assert_whole(self, folder):
        folder = pathlib.Path(folder.strip())
        self.assertEqual({path.name for path in folder.iterdir()}, {"ptp", "loopback", "host-local"})
        self.assertEqual({path.name for path in folder.parent.iterdir()}, {folder.name, folder.name + ".lock"})

    def test_builds_side_by_side(self):
        first = self.start()
        self.wait_at_gate(first)
        second = self.start()
        self.assertIn("waiting for another run", second.stderr.readline())
        self.gate.touch()
        folder = self.finish(first)
        self.assertEqual(self.finish(second), folder)
        self.assertEqual(self.count_calls(), 1, "built more than once")
        self.assert_whole(folder)

    def test_killed_build(self):
        killed = self.start()
        self.wait_at_gate(killed)
        self.kill(killed)
        self.gate.touch()
        self.assert_whole(self.finish(self.start()))
        self.assertEqual(self.count_calls(), 2)


class Tools(CacheTest):
    """cppcheck's environment of Python, which works only under the name that it was made with."""

    def test_killed_installation(self):
        wheel = self.folder / "cppcheck_py-2.17.1-py3-none-any.whl"
        info = "cppcheck_py-2.17.1.dist-info"
        with zipfile.ZipFile(wheel, "w") as out:
            out.writestr("cppcheck/data/cppcheck", "")
            out.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: cppcheck-py\nVersion: 2.17.1\n")
            out.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            out.writestr(f"{info}/RECORD", "")
        pins = self.machine.root / "tools/build/pins"
        pins.write_text(f"{pins.read_text()}CPPCHECK_VERSION=2.17.1\n"
                        f"CPPCHECK_SHA256={mirror.sha256(wheel.read_bytes())}\n")
        half = self.machine.cache / "cppcheck-2.17.1/lib/python3.0/site-packages/cppcheck/data/cppcheck"
        half.parent.mkdir(parents=True)
        half.touch()
        code, program, log = self.machine.run("cppcheck", CPPCHECK_ARCHIVE=str(wheel))
        self.assertEqual(code, 0, log)
        self.assertTrue(pathlib.Path(program).exists(), program)
        self.assertFalse(half.exists())
