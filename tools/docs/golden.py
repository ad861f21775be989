#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Adds an attribute to golden files: a line for each device, in the byte order of the keys.

  tools/docs/golden.py KEY TYPE VALUE             to every file of tests/vectors/boards
  tools/docs/golden.py KEY TYPE VALUE --on BOARD  to the file of that instance type alone
  tools/docs/golden.py KEY TYPE VALUE --on BOARD --more NAME --when WORDS
                       into tests/vectors/more/NAME.txt, for an attribute that a flag or the machine's state adds

TYPE is int, bool, string, version or capacity. A # in VALUE becomes the number of the device. The device of a whole
node gets a line only with --node. Values that follow another rule are edited afterwards: the golden files say what
the agent must publish, so they are never written from what it does publish.
"""

import argparse
import pathlib
import sys

import attributes

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = """# SPDX-License-Identifier: Apache-2.0
# Attributes more than the golden file of a type has: when, the folder of that file and its name, then the lines \
of devices.
"""


class Refused(ValueError):
    """The attribute cannot be added."""


def device_of(line):
    """The device of a line of an attribute, otherwise None."""
    found = attributes.LINE.fullmatch(line)
    return found[1] if found else None


def line_of(device, attribute):
    """The new line of a device."""
    line = f"{device} {attribute.replace('#', device)}"
    if not attributes.LINE.fullmatch(line):
        raise Refused(f"'{line}' is no line of a golden file: KEY TYPE VALUE, where TYPE is int, bool, string, version "
                      "or capacity")
    return line


def devices_in(text, with_node):
    """The devices of a golden file that get a line, in its order."""
    found = dict.fromkeys(filter(None, map(device_of, text.splitlines())))
    return [device for device in found if with_node or device != attributes.NODE]


def added(text, attribute, with_node):
    """The golden file with one line more for each device."""
    lines, key = text.splitlines(), attribute.split(" ")[0].encode()
    for device in devices_in(text, with_node):
        own = [at for at, line in enumerate(lines) if device_of(line) == device]
        before = [at for at in own if lines[at].split(" ")[1].encode() < key]
        if any(lines[at].split(" ")[1].encode() == key for at in own):
            raise Refused(f"device {device} has {key.decode()} already")
        lines.insert(before[-1] + 1 if before else own[0], line_of(device, attribute))
    return "\n".join(lines) + "\n"


def more(text, attribute, options):
    """A file of tests/vectors/more, by the golden file of its instance type."""
    lines = [line_of(device, attribute) for device in devices_in(text, options.node)]
    return HEAD + "\n".join([f"when {options.when}", f"board boards {options.on}", *lines]) + "\n"


def written(root, options):
    """The files to write, and their texts; nothing is written if one of them is refused."""
    vectors = pathlib.Path(root) / attributes.VECTORS
    attribute = " ".join((options.key, options.type, options.value))
    paths = sorted((vectors / "boards").glob(f"{options.on or '*'}.txt"))
    if not paths:
        raise Refused(f"{attributes.VECTORS}/boards has no {options.on}.txt")
    if not options.more:
        return {path: added(path.read_text(), attribute, options.node) for path in paths}
    path = vectors / attributes.MORE / f"{options.more}.txt"
    if not options.on or not options.when or path.exists():
        raise Refused(f"--more needs --on and --when, and a name that {attributes.VECTORS}/{attributes.MORE} lacks")
    return {path: more(paths[0].read_text(), attribute, options)}


def main(arguments=None, root=ROOT):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("key", "type", "value"):
        parser.add_argument(name)
    parser.add_argument("--on", metavar="BOARD", help="only the golden file of this instance type")
    parser.add_argument("--node", action="store_true", help="the device of a whole node gets a line too")
    parser.add_argument("--more", metavar="NAME", help="write tests/vectors/more/NAME.txt instead")
    parser.add_argument("--when", metavar="WORDS", help="of that file: what adds the attribute")
    try:
        texts = written(root, parser.parse_args(arguments))
    except Refused as why:
        print(f"golden: {why}", file=sys.stderr)
        return 1
    for path, text in texts.items():
        path.write_text(text)
    print(f"{len(texts)} files written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
