#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each number of cfg/limits.h has its reason in a comment, and somebody uses it."""

import pathlib
import re
import sys

import gate

LIMITS = "cfg/limits.h"
# An include guard is no limit.
GUARD = "CFG_LIMITS_H"


def read_limits(text):
    """(name, line, has a comment): one above it, above the group it stands in, or beside it."""
    commented = in_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        found = re.match(r"#\s*define\s+(\w+)", stripped)
        if found and found[1] != GUARD:
            yield found[1], number, commented or "/*" in stripped
        elif in_comment or stripped.startswith("/*"):
            # A heading of dashes groups limits, it explains none.
            commented = commented if in_comment else not re.match(r"/\*\s*-{2,}", stripped)
            in_comment = "*/" not in stripped
        elif not stripped:
            commented = False


def used_names(root):
    names = set()
    for path in gate.own_c_files(root, ("src", "boards", "cfg")):
        text = gate.code_only((pathlib.Path(root) / path).read_text())
        if str(path) == LIMITS:
            # A limit that only makes up another one is used as well.
            text = re.sub(r"^\s*#\s*define\s+\w+", "", text, flags=re.M)
        names |= set(re.findall(r"\w+", text))
    return names


def check(root):
    report = gate.Report()
    path = pathlib.Path(root) / LIMITS
    if not path.exists():
        report.add(LIMITS, "is not there")
        return report
    used = used_names(root)
    limits = list(read_limits(path.read_text()))
    for name, line, commented in limits:
        if not commented:
            report.add(f"{LIMITS}:{line}", f"{name}: say above it what it bounds, why this value, "
                                           "and what is seen when it is reached")
        if name not in used:
            report.add(f"{LIMITS}:{line}", f"{name}: nobody uses it: use it or remove it")
    if not limits:
        report.add(LIMITS, "holds no limit: the check reads the wrong file")
    report.looked_at = f"{len(limits)} limits"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
