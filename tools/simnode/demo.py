#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make demo`: the agent on a simulated trn2.48xlarge, between a stand-in kubelet and API server.

Plays the user and the scheduler: writes claims with their allocation, and looks at what the agent
makes of them. Every fact that is shown was checked; the first one that does not hold ends the demo
with exit code 1 and says what was found instead.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time
import uuid

import objects
import parts
from screen import Screen, Surprise

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BOARD = "trn2.48xlarge"
NODE = "trainium-0"
DRIVER = "neuron.aws.com"
NAMESPACE = "ml"
REQUEST = "neurons"
CONNECTED = "resource.aws.com/devicegroup4_id"
DEVICES = 16


class Demo:
    """State of one run: what stands where, and who holds which device."""

    def __init__(self, build, folder, screen):
        self.build, self.folder, self.screen = build, folder, screen
        self.programs = []
        self.messages = objects.Messages("tests/sim/objects.proto", "proto/dra.proto")
        self.api = self.kubelet = self.agent = self.slice = None
        self.kubeconfig = folder / "kubeconfig"
        self.cdi = folder / "cdi"

    def run(self):
        self.show_node()
        self.start_agent()
        self.show_slice()
        training = self.prepare_connected()
        serving = self.prepare_single(training)
        self.refuse_misspelt()
        self.refuse_held(serving)
        self.show_commands()
        self.show_metrics(serving[0])
        self.kill_and_repeat(training, serving)
        self.unprepare(training, serving)
        self.stop()

    # --- parts ---

    def started(self, program):
        self.programs.append(program)
        return program

    def end(self):
        for program in reversed(self.programs):
            program.end()

    def new_agent(self):
        return self.started(parts.Agent(self.build / "neuron-dra-agent", NODE, self.folder, self.kubeconfig))

    # --- claims, as user and scheduler write them ---

    def claim(self, name, devices, config=None, constraint=None):
        """A claim that is allocated, and reserved for a pod."""
        claim = self.messages["objects.ResourceClaim"]()
        claim.metadata.name, claim.metadata.namespace = name, NAMESPACE
        claim.metadata.uid = uid_of(name)
        request = claim.spec.devices.requests.add(name=REQUEST)
        request.exactly.deviceClassName = DRIVER
        request.exactly.allocationMode = "ExactCount"
        request.exactly.count = len(devices)
        if constraint:
            claim.spec.devices.constraints.add(requests=[REQUEST], matchAttribute=constraint)
        for device in devices:
            claim.status.allocation.devices.results.add(
                request=REQUEST, driver=DRIVER, pool=NODE, device=device)
        if config:
            entry = claim.status.allocation.devices.config.add(source="FromClaim")
            entry.deviceConfiguration.opaque.driver = DRIVER
            entry.deviceConfiguration.opaque.parameters.raw = json.dumps(config).encode()
        claim.status.reservedFor.add(resource="pods", name=f"{name}-0", uid=uid_of(f"pod.{name}"))
        self.api.put("claim", claim)
        return claim

    def show_claim(self, claim):
        request = claim.spec.devices.requests[0].exactly
        asked = f"count: {request.count}"
        for constraint in claim.spec.devices.constraints:
            asked += f", matchAttribute: {constraint.matchAttribute}"
        lines = [f"ResourceClaim {NAMESPACE}/{claim.metadata.name}: {asked}"]
        for entry in claim.status.allocation.devices.config:
            lines.append(f"  config: {entry.deviceConfiguration.opaque.parameters.raw.decode()}")
        devices = [result.device for result in claim.status.allocation.devices.results]
        lines.append(f"  allocated by the scheduler: {' '.join(devices)}")
        self.screen.quote("\n".join(lines))

    # --- what the kubelet does ---

    def prepare(self, *claims):
        return self.kubelet.call("prepare", DRIVER, *claims)

    def devices_in(self, reply, claim):
        message = self.messages["dra.NodePrepareResourcesResponse"].FromString(reply)
        return list(message.claims[claim.metadata.uid].devices)

    def prepared(self, claim):
        """Prepares a claim that must succeed: (reply, seconds)."""
        reply, wrong, seconds = self.prepare(claim)
        wanted = [result.device for result in claim.status.allocation.devices.results]
        got = [device.device_name for device in self.devices_in(reply, claim)]
        self.screen.fact(not wrong and got == wanted,
                         f"NodePrepareResources answered {len(got)} device{'s' if len(got) > 1 else ''} "
                         f"in {seconds * 1000:.1f} ms", f"{wrong} {got}")
        return reply, seconds

    def refused(self, claim, *words):
        """Prepares a claim that must be refused in these words, and leaves nothing behind."""
        before = self.cdi_files()
        _, wrong, _ = self.prepare(claim)
        self.screen.quote(wrong or "(prepared)")
        for word in words:
            self.screen.fact(word in wrong, f"it says: {word}", f"it says: {wrong}")
        self.screen.fact(self.cdi_files() == before, "nothing of it is left on the node",
                         str(sorted(self.cdi_files())))
        _, wrong, _ = self.kubelet.call("unprepare", DRIVER, claim)
        self.screen.fact(not wrong, "unpreparing what was never prepared is no error", wrong)
        self.api.delete("claim", NAMESPACE, claim.metadata.name)

    # --- files ---

    def cdi_path(self, claim):
        return self.cdi / f"{DRIVER}-claim_{claim.metadata.uid}.json"

    def cdi_files(self):
        """Content of each CDI file by name."""
        return {path.name: path.read_bytes() for path in self.cdi.iterdir()}

    def check_cdi(self, claim, devices, reply):
        spec = json.loads(self.cdi_path(claim).read_text())
        ids = {f"{spec['kind']}={device['name']}" for device in spec["devices"]}
        answered = {name for device in self.devices_in(reply, claim) for name in device.cdi_device_ids}
        self.screen.fact(answered and answered <= ids, "the CDI ids of the answer are in the file",
                         f"answered {sorted(answered)}, file {sorted(ids)}")
        text = json.dumps(spec)
        paths = set(re.findall(r'"path": "(/dev/neuron\d+)"', text))
        wanted = {f"/dev/neuron{number}" for number in devices}
        self.screen.fact(paths == wanted, "containers get " + ", ".join(sorted(wanted, key=natural)),
                         f"the file has {sorted(paths)}")
        return spec

    # --- the grid ---

    def holders(self):
        """Name of the claim that holds each device, as the CDI files of the node tell it."""
        found = [""] * DEVICES
        for text in self.cdi_files().values():
            spec = json.loads(text)
            for number in re.findall(r'"path": "/dev/neuron(\d+)"', json.dumps(spec)):
                found[int(number)] = spec["annotations"][f"{DRIVER}/claim-name"]
        return found

    def links(self):
        """Pairs of linked devices, from the node's own files."""
        pairs = set()
        for number in range(DEVICES):
            path = self.folder / f"node/sys/class/neuron_device/neuron{number}/connected_devices"
            for other in path.read_text().replace(",", " ").split():
                pairs.add((min(number, int(other)), max(number, int(other))))
        return pairs

    def show_grid(self, holders):
        self.screen.write()
        self.screen.grid(holders, self.links())
        for claim in self.api.stored("claims", self.messages["objects.ResourceClaim"]):
            name = claim.metadata.name
            numbers = " ".join(str(number) for number, holder in enumerate(holders) if holder == name)
            self.screen.say(f"claim {NAMESPACE}/{name}, pod {NAMESPACE}/{claim.status.reservedFor[0].name}: "
                            f"neuron {numbers}")

    # --- steps ---

    def show_node(self):
        screen = self.screen
        screen.step(f"A node: {BOARD}, simulated")
        parts.make_node(self.folder / "node", BOARD)
        for name in ("cdi", "kubelet/plugins_registry", "kubelet/plugins"):
            (self.folder / name).mkdir(parents=True)
        found = list((self.folder / "node/sys/class/neuron_device").glob("neuron*"))
        screen.fact(len(found) == DEVICES, f"sysfs shows {len(found)} Neuron devices, as the kernel module does")
        pairs = self.links()
        screen.fact(len(pairs) == 2 * DEVICES, f"{len(pairs)} links: a torus of 4 by 4")
        authority, certificate, key = parts.make_certificates(self.folder)
        token = hashlib.sha256(os.urandom(32)).hexdigest()
        self.api = self.started(parts.ApiServer(self.build / "sim/sim-apiserver", certificate, key, token))
        parts.write_kubeconfig(self.kubeconfig, authority, self.api.port, token)
        node = self.messages["objects.Node"]()
        node.metadata.name, node.metadata.uid = NODE, uid_of("node")
        for layer in (1, 2, 3):
            node.metadata.labels[f"topology.k8s.aws/network-node-layer-{layer}"] = f"nn-{layer}"
        self.api.put("node", node)
        self.kubelet = self.started(parts.Kubelet(self.build / "sim/sim-kubelet",
                                                  str(self.folder / "kubelet/plugins_registry")))
        screen.say(f"Beside it a stand-in API server (TLS, HTTP/2, protobuf; 127.0.0.1:{self.api.port}) and a "
                   "stand-in kubelet (unix sockets, gRPC).")

    def start_agent(self):
        screen = self.screen
        screen.step("The agent starts")
        binary = self.build / "neuron-dra-agent"
        screen.say(f"{binary.name}: {binary.stat().st_size:,} bytes.")
        self.agent = self.new_agent()
        when, driver, endpoint, service = self.kubelet.registered(self.agent)
        screen.fact(driver == DRIVER and service == "v1.DRAPlugin",
                    f"registered with the kubelet as {driver}, {service}, "
                    f"{(when - self.agent.begun) * 1000:.0f} ms after exec", f"{driver} {service} {endpoint}")
        threads = os.listdir(f"/proc/{self.agent.process.pid}/task")
        screen.fact(len(threads) == 1, "it is one thread", f"{len(threads)} threads")
        _, when, _ = self.agent.find(lambda line: "event=slice_published" in line)
        created = self.api.requests("POST", "/resourceslices")
        screen.fact([code for _, code in created] == [201],
                    f"ResourceSlice created after {(when - self.agent.begun) * 1000:.0f} ms", str(created))

    def show_slice(self):
        screen = self.screen
        screen.step("The ResourceSlice as the API server stored it (kubectl get resourceslice -o yaml)")
        stored = self.api.stored("slices", self.messages["objects.ResourceSlice"])
        screen.fact(len(stored) == 1, "there is one slice", f"{len(stored)} slices")
        self.slice = stored[0]
        document = objects.slice_document(self.slice)
        whole = objects.to_yaml(document)
        devices = document["spec"]["devices"]
        numbers = [f"neuron-device-{number}" for number in range(DEVICES)]
        screen.fact([device["name"] for device in devices] == numbers,
                    f"its devices are {numbers[0]} to {numbers[-1]}", str([d["name"] for d in devices]))
        file = self.build / "demo/slice.yaml"
        file.parent.mkdir(exist_ok=True)
        fresh = file.with_suffix(f".{os.getpid()}")
        fresh.write_text(whole)
        fresh.replace(file)
        document["spec"]["devices"] = devices[:1]
        screen.quote(objects.to_yaml(document))
        screen.say(f"and {DEVICES - 1} more devices like this one; all of it: {shown(file)}")

    def connected_devices(self):
        """The first row of connected devices that the slice tells of, as the scheduler would find it."""
        groups = {}
        for device in self.slice.spec.devices:
            group = device.attributes[CONNECTED].string
            groups.setdefault(group, []).append(device.name)
        self.screen.fact(len(groups) == 4 and all(len(names) == 4 for names in groups.values()),
                         f"by {CONNECTED}, {DEVICES} devices are 4 groups of 4", str(groups))
        return list(groups.values())[1]

    def prepare_connected(self):
        screen = self.screen
        screen.step("A pod wants 4 connected devices, one logical core for each physical one")
        devices = self.connected_devices()
        config = {"apiVersion": "neuron.aws.com/v1", "kind": "NeuronConfig", "logicalNeuronCore": 1}
        claim = self.claim("llama-training", devices, config, CONNECTED)
        self.show_claim(claim)
        reply, _ = self.prepared(claim)
        numbers = [int(name.rsplit("-", 1)[1]) for name in devices]
        spec = self.check_cdi(claim, numbers, reply)
        screen.fact("NEURON_LOGICAL_NC_CONFIG=1" in json.dumps(spec),
                    "the configuration became NEURON_LOGICAL_NC_CONFIG=1")
        screen.say(f"Its CDI file, {self.cdi_path(claim).name} (JSON, shown as YAML):")
        screen.quote(objects.to_yaml(brief(spec)))
        return claim, reply

    def prepare_single(self, training):
        screen = self.screen
        screen.step("Another pod wants any one device")
        claim = self.claim("chat-serving", ["neuron-device-10"])
        self.show_claim(claim)
        reply, _ = self.prepared(claim)
        self.check_cdi(claim, [10], reply)
        holders = self.holders()
        self.show_grid(holders)
        wanted = {device.device_name for device in self.devices_in(training[1], training[0])}
        held = {f"neuron-device-{n}" for n, name in enumerate(holders) if name == "llama-training"}
        screen.fact(held == wanted and holders[10] == "chat-serving" and holders.count("") == 11,
                    "who holds what: 4 and 1 of 16 devices, the others are free", str(holders))
        return claim, reply

    def refuse_misspelt(self):
        screen = self.screen
        screen.step("A misspelt field is refused in words that reach the pod's events")
        config = {"apiVersion": "neuron.aws.com/v1", "kind": "NeuronConfig", "logicalNeuronCores": 2}
        claim = self.claim("misspelt", ["neuron-device-0"], config)
        self.show_claim(claim)
        self.refused(claim, 'strict decoding error: unknown field "logicalNeuronCores"',
                     "known fields: apiVersion, kind, logicalNeuronCore")

    def refuse_held(self, serving):
        screen = self.screen
        screen.step("A device that another claim holds is never given twice")
        claim = self.claim("latecomer", ["neuron-device-10"])
        self.show_claim(claim)
        self.refused(claim, "neuron-device-10", serving[0].metadata.name)

    def show_commands(self):
        screen = self.screen
        screen.step("Beside the agent: neuron-dra-agent devices, neuron-dra-agent check")
        code, text = self.agent.command("devices")
        screen.quote(text)
        screen.fact(code == 0 and f"{DEVICES} devices, 5 held" in text and text.count("  healthy  ") == DEVICES,
                    "devices shows 5 devices as held, and all as healthy", text)
        code, text = self.agent.command("check")
        screen.quote(text)
        screen.fact((code, text) == (0, "ready\n"), "check finds no reason why the node is not ready", text)

    def show_metrics(self, claim):
        screen = self.screen
        screen.step("Prometheus learns which pod holds which device")
        status, text = self.agent.page("/readyz")
        screen.fact((status, text) == (200, "ok\n"), "/readyz says ok", f"{status} {text}")
        _, text = self.agent.page("/metrics")
        lines = text.splitlines()
        shown_lines = [line for line in lines if 'device="neuron-device-10"' in line or "claim_failed" in line]
        screen.quote("\n".join(shown_lines))
        pod = claim.status.reservedFor[0].name
        screen.fact(any(f'pod_name="{pod}"' in line and line.endswith("} 1") for line in shown_lines),
                    f"the device of {claim.metadata.name} is held for pod {pod}", text)
        held = sum(line.startswith("neuron_dra_device_held{") and line.endswith(" 1") for line in lines)
        screen.fact(held == 5, f"{held} of {DEVICES} devices are held; {len(lines)} lines in all", text)

    def kill_and_repeat(self, training, serving):
        screen = self.screen
        screen.step("kill -9, and a CDI file is lost: the next agent has forgotten nothing")
        files = self.cdi_files()
        since = self.kubelet.mark()
        os.kill(self.agent.process.pid, signal.SIGKILL)
        screen.fact(self.agent.exit_code() == -signal.SIGKILL, "the agent is dead")
        self.cdi_path(training[0]).unlink()
        self.agent = self.new_agent()
        when, driver, _, _ = self.kubelet.registered(self.agent, since)
        screen.fact(driver == DRIVER, f"a new one is registered {(when - self.agent.begun) * 1000:.0f} ms after exec")
        for claim, reply in (training, serving):
            again, wrong, seconds = self.prepare(claim)
            screen.fact(not wrong and again == reply,
                        f"prepare of {claim.metadata.name} answers the same {len(reply)} bytes "
                        f"in {seconds * 1000:.1f} ms", wrong or f"{reply.hex()}\n{again.hex()}")
        screen.fact(self.cdi_files() == files, "both CDI files are there, byte for byte as before",
                    str(sorted(self.cdi_files())))
        self.agent.find(lambda line: "event=slice_verified" in line)
        writes = [self.api.requests(verb, "/resourceslices") for verb in ("POST", "PUT", "DELETE")]
        screen.fact([len(found) for found in writes] == [1, 0, 0],
                    "the stored slice was found right and left alone", str(writes))

    def unprepare(self, training, serving):
        screen = self.screen
        screen.step("The pods are gone: unprepare, without asking anybody")
        self.api.delete("claim", NAMESPACE, training[0].metadata.name)
        self.api.delete("claim", NAMESPACE, serving[0].metadata.name)
        _, wrong, seconds = self.kubelet.call("unprepare", DRIVER, training[0], serving[0])
        screen.fact(not wrong, f"NodeUnprepareResources of both in {seconds * 1000:.1f} ms", wrong)
        screen.fact(self.cdi_files() == {}, "the CDI directory is empty", str(sorted(self.cdi_files())))
        screen.fact(self.holders() == [""] * DEVICES, f"all {DEVICES} devices are free")

    def stop(self):
        screen = self.screen
        screen.step("SIGTERM")
        self.agent.process.terminate()
        code = self.agent.exit_code()
        screen.fact(code == 0, "the agent stopped with exit code 0", f"exit code {code}\n{self.agent.tail()}")
        self.kubelet.wait_for(f"gone {DRIVER}")
        left = sorted(path.name for path in (self.folder / "kubelet/plugins_registry").iterdir())
        screen.fact(not left, "its registration is taken back", str(left))
        left = sorted(path.name for path in (self.folder / f"kubelet/plugins/{DRIVER}").iterdir()
                      if path.is_socket())
        screen.fact(not left, "its sockets are gone", str(left))
        stored = self.api.stored("slices", self.messages["objects.ResourceSlice"])
        same = len(stored) == 1 and stored[0].metadata.resourceVersion == self.slice.metadata.resourceVersion
        screen.fact(same, "the slice stays, so that an upgrade disturbs no scheduling; the kubelet wipes it "
                          "when no agent comes back", str(len(stored)))


def uid_of(name):
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.demo"))


def natural(text):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def brief(value):
    """A CDI file with its innermost mappings and lists of texts on one line each."""
    if isinstance(value, dict):
        if value and all(not isinstance(item, (dict, list)) for item in value.values()) and len(value) < 6:
            return objects.Flow(value)
        return {key: brief(item) for key, item in value.items()}
    return [brief(item) for item in value] if isinstance(value, list) else value


def shown(path):
    try:
        return str(path.resolve().relative_to(pathlib.Path.cwd()))
    except ValueError:
        return str(path)


def scratch_folder():
    """Short, because socket paths hold 107 bytes."""
    base = "/tmp" if os.access("/tmp", os.W_OK | os.X_OK) else None
    return pathlib.Path(tempfile.mkdtemp(prefix="neuron-demo-", dir=base))


def interrupted(number, _):
    sys.exit(128 + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path, help="folder of the binaries")
    build = parser.parse_args().build.resolve()
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    begin = time.monotonic()
    screen = Screen()
    folder = scratch_folder()
    demo = Demo(build, folder, screen)
    code = 1
    try:
        demo.run()
        code = 0
    except Surprise as surprise:
        screen.write(f"\n{surprise}")
        if demo.agent:
            code_of = demo.agent.process.poll()
            state = "runs" if code_of is None else f"has ended with {code_of}"
            screen.write(f"\nThe agent {state}; its log ends with:\n{demo.agent.tail(20)}")
    finally:
        # A second Ctrl-C would leave the folder behind.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        demo.end()
        shutil.rmtree(folder)
    seconds = time.monotonic() - begin
    if code == 0:
        screen.write(f"\ndemo: {screen.facts} facts checked in {seconds:.1f} s; everything it started has ended")
    else:
        screen.write(f"\ndemo: FAILED in step {screen.steps}, {screen.facts} facts held before")
    return code


if __name__ == "__main__":
    sys.exit(main())
