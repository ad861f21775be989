#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make test`: its parts, each as a make of its own, with one summary at the end.

The programs of the cluster take minutes to build the first time: that goes on beside the parts that need none of
them. Output of a part goes to build/test/PART.log; its last lines are shown, and more when it fails.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test"
SHOWN_LINES = 80  # of the log of a part that failed


def run_part(name, k8s):
    """(name, passed, seconds, last line) of one make target."""
    begin = time.monotonic()
    # Flags and job server of the make that called stay out: each part is a make of its own.
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    log = LOGS / f"{name}.log"
    with open(log, "wb") as out:
        done = subprocess.run(["make", "--no-print-directory", name, f"K8S={k8s}"], cwd=ROOT, env=env,
                              stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                              check=False)
    seconds = time.monotonic() - begin
    lines = log.read_text(errors="replace").splitlines()
    if done.returncode:
        print(f"--- {name} failed: last lines of {log.relative_to(ROOT)}")
        print("\n".join(lines[-SHOWN_LINES:]))
    words = [line for line in lines if line.strip() and not line.startswith("make")]
    last = words[-1] if words else "no output"
    print(f"{name}: {'ok' if done.returncode == 0 else 'FAILED'} after {seconds:.0f} s: {last}", flush=True)
    return name, done.returncode == 0, seconds, last


def run_all(names, k8s):
    return [run_part(name, k8s) for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k8s", required=True, help="Kubernetes release of the cluster")
    k8s = parser.parse_args().k8s
    LOGS.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        programs = pool.submit(run_all, ["cluster-programs"], k8s)
        results = run_all(["check", "unit", "sanitize", "coverage", "sim"], k8s)
        results += run_all(["fuzz", "fuzz-coverage", "fuzz-defects"], k8s)
        programs = programs.result()
    # These start agents and measure nothing, but have deadlines: the machine is theirs.
    results += run_all(["demo", "conformance", "abuse", "e2e"], k8s)
    print("\nsummary")
    for name, passed, seconds, last in programs + results:
        print(f"  {'ok  ' if passed else 'FAIL'}  {name:<17} {seconds:5.0f} s  {last.strip()}")
    failed = sum(not passed for _, passed, _, _ in results)
    print(f"test: {len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
