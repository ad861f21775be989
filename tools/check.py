#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make check`: every gate, each with one line that says what it looked at, and one total at the end.

The gates are the checker modules tools/check_*.py, the compilation with all warnings, the comparison of generated
files, and the checkers' own tests. None is left out when another fails.
"""

import os
import pathlib
import subprocess
import sys
import time

import check_analysers
import check_misra
import check_tidy
import gate
import lint

HERE = pathlib.Path(__file__).resolve().parent


def run_make(target):
    """A make of its own: flags and job server of the one that called stay out of it."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return subprocess.run(["make", "--no-print-directory", "--keep-going", target], cwd=gate.ROOT, env=env,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def report_process(done, looked_at):
    report = gate.Report()
    report.looked_at = looked_at
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        report.findings = lines or [f"exit {done.returncode}"]
    return report


def only_diagnostics(report):
    """Errors before the notes that explain them, without the lines of make."""
    first = [line for line in report.findings if "error:" in line or "warning:" in line]
    if first:
        report.findings = first
    return report


def check_warnings():
    done = run_make("check-objects")
    count = len(list((gate.ROOT / "build/obj/check").rglob("*.o")))
    return only_diagnostics(report_process(done, f"{count} objects with all warnings as errors"))


def check_build():
    return only_diagnostics(report_process(run_make("all"), "build/neuron-dra-agent and its twin"))


def check_generated():
    done = subprocess.run([sys.executable, str(HERE / "generate.py"), "--check"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    count = len(list((gate.ROOT / "generated").iterdir()))
    return report_process(done, f"{count} files against a fresh generation")


def check_analyses():
    """Runs the slow tools side by side; their gates read what this keeps."""
    jobs = [job for module in (check_misra, check_tidy, check_analysers) for job in module.jobs(gate.ROOT)]
    report = gate.Report()
    _, kept = lint.run_jobs(gate.ROOT, jobs)
    report.looked_at = f"{len(jobs)} analyses, {kept} of them unchanged"
    return report


def check_checkers():
    done = subprocess.run([sys.executable, "-m", "unittest", "discover", "-s", "tests/gates"], cwd=gate.ROOT,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    lines = done.stdout.strip().splitlines()
    ran = next((line for line in lines if line.startswith("Ran ")), "no tests")
    report = report_process(done, ran.lower())
    if ran.startswith(("Ran 0", "no")):
        report.findings.append("tests/gates: no test ran")
    return report


def gates():
    """(name, function) in the order in which they run: objects first, because others read them."""
    yield "build", check_build
    yield "warnings", check_warnings
    yield "analyses", check_analyses
    for path in sorted(HERE.glob("check_*.py")):
        module = __import__(path.stem)
        yield path.stem.removeprefix("check_"), lambda module=module: module.check(gate.ROOT)
    yield "generated", check_generated
    yield "checkers", check_checkers


def main():
    sys.dont_write_bytecode = True
    passed = failed = 0
    for name, function in gates():
        begin = time.monotonic()
        try:
            report = function()
        except (OSError, subprocess.CalledProcessError, ValueError, KeyError, IndexError) as error:
            report = gate.Report()
            report.add(name, f"the checker itself failed: {error!r}")
        seconds = time.monotonic() - begin
        good = not report.findings
        print(f"  {'ok  ' if good else 'FAIL'}  {name:<10} {report.looked_at} ({seconds:.1f} s)")
        report.show()
        sys.stdout.flush()
        passed, failed = passed + good, failed + (not good)
    print(f"check: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
