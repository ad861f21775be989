#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the programs of a Kubernetes node from their pinned modules and keeps them.

Owns the cache of binaries, one folder per product under a name that hashes go.mod, go.sum and the
build's flags: what lies there complete is never built again. A build goes to a temporary folder
beside it and is renamed when whole, so an interrupted one leaves nothing that looks finished.
"""
import argparse
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PINS = os.path.join(HERE, "pins")
# Where `make deps` puts a Go when the machine has none that can fetch its own toolchain.
DEPS_GO = os.path.join(ROOT, "build", "deps", "go-venv", "bin", "go")
OLDEST_GO = (1, 21)

DEFAULT_K8S = "1.36.3"


@dataclass(frozen=True)
class Product:
    """One module with its programs. `programs` maps the kept file name to the main package."""
    name: str
    version: str
    module: str
    programs: dict
    cgo: bool = False
    tags: str = ""
    ldflags: str = ""
    staging: bool = False
    folders: tuple = ()     # of the module, kept beside the programs: manifests

    @property
    def folder(self):
        """The product's pin folder."""
        return os.path.join(PINS, f"{self.name}-{self.version}")

    @property
    def packages(self):
        """Main packages, in the order in which they are built."""
        return list(self.programs.values())


def _kubernetes(version):
    major, minor = version.split(".")[:2]
    stamp = "k8s.io/component-base/version"
    names = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"]
    return Product(
        "kubernetes", version, "k8s.io/kubernetes",
        {name: f"k8s.io/kubernetes/cmd/{name}" for name in names},
        ldflags=(f"-X {stamp}.gitVersion=v{version} -X {stamp}.gitMajor={major} "
                 f"-X {stamp}.gitMinor={minor} -X {stamp}.gitTreeState=clean"),
        staging=True)


def _etcd(version):
    module = "go.etcd.io/etcd/server/v3"
    return Product("etcd", version, module, {"etcd": module})


def _containerd(version):
    module = "github.com/containerd/containerd/v2"
    names = ["containerd", "containerd-shim-runc-v2", "ctr"]
    return Product("containerd", version, module, {name: f"{module}/cmd/{name}" for name in names},
                   ldflags=f"-X {module}/version.Version={version}")


def _runc(version):
    module = "github.com/opencontainers/runc"
    return Product("runc", version, module, {"runc": module}, cgo=True, tags="seccomp")


def _cni(version):
    module = "github.com/containernetworking/plugins"
    return Product("cni", version, module, {"ptp": f"{module}/plugins/main/ptp",
                                            "loopback": f"{module}/plugins/main/loopback",
                                            "host-local": f"{module}/plugins/ipam/host-local"})


def _helm(version):
    module = "helm.sh/helm/v3"
    # Without a server helm takes this for its version: that of the Kubernetes libraries it is built with.
    kubernetes = " ".join(f"-X {module}/pkg/{package}.k8sVersionM{part}" for package in ("chartutil", "lint/rules")
                          for part in ("ajor=1", "inor=34"))
    return Product("helm", version, module, {"helm": f"{module}/cmd/helm"},
                   ldflags=f"-X {module}/internal/version.version=v{version} {kubernetes}")


def _lws(version):
    module = "sigs.k8s.io/lws"
    return Product("lws", version, module, {"lws": f"{module}/cmd"},
                   folders=("config/crd/bases", "config/webhook"))


MAKERS = {"kubernetes": _kubernetes, "etcd": _etcd, "containerd": _containerd, "runc": _runc,
          "cni": _cni, "helm": _helm, "lws": _lws}

HELM = "helm-3.19.2"
LWS = "lws-0.9.0"           # the controller of LeaderWorkerSets
# What every cluster needs beside the Kubernetes release that is asked for, and what its user installs the chart and the
# examples with.
NODE_PRODUCTS = ["etcd-3.6.5", "containerd-2.2.1", "runc-1.4.0", "cni-1.9.1", HELM, LWS]


def product(full_name):
    """The product of a name like etcd-3.6.5."""
    name, _, version = full_name.partition("-")
    if name not in MAKERS or not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise SystemExit(f"build.py: no product {full_name!r}; write NAME-X.Y.Z with one of: "
                         + " ".join(MAKERS))
    return MAKERS[name](version)


def _go_version(go):
    done = subprocess.run([go, "version"], stdout=subprocess.PIPE, text=True, check=False)
    found = re.search(r"go(\d+)\.(\d+)", done.stdout or "")
    return (int(found[1]), int(found[2])) if found else (0, 0)


def find_go():
    """A Go that can fetch the toolchain which a go.mod names."""
    for go in (shutil.which("go"), DEPS_GO):
        if go and os.path.exists(go) and _go_version(go) >= OLDEST_GO:
            return go
    raise SystemExit(f"build.py: no Go {OLDEST_GO[0]}.{OLDEST_GO[1]} or newer on PATH nor at "
                     f"{DEPS_GO}: run `make deps`")


def go_environment(cgo=False):
    """The environment of every go command: nothing of the caller's that could change the output."""
    env = dict(os.environ, GOTOOLCHAIN="auto", GOWORK="off", GOFLAGS="-buildvcs=false",
               CGO_ENABLED="1" if cgo else "0")
    env.setdefault("HOME", "/root")
    return env


def cache_root():
    """Where binaries are kept between checkouts."""
    default = os.path.join(os.path.expanduser("~"), ".cache", "neuron-dra-agent")
    return os.environ.get("NEURON_DRA_CACHE") or default


def _flags(item):
    flags = ["-trimpath", "-p", "2", "-ldflags", ("-s -w " + item.ldflags).strip()]
    return flags + (["-tags", item.tags] if item.tags else [])


def _digest(item):
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        path = os.path.join(item.folder, name)
        if not os.path.exists(path):
            raise SystemExit(f"build.py: {path} is missing: this release is not pinned; "
                             f"tools/cluster/pin.py {item.name}-{item.version} makes it")
        with open(path, "rb") as stream:
            digest.update(stream.read() + b"\0")
    digest.update(repr((_flags(item), item.cgo, sorted(item.programs.items()))).encode())
    if item.folders:
        digest.update(repr(item.folders).encode())
    return digest.hexdigest()[:16]


def kept_folder(item):
    """Where the product's binaries lie once built."""
    return os.path.join(cache_root(), "programs", f"{item.name}-{item.version}-{_digest(item)}")


@contextlib.contextmanager
def one_at_a_time(path):
    """Holds a lock file, after whoever holds it now; the kernel lets go when the holder ends."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another run that holds {path}", file=sys.stderr, flush=True)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def if_nobody_holds(path):
    """Yields whether nobody held this lock file, and holds it meanwhile. Nobody holds one whose folder was deleted."""
    try:
        stream = open(path, "w", encoding="ascii")
    except FileNotFoundError:
        yield True
        return
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _go_build(item, folder):
    """Builds into folder and gives the files the names that the cluster uses."""
    args = [find_go(), "build", *_flags(item), "-o", folder + "/", *item.packages]
    done = subprocess.run(args, cwd=item.folder, env=go_environment(item.cgo), check=False)
    if done.returncode != 0:
        raise SystemExit(f"build.py: {item.name} {item.version} did not build (go ended with "
                         f"{done.returncode}; its words are above)")
    for name, package in item.programs.items():
        built = re.sub(r"/v\d+$", "", package).rsplit("/", 1)[-1]
        if built != name:
            os.rename(os.path.join(folder, built), os.path.join(folder, name))


def _keep_folders(item, folder):
    """Copies what is wanted of the module's other files; those of the module cache are read-only."""
    for name in item.folders:
        args = [find_go(), "list", "-m", "-f", "{{.Dir}}", item.module]
        done = subprocess.run(args, cwd=item.folder, env=go_environment(), stdout=subprocess.PIPE,
                              text=True, check=True)
        shutil.copytree(os.path.join(done.stdout.strip(), name), os.path.join(folder, name),
                        copy_function=shutil.copyfile)


def _drop_abandoned(final):
    """Removes temporary folders of builds that were interrupted; the lock says none is running."""
    parent, stem = os.path.split(final)
    for name in os.listdir(parent):
        if name.startswith(stem + ".tmp."):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)


def build(full_name):
    """Builds one product unless it is kept already; the folder with its binaries."""
    item = product(full_name)
    final = kept_folder(item)
    if os.path.isdir(final):
        return final
    os.makedirs(os.path.dirname(final), exist_ok=True)
    with one_at_a_time(final + ".lock"):
        if os.path.isdir(final):
            return final
        _drop_abandoned(final)
        temporary = f"{final}.tmp.{os.getpid()}"
        os.makedirs(temporary)
        print(f"build.py: building {full_name}", file=sys.stderr, flush=True)
        start = time.monotonic()
        try:
            _go_build(item, temporary)
            _keep_folders(item, temporary)
            os.rename(temporary, final)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        print(f"build.py: {full_name} built in {time.monotonic() - start:.0f} s", file=sys.stderr,
              flush=True)
    return final


def programs(k8s, kubelet=""):
    """Every program of a node with this Kubernetes release, and of another the kubelet: file
    name -> path."""
    found = {}
    for full_name in NODE_PRODUCTS + [f"kubernetes-{k8s}"]:
        folder = build(full_name)
        for name in product(full_name).programs:
            found[name] = os.path.join(folder, name)
    if kubelet:
        found["kubelet"] = os.path.join(build(f"kubernetes-{kubelet}"), "kubelet")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k8s", default=DEFAULT_K8S, help="Kubernetes release")
    parser.add_argument("--helm", action="store_true", help="only helm, and only its path")
    arguments = parser.parse_args()
    if arguments.helm:
        print(os.path.join(build(HELM), "helm"))
        return
    for name, path in sorted(programs(arguments.k8s).items()):
        print(f"{name} {path}")


if __name__ == "__main__":
    main()
