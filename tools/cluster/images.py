# SPDX-License-Identifier: Apache-2.0
"""Makes the container images that the test cluster needs, without a registry.

Owns the OCI layout of three images: a static pause, Debian's static busybox, and the same with
kubectl. It only writes tar files; importing them is the cluster's work. As a program it makes the
third one, which one test needs: images.py FOLDER KUBECTL NAME prints the tar's path.
"""
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAUSE_IMAGE = "localhost/pause:1"
BUSYBOX_IMAGE = "public.ecr.aws/docker/library/busybox:1.37.0"   # the name in cfg/deploy/examples
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MEDIA = "application/vnd.oci.image."


def _add(tar, name, data=b"", mode=0o644, kind=tarfile.REGTYPE, link=""):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.type, entry.linkname = len(data), mode, kind, link
    tar.addfile(entry, io.BytesIO(data))


def _descriptor(blob, kind):
    digest = hashlib.sha256(blob).hexdigest()
    return {"mediaType": MEDIA + kind, "digest": "sha256:" + digest, "size": len(blob)}


def _layer(entries):
    """One uncompressed layer; an entry is (name, data, mode, tar type, link target)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for entry in entries:
            _add(tar, *entry)
    return out.getvalue()


def _write_image(path, name, layer, config):
    """An OCI layout in a tar, with the annotation by which containerd names what it imports."""
    image = json.dumps({
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()), "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [_descriptor(layer, "")["digest"]]}}).encode()
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json",
        "config": _descriptor(image, "config.v1+json"),
        "layers": [_descriptor(layer, "layer.v1.tar")]}).encode()
    entry = dict(_descriptor(manifest, "manifest.v1+json"),
                 annotations={"io.containerd.image.name": name})
    with tarfile.open(path, "w") as tar:
        _add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        _add(tar, "index.json", json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode())
        for blob in (layer, image, manifest):
            _add(tar, "blobs/sha256/" + hashlib.sha256(blob).hexdigest(), blob)


def make_pause(folder):
    """Compiles the pause program statically; the tar's path."""
    compiler = shutil.which("musl-gcc") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("no C compiler for the pause image: run `make deps`")
    binary = os.path.join(folder, "pause")
    subprocess.run([compiler, "-static", "-Os", "-s", "-o", binary, os.path.join(HERE, "pause.c")],
                   check=True)
    with open(binary, "rb") as stream:
        layer = _layer([("pause", stream.read(), 0o755, tarfile.REGTYPE, "")])
    path = os.path.join(folder, "pause.tar")
    _write_image(path, PAUSE_IMAGE, layer, {"Entrypoint": ["/pause"]})
    return path


def _busybox_entries():
    """The machine's static busybox with a link per applet."""
    binary = shutil.which("busybox")
    if binary is None:
        raise RuntimeError("no busybox on PATH (Debian: busybox-static): run `make deps`")
    with open(binary, "rb") as stream:
        data = stream.read()
    if b"/lib64/ld-linux" in data or b"/lib/ld-" in data:
        raise RuntimeError(f"{binary} is not static (Debian: busybox-static): run `make deps`")
    applets = subprocess.run([binary, "--list"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.split()
    entries = [(name, b"", 0o755, tarfile.DIRTYPE, "") for name in ("bin", "etc", "tmp", "dev")]
    entries.append(("bin/busybox", data, 0o755, tarfile.REGTYPE, ""))
    entries.append(("etc/passwd", b"root:x:0:0:root:/:/bin/sh\n", 0o644, tarfile.REGTYPE, ""))
    entries += [("bin/" + name, b"", 0o777, tarfile.SYMTYPE, "busybox")
                for name in applets if name != "busybox"]
    return entries


def make_busybox(folder):
    """Wraps busybox; the tar's path."""
    path = os.path.join(folder, "busybox.tar")
    _write_image(path, BUSYBOX_IMAGE, _layer(_busybox_entries()),
                 {"Cmd": ["sh"], "Env": ["PATH=/bin"]})
    return path


def make_kubectl(folder, kubectl, name):
    """Wraps busybox and kubectl under the name of a public image that has both; the tar's path."""
    with open(kubectl, "rb") as stream:
        program = ("bin/kubectl", stream.read(), 0o755, tarfile.REGTYPE, "")
    path = os.path.join(folder, "kubectl.tar")
    _write_image(path, name, _layer([*_busybox_entries(), program]),
                 {"Entrypoint": ["kubectl"], "Env": ["PATH=/bin"]})
    return path


if __name__ == "__main__":
    print(make_kubectl(*sys.argv[1:]))
