#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A simulated node from a bundle of a real one: what `neuron-dra-agent bundle` copied of its sysfs.

    capture.py make BUNDLE --dir DIR    the node of the bundle, as simnode.py makes that of a board
    capture.py keep BUNDLE NAME         keeps it as tests/vectors/captures/NAME, with the slices that the agent
                                        publishes there; every later agent is tested on it (TestCaptures)

BUNDLE is a tar archive, a directory, or the file sysfs.txt alone. `make` and `keep` say which kernel module the node
has, which files the simulated node lacks, and which it has that the module lacks. A bundle comes from a stranger:
nothing in it decides where a file is written, which device a node in dev stands for, or what a terminal does. Touches
nothing outside DIR and tests/vectors/captures.
"""

import argparse
import os
import pathlib
import posixpath
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
# Links in these folders lead to directories of the devices; a simulated node has no others of a bundle.
FOLDERS = (TREE, "bus/pci/devices", "bus/pci/drivers/efa", "class/infiniband", "class/infiniband_verbs")
# Files that are in no directory of a device.
OWN = re.compile(rf"module/neuron/\w+|devices/virtual/dmi/id/product_name|{TREE}/\w+")
LINE = re.compile(r"([fl!]) ([!-~]+) ([ -~]*)")
ESCAPE = re.compile(r"\\x([0-9a-f]{2})")
NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")
BYTES_MAX = 16 << 20    # of sysfs.txt; the agent writes 8 MiB at most
PATH_MAX = 1024
DEPTH_MAX = 32


def read_bundle(path):
    path = pathlib.Path(path)
    if path.is_dir():
        path = path / "sysfs.txt"
    if not path.is_file():
        raise simnode.Unusable(f"{path}: no such file; give a bundle, its directory or its sysfs.txt")
    if not tarfile.is_tarfile(path):
        with path.open("rb") as stream:
            return whole(stream, path)
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                if member.isreg() and not member.issparse() and posixpath.basename(member.name) == "sysfs.txt":
                    return whole(archive.extractfile(member), path)
    except (tarfile.TarError, EOFError) as problem:
        raise simnode.Unusable(f"{path} is not a whole tar archive without compression: {problem}") from None
    raise simnode.Unusable(f"{path} has no sysfs.txt; bundles have it since 1.0.0")


def whole(stream, path):
    text = stream.read(BYTES_MAX + 1)
    if len(text) > BYTES_MAX:
        raise simnode.Unusable(f"{path}: sysfs.txt is longer than {BYTES_MAX} bytes")
    return text.decode("ascii")


def unescaped(text):
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)), text).encode("latin-1")


def below(text):
    """The path of a line, which stays below the root of sysfs; None: it does not."""
    path = os.fsdecode(unescaped(text))
    parts = path.split("/")
    good = len(path) <= PATH_MAX and len(parts) <= DEPTH_MAX and "\0" not in path and not {"", ".", ".."} & set(parts)
    return path if good else None


class Capture:
    """The devices' links, files, and what is missing, by their paths below the root of sysfs."""

    def __init__(self, text):
        self.links, self.files, self.missing = {}, {}, {}
        for number, line in enumerate(text.splitlines(), 1):
            found = LINE.fullmatch(line)
            path = below(found[2]) if found else None
            if path is None:
                raise simnode.Unusable(f"sysfs.txt:{number}: not a line of sysfs_copy.h, or of an impossible path")
            value = unescaped(found[3])
            if found[1] == "f":
                self.files[path] = value
            elif found[1] == "!":
                self.missing[path] = value.decode(errors="replace")
            elif posixpath.dirname(path) in FOLDERS:
                self.links[path] = self.target(number, path, os.fsdecode(value))
        if "module/neuron/version" not in self.files:
            raise simnode.Unusable("sysfs.txt has no module/neuron/version: the node had no Neuron module")

    @staticmethod
    def target(number, path, text):
        """Where a device's directory is below the root of sysfs: below devices, where a simulated node has no link."""
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
        if not place.startswith("devices/") or text.startswith("/") or "\0" in place:
            raise simnode.Unusable(f"sysfs.txt:{number}: {shown(path)} does not lead to a device")
        return place

    def value(self, path):
        return self.files.get(path, b"").decode(errors="replace").strip()

    def devices(self):
        return [path for path in self.links if re.fullmatch(rf"{TREE}/neuron\d+", path)]

    def place(self, path):
        """Where a file of the capture is without a link on the way; None: a simulated node has no such file."""
        parts = path.split("/")
        for folder in FOLDERS:
            length = folder.count("/") + 2
            link = "/".join(parts[:length])
            if path.startswith(folder + "/") and link in self.links and len(parts) > length:
                return "/".join([self.links[link], *parts[length:]])
        return path if OWN.fullmatch(path) and path not in self.links else None

    @staticmethod
    def shape(path):
        """The path of a file in a device without its numbers; None: it is in none."""
        found = re.fullmatch(rf"{TREE}/neuron\d+/(.+)", path)
        return re.sub(r"neuron_core\d+", "neuron_coreK", found[1]) if found else None

    def shapes(self, paths):
        return {self.shape(path) for path in paths} - {None}


class Captured(simnode.Node):
    """The simulated node of a capture."""

    def build(self, capture):
        """Whether the nodes in dev are device special files."""
        self.wipe()
        version, board = capture.value("module/neuron/version"), capture.value("devices/virtual/dmi/id/product_name")
        self.choices = {"board": board, "driver_version": version, "devices": len(capture.devices()),
                        "boot_id": simnode.boot_id(board + version)}
        self.root.mkdir(parents=True, exist_ok=True)
        self.save()
        for path, target in capture.links.items():
            (self.root / "sys" / target).mkdir(parents=True, exist_ok=True)
        for path, value in capture.files.items():
            self.put(capture.place(path), value)
        for path, target in capture.links.items():
            self.link(f"sys/{path}", f"sys/{target}")
        self.write("proc/sys/kernel/random/boot_id", self.choices["boot_id"] + "\n")
        return all([self.device_node(*path.rsplit("/", 1)) for path in capture.links])

    def put(self, path, value):
        """Writes a file before there is a link, so that none can lead away."""
        if path is None:
            return
        place = self.root / "sys" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444)
        except FileExistsError:    # two links lead to one device
            return
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(value)

    def device_node(self, folder, name):
        """The node in dev of a device, with the number that simnode.py gives it."""
        found = re.fullmatch(r"(neuron|uverbs)(0|[1-9]\d{0,2})", name)
        number = int(found[2]) if found else 0
        if found and folder == TREE and found[1] == "neuron" and number < simnode.DEVICES_MOST:
            return self.special(number)
        if found and folder == "class/infiniband_verbs" and found[1] == "uverbs":
            return self.node(f"dev/infiniband/{name}", simnode.UVERBS_MAJOR, simnode.UVERBS_MINOR + number)
        return True


def usual_shapes(version):
    """The files that the simulated devices of all families have with a module of this version."""
    shapes = set()
    with tempfile.TemporaryDirectory() as folder:
        node = simnode.Node(folder)
        for board in simnode.board_names():
            node.choices = {"board": board, "driver_version": version}
            shapes |= set(node.device_texts(0, simnode.golden(board, "module"), 1))
    return {re.sub(r"neuron_core\d+", "neuron_coreK", shape) for shape in shapes} | {"connected_devices"}


def shown(text):
    """Text of a stranger for a terminal."""
    return text.encode("unicode_escape").decode()


def describe(capture):
    version, source = capture.value("module/neuron/version"), capture.value("module/neuron/srcversion")
    board = capture.value("devices/virtual/dmi/id/product_name")
    print(shown(f"module {version}{f' (source {source})' if source else ''}, {board}, "
                f"{len(capture.devices())} devices"))
    usual, files, refused = usual_shapes(version), capture.shapes(capture.files), capture.shapes(capture.missing)
    for words, shapes in (("files that the simulated node lacks", files - usual),
                          ("files of the simulated node that this module lacks", usual - files - refused),
                          ("files of the node that the bundle lacks", refused)):
        print(f"{words}: {', '.join(map(shown, sorted(shapes))) or 'none'}")


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
    word = "replaced" if folder.exists() else "kept as"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "sysfs.txt").write_text(text)
    (folder / "slices.yaml").write_text(golden)
    print(f"{word} {folder.relative_to(ROOT)}: look at slices.yaml, then commit both files")
    if "taints:" in golden:
        print("slices.yaml has taints: a device of this node was unhealthy")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="the simulated node of a bundle")
    making.add_argument("bundle")
    making.add_argument("--dir", required=True)
    keeping = commands.add_parser("keep", help="a test of every later agent")
    keeping.add_argument("bundle")
    keeping.add_argument("name")
    return parser.parse_args()


def run(arguments):
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
        print(f"capture.py: {shown(str(problem))}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
