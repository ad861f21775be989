# SPDX-License-Identifier: Apache-2.0
"""The gate of security advisories: its age, and verdicts that no longer hold."""

import datetime
import json
import pathlib
import unittest

from test_gates import Tree

import check_advisories  # noqa: E402  test_gates has set the path

ROOT = pathlib.Path(check_advisories.__file__).resolve().parents[2]
TODAY = datetime.date(2026, 12, 1)
ENTRY = """
[[advisory]]
library = "mbedtls"
id = "CVE-1"
first = "3.6.0"
last = "3.6.7"
verdict = "none"
why = "What it is about is not linked, and so not reached."
"""


class Advisories(Tree):
    def setUp(self):
        super().setUp()
        self.listed("2026-11-26", ENTRY)
        self.pins("3.6.7:00")

    def listed(self, looked, entries):
        libraries = "".join(f'[library.{name}]\nsources = ["x"]\nversions = ["1.0"]\n'
                            for name in check_advisories.LIBRARIES)
        self.write(check_advisories.LIST, f"looked = {looked}\n{libraries}{entries}")

    def pins(self, accepted):
        self.write(check_advisories.PINS, f'MBEDTLS_ACCEPT="{accepted}"\n')

    def findings(self, today=TODAY):
        return check_advisories.check(self.root, today).findings

    def assert_one(self, word, today=TODAY):
        found = self.findings(today)
        self.assertEqual(len(found), 1, found)
        self.assertIn(word, found[0])

    def test_good(self):
        self.assertEqual(self.findings(), [])

    def test_age(self):
        self.assertEqual(self.findings(datetime.date(2026, 12, 26)), [])
        self.assert_one("31 days ago", datetime.date(2026, 12, 27))
        self.assert_one("in the future", datetime.date(2026, 11, 25))

    def test_fixed_release(self):
        self.pins("3.6.8:00")
        self.assert_one("remove it")
        self.pins("3.6.8:00 3.6.7:00")
        self.assertEqual(self.findings(), [])

    def test_affected(self):
        self.listed("2026-11-26", ENTRY.replace('"none"', '"affected"'))
        self.assert_one("3.6.7 is affected")

    def test_no_reason(self):
        self.listed("2026-11-26", ENTRY.replace("What it is about is not linked, and so not reached.", "no"))
        self.assert_one("say why")

    def test_linked_after_all(self):
        advisory = {"library": "mbedtls", "id": "CVE-1", "first": "3.6.0", "last": "3.6.7", "verdict": "none",
                    "why": "x" * 40, "absent": ["iconv"]}
        report = check_advisories.gate.Report()
        check_advisories.check_one(report, advisory, {"mbedtls": ["3.6.7"]}, {"iconv", "main"})
        self.assertIn("iconv()", report.findings[0])

    def tracked(self, **cves):
        """Findings beside a tracker that has these CVEs of mbedtls; nothing of the others concerns anything."""
        self.listed("2026-11-26", ENTRY)
        path = self.root / check_advisories.LIST
        path.write_text(path.read_text().replace('versions = ["1.0"]\n', "", 1))    # mbedtls: only what is pinned
        fixed = {"releases": {"sid": {"status": "resolved", "fixed_version": "0"}}}
        data = {"mbedtls": cves, "nanopb": {"CVE-8": fixed}, "musl": {"CVE-9": fixed}}
        self.write("tracker.json", json.dumps(data))
        report = check_advisories.check(self.root, TODAY)
        check_advisories.check_tracker(report, self.root, self.root / "tracker.json")
        return report.findings

    def test_tracker(self):
        """What is open, or fixed later than the accepted release, needs a verdict; 0 means never affected."""
        for status, version, found in (("open", None, 1), ("undetermined", None, 1), ("resolved", "3.6.8-1", 1),
                                       ("resolved", "3.6.7-2", 1), ("resolved", "3.6.7-1", 0),
                                       ("resolved", "3.6.6-0.1", 0), ("resolved", "0", 0)):
            with self.subTest(status=status, version=version):
                release = {"status": status, **({"fixed_version": version} if version else {})}
                entry = {"description": "one", "releases": {"sid": release, "bookworm": {"status": "open"}}}
                findings = self.tracked(**{"CVE-2": entry})
                self.assertEqual(len(findings), found, findings)
                self.assertTrue(all("CVE-2 concerns mbedtls 3.6.7" in line for line in findings))
                self.assertEqual(self.tracked(**{"CVE-1": entry}), [])

    def test_tracker_without_sid(self):
        entry = {"releases": {"trixie": {"status": "resolved", "fixed_version": "3.6.7-1"},
                              "bookworm": {"status": "open"}}}
        self.assertEqual(len(self.tracked(**{"CVE-2": entry})), 1)

    def test_tracker_of_something_else(self):
        found = self.tracked()
        self.assertIn("has nothing about mbedtls", found[0])

    def test_the_repository(self):
        listed, versions = check_advisories.read(ROOT)
        self.assertEqual(check_advisories.check(ROOT, listed["looked"]).findings, [])
        self.assertTrue(all(versions.values()))


if __name__ == "__main__":
    unittest.main()
