#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The path-sensitive analysers of gcc and of clang 19 over every product source."""

import sys

import gate
import lint

GCC = "gcc"
CLANG = "clang-19"
GCC_FLAGS = ["-O1", "-fanalyzer", "-c", "-o", "/dev/null", "-fdiagnostics-plain-output"]
CLANG_FLAGS = ["--analyze", "--analyzer-output", "text", "-Wno-unused-command-line-argument"]
# States that clang visits in one function; the default of 225000 took three times as long and found the same.
NODES_MAX = 50000
# On top of the checkers that are on by themselves (core, deadcode, unix).
CHECKERS = ["nullability", "security", "optin.core", "optin.portability", "optin.taint",
            "alpha.core.CastToStruct", "alpha.core.TestAfterDivZero",
            "alpha.unix.cstring.OutOfBounds", "alpha.unix.cstring.BufferOverlap",
            "alpha.unix.cstring.NotNullTerminated"]
# Wants the _s functions of C11's Annex K, which no C library here has.
NO_CHECKERS = ["security.insecureAPI.DeprecatedOrUnsafeBufferHandling"]


def jobs(root):
    chosen = [word for name in CHECKERS for word in ("-Xclang", f"-analyzer-checker={name}")]
    chosen += [word for name in NO_CHECKERS for word in ("-Xclang", f"-analyzer-disable-checker={name}")]
    chosen += ["-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={NODES_MAX}"]
    for path in lint.sources(root):
        yield lint.Job("gcc", str(path), [GCC, *GCC_FLAGS, *lint.flags(root), str(path)], [path])
        yield lint.Job("clang", str(path), [CLANG, *CLANG_FLAGS, *chosen, *lint.flags(root), str(path)], [path])


def describe(finding):
    return f"{finding.text} [{finding.rule}]"


def check(root):
    report = gate.Report()
    wanted = list(jobs(root))
    texts, _ = lint.run_jobs(root, wanted)
    deviations = 0
    for tool in ("gcc", "clang"):
        found = {}
        for job, text in zip(wanted, texts):
            if job.tool == tool:
                found |= {finding.key(): finding for finding in lint.read_findings(root, text)}
        deviations += lint.judge(report, root, tool, found.values(), describe)
    report.looked_at = f"{len(wanted) // 2} sources by two analysers, {deviations} deviations"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
