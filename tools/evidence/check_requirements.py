#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Requirements, code and tests lead to each other: each requirement names code and tests that exist, each C file of the
agent belongs to a requirement, a fuzz target or a named test checks each numbered invariant of a header, and a
requirement or a threat names each fuzz target and each proof."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import check_threats  # noqa: E402
import gate  # noqa: E402
import requirements  # noqa: E402

NAME = re.compile(r"[A-Z]+-[1-9]\d*")
KEYS = {"text", "source", "code", "shown"}
# What shows something as a whole file: kind of reference, where, what the name of the file has before its own.
WHOLE_FILES = (("fuzz", "tests/fuzz/fuzz_*.c", "fuzz_"), ("proof", "tests/proofs/*.c", ""))


def check_one(report, root, one):
    place = f"{requirements.LIST}: {one.name}"
    if not NAME.fullmatch(one.name) or not one.text.endswith("."):
        report.add(place, "a name is WORD-NUMBER, and its text a sentence")
    if one.source != "review" and not (root / one.source).is_file():
        report.add(place, f"there is no source {one.source}: name a document, or 'review'")
    for path in one.code:
        if not ((root / path).is_dir() if path.endswith("/") else (root / path).is_file()):
            report.add(place, f"there is no code {path}")
    if not one.code or not one.shown:
        report.add(place, "no code does it, or nothing shows it: name both, or remove it")
    for reference in one.shown:
        wrong = requirements.fault(root, reference)
        if wrong:
            report.add(place, wrong)


def check_invariants(report, root, listed):
    claims, unknown = requirements.read_claims(root)
    for place, text in unknown:
        report.add(place, f"{text}: name an invariant that exists")
    known = {one.name: one for one in requirements.read_invariants(root, listed)}
    for key, references in listed.items():
        place = f"{requirements.LIST}: {key}"
        if key not in known:
            report.add(place, "there is no such invariant")
        elif key in claims:
            report.add(place, f"{claims[key][0]} checks it: remove the entry")
        for wrong in filter(None, (requirements.fault(root, reference) for reference in references)):
            report.add(place, wrong)
    for key, one in known.items():
        if not one.shown:
            report.add(key.split()[0], f"nothing checks {key.split()[1]}: name it in the head of a fuzz target, or "
                                       f"a test of it in [invariants] of {requirements.LIST}")
    return known


def check_unnamed(report, root, listed):
    """Each fuzz target and each proof shows something that a requirement or a threat names."""
    named = {reference for one in listed for reference in one.shown}
    named |= {reference for *_, references in check_threats.read(root) for reference in references}
    for kind, pattern, prefix in WHOLE_FILES:
        for path in sorted(root.glob(pattern)):
            reference = f"{kind} {path.stem.removeprefix(prefix)}"
            if reference not in named:
                report.add(path.relative_to(root), f"no requirement and no threat names it: add '{reference}' to "
                                                   f"{requirements.LIST} or {check_threats.PAGE}")


def check(root):
    root = pathlib.Path(root)
    report = gate.Report()
    try:
        listed, invariants = requirements.read_listed(root)
    except TypeError as error:
        report.add(requirements.LIST, f"each entry has the keys {', '.join(sorted(KEYS))}: {error}")
        return report
    for one in listed:
        check_one(report, root, one)
    check_unnamed(report, root, listed)
    known = check_invariants(report, root, invariants)
    code = {path for one in (*listed, *known.values()) for path in one.code}
    folders = tuple(path for path in code if path.endswith("/"))
    for path in requirements.sources(root):
        if path not in code and not path.startswith(folders):
            report.add(path, f"it belongs to no requirement: name it in {requirements.LIST}")
    report.looked_at = f"{len(listed)} requirements, {len(known)} invariants, {len(requirements.sources(root))} C files"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
