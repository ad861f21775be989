#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes down what real kubelets and API servers say to the agent, into tests/vectors/recorded/<release>.

Owns the list of releases and what happens while they are recorded: a node with one device comes up, one pod with
a claim runs and goes. The recorder itself is tests/e2e/record, which a cluster starts in the agent's place.
"""
import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build  # noqa: E402
import e2e  # noqa: E402
import matrix  # noqa: E402

# Release -> versions of resource.k8s.io, feature gates.
RELEASES = {"1.33.13": ("v1beta1", matrix.DRA_ON), "1.34.4": ("v1", ""), "1.35.4": ("v1", ""),
            "1.36.3": ("v1", ""), "1.37.2": ("v1", "")}
FILES = ("registration.txt", "dra.txt", "api.txt")
OUT = os.path.join(build.ROOT, "tests", "vectors", "recorded")
# One pod with one device; the case holds the kubelet to the version that it has to call.
CASE = "^TestVersions$/^called_by_the_kubelet$"


def build_recorder(folder):
    recorder = os.path.join(folder, "record")
    subprocess.run([build.find_go(), "build", "-o", recorder, "./record"], check=True,
                   cwd=os.path.join(build.ROOT, "tests", "e2e"), env=build.go_environment())
    return recorder


def record(release, agent):
    """One release; whether all was recorded."""
    name = "record/" + release
    folder = os.path.join(build.ROOT, "build", "recorded", release)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    recorder = build_recorder(folder)
    stand_in = os.path.join(folder, "agent")
    with open(stand_in, "w", encoding="ascii") as out:
        out.write("#!/bin/sh\nexec " + shlex.join([recorder, folder, agent]) + ' "$@"\n')
    os.chmod(stand_in, 0o755)
    served, gates = RELEASES[release]
    setup = ["--k8s", release, "--board", "trn1.2xlarge", "--serve", served, "--feature-gates", gates,
             "--agent", stand_in]
    code = e2e.run(name, setup, ["-run=" + CASE])
    there = all(os.path.exists(os.path.join(folder, file)) for file in FILES)
    if code != 0 or not there:
        print(f"record: {release} was not recorded; see build/{name}/logs", flush=True)
        return False
    os.makedirs(os.path.join(OUT, release), exist_ok=True)
    for file in FILES:
        shutil.copyfile(os.path.join(folder, file), os.path.join(OUT, release, file))
    print(f"record: {release}: " + ", ".join(
        f"{file} {os.path.getsize(os.path.join(folder, file))} bytes" for file in FILES), flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", nargs="*", help="only these: " + " ".join(RELEASES))
    parser.add_argument("--agent", default=os.path.join(build.ROOT, "build", "neuron-dra-agent"))
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chosen = arguments.releases or list(RELEASES)
    for release in chosen:
        if release not in RELEASES:
            raise SystemExit(f"record.py: no release {release!r}; there are: " + " ".join(RELEASES))
        build.programs(release, release)
    with build.one_at_a_time(os.path.join(build.ROOT, "build", "recorded.lock")):
        results = [record(release, arguments.agent) for release in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
