#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pin modules: one folder per product and version with a go.mod and a go.sum.

Owns the list of what is pinned. Run by hand when a version moves; its output is committed. It
never builds anything: build.py does, from what lies in pins/.
"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build  # noqa: E402


def run(folder, *args):
    """Runs the go command in folder; its output, or an exception with its words."""
    env = build.go_environment()
    done = subprocess.run([build.find_go(), *args], cwd=folder, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"pin.py: go {' '.join(args[:3])} in {folder}:\n{done.stderr}")
    return done.stdout


def start_module(name, go_version):
    """A fresh go.mod for one product."""
    folder = os.path.join(build.PINS, name)
    os.makedirs(folder, exist_ok=True)
    for old in ("go.mod", "go.sum"):
        if os.path.exists(os.path.join(folder, old)):
            os.remove(os.path.join(folder, old))
    run(folder, "mod", "init", "pins.example/" + name)
    run(folder, "mod", "edit", "-go=" + go_version)
    return folder


def add_staging_replaces(folder, module, version):
    """k8s.io/kubernetes requires its staging modules at v0.0.0 and replaces them by local folders;
    a consumer has to name the published ones, v0. and the release without its leading 1."""
    info = json.loads(run(folder, "mod", "download", "-json", f"{module}@v{version}"))
    spec = json.loads(run(folder, "mod", "edit", "-json", info["GoMod"]))
    staging = [need["Path"] for need in spec["Require"]
               if need["Version"] == "v0.0.0" and need["Path"].startswith("k8s.io/")]
    published = "v0." + version.split(".", 1)[1]
    edits = [f"-replace={path}={path}@{published}" for path in staging]
    run(folder, "mod", "edit", *edits)
    run(folder, "mod", "edit", "-go=" + spec["Go"])


def pin(name):
    """Makes the folder of one product, e.g. kubernetes-1.36.3."""
    product = build.product(name)
    folder = start_module(name, "1.25.0")
    if product.staging:
        add_staging_replaces(folder, product.module, product.version)
    for package in product.packages:
        run(folder, "get", "-tool", f"{package}@v{product.version}")
    print(f"pin.py: {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="+", help="product and version, e.g. etcd-3.6.5")
    for name in parser.parse_args().name:
        pin(name)


if __name__ == "__main__":
    main()
