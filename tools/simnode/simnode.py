#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A simulated Trainium node: the files that the Neuron kernel module and the machine show.

Owns the layout of the tree below a directory: sys, proc and dev. What a board is comes from its
golden file in tests/vectors/boards, and its EFA devices from that in tests/vectors/efa; the unit
tests hold both against the agent's own rows. Touches nothing outside the directory, and no
directory that it did not make.

    simnode.py list
    simnode.py make --board trn2.48xlarge --dir DIR
                    [--driver-version V] [--boot-id UUID] [--devices N]
    simnode.py set --dir DIR neuron3/stats/hardware/health_status/unhealthy_components hbm
    simnode.py remove --dir DIR neuron3
    simnode.py add --dir DIR neuron3
    simnode.py remove --dir DIR 0000:10:19.0   (an EFA device)
    simnode.py garbage --dir DIR core-count-text
    simnode.py reboot --dir DIR
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import sys
import uuid

VECTORS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "vectors" / "boards"
EFA_VECTORS = VECTORS.parent / "efa"
UVERBS_MAJOR, UVERBS_MINOR = 231, 192  # IB_UVERBS_MAJOR and IB_UVERBS_BASE_MINOR of the kernel
# Of the boards whose PCI addresses are known, which are Trainium2: Amazon, device id 0x7364, a system peripheral.
NEURON_MODALIAS = "pci:v00001D0Fd00007364sv00001D0Fsd00007364bc08sc80i00"
MARKER = ".simnode.json"
MAJOR = 243  # dynamic in the kernel; the number that was seen
DEVICES_MOST = 64  # of the kernel module
DRIVER_VERSION = "2.26.5.0"  # that of the published captures

HEALTH_FAMILIES = ("Trn2", "Trn3")  # whose devices have the folder health_status

# What the runtime's calls on a core ended with: those that the agent reads, and the good ones.
CORE_STATUSES = ("success", "failure", "timeout", "hw_error", "hw_collectives_error", "hw_hbm_ue_error",
                 "hw_repairable_hbm_ue_error", "hw_nc_ue_error", "hw_dma_abort_error")

# What the memory of a device is used for: the uses that the agent reads.
DEVICE_MEMORY_USES = ("constants", "model_code", "model_shared_scratchpad", "runtime_memory", "tensors")

# Ways in which a node can be wrong: action, path, text.
GARBAGE = {
    "core-count-text": [("set", "neuron1/core_count", "eight")],
    "core-count-empty": [("set", "neuron1/core_count", "")],
    "core-count-zero": [("set", "neuron1/core_count", "0")],
    "core-count-huge": [("set", "neuron1/core_count", "99999999999999999999")],
    "core-count-absent": [("unlink", "neuron1/core_count", "")],
    "connected-text": [("set", "neuron1/connected_devices", "0, one, 5, 2\n")],
    "connected-long": [("set", "neuron1/connected_devices", ", ".join(map(str, range(64))) + "\n")],
    "connected-absent": [("unlink", "neuron1/connected_devices", "")],
    "version-absent": [("unlink", "sys/module/neuron/version", "")],
    "version-empty": [("set", "sys/module/neuron/version", "\n")],
    "version-long": [("set", "sys/module/neuron/version", "2." * 100 + "\n")],
    "version-control": [("set", "sys/module/neuron/version", "2.26\x1b[31m.5.0\n")],
    "product-absent": [("unlink", "sys/devices/virtual/dmi/id/product_name", "")],
    "product-empty": [("set", "sys/devices/virtual/dmi/id/product_name", "\n")],
    "product-unknown": [("set", "sys/devices/virtual/dmi/id/product_name", "xyz9.96xlarge\n")],
    "product-other": [("set", "sys/devices/virtual/dmi/id/product_name", "Standard PC (Q35)\n")],
    "boot-id-absent": [("unlink", "proc/sys/kernel/random/boot_id", "")],
    "node-absent": [("unlink", "dev/neuron1", "")],
    "name-foreign": [("set", "sys/class/neuron_device/neuronX/core_count", "2")],
    "name-zeros": [("set", "sys/class/neuron_device/neuron01/core_count", "2")],
    "name-over": [("set", "sys/class/neuron_device/neuron70000/core_count", "2")],
    "no-module": [("tree", "sys/module/neuron", ""), ("tree", "sys/class/neuron_device", ""),
                  ("tree", "sys/devices/virtual/neuron_device", ""), ("tree", "dev", "")],
}


class Unusable(Exception):
    """What the user asked for cannot be done; the text says why and what to do."""


def board_names():
    def natural(name):
        return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]

    return sorted((path.stem for path in VECTORS.glob("*.txt")), key=natural)


def golden(name, kind):
    """The lines of one kind in a golden file: "board" (what it is), "module" (what the kernel module
    shows of each device), "class" (its attributes of the whole host) or the number of a device (its
    attributes), as {word: rest}."""
    short = name.removeprefix("ml.")
    if short not in board_names():
        raise Unusable(f"unknown board {name!r}; known: {', '.join(board_names())}")
    lines = (line.split(maxsplit=2) for line in (VECTORS / f"{short}.txt").read_text().splitlines())
    return {words[1]: words[2] for words in lines if words[0] == kind}


def efas(board):
    """The EFA devices of a board, as {PCI address: {what: value}}; none where its file is absent."""
    path = EFA_VECTORS / f"{board.removeprefix('ml.')}.txt"
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if not line.startswith("#"):
            address, key, value = line.split(maxsplit=2)
            found.setdefault(address, {})[key] = value.split(maxsplit=1)[1] if "/" in key else value
    return found


class Node:
    """The tree of one node, and the choices it was made with."""

    def __init__(self, directory):
        self.root = pathlib.Path(directory).absolute()
        self.choices = {}

    def load(self):
        try:
            self.choices = json.loads((self.root / MARKER).read_text())
        except (OSError, ValueError):
            raise Unusable(f"{self.root} is no simulated node; see simnode.py make") from None
        return self

    def save(self):
        self.write(MARKER, json.dumps(self.choices) + "\n", 0o644)

    def write(self, path, text, mode=0o444):
        """Replaces the file in one move: a running agent reads the old text or the new one."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.root / f".simnode.{os.getpid()}"
        fresh.write_bytes(text.encode())
        fresh.chmod(mode)
        fresh.replace(target)

    # --- making ---

    def wipe(self):
        made = (self.root / MARKER).exists()
        for name in ("sys", "proc", "dev"):
            path = self.root / name
            if path.exists() and not made:
                raise Unusable(f"{path} is not of simnode.py's making; choose another --dir")
            shutil.rmtree(path, ignore_errors=True)

    def make(self):
        self.wipe()
        self.root.mkdir(parents=True, exist_ok=True)
        self.save()
        (self.root / "dev").mkdir()
        (self.root / "sys/class/neuron_device").mkdir(parents=True)
        (self.root / "sys/devices/virtual/neuron_device").mkdir(parents=True)
        self.write("sys/module/neuron/version", self.choices["driver_version"] + "\n")
        self.write("sys/devices/virtual/dmi/id/product_name", self.choices["board"] + "\n")
        self.write("proc/sys/kernel/random/boot_id", self.choices["boot_id"] + "\n")
        self.class_files()
        for address, facts in efas(self.choices["board"]).items():
            self.efa_function(address, facts)
            self.efa(address, facts)
        special = [self.device(number) for number in range(self.choices["devices"])]
        return all(special)

    def link(self, path, target):
        """A symbolic link, as sysfs makes them: relative, to the real place in its tree."""
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(self.root / target, link.parent))

    @staticmethod
    def efa_place(address, facts):
        return f"sys/devices/{facts['resource.kubernetes.io/pcieRoot']}/{address}"

    def efa_function(self, address, facts):
        """The PCI function of an EFA device, whether a driver has it or not."""
        place = self.efa_place(address, facts)
        product = facts["dra.net/pciSubsystem"]
        texts = {"class": "0x020000", "vendor": "0x1d0f", "device": f"0x{product}", "revision": "0x00",
                 "subsystem_vendor": "0x1d0f", "subsystem_device": f"0x{product}",
                 "numa_node": facts["dra.net/numaNode"],
                 "modalias": f"pci:v00001D0Fd0000{product.upper()}sv00001D0Fsd0000{product.upper()}bc02sc00i00"}
        for name, text in texts.items():
            self.write(f"{place}/{name}", text + "\n")
        self.link(f"sys/bus/pci/devices/{address}", place)

    def efa(self, address, facts):
        """What the kernel driver makes of the function: an RDMA device with one port, and its node."""
        place, name, number = self.efa_place(address, facts), facts["dra.net/rdmaDevice"], facts["uverbs"]
        self.write(f"{place}/infiniband/{name}/ports/1/state", "4: ACTIVE\n")
        self.write(f"{place}/infiniband/{name}/ports/1/link_layer", "Unspecified\n")
        self.write(f"{place}/infiniband_verbs/uverbs{number}/ibdev", name + "\n")
        self.write(f"{place}/infiniband_verbs/uverbs{number}/dev",
                   f"{UVERBS_MAJOR}:{UVERBS_MINOR + int(number)}\n")
        self.link(f"{place}/infiniband/{name}/device", place)
        self.link(f"{place}/infiniband_verbs/uverbs{number}/device", place)
        self.link(f"{place}/driver", "sys/bus/pci/drivers/efa")
        self.link(f"sys/bus/pci/drivers/efa/{address}", place)
        self.link(f"sys/class/infiniband/{name}", f"{place}/infiniband/{name}")
        self.link(f"sys/class/infiniband_verbs/uverbs{number}", f"{place}/infiniband_verbs/uverbs{number}")
        self.node(f"dev/infiniband/uverbs{number}", UVERBS_MAJOR, UVERBS_MINOR + int(number))

    def efa_unbind(self, address, facts):
        place, name, number = self.efa_place(address, facts), facts["dra.net/rdmaDevice"], facts["uverbs"]
        if not (self.root / place / "driver").is_symlink():
            raise Unusable(f"{address}: no driver has this device")
        for path in (f"{place}/driver", f"sys/bus/pci/drivers/efa/{address}", f"sys/class/infiniband/{name}",
                     f"sys/class/infiniband_verbs/uverbs{number}", f"dev/infiniband/uverbs{number}"):
            (self.root / path).unlink()
        for path in ("infiniband", "infiniband_verbs"):
            shutil.rmtree(self.root / place / path)

    def class_files(self):
        for name, value in golden(self.choices["board"], "class").items():
            self.write(f"sys/class/neuron_device/{name}", value + "\n")

    def since(self, *version):
        """Whether the module is at least of this version."""
        numbers = re.findall(r"\d+", self.choices["driver_version"])
        return tuple(int(number) for number in numbers[:len(version)]) >= version

    def device(self, number):
        """Makes one device; says whether its node in dev is a device special file."""
        module = golden(self.choices["board"], "module")
        base = f"sys/devices/virtual/neuron_device/neuron{number}"
        cores = int(golden(self.choices["board"], "board")["cores_per_device"])
        for path, text in self.device_texts(number, module, cores).items():
            self.write(f"{base}/{path}", text)
        # Readable for everybody since module 2.28.
        readable = 0o444 if self.since(2, 28) else 0o400
        self.write(f"{base}/connected_devices", self.connected(number, module), readable)
        (self.root / base / "reset").chmod(0o644)
        self.pci(golden(self.choices["board"], str(number)))
        os.symlink("../../../../class/neuron_device", self.root / base / "subsystem")
        os.symlink(f"../../devices/virtual/neuron_device/neuron{number}",
                   self.root / f"sys/class/neuron_device/neuron{number}")
        return self.special(number)

    def device_texts(self, number, module, cores):
        serial = hashlib.sha256(f"{self.choices['board']} {number}".encode()).hexdigest()[:16]
        hardware = "stats/hardware"
        texts = {
            "dev": f"{MAJOR}:{number}\n",
            "uevent": f"MAJOR={MAJOR}\nMINOR={number}\nDEVNAME=neuron{number}\n",
            "core_count": str(cores),  # no newline: the module keeps it so for the device plugin
            "reset": "1\n",
            "info/serial_number": serial + "\n",
            "info/architecture/arch_type": module["arch_type"] + "\n",
            "info/architecture/instance_type": module["instance_type"] + "\n",
            "info/architecture/device_name": module["device_name"] + "\n",
        }
        counters = ["sram_ecc_uncorrected", "mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected"]
        if self.since(2, 30):
            counters += ["sram_ecc_corrected", "mem_ecc_corrected"]
        texts.update({f"{hardware}/{counter}": "0\n" for counter in counters})
        texts.update({f"{hardware}/health_status/{name}": text for name, text in self.health_status(module).items()})
        texts["stats/power/utilization"] = "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00\n"
        if self.since(2, 29):
            texts["stats/power/utilization_raw"] = "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00\n"
        for core in range(cores):
            for status in CORE_STATUSES:
                for count in ("total", "present"):
                    texts[f"neuron_core{core}/stats/status/{status}/{count}"] = "0\n"
            for memory in ("device_mem", "host_mem"):
                for count in ("total", "present", "peak"):
                    texts[f"neuron_core{core}/stats/memory_usage/{memory}/{count}"] = "0\n"
            for use in DEVICE_MEMORY_USES:
                for count in ("total", "present", "peak"):
                    texts[f"neuron_core{core}/stats/memory_usage/device_mem/{use}/{count}"] = "0\n"
        return texts

    def health_status(self, module):
        """The folder health_status: Trainium2 and 3 alone have it. The modules 2.28 and 2.29 count there, with the
        corrected errors in the upper 16 bits; from 2.30 on it lists the components."""
        if module["instance_type"] not in HEALTH_FAMILIES or not self.since(2, 28):
            return {}
        texts = {"hw_error_event": "0\n"}
        if self.since(2, 30):
            texts.update({"unhealthy_components": "\n", "healthcheck_heartbeat": "1\n"})
        else:
            texts.update({f"{memory}_ecc_err_count": "0\n" for memory in ("hbm", "repairable_hbm", "sram")})
        return texts

    def pci(self, published):
        """The PCI device that a Neuron device is, as far as the board knows it."""
        address = published.get("resource.kubernetes.io/pciBusID")
        if address:
            node = published["resource.kubernetes.io/numaNode"].removeprefix("int ")
            address, root = address.removeprefix("string "), published["resource.kubernetes.io/pcieRoot"]
            place = f"devices/{root.removeprefix('string ')}/{address}"
            texts = {"vendor": "0x1d0f", "device": "0x7364", "numa_node": node, "modalias": NEURON_MODALIAS}
            for name, text in texts.items():
                self.write(f"sys/{place}/{name}", text + "\n")
            link = self.root / f"sys/bus/pci/devices/{address}"
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():       # the PCI device stays when the module drops the Neuron device
                os.symlink(f"../../../{place}", link)

    def connected(self, number, module):
        """The module knows the links of whole boards alone."""
        links = module.get("connected_devices", "").split()
        whole = self.choices["devices"] == len(links)
        return (links[number].replace(",", ", ") if whole else "") + "\n"

    def special(self, number):
        return self.node(f"dev/neuron{number}", MAJOR, number)

    def node(self, place, major, minor):
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        except PermissionError:
            path.write_bytes(b"")
        path.chmod(0o666)
        return stat.S_ISCHR(path.stat().st_mode)

    # --- changing ---

    def place(self, path):
        """Path below the root of what a user named: neuronN/…, sys/…, proc/… or dev/…."""
        first = path.split("/")[0]
        if ".." in path.split("/") or path.startswith("/"):
            raise Unusable(f"{path}: name a file as neuron3/core_count, or by sys/, proc/, dev/")
        return path if first in ("sys", "proc", "dev") else f"sys/class/neuron_device/{path}"

    def set(self, path, text):
        place = self.root / self.place(path)
        mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o444
        # Through the symlink of the class, so that the link stays one.
        parent = place.parent.resolve() if place.parent.exists() else place.parent
        self.write((parent / place.name).relative_to(self.root.resolve()), text, mode)

    def set_existing(self, path, text):
        """Keeps the file's own way of ending; a file that the module does not have is refused."""
        place = self.root / self.place(path)
        if not place.is_file():
            version = self.choices["driver_version"]
            raise Unusable(f"{path}: no such file on this node, whose module is {version} "
                           "(unhealthy_components is there since 2.30, on Trainium2 and 3: "
                           "make --driver-version 2.30.2.0)")
        self.set(path, text if place.name == "core_count" else text + "\n")

    def number(self, name):
        match = re.fullmatch(r"neuron(0|[1-9]\d*)", name)
        if not match or int(match.group(1)) >= DEVICES_MOST:
            raise Unusable(f"{name}: name a device as neuron0 to neuron{DEVICES_MOST - 1}")
        return int(match.group(1))

    def remove(self, name):
        facts = efas(self.choices["board"]).get(name)
        if facts:
            self.efa_unbind(name, facts)
            return
        number = self.number(name)
        link = self.root / f"sys/class/neuron_device/neuron{number}"
        if not link.is_symlink():
            raise Unusable(f"{name}: no such device on this node")
        link.unlink()
        shutil.rmtree(self.root / f"sys/devices/virtual/neuron_device/neuron{number}")
        (self.root / f"dev/neuron{number}").unlink(missing_ok=True)

    def add(self, name):
        facts = efas(self.choices["board"]).get(name)
        if facts:
            if (self.root / self.efa_place(name, facts) / "driver").is_symlink():
                raise Unusable(f"{name}: already on this node")
            self.efa(name, facts)
            return True
        number = self.number(name)
        if (self.root / f"sys/class/neuron_device/neuron{number}").is_symlink():
            raise Unusable(f"{name}: already on this node")
        if number >= self.choices["devices"]:
            raise Unusable(f"{name}: this node has {self.choices['devices']} (more: make --devices)")
        (self.root / f"dev/neuron{number}").unlink(missing_ok=True)
        return self.device(number)

    def garbage(self, variant):
        for action, path, text in GARBAGE[variant]:
            place = self.root / self.place(path)
            if action == "set":
                self.set(path, text)
            elif action == "unlink":
                place.unlink(missing_ok=True)
            else:
                shutil.rmtree(place, ignore_errors=True)
        if variant == "no-module":
            (self.root / "dev").mkdir()

    def reboot(self):
        self.choices["boot_id"] = boot_id(self.choices["boot_id"])
        self.save()
        self.write("proc/sys/kernel/random/boot_id", self.choices["boot_id"] + "\n")


def boot_id(before):
    """A boot id that follows from what was before: the same calls give the same node."""
    return str(uuid.UUID(hashlib.sha256(before.encode()).hexdigest()[:32], version=4))


def make(arguments):
    count = int(golden(arguments.board, "board")["devices"]) if arguments.devices is None else arguments.devices
    if not 0 <= count <= DEVICES_MOST:
        raise Unusable(f"--devices {count}: the kernel module has 0 to {DEVICES_MOST} devices")
    node = Node(arguments.dir)
    node.choices = {"board": arguments.board, "driver_version": arguments.driver_version,
                    "devices": count, "boot_id": arguments.boot_id or boot_id(arguments.board)}
    special = node.make()
    print(f"{node.root}: {arguments.board}, {count} devices, module {arguments.driver_version}")
    if not special:
        print("dev/neuronN are regular files: this user may not make device nodes",
              file=sys.stderr)


def change(arguments):
    node = Node(arguments.dir).load()
    if arguments.command == "set":
        node.set_existing(arguments.path, arguments.text)
    elif arguments.command in ("remove", "add"):
        getattr(node, arguments.command)(arguments.device)
    elif arguments.command == "garbage":
        node.garbage(arguments.variant)
    else:
        node.reboot()


def parse():
    parser = argparse.ArgumentParser(prog="simnode.py",
                                     description="A simulated Trainium node in a directory.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the boards")
    making = commands.add_parser("make", help="make the tree anew")
    making.add_argument("--board", required=True)
    making.add_argument("--driver-version", default=DRIVER_VERSION)
    making.add_argument("--boot-id")
    making.add_argument("--devices", type=int, help="another number than the board has")
    setting = commands.add_parser("set", help="another text in neuron3/…, sys/… or proc/…")
    setting.add_argument("path")
    setting.add_argument("text")
    for name, job in (("remove", "take a device out"), ("add", "put a device back")):
        one = commands.add_parser(name, help=job)
        one.add_argument("device")
        one.add_argument("--dir", required=True)
    spoiling = commands.add_parser("garbage", help="spoil the tree: " + ", ".join(GARBAGE))
    spoiling.add_argument("variant", choices=sorted(GARBAGE), metavar="variant")
    booting = commands.add_parser("reboot", help="the next boot id")
    for command in (making, setting, spoiling, booting):
        command.add_argument("--dir", required=True)
    return parser.parse_args()


def main():
    arguments = parse()
    try:
        if arguments.command == "list":
            print("\n".join(board_names()))
        elif arguments.command == "make":
            make(arguments)
        else:
            change(arguments)
    except (Unusable, OSError) as problem:
        print(f"simnode.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
