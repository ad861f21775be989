#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the cases that depend on Kubernetes' versions on every combination of them that is kept
working: releases of the control plane and of the kubelet, versions of resource.k8s.io.

Owns the table of combinations and the list of cases; the cases themselves are those of tests/e2e. One
row after another, each on a cluster of its own; output in build/e2e/matrix/<row>.log. With --update
the results go into README.md beside this file.
"""
import argparse
import os
import re
import signal
import sys
import time
from dataclasses import dataclass

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build  # noqa: E402
import e2e  # noqa: E402
import results  # noqa: E402

DRA_ON = "DynamicResourceAllocation=true"      # off by default before 1.34


@dataclass(frozen=True)
class Row:
    """One combination. `agent_served` is what a second API server on the same etcd serves, the one
    that the agent, kubectl and the tests use; without one everybody shares `served`."""
    name: str
    control_plane: str
    kubelet: str
    served: tuple
    agent_served: tuple = ()
    gates: str = ""

    @property
    def setup(self):
        """Arguments of `cluster.py up`."""
        other = ["--kubelet", self.kubelet] if self.kubelet != self.control_plane else []
        return ["--k8s", self.control_plane, *other, "--serve", ",".join(self.served),
                "--agent-serve", ",".join(self.agent_served), "--feature-gates", self.gates]

    def __str__(self):
        served = "+".join(self.served)
        if self.agent_served:
            served += " (to the agent only " + "+".join(self.agent_served) + ")"
        return (f"{self.name}: control plane {self.control_plane}, kubelet {self.kubelet}, "
                f"resource.k8s.io {served}" + (f", {self.gates}" if self.gates else ""))


ALL = ("v1", "v1beta2", "v1beta1")
ROWS = (
    #   name                      control plane  kubelet    served       to the agent  feature gates
    Row("whole-1.37",             "1.37.2",      "1.37.2",  ("v1",)),
    Row("whole-1.37-v1beta1",     "1.37.2",      "1.37.2",  ALL,         ("v1beta1",)),
    Row("kubelet-1.36",           "1.37.2",      "1.36.3",  ("v1",)),
    Row("kubelet-1.35",           "1.37.2",      "1.35.4",  ("v1",)),
    Row("whole-1.36",             "1.36.3",      "1.36.3",  ("v1",)),
    Row("whole-1.35",             "1.35.4",      "1.35.4",  ("v1",)),
    Row("whole-1.34",             "1.34.4",      "1.34.4",  ("v1",)),
    Row("whole-1.34-v1beta2",     "1.34.4",      "1.34.4",  ALL,         ("v1beta2",),
        "ResourceHealthStatus=true"),
    Row("whole-1.33-v1beta1",     "1.33.13",     "1.33.13", ("v1beta1",), (),         DRA_ON),
    Row("whole-1.33-both-betas",  "1.33.13",     "1.33.13", ALL[1:],     (),          DRA_ON),
    Row("kubelet-1.33",           "1.36.3",      "1.33.13", ALL,         (),          DRA_ON),
    Row("kubelet-1.33-v1beta1",   "1.36.3",      "1.33.13", ALL,         ("v1beta1",), DRA_ON),
)

# By the names that go test prints. What depends on no version is left to `make e2e`.
CASES = (
    "TestTrn2/attributes", "TestTrn2/one device", "TestTrn2/LNC 1", "TestTrn2/LNC 2",
    "TestTrn2/misspelt field", "TestTrn2/slice deleted by hand", "TestTrn2/slice edited by hand",
    "TestTrn2/agent killed while three pods run", "TestTrn2/kubelet restarted",
    "TestTrn1/attributes", "TestTrn1/one device", "TestTrn1/LNC is refused",
    "TestVersions/served by the API server", "TestVersions/written by the agent",
    "TestVersions/called by the kubelet", "TestZLog",
    "TestDeviceMetadata/a pod reads its devices, its container restarts",
    "TestChartValues", "TestChart/a pod with a claim runs", "TestChart/helm test",
    "TestChart/misspelt configurations are refused",
    "TestChart/right configurations are accepted", "TestChart/slices of other nodes are refused",
)
# Consumable capacity is on by default from 1.36 on, and claims can ask for it from 1.34 on. An agent that is not served
# v1 publishes exclusive devices, and claims that ask for cores find none where the scheduler has the gate on: no case
# is for that.
SHARING = ("TestCoreShares", "TestCoreSharesWhole")
NOT_SHARING = ("TestCoreSharesOff",)
SHOWN_LINES = 60


def cases_of(row):
    """The cases of a row."""
    minor = int(row.control_plane.split(".")[1])
    if minor < 36:
        return CASES + (NOT_SHARING if minor >= 34 else ())
    return CASES + (SHARING if "v1" in (row.agent_served or row.served) else ())


def pattern(cases):
    """The cases as go test -run takes them."""
    tests = {}
    for case in cases:
        test, _, step = case.partition("/")
        tests.setdefault(test, []).append(step.replace(" ", "_"))
    return "|".join(f"^{test}$" + (f"/^({'|'.join(steps)})$" if steps[0] else "")
                    for test, steps in tests.items())


def missing(cases, log):
    """The cases that the log does not call passed: go test is content when nothing matches."""
    passed = set(re.findall(r"^ *--- PASS: (\S+)", log, re.MULTILINE))
    return [case for case in cases if case.replace(" ", "_") not in passed]


def run_row(row, agent):
    """One row; whether all of its cases passed, and how many."""
    name = "e2e/matrix/" + row.name
    cases = cases_of(row)
    path = os.path.join(build.ROOT, "build", name + ".log")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    begin = time.monotonic()
    with open(path, "w", encoding="utf-8") as out:
        code = e2e.run(name, row.setup + (["--agent", agent] if agent else []), ["-run=" + pattern(cases)], out=out)
    with open(path, encoding="utf-8", errors="replace") as stream:
        log = stream.read()
    left = missing(cases, log)
    passed = code == 0 and not left
    counted = f"{len(cases) - len(left)} of {len(cases)}"
    print(f"{'ok  ' if passed else 'FAIL'}  {row}: {counted} cases in {time.monotonic() - begin:.0f} s",
          flush=True)
    if not passed:
        print("".join(f"      not passed: {case}\n" for case in left)
              + f"      the end of {path}:\n" + "\n".join(log.splitlines()[-SHOWN_LINES:]))
    return passed, counted


def chosen(names):
    """The rows of these names, or all."""
    known = {row.name: row for row in ROWS}
    for name in names:
        if name not in known:
            raise SystemExit(f"matrix.py: no row {name!r}; there are: " + " ".join(known))
    return [known[name] for name in names] or list(ROWS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only these rows")
    parser.add_argument("--update", action="store_true",
                        help="write the results into README.md beside this file")
    parser.add_argument("--list", action="store_true", help="print the table and end")
    parser.add_argument("--agent", default="", help="another agent than build/neuron-dra-agent")
    arguments = parser.parse_args()
    rows = chosen(arguments.rows)
    if arguments.list:
        print("\n".join(str(row) for row in rows))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for row in rows:
        build.programs(row.control_plane, row.kubelet)
    with build.one_at_a_time(os.path.join(build.ROOT, "build", "e2e", "matrix.lock")):
        done = {row.name: run_row(row, arguments.agent) for row in rows}
    if arguments.update:
        results.update(ROWS, {name: counted if passed else f"**failed**: {counted}"
                              for name, (passed, counted) in done.items()})
    failed = [name for name, (passed, _) in done.items() if not passed]
    print(f"e2e-matrix: {len(done) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
