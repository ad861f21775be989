#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes of the linked program by layer and library, and the ledger tests/bench/size.json that keeps them.

  tools/graph/size.py            the table of this build beside the ledger (`make size`)
  tools/graph/size.py --update   writes this build into the ledger (`make size UPDATE=1`)

Link-time optimisation mixes the files, so sizes come from the twin with symbols: each byte of code belongs to the
source file that the line table names for its address, also where a function was inlined into another one; a variable
to the file that DWARF says defines it. What has neither is musl's, which comes without debugging information, when a
symbol covers it. A string literal has no symbol: it belongs to the first layer whose source text holds it. What is left
(constants that the compiler made, literals that macros put together, padding) is the row "unnamed".
"""

import argparse
import bisect
import collections
import json
import pathlib
import platform
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import gate  # noqa: E402

PROGRAM = "build/neuron-dra-agent"
DEBUG = PROGRAM + ".debug"
LEDGER = "tests/bench/size.json"
KINDS = ("text", "rodata", "data", "bss")
SECTIONS = {".init": "text", ".text": "text", ".fini": "text", ".rodata": "rodata", ".eh_frame": "rodata",
            ".data.rel.ro": "data", ".dynamic": "data", ".got": "data", ".data": "data", ".tdata": "data",
            ".bss": "bss", ".tbss": "bss"}
LAYERS = ("base", "wire", "x509", "kubeconfig", "dra", "agent", "command", "host", "main", "boards", "generated",
          "mbedtls", "nanopb", "musl", "unnamed")
GROWTH_MAX = 0.02
GROWTH_BYTES = 256  # less than that is no growth: the optimiser moves so much by itself
ROW = re.compile(r"\S+\s+(\d+|-)\s+(0x[0-9a-f]+)")
LITERALS = re.compile(r'''"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*''')
LITERAL = re.compile(r'''"((?:\\.|[^"\\\n])*)"''')
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
PATHS = "build/deps/paths.mk"
ENTRY = re.compile(r"<([0-9a-f]+)>: Abbrev Number: \d+ \((DW_TAG_\w+)\)")


def room_of(path):
    """Room or library of a source path as DWARF writes it."""
    path = path.removeprefix("./")
    for library in ("mbedtls", "nanopb"):
        if f"/{library}-" in path:
            return library
    parts = path.split("/")
    if parts[0] == "src":
        return "/".join(parts[1:-1]) if len(parts) > 2 else "main"
    return parts[0] if parts[0] in ("boards", "generated") else None


def read_sections(program):
    """(name, address, offset in the file, size) of the sections that are counted."""
    for name, *numbers in re.findall(r"^\s*\[ *\d+\] (\.\S+)\s+\S+\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)",
                                     gate.run(["readelf", "-SW", program]), re.M):
        if name in SECTIONS:
            yield name, *(int(number, 16) for number in numbers)


def read_lines(program):
    """(first address, end, layer or None) of code by the line table."""
    layer, start, owner = None, None, None
    for line in gate.run(["objdump", "--dwarf=decodedline", program], stderr=subprocess.DEVNULL).splitlines():
        row = ROW.match(line)
        if row:
            address = int(row[2], 16)
            if start is not None and address > start:
                yield start, address, owner
            start, owner = (None, None) if row[1] == "-" else (address, layer)
        elif line.endswith(":") and not line.startswith("Contents"):
            layer = room_of(re.sub(r"^CU: ", "", line[:-1]))


def read_variables(program):
    """address -> layer of each variable, by the unit that DWARF defines it in."""
    units, found, die, tag = [], [], None, ""
    for line in gate.run(["readelf", "--debug-dump=info", "-W", program]).splitlines():
        head = ENTRY.search(line)
        if head:
            die, tag = int(head[1], 16), head[2]
        elif tag == "DW_TAG_compile_unit" and "DW_AT_name" in line:
            units.append((die, room_of(line.rsplit(": ", 1)[1].strip())))
        elif tag == "DW_TAG_variable" and "DW_AT_abstract_origin" in line:
            die = int(re.search(r"<0x([0-9a-f]+)>", line)[1], 16)
        elif tag == "DW_TAG_variable" and "DW_AT_location" in line and "DW_OP_addr: " in line:
            found.append((int(re.search(r"DW_OP_addr: ([0-9a-f]+)", line)[1], 16), die))
    units.sort()
    starts = [unit[0] for unit in units]
    return {address: units[bisect.bisect_right(starts, origin) - 1][1] for address, origin in found}


def read_symbols(program):
    """(address, size) of each symbol, each address once."""
    sizes = {}
    for line in gate.run(["nm", "-S", program]).splitlines():
        words = line.split()
        if len(words) == 4:
            address, size = int(words[0], 16), int(words[1], 16)
            sizes[address] = max(size, sizes.get(address, 0))
    return sorted(sizes.items())


def source_files(root):
    """(path as DWARF writes it, file) of our sources and of mbedTLS's."""
    for path in gate.own_c_files(root, ("base", "src", "boards", "generated", "cfg")):
        yield str(path), pathlib.Path(root) / path
    paths = pathlib.Path(root) / PATHS
    found = re.search(r"^MBEDTLS_DIR := (.+)$", paths.read_text() if paths.exists() else "", re.M)
    for path in sorted(pathlib.Path(found[1]).glob("library/*.[ch]")) if found else ():
        yield str(path), path


def read_literals(root):
    """text of each string literal, neighbours joined -> layer."""
    literals = {}
    for name, path in sorted(source_files(root), key=lambda entry: rank(room_of(entry[0]))):
        for match in LITERALS.finditer(path.read_text(errors="replace")):
            text = "".join(LITERAL.findall(match[0]))
            data = ESCAPE.sub(unescape, text).encode()
            literals.setdefault(data, room_of(name) or "unnamed")
    return literals


def unescape(match):
    word = match[1]
    if word[0] in "01234567":
        return chr(int(word, 8))
    return chr(int(word[1:], 16)) if word[0] == "x" else ESCAPES.get(word, word)


def layer_of(room):
    return room.split("/")[0]


def rank(room):
    return LAYERS.index(layer_of(room)) if room and layer_of(room) in LAYERS else len(LAYERS)


def measure(root):
    """room -> kind -> bytes; each byte of the counted sections is in it once."""
    program = str(pathlib.Path(root) / DEBUG)
    sizes = collections.defaultdict(lambda: dict.fromkeys(KINDS, 0))
    variables, data = read_variables(program), pathlib.Path(program).read_bytes()
    lines = sorted(read_lines(program))
    symbols = [(at, at + size, variables.get(at) or "musl") for at, size in read_symbols(program)]
    literals = read_literals(root)
    for name, first, offset, length in read_sections(program):
        kind = SECTIONS[name]
        for start, stop, layer in cover(lines if kind == "text" else symbols, first, first + length):
            if layer is None and kind == "text":
                layer = "musl"
            if layer is None and kind == "rodata":
                text = data[offset + start - first:offset + stop - first]
                for piece in text.split(b"\0"):
                    sizes[literals.get(piece, "unnamed") if piece else "unnamed"][kind] += len(piece) + 1
                sizes["unnamed"][kind] -= 1
            else:
                sizes[layer or "unnamed"][kind] += stop - start
    return {room: dict(sizes[room]) for room in sorted(sizes, key=lambda room: (rank(room), room))}


def by_layer(rooms):
    """The same, the rooms of a layer together."""
    layers = {}
    for room, kinds in rooms.items():
        layer = layers.setdefault(layer_of(room), dict.fromkeys(KINDS, 0))
        for kind, count in kinds.items():
            layer[kind] += count
    return layers


def cover(ranges, first, end):
    """(start, stop, layer) that fill a section from its first byte to its end; layer None where no range is."""
    at = first
    for start, stop, layer in ranges:
        start, stop = max(start, at), min(stop, end)
        if stop > start:
            if start > at:
                yield at, start, None
            yield start, stop, layer
            at = stop
    if end > at:
        yield at, end, None


def compiler():
    return gate.run(["gcc", "-dumpfullversion"]).strip()


def current(root):
    """The ledger of this build."""
    return {"machine": platform.machine(), "compiler": compiler(),
            "binary": (pathlib.Path(root) / PROGRAM).stat().st_size, "layers": by_layer(measure(root))}


def read_ledger(root):
    path = pathlib.Path(root) / LEDGER
    return json.loads(path.read_text()) if path.exists() else None


def write_ledger(root, ledger):
    """One layer a line, so that a change shows which one grew."""
    rows = [f"  {json.dumps(layer)}: {json.dumps(kinds)}" for layer, kinds in ledger["layers"].items()]
    head = [f" {json.dumps(key)}: {json.dumps(ledger[key])}," for key in ("machine", "compiler", "binary")]
    text = "\n".join(["{", *head, ' "layers": {', ",\n".join(rows), " }", "}"]) + "\n"
    (pathlib.Path(root) / LEDGER).write_text(text)


def growths(kept, new):
    """(layer, kind, bytes before, bytes now) of what grew by more than the ledger lets pass."""
    pairs = [("binary", "file", kept["binary"], new["binary"])]
    for layer, kinds in new["layers"].items():
        before = kept["layers"].get(layer, {})
        pairs += [(layer, kind, before.get(kind, 0), count) for kind, count in kinds.items()]
    return [(layer, kind, old, now) for layer, kind, old, now in pairs
            if now - old > max(GROWTH_BYTES, old * GROWTH_MAX)]


def table(new, kept):
    yield f"{'':12}" + "".join(f"{kind:>21}" for kind in KINDS)
    total = collections.Counter()
    for layer, kinds in new["layers"].items():
        cells = ""
        for kind in KINDS:
            old = kept["layers"].get(layer, {}).get(kind, 0) if kept else kinds[kind]
            cells += f"{kinds[kind]:>12,}" + (f" {kinds[kind] - old:+8,}" if kinds[kind] != old else " " * 9)
            total[kind] += kinds[kind]
        yield f"{layer:12}" + cells
    yield f"{'all':12}" + "".join(f"{total[kind]:>12,}" + " " * 9 for kind in KINDS)
    old = f" ({new['binary'] - kept['binary']:+,} against the ledger)" if kept else ""
    yield f"{PROGRAM}: {new['binary']:,} bytes{old}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=gate.ROOT, type=pathlib.Path, help="tree whose build is measured")
    parser.add_argument("--update", action="store_true", help=f"write this build into {LEDGER}")
    options = parser.parse_args()
    new, kept = current(options.root), read_ledger(options.root)
    print("\n".join(line.rstrip() for line in table(new, kept)))
    if options.update:
        write_ledger(options.root, new)
        print(f"size: written to {LEDGER}: say in the change why what grew grew")


if __name__ == "__main__":
    sys.exit(main())
