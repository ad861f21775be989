# SPDX-License-Identifier: Apache-2.0
"""The recorded situations of servers' certificates are those of the sources that make them."""

import hashlib
import re
import unittest
import zipfile

from test_gates import ROOT

VERDICT = ROOT / "tests/conformance/verdict"
ARCHIVE = ROOT / "tests/vectors/x509/situations.zip"


def sources_sum():
    """As sourcesSum of vectors_test.go."""
    listed = re.search(r"^var vectorSources = \[\]string\{(.*)\}$", (VERDICT / "vectors_test.go").read_text(), re.M)[1]
    total = hashlib.sha256()
    for name in re.findall(r'"([^"]+)"', listed):
        total.update((VERDICT / name).read_bytes())
    return total.hexdigest()


class Recorded(unittest.TestCase):
    def test_from_the_sources_of_today(self):
        with zipfile.ZipFile(ARCHIVE) as archive:
            self.assertEqual(archive.read("sources").decode(), sources_sum(), "run: make x509-vectors")


if __name__ == "__main__":
    unittest.main()
