#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cfg/deploy/manifests: what the chart renders with its defaults, for those who do not use Helm.

Owns that folder: every file of it is one template's output, for the oldest release on which all of it is right, and
kustomization.yaml lists them. Before that it puts every board that the agent serves, and no other, into the chart's
list of instance types.
--check compares instead of writing, and fails when a file differs.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "cluster"))
import build  # noqa: E402

CHART = ROOT / "cfg" / "deploy" / "chart"
MANIFESTS = ROOT / "cfg" / "deploy" / "manifests"
VALUES = CHART / "values.yaml"
BOARDS = ROOT / "tests" / "vectors" / "boards"
FAMILIES = ROOT / "boards"
RELEASE, KUBERNETES = "neuron-dra-agent", "1.34.0"
# REUSE-IgnoreStart
LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"
# REUSE-IgnoreEnd
# Labels of what Helm owns.
HELMS = re.compile(r"^ *(app\.kubernetes\.io/managed-by|helm\.sh/chart): .*\n", re.MULTILINE)
MADE = "# Written by `make manifests` from cfg/deploy/chart.\n"


def rendered():
    """File name -> text."""
    helm = os.path.join(build.build(build.HELM), "helm")
    done = subprocess.run([helm, "template", RELEASE, str(CHART), "--kube-version", KUBERNETES, "--no-hooks"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"manifests.py: {done.stderr.strip()}")
    files = {}
    for document in re.split(r"^---\n", done.stdout, flags=re.MULTILINE)[1:]:
        source, _, body = document.partition("\n")
        name = source.removeprefix(f"# Source: {RELEASE}/templates/")
        files.setdefault(name, []).append(HELMS.sub("", body.replace(LICENCE, "")).strip("\n") + "\n")
    texts = {name: LICENCE + MADE + "---\n".join(files[name]) for name in files}
    texts["kustomization.yaml"] = (
        LICENCE + MADE + "# The image: `kustomize edit set image localhost/neuron-dra-agent=REGISTRY/REPOSITORY:TAG`.\n"
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
        + "".join(f"- {name}\n" for name in sorted(files)))
    return texts


def refused():
    """The families that the agent refuses: a pod on such a node would never be ready, and stop each rollout."""
    return {path.stem for path in FAMILIES.glob("*.c") if ".refused = true" in path.read_text(encoding="utf-8")}


def family(name):
    return re.match(r"[a-z]+[0-9]*", name)[0]


def with_boards(text, boards):
    """values.yaml with each served board in instanceTypes: what is new stands behind the others of its family."""
    head, rest = text.split("  instanceTypes:\n", 1)
    listed = re.match(r"(?:  - .*\n)*", rest)[0]
    names = re.findall(r"- (.*)", listed)
    names = [name for name in names if family(name) not in refused()]
    for board in sorted({board for board in boards if family(board) not in refused()} - set(names)):
        kin = [at for at, name in enumerate(names) if family(name) == family(board)]
        names.insert(kin[-1] + 1 if kin else len(names), board)
    return head + "  instanceTypes:\n" + "".join(f"  - {name}\n" for name in names) + rest[len(listed):]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    if not check:
        VALUES.write_text(with_boards(VALUES.read_text(encoding="utf-8"), [path.stem for path in BOARDS.glob("*.txt")]),
                          encoding="utf-8")
    wanted = rendered()
    found = {path.name: path.read_text(encoding="utf-8") for path in MANIFESTS.glob("*")}
    differing = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if not check:
        MANIFESTS.mkdir(exist_ok=True)
        for name in differing:
            if name in wanted:
                (MANIFESTS / name).write_text(wanted[name], encoding="utf-8")
            else:
                (MANIFESTS / name).unlink()
    print(f"manifests: {len(wanted)} files of cfg/deploy/manifests, "
          + (f"{len(differing)} {'differ: run make manifests: ' if check else 'written: '}" + " ".join(differing)
             if differing else "as the chart renders them"))
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
