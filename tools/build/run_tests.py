#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make test`: its parts, each as a make of its own, with one summary at the end.

First two at a time: the parts that only compute (CPU_PARTS), beside the building of the cluster's programs, which
takes minutes the first time, the tests on the cluster and of hostile peers, which mostly wait, and other parts that
take their time (BESIDE_PARTS). Those that compute have the lowest priority: the tests beside them have the processor
whenever they need it, and meet their deadlines. The last ones (ALONE_PARTS) measure, or need all that the machine has.
Output of a part goes to build/test/PART.log; its last line is shown, and more when it fails. The summary at the end
says why: with it, the last SUMMARY_LINES lines of the output tell all that one has to know.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

import failures

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "test"
SHOWN_LINES = 80    # of the log of a part that failed
SUMMARY_LINES = 36  # at most, unless nearly all fail
CPU_PARTS = ("check", "unit", "sanitize", "coverage", "sim", "crash", "fuzz", "fuzz-coverage", "fuzz-defects",
             "mutants-sample")
# image-test and chart-test need helm, which is one of the cluster's programs.
BESIDE_PARTS = ("cluster-programs", "e2e", "deps-mirrors", "image-test", "chart-test", "abuse")
ALONE_PARTS = ("bench-smoke", "demo", "conformance")
NICE = 19           # of the parts that only compute


def repeated(name):
    """Tests of a part that failed, ran once more by themselves and passed: a line that names them, or empty."""
    tests = {}
    for report in LOGS.glob(f"{name}*.reruns"):
        for line in report.read_text().splitlines():
            test, _, counts = line.partition(": ")
            tests[test] = counts
    return ", ".join(f"{test} ({counts})" for test, counts in sorted(tests.items()))


def run_part(name, k8s):
    """(name, seconds, last line, reasons) of one make target; no reasons: it passed."""
    for report in LOGS.glob(f"{name}*.reruns"):
        report.unlink()
    begin = time.monotonic()
    # Flags and job server of the make that called stay out: each part is a make of its own.
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    log = LOGS / f"{name}.log"
    with open(log, "wb") as out:
        lowered = ["nice", f"-n{NICE}"] if name in CPU_PARTS else []
        done = subprocess.run([*lowered, "make", "--no-print-directory", name, f"K8S={k8s}"], cwd=ROOT, env=env,
                              stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                              check=False)
    seconds = time.monotonic() - begin
    lines = log.read_text(errors="replace").splitlines()
    why = failures.reasons(lines) if done.returncode else []
    if why:
        print("\n".join([f"--- {name} failed: last lines of {log.relative_to(ROOT)}", *lines[-SHOWN_LINES:],
                         f"--- {name} failed: reasons in it", *why]))
    words = [line for line in lines if line.strip() and not line.startswith("make")]
    last = words[-1].strip() if words else "no output"
    print(f"{name}: {'FAILED' if why else 'ok'} after {seconds:.0f} s: {last[:failures.COLUMNS]}", flush=True)
    return name, seconds, last, why


def run_all(names, k8s):
    return [run_part(name, k8s) for name in names]


def summarise(results):
    failed = [name for name, _, _, why in results if why]
    room = max(2, (SUMMARY_LINES - len(results) - 3) // max(len(failed), 1))
    print("\nsummary")
    for name, seconds, last, why in results:
        print(f"  {'FAIL' if why else 'ok  '}  {name:<17} {seconds:5.0f} s  {'' if why else last[:failures.COLUMNS]}")
        for line in failures.shortened(why, room):
            print(f"        {line}")
        if not why and repeated(name):
            print(f"        passed at the second try: {repeated(name)[:failures.COLUMNS]}")
    print(f"test: {len(results) - len(failed)} passed, {len(failed)} failed"
          + (": " + ", ".join(failed) if failed else ""))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k8s", required=True, help="Kubernetes release of the cluster")
    k8s = parser.parse_args().k8s
    LOGS.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        beside = pool.submit(run_all, BESIDE_PARTS, k8s)
        results = run_all(CPU_PARTS, k8s)
        results = beside.result() + results
    return summarise(results + run_all(ALONE_PARTS, k8s))


if __name__ == "__main__":
    sys.exit(main())
