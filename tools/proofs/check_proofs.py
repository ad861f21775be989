#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Functions that read bytes of a peer or of a disk: each has a proof, or a reason why not; quick proofs hold.

The list comes from the code (reading_functions.py). A function on it stands in `functions` of a proof in
tests/proofs/*.toml, which the proof then has to enter, or in tests/proofs/exceptions.toml with what stands in for a
proof. Proofs marked quick are run if what they read has changed, for QUICK_SECONDS in all; `make proofs` runs the rest.
"""

import pathlib
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import gate  # noqa: E402
import proof_report  # noqa: E402
import prove  # noqa: E402
import reading_functions  # noqa: E402

EXCEPTIONS = "tests/proofs/exceptions.toml"
STANDS_IN = {"fuzz": "tests/fuzz/fuzz_{}.c", "unit": "tests/unit/test_{}.c"}


def load_exceptions(root):
    """[(file, function, exception)]"""
    path = pathlib.Path(root) / EXCEPTIONS
    return [(one["file"], function, one) for one in tomllib.loads(path.read_text())["exception"]
            for function in one["functions"]]


def check_list(report, listed, proofs, exceptions):
    """Each listed function has a proof or an exception, not both; no exception is left over."""
    proved = {(name, function) for proof in proofs.values() for name in proof_report.sources_of(proof)
              for function in proof["functions"]}
    excepted = {(name, function) for name, function, _ in exceptions}
    names = {(name, function) for name, _, function in listed}
    for name, line, function in listed:
        known = ((name, function) in proved) + ((name, function) in excepted)
        if known == 0:
            report.add(f"{name}:{line}", f"{function} reads bytes of others and has neither a proof in tests/proofs "
                       f"nor an entry in {EXCEPTIONS}: tests/proofs/README.md says how to add one")
        elif known == 2:
            report.add(EXCEPTIONS, f"{function} of {name} has a proof: remove the entry")
    for name, function in sorted(excepted - names):
        report.add(EXCEPTIONS, f"{function} of {name} is no function that reads bytes: remove the entry")


def check_reasons(report, root, exceptions):
    for name, function, one in exceptions:
        kind, _, target = one.get("stands_in", "").partition(":")
        if kind not in STANDS_IN or not (pathlib.Path(root) / STANDS_IN[kind].format(target)).exists():
            report.add(EXCEPTIONS, f"{function} of {name}: stands_in '{one.get('stands_in', '')}' is neither fuzz:NAME "
                       "nor unit:NAME of this tree")
        if len(one.get("reason", "")) < 20:
            report.add(EXCEPTIONS, f"{function} of {name}: say in `reason` why CBMC cannot")


def check_defects(report, proofs, defects):
    """A source with a proof has a seeded defect."""
    seeded = {defect["file"] for defect in defects}
    for name in sorted({name for proof in proofs.values() for name in proof_report.sources_of(proof)} - seeded):
        report.add("tests/proofs/defects.toml", f"no defect of {name}: nothing shows that its proofs can fail")


def check(root):
    report = gate.Report()
    proofs = prove.load()
    listed = reading_functions.reading_functions(root)
    exceptions = load_exceptions(root)
    check_list(report, listed, proofs, exceptions)
    check_reasons(report, root, exceptions)
    check_defects(report, proofs, prove.load_defects())
    for text in prove.misfits(proofs):
        report.add("tests/proofs", text)
    results, unchanged, left = ([], 0, 0) if report.findings else prove.quick_results(proofs, 2)
    for result in results:
        for text in result["failures"]:
            report.add(f"proof {result['name']}", text)
    report.looked_at = (f"{len(listed)} functions that read bytes, {len(exceptions)} without a proof, by reason; "
                        f"quick proofs: {len(results)} run, {unchanged} unchanged, {left} left for make proofs")
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
