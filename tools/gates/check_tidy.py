#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy 19 over every product source, as cfg/lint/clang-tidy says."""

import sys

import gate
import lint

CONFIG = gate.ROOT / "cfg/lint/clang-tidy"
TOOL = "clang-tidy-19"


def jobs(root):
    config = CONFIG.read_text()
    for path in lint.sources(root):
        yield lint.Job("tidy", str(path), [TOOL, "--quiet", f"--config={config}", str(path), "--",
                                           *lint.flags(root)], [path])


def describe(finding):
    return f"{finding.text} [{finding.rule}]"


def check(root):
    report = gate.Report()
    wanted = list(jobs(root))
    texts, _ = lint.run_jobs(root, wanted)
    findings = [finding for text in texts for finding in lint.read_findings(root, text)]
    unique = {finding.key(): finding for finding in findings}.values()
    deviations = lint.judge(report, root, "tidy", unique, describe)
    report.looked_at = f"{len(wanted)} sources, {deviations} deviations"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
