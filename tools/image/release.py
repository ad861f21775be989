#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files of a release page from what was built for each machine: `make release` calls it.

Owns the output folder: it is written anew, and holds what cfg/deploy/release.md lists. Nothing in it tells the time or
the folder of the build; the same inputs give the same bytes. The notes of the release lie beside the folder, because
they are the text of the page and no file of it.
"""
import argparse
import glob
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "cluster"))
import build  # noqa: E402

NAME = "neuron-dra-agent"
CHART = ROOT / "cfg" / "deploy" / "chart"
MACHINES = ("amd64", "arm64")
# What is built for a machine, and what it is called on the page behind NAME-VERSION-linux-MACHINE.
PROGRAMS = {NAME: "", f"{NAME}.debug": ".debug"}
IMAGES = {f"{NAME}.tar": ".oci.tar", f"{NAME}.spdx.json": ".spdx.json"}
SUMS = "SHA256SUMS"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
STATEMENT, PROVENANCE = "https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"
PAYLOAD = "application/vnd.in-toto+json"
BUILD_TYPE = f"urn:{NAME}:make-release:v1"      # cfg/deploy/release.md says what it means


def fail(text):
    raise SystemExit(f"release.py: {text}")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def version_of():
    """The agent's version, which is the chart's too."""
    found = re.search(r'^#define AGENT_VERSION "([^"]+)"', (ROOT / "cfg" / "identity.h").read_text(), re.MULTILINE)
    if not found or f"\nversion: {found[1]}\n" not in (CHART / "Chart.yaml").read_text():
        fail("cfg/identity.h and cfg/deploy/chart/Chart.yaml do not have the same version")
    return found[1]


def notes_of(changelog, version):
    """The section of the changelog with this version, without its heading."""
    text = pathlib.Path(changelog).read_text()
    found = re.search(rf"^## {re.escape(version)}(?:[ ,][^\n]*)?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not found or not found[1].strip():
        fail(f"{changelog} has no section \"## {version}\", or nothing in it: write what the release changes")
    return found[1].strip() + "\n"


def add_entry(tar, name, data, mode=0o644):
    """A file of a tar without time and owner."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))


def read_tar(path):
    """Name -> bytes of the files."""
    with tarfile.open(path) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}


def pack_chart(helm, out):
    """`helm package`, with the times in the archive left out."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([helm, "package", "--destination", folder, str(CHART)], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        made = list(pathlib.Path(folder).glob("*.tgz"))
        if done.returncode or len(made) != 1:
            fail(f"helm package: {done.stdout.strip()}")
        files, name = read_tar(made[0]), made[0].name
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        # Readers find what the chart is in its first file.
        for path in sorted(files, key=lambda path: (not path.endswith("/Chart.yaml"), path)):
            add_entry(tar, path, files[path])
    (out / name).write_bytes(gzip.compress(plain.getvalue(), compresslevel=9, mtime=0))


def join_images(archives, path, name):
    """One archive with the images of several machines under one index; the index's digest."""
    blobs, manifests = {}, []
    for archive in archives:
        files = read_tar(archive)
        (entry,) = json.loads(files["index.json"])["manifests"]
        manifests.append({key: entry[key] for key in ("mediaType", "size", "digest", "platform")})
        blobs.update({at: data for at, data in files.items() if at.startswith("blobs/")})
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": manifests}).encode()
    digest = sha256(index)
    blobs[f"blobs/sha256/{digest}"] = index
    version = name.rpartition(":")[2]
    top = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [
        {"mediaType": OCI_INDEX, "size": len(index), "digest": f"sha256:{digest}", "annotations": {
            "io.containerd.image.name": name, "org.opencontainers.image.ref.name": version}}]}
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        add_entry(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        add_entry(tar, "index.json", json.dumps(top).encode())
        for at in sorted(blobs):
            add_entry(tar, at, blobs[at])
    return digest


def debian(name, version, arch, **more):
    return {"uri": f"pkg:deb/debian/{name}@{urllib.parse.quote(version, safe='')}?arch={arch}", **more}


def installed(name):
    """The package of the machine that builds, whose version decides on the bytes."""
    # One line for each architecture of the package, also for one that was removed and left its configuration.
    fields = "${db:Status-Status} ${Architecture} ${Version}\\n"
    known = subprocess.run(["dpkg-query", "-W", "-f", fields, name], text=True, check=False, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL).stdout
    machine = subprocess.run(["dpkg", "--print-architecture"], text=True, check=True,
                             stdout=subprocess.PIPE).stdout.strip()
    found = [line.split() for line in known.splitlines()]
    found = [(version, arch) for status, arch, *version in found if status == "installed" and arch in (machine, "all")]
    if len(found) != 1:
        fail(f"the package {name} is installed {len(found)} times for {machine}, and has to be once: "
             f"apt-get install {name}")
    (version,), arch = found[0]
    return debian(name, version, arch)


def unpacked(pattern):
    """The package of another machine, of which only files were taken: one file fits the pattern."""
    found = sorted(glob.glob(pattern))
    if len(found) != 1:
        remedy = f"remove all but one: {' '.join(found)}" if found else "make image-arm64 downloads one"
        fail(f"--deb: {len(found)} files fit {pattern}, and one has to: {remedy}")
    path = found[0]
    done = subprocess.run(["dpkg-deb", "-W", "--showformat", "${Package} ${Version} ${Architecture}", path], text=True,
                          check=True, stdout=subprocess.PIPE)
    return debian(*done.stdout.split(), digest={"sha256": sha256(pathlib.Path(path).read_bytes())})


def pinned():
    """The sources of the libraries."""
    pins = (ROOT / "tools" / "build" / "pins").read_text()
    for library in ("MBEDTLS", "NANOPB"):
        version, digest = re.search(rf'^{library}_ACCEPT="([0-9.]+):([0-9a-f]{{64}})', pins, re.MULTILINE).groups()
        (url,) = re.search(rf'^{library}_UPSTREAM="([^"]+)"', pins, re.MULTILINE).groups()
        yield {"uri": url.replace("VERSION", version), "digest": {"sha256": digest}}


def statement(arguments, version, out, image):
    """An in-toto statement, not signed: which files came of which sources, packages and programs."""
    subjects = [{"name": path.name, "digest": {"sha256": sha256(path.read_bytes())}} for path in sorted(out.iterdir())]
    # So that who has pulled the image finds it, which has no file name then.
    subjects.append({"name": f"pkg:oci/{NAME}?tag={version}", "digest": {"sha256": image}})
    sources = [{"uri": arguments.source, "digest": {"gitCommit": arguments.revision}}, *pinned(),
               *map(installed, arguments.package), *map(unpacked, arguments.deb),
               {"uri": f"pkg:generic/{arguments.go.replace('go', 'go@', 1)}"},
               {"uri": f"pkg:golang/helm.sh/helm/v3@v{build.HELM.rpartition('-')[2]}"}]
    return {"_type": STATEMENT, "subject": subjects, "predicateType": PROVENANCE, "predicate": {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {"source": arguments.source, "revision": arguments.revision, "target": "release"},
            "internalParameters": {"version": version, "build": arguments.build, "created": arguments.created},
            "resolvedDependencies": sources},
        "runDetails": {"builder": {"id": arguments.builder}}}}


def pae(payload):
    """The bytes that a signature in a DSSE envelope is made of: pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def write_release(arguments):
    version, out = version_of(), pathlib.Path(arguments.out)
    if "-dirty" in arguments.build or not re.fullmatch("[0-9a-f]{40}", arguments.revision):
        fail(f"the build {arguments.build} of commit {arguments.revision} is not what a commit holds: commit first")
    notes = notes_of(arguments.changelog, version)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for machine in MACHINES:
        for folder, names in zip(getattr(arguments, machine), (PROGRAMS, IMAGES)):
            for built, ending in names.items():
                shutil.copy(pathlib.Path(folder) / built, out / f"{NAME}-{version}-linux-{machine}{ending}")
    image = join_images([out / f"{NAME}-{version}-linux-{machine}.oci.tar" for machine in MACHINES],
                        out / f"{NAME}-{version}.oci.tar", f"localhost/{NAME}:{version}")
    pack_chart(os.path.join(build.build(build.HELM), "helm"), out)
    for page in arguments.page:
        shutil.copyfile(page, out / pathlib.Path(page).name)
    payload = (json.dumps(statement(arguments, version, out, image), indent=1) + "\n").encode()
    (out / f"{NAME}-{version}.intoto.json").write_bytes(payload)
    (out / f"{NAME}-{version}.intoto.pae").write_bytes(pae(payload))
    sums = "".join(f"{sha256(path.read_bytes())}  {path.name}\n" for path in sorted(out.iterdir()))
    (out / SUMS).write_text(sums)
    out.with_name(out.name + "-notes.md").write_text(notes)
    print(f"release: {NAME} {version}, {len(list(out.iterdir()))} files in {out}, image sha256:{image}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="folder, written anew")
    for machine in MACHINES:
        parser.add_argument(f"--{machine}", required=True, nargs=2, metavar=("PROGRAMS", "IMAGE"),
                            help=f"folders with {', '.join(PROGRAMS)}, and with {', '.join(IMAGES)}")
    parser.add_argument("--page", action="append", default=[], help="another file of the page; may be repeated")
    parser.add_argument("--changelog", default=str(ROOT / "CHANGELOG.md"))
    parser.add_argument("--build", required=True, help="build id, as the agent prints it")
    parser.add_argument("--revision", required=True, help="commit")
    parser.add_argument("--created", required=True, type=int, help="time of the commit in Unix seconds")
    parser.add_argument("--source", required=True, help="URI of the repository")
    parser.add_argument("--builder", required=True, help="URI of who builds")
    parser.add_argument("--go", required=True, help="Go's version, as `go env GOVERSION` prints it")
    parser.add_argument("--package", action="append", default=[], help="an installed package; may be repeated")
    parser.add_argument("--deb", action="append", default=[], help="pattern of one package's file; may be repeated")
    write_release(parser.parse_args())


if __name__ == "__main__":
    main()
