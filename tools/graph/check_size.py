#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program against the size ledger: no layer or library grows by more than 2 % without the ledger saying so.

tools/graph/size.py says how bytes are counted. The ledger holds for the processor and compiler that it was written
with; another compiler's build is measured and not compared.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import gate  # noqa: E402
import size  # noqa: E402

ENFORCED = True  # False: what is found is counted in the line of the gate, and fails nothing
REMEDY = f"run 'make size UPDATE=1', commit {size.LEDGER}, and say in the change why"


def judge(report, kept, new):
    """Findings of one build against one ledger."""
    for layer, kind, old, now in size.growths(kept, new):
        percent = f" ({100 * (now - old) / old:.1f} %)" if old else ""
        report.add(layer, f"{kind} grew from {old} to {now} bytes{percent}: {REMEDY}")
    for layer in kept["layers"]:
        if layer not in new["layers"]:
            report.add(layer, f"stands in the ledger and has no bytes any more: {REMEDY}")


def check(root, enforced=None):
    report = gate.Report()
    kept = size.read_ledger(root)
    if not all((pathlib.Path(root) / name).exists() for name in (size.PROGRAM, size.DEBUG)):
        report.add(size.PROGRAM, "is not there: run 'make'")
        return report
    new = size.current(root)
    if kept is None:
        report.add(size.LEDGER, f"is not there: {REMEDY}")
    elif (kept["machine"], kept["compiler"]) == (new["machine"], new["compiler"]):
        judge(report, kept, new)
    text = sum(kinds[kind] for kinds in new["layers"].values() for kind in size.KINDS if kind != "bss")
    report.looked_at = f"{text} bytes of code and constants in {len(new['layers'])} layers and libraries"
    if kept and (kept["machine"], kept["compiler"]) != (new["machine"], new["compiler"]):
        report.looked_at += (f"; not compared: the ledger is of gcc {kept['compiler']} on {kept['machine']}, "
                             f"this is gcc {new['compiler']} on {new['machine']}")
    if not (ENFORCED if enforced is None else enforced):
        report.looked_at += f"; {len(report.findings)} findings, not enforced yet"
        report.findings = []
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
