#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each number of cfg/limits*.h says what it bounds, why, and what is seen when it is reached, and bounds something.

Used means: by code of the product (src, boards), itself or through another limit that is. Tests and the sums of
cfg/budget.h do not count: a number that only they name bounds nothing.

A comment covers the numbers that follow it without an empty line, and has at least six words. Whether they say enough
is for a reader to judge.
"""

import pathlib
import re
import sys

import gate

LIMITS = "cfg/limits.h"
# The main file and its parts.
PARTS = "limits*.h"
# An include guard is no limit.
GUARD = re.compile(r"CFG_LIMITS_(\w+_)?H")
WORDS_MIN = 6


class Limit:
    def __init__(self, name, place, value, comment):
        self.name, self.place, self.value = name, place, value
        self.comment = " ".join(re.sub(r"[/*]+", " ", comment).split())


def read_limits(path, text):
    """The limits of the file, each with the comment above it, above the group it stands in, or beside it."""
    above, in_comment, after_limit = "", False, False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        found = re.match(r"#\s*define\s+(\w+)\s*(.*)", stripped)
        if found and not GUARD.fullmatch(found[1]):
            value, _, beside = found[2].partition("/*")
            yield Limit(found[1], f"{path}:{number}", value, above + " " + beside)
            after_limit = True
        elif in_comment or stripped.startswith("/*"):
            if not in_comment and (after_limit or re.match(r"/\*\s*-{2,}", above)):
                above = ""
            after_limit = False
            # A heading of dashes groups limits, it explains none.
            if not re.match(r"/\*\s*-{2,}", stripped):
                above += " " + stripped
            in_comment = "*/" not in stripped
        elif not stripped:
            above = ""


def used_names(root, limits):
    """Names that the product's code uses, and those that these are made of."""
    names = set()
    for path in gate.own_c_files(root, ("src", "boards")):
        names |= set(re.findall(r"\w+", gate.code_only((pathlib.Path(root) / path).read_text())))
    made_of = {limit.name: set(re.findall(r"\w+", limit.value)) for limit in limits}
    queue = [name for name in made_of if name in names]
    while queue:
        fresh = made_of[queue.pop()] & made_of.keys() - names
        names |= fresh
        queue += fresh
    return names


def check_comment(report, limit):
    if len(limit.comment.split()) < WORDS_MIN:
        report.add(limit.place, f"{limit.name}: say above it what it bounds, why this value, and what is seen when "
                                "it is reached")


def check(root):
    report = gate.Report()
    paths = sorted((pathlib.Path(root) / LIMITS).parent.glob(PARTS))
    if not paths:
        report.add(LIMITS, "is not there")
        return report
    limits = [limit for path in paths for limit in read_limits(path.relative_to(root), path.read_text())]
    used = used_names(root, limits)
    names = set()
    for limit in limits:
        check_comment(report, limit)
        if limit.name not in used:
            report.add(limit.place, f"{limit.name}: nobody uses it in src or boards: use it or remove it")
        if limit.name in names:
            report.add(limit.place, f"{limit.name}: defined twice")
        names.add(limit.name)
    if not limits:
        report.add(LIMITS, "holds no limit: the check reads the wrong file")
    report.looked_at = f"{len(limits)} limits"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
