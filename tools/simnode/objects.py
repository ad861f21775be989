# SPDX-License-Identifier: Apache-2.0
"""API objects and gRPC messages between bytes, Python and YAML, by the .proto files of this repository.

Owns the translation only: tests/sim/objects.proto has the JSON names of the API, proto/dra.proto the
kubelet's messages. Nothing is generated into the tree.
"""

import datetime
import json
import pathlib
import subprocess
import tempfile

import yaml
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINE_COLUMNS = 92


class Messages:
    """Message classes by name: messages["objects.Node"]."""

    def __init__(self, *files):
        self.pool = descriptor_pool.DescriptorPool()
        with tempfile.TemporaryDirectory(prefix="neuron-demo-proto-") as folder:
            out = pathlib.Path(folder) / "set"
            includes = {f"-I{(ROOT / name).parent}" for name in files}
            subprocess.run(["protoc", f"--descriptor_set_out={out}", *sorted(includes),
                            *(str(ROOT / name) for name in files)], check=True)
            described = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
        for file in described.file:
            self.pool.Add(file)

    def __getitem__(self, name):
        descriptor = self.pool.FindMessageTypeByName(name)
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)
        return message_factory.MessageFactory(self.pool).GetPrototype(descriptor)


def plain(message):
    """What kubectl shows of a message: dicts, lists and values, without empty texts."""
    name = message.DESCRIPTOR.name
    if name == "Time":
        moment = datetime.datetime.fromtimestamp(message.seconds, datetime.timezone.utc)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if name == "RawExtension":
        return json.loads(message.raw)
    result = {}
    for field, value in message.ListFields():
        if field.label == field.LABEL_REPEATED:
            result[field.name] = plain_many(field, value)
        elif field.message_type:
            result[field.name] = plain(value)
        elif value != "" or name == "DeviceAttribute":
            result[field.name] = value
    # Inlined in JSON, a message of its own in protobuf.
    result.update(result.pop("deviceConfiguration", {}))
    return result


def plain_many(field, value):
    if field.message_type and field.message_type.GetOptions().map_entry:
        inner = field.message_type.fields_by_name["value"].message_type
        return {key: plain(value[key]) if inner else value[key] for key in sorted(value)}
    return [plain(item) if field.message_type else item for item in value]


class Flow(dict):
    """A mapping that stands on one line."""


class Dumper(yaml.SafeDumper):
    """Indents sequences as kubectl does not, but people read more easily."""

    def increase_indent(self, flow=False, indentless=False):
        return super().increase_indent(flow, False)


Dumper.add_representer(Flow, lambda dumper, value: dumper.represent_mapping(
    "tag:yaml.org,2002:map", value.items(), flow_style=True))


def to_yaml(value):
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, width=LINE_COLUMNS)


def slice_document(message):
    """A stored ResourceSlice as a document; attribute values stand on one line."""
    document = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", **plain(message)}
    for device in document["spec"]["devices"]:
        device["attributes"] = {key: Flow(value) for key, value in device["attributes"].items()}
    return document
