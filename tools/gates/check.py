#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make check`: every gate, each with one line that says what it looked at, and one total at the end.

The gates are the checker modules tools/*/check_*.py, the compilation with all warnings, the comparison of generated
files, and the checkers' own tests. None is left out when another fails.

  tools/gates/check.py --fast    `make check-fast`: the gates that read sources alone, side by side, and the warnings of
                                 the C files that differ from HEAD; within ten seconds, for each commit
"""

import concurrent.futures
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

TOOLS = gate.ROOT / "tools"
# Gates that read sources alone, the slow ones first.
SOURCE_GATES = ("scripts", "reuse", "tree", "style", "format", "headers", "limits", "deviations", "flags",
                "requirements", "threats", "docs", "matrix", "commits")
CHANGED_MAX = 16  # C files that `make check-fast` compiles


def run_make(*targets):
    """A make of its own: flags and job server of the one that called stay out of it."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return subprocess.run(["make", "--no-print-directory", "--keep-going", *targets], cwd=gate.ROOT, env=env,
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
    done = subprocess.run([sys.executable, str(TOOLS / "build/generate.py"), "--check"], text=True,
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


# name -> function. These run first, one by one: each uses all processors, and the others read what they make.
FIRST_GATES = {"build": check_build, "warnings": check_warnings, "analyses": check_analyses}


def reading_gates():
    """name -> function, or None for the module check_NAME; the slow one first."""
    modules = sorted(path.stem.removeprefix("check_") for path in TOOLS.glob("*/check_*.py"))
    return {"checkers": check_checkers, **dict.fromkeys(modules), "generated": check_generated}


def changed_sources():
    """C files of the product, the tests and the boards that differ from HEAD."""
    differ = gate.run(["git", "diff", "--name-only", "--diff-filter=d", "HEAD"], cwd=gate.ROOT).split()
    fresh = gate.run(["git", "ls-files", "--others", "--exclude-standard"], cwd=gate.ROOT).split()
    folders = ("src/", "boards/", "tests/unit/", "tests/sim/", "tests/fuzz/", "tests/interop/")
    return sorted(name for name in {*differ, *fresh} if name.endswith(".c") and name.startswith(folders))


def check_changed():
    changed = changed_sources()
    if not changed or len(changed) > CHANGED_MAX:
        report = gate.Report()
        report.looked_at = f"{len(changed)} changed C files: " + ("make check compiles them" if changed else "none")
        return report
    done = run_make(*(f"build/obj/check/{pathlib.Path(name).with_suffix('.o')}" for name in changed))
    return only_diagnostics(report_process(done, f"{len(changed)} changed C files with all warnings as errors"))


def check_defects():
    done = subprocess.run([sys.executable, str(TOOLS / "fuzz/defects.py"), "--dry-run"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return report_process(done, "seeded mistakes fit their files, two or more for each fuzz target")


def fast_gates():
    """name -> function, the slow ones first."""
    return {"warnings": check_changed, **dict.fromkeys(SOURCE_GATES), "generated": check_generated,
            "defects": check_defects}


def run_gate(name, function):
    """(name, report, seconds); a gate without a function is the module of its name."""
    begin = time.monotonic()
    try:
        report = function() if function else __import__(f"check_{name}").check(gate.ROOT)
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError, IndexError) as error:
        report = gate.Report()
        report.add(name, f"the checker itself failed: {error!r}")
    return name, report, time.monotonic() - begin


def run_side_by_side(named):
    """Yields in the given order."""
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for run in [pool.submit(run_gate, name, function) for name, function in named.items()]:
            yield run.result()


def show(name, report, seconds):
    """Prints a gate's line and findings; whether there are none."""
    good = not report.findings
    print(f"  {'ok  ' if good else 'FAIL'}  {name:<10} {report.looked_at} ({seconds:.1f} s)")
    report.show()
    sys.stdout.flush()
    return good


def main():
    sys.dont_write_bytecode = True
    gate.open_rooms()
    begin = time.monotonic()
    fast = sys.argv[1:] == ["--fast"]
    if sys.argv[1:] and not fast:
        sys.exit(__doc__)
    verdicts = []
    if not fast:
        verdicts += [show(*run_gate(name, function)) for name, function in FIRST_GATES.items()]
    verdicts += [show(*run) for run in run_side_by_side(fast_gates() if fast else reading_gates())]
    print(f"{'check-fast' if fast else 'check'}: {sum(verdicts)} passed, {verdicts.count(False)} failed"
          + (f" ({time.monotonic() - begin:.1f} s)" if fast else ""))
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
