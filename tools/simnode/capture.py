#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A simulated node from a bundle of a real one: what `neuron-dra-agent bundle` copied of its sysfs.

    capture.py make BUNDLE --dir DIR    the node of the bundle, as simnode.py makes that of a board
    capture.py keep BUNDLE NAME         keeps it as tests/vectors/captures/NAME, with the slices that the agent
                                        publishes there; every later agent is tested on it (TestCaptures)
    capture.py slices --dir DIR         prints the slices in that form

BUNDLE is a tar archive, a directory, or the file sysfs.txt alone. `make` and `keep` say which kernel module the node
has, and which files the simulated node does not know or has beyond them. Touches nothing outside DIR and
tests/vectors/captures.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import simnode

ROOT = pathlib.Path(__file__).resolve().parents[2]
AGENT = ROOT / "build/neuron-dra-agent"
CAPTURES = ROOT / "tests/vectors/captures"
TREE = "class/neuron_device"
# Links in these folders lead to directories of the devices.
FOLDERS = (TREE, "bus/pci/devices", "bus/pci/drivers/efa", "class/infiniband", "class/infiniband_verbs")
ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")
NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")


def read_bundle(path):
    """The text of sysfs.txt."""
    path = pathlib.Path(path)
    if path.is_dir():
        path = path / "sysfs.txt"
    if not path.is_file():
        raise simnode.Unusable(f"{path}: no such file; give a bundle, its directory or its sysfs.txt")
    if not tarfile.is_tarfile(path):
        return path.read_text()
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and pathlib.PurePosixPath(member.name).name == "sysfs.txt":
                return archive.extractfile(member).read().decode()
    raise simnode.Unusable(f"{path} has no sysfs.txt; bundles have it since 1.0.0")


def unescaped(value):
    return ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), value.encode())


class Capture:
    """What the lines of a sysfs.txt say."""

    def __init__(self, text):
        self.links, self.files, self.missing = {}, {}, {}
        for number, line in enumerate(text.splitlines(), 1):
            path, space, rest = line.partition(" ")
            if not space or not path or path.startswith("/") or ".." in path.split("/"):
                raise simnode.Unusable(f"sysfs.txt:{number}: not PATH VALUE, PATH -> TARGET or PATH ! REASON")
            if rest.startswith("-> "):
                self.links[path] = rest[3:]
            elif rest.startswith("! "):
                self.missing[path] = rest[2:]
            else:
                self.files[path] = unescaped(rest)
        if "module/neuron/version" not in self.files:
            raise simnode.Unusable("sysfs.txt has no module/neuron/version: the node had no Neuron module")

    def value(self, path):
        return self.files.get(path, b"").decode(errors="replace").strip()

    def devices(self):
        return [path for path in self.links if re.fullmatch(rf"{TREE}/neuron\d+", path)]

    def known_as(self, path):
        """A file of a Neuron device without its numbers; None: a file of something else."""
        found = re.fullmatch(rf"{TREE}/neuron\d+/(.+)", path)
        return re.sub(r"neuron_core\d+", "neuron_coreK", found[1]) if found else None

    def shapes(self):
        return {self.known_as(path) for path in {*self.files, *self.missing}} - {None}


class Captured(simnode.Node):
    """The simulated node of a capture."""

    def build(self, capture):
        self.wipe()
        version, board = capture.value("module/neuron/version"), capture.value("devices/virtual/dmi/id/product_name")
        self.choices = {"board": board, "driver_version": version, "devices": len(capture.devices()),
                        "boot_id": simnode.boot_id(board + version)}
        self.root.mkdir(parents=True, exist_ok=True)
        self.save()
        for path, target in capture.links.items():
            self.follow(path, target)
        for path, value in capture.files.items():
            self.put(path, value)
        self.write("proc/sys/kernel/random/boot_id", self.choices["boot_id"] + "\n")
        return all([self.device_node(path, capture.value(f"{path}/dev")) for path in capture.links])

    def follow(self, path, target):
        """A link, and the directory that it leads to where that is one of a device."""
        link = self.root / "sys" / path
        link.parent.mkdir(parents=True, exist_ok=True)
        place = (link.parent / target).resolve()
        if not place.is_relative_to((self.root / "sys").resolve()):
            raise simnode.Unusable(f"{path} leads out of the tree: {target}")
        if path.rpartition("/")[0] in FOLDERS:
            place.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(target)

    def put(self, path, value):
        place = self.root / "sys" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():    # a device may be reached by two links
            place.write_bytes(value)
            place.chmod(0o444)

    def device_node(self, path, numbers):
        """The node in dev of a device whose file `dev` has the numbers; true: it is one, or there is none to make."""
        found = re.fullmatch(r"(\d+):(\d+)", numbers)
        folder, _, name = path.rpartition("/")
        if not found or folder not in (TREE, "class/infiniband_verbs"):
            return True
        place = f"dev/{name}" if folder == TREE else f"dev/infiniband/{name}"
        return self.node(place, int(found[1]), int(found[2]))


def usual_shapes(version):
    """The files that the simulated devices of all families have with a module of this version."""
    with tempfile.TemporaryDirectory() as folder:
        node = simnode.Node(folder)
        shapes = set()
        for board in simnode.board_names():
            node.choices = {"board": board, "driver_version": version}
            module = simnode.golden(board, "module")
            shapes |= set(node.device_texts(0, module, 1))
    return {re.sub(r"neuron_core\d+", "neuron_coreK", shape) for shape in shapes} | {"connected_devices"}


def describe(capture):
    version, source = capture.value("module/neuron/version"), capture.value("module/neuron/srcversion")
    board = capture.value("devices/virtual/dmi/id/product_name")
    print(f"module {version}{f' (source {source})' if source else ''}, {board}, {len(capture.devices())} devices")
    usual, there = usual_shapes(version), capture.shapes()
    for words, shapes in (("files that the simulated node does not know", there - usual),
                          ("files of the simulated node that this module lacks", usual - there)):
        print(f"{words}: {', '.join(sorted(shapes)) or 'none'}")
    refused = {path: reason for path, reason in capture.missing.items() if not path.endswith("serial_number")}
    for path, reason in sorted(refused.items()):
        print(f"not in the bundle: {path}: {reason}")


def slices_of(folder):
    """The slices that the agent would publish on the node, without its own version."""
    command = [str(AGENT), "slices", "-o", "yaml", "--node-name", "node-1.example.internal", "--sysfs-root",
               f"{folder}/sys", "--dev-root", f"{folder}/dev", "--efa", "--metrics-port=-1"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise simnode.Unusable(f"{' '.join(command)}: {done.stderr.strip()}")
    return re.sub(r'(draDriverVersion:\s+version: )"[^"]*"', r"\1AGENT_VERSION", done.stdout)


def keep(text, name):
    if not NAME.fullmatch(name):
        raise simnode.Unusable(f"{name!r}: a name has small letters, digits, dots and hyphens, as trn2u.48xlarge-2.30")
    folder = CAPTURES / name
    with tempfile.TemporaryDirectory() as place:
        Captured(place).build(Capture(text))
        golden = slices_of(place)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "sysfs.txt").write_text(text)
    (folder / "slices.yaml").write_text(golden)
    print(f"kept as {folder.relative_to(ROOT)}: look at slices.yaml, then commit both files")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="the simulated node of a bundle")
    making.add_argument("bundle")
    making.add_argument("--dir", required=True)
    keeping = commands.add_parser("keep", help="a test of every later agent")
    keeping.add_argument("bundle")
    keeping.add_argument("name")
    printing = commands.add_parser("slices", help="what the agent publishes on the simulated node DIR")
    printing.add_argument("--dir", required=True)
    return parser.parse_args()


def run(arguments):
    if arguments.command == "slices":
        print(slices_of(arguments.dir), end="")
        return
    text = read_bundle(arguments.bundle)
    capture = Capture(text)
    if arguments.command == "keep":
        keep(text, arguments.name)
    elif not Captured(arguments.dir).build(capture):
        print("the nodes in dev are regular files: this user may not make device nodes", file=sys.stderr)
    describe(capture)


def main():
    try:
        run(parse())
    except (simnode.Unusable, OSError, UnicodeError) as problem:
        print(f"capture.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
