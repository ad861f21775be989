#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes generated/: nanopb's output for proto/*.proto, the field filter's tables, HPACK tables, list of families.

  tools/build/generate.py          writes the files and generated/MANIFEST
  tools/build/generate.py --check  generates into a temporary folder and compares, changes nothing

Anything the nanopb generator says besides the files it writes is a failure: an options pattern that
matches nothing would silently turn a field of fixed size into a callback.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto"
GENERATED = ROOT / "generated"
PROJECTION = PROTO / "projection.proto"
TABLES = ROOT / "tools/build/hpack_tables.json"
BOARDS = ROOT / "boards"
PYTHON = "/usr/bin/python3"
EOS = 256  # RFC 7541 §5.2: never a decoded symbol
# REUSE-IgnoreStart
LICENCE = "SPDX-License-Identifier: Apache-2.0"    # of what it writes
# REUSE-IgnoreEnd


class Failure(Exception):
    """A message for the user, with the remedy in it."""


def nanopb_dir():
    """Where tools/build/deps.sh put the nanopb sources."""
    paths = ROOT / "build" / "deps" / "paths.mk"
    if not paths.exists():
        raise Failure(f"{paths.relative_to(ROOT)} is missing: run 'make deps'")
    found = re.search(r"^NANOPB_DIR\s*:?=\s*(\S+)", paths.read_text(), re.M)
    if not found or not (pathlib.Path(found[1]) / "generator").is_dir():
        raise Failure("the nanopb sources are missing: run 'make deps'")
    return pathlib.Path(found[1])


def header(source):
    return (f"/* {LICENCE} */\n"
            f"/* Written by tools/build/generate.py from {source}: edit that, then run 'make generate'. */\n")


def clean_environment():
    """The system python's own protobuf, whatever else the user has set up."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    env["PYTHONNOUSERSITE"] = "1"
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    env["LC_ALL"] = "C.UTF-8"
    return env


def run_nanopb(nanopb, out, protos):
    command = [PYTHON, str(nanopb / "generator" / "nanopb_generator.py"), "--no-timestamp",
               "-I", str(PROTO), "-D", str(out),
               "-L", '#include "%s"', "-Q", '#include "generated/%s"', *[p.name for p in protos]]
    done = subprocess.run(command, cwd=PROTO, env=clean_environment(), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    complaints = [line for line in done.stdout.splitlines()
                  if line.strip() and not line.startswith("Writing to ")]
    if done.returncode != 0 or complaints:
        raise Failure("nanopb generator: " + ("\n".join(complaints) or f"exit {done.returncode}"))


def check_callbacks(out, proto):
    """Each callback in the output was asked for in the options, and each one asked for is there."""
    options = PROTO / (proto.stem + ".options")
    wanted = len(re.findall(r"^[^#\n]*type:FT_CALLBACK", options.read_text() if options.exists() else "", re.M))
    wanted += len(re.findall(r"^[^/\n]*\(nanopb\)\.type = FT_CALLBACK", proto.read_text(), re.M))
    text = (out / (proto.stem + ".pb.h")).read_text()
    found = re.findall(r"^X\(a, CALLBACK, *\w+, *\w+, *(\w+),", text, re.M)
    if len(found) != wanted:
        raise Failure(f"proto/{proto.stem}: {wanted} callbacks asked for, {len(found)} made "
                      f"({', '.join(found)}): give each string, bytes and repeated field a size "
                      "or type:FT_CALLBACK")
    if "POINTER" in text:
        raise Failure(f"proto/{proto.stem}: pointer fields need a heap")


def generate_protos(nanopb, out):
    protos = sorted(PROTO.glob("*.proto"))
    run_nanopb(nanopb, out, protos)
    for proto in protos:
        check_callbacks(out, proto)
        for suffix in (".pb.h", ".pb.c"):
            path = out / (proto.stem + suffix)
            text = re.sub(r"\n{3,}", "\n\n", path.read_text()).rstrip() + "\n"
            # Nanopb writes "" for each text, of which gcc makes a constant to copy; {0} clears in place.
            text = re.sub(r"^(#define \w+_init_zero +)\{.*\}$", r"\1{0}", text, flags=re.M)
            path.write_text(header(f"proto/{proto.name}") + text)


# --- the field filter's tables, from the comments of projection.proto (its head explains them) ---

PATH = r"(?:\w+\(\d+\)|\*)(?:\.(?:\w+\(\d+\)|\*))*"
STEP = re.compile(r"(\w+)\((\d+)\)|(\*)")
OBJECT = re.compile(rf"// object (\w+)(?:: ({PATH}) of (\w+)|(, bare))?")
RECORD = re.compile(r"// record (\w+)  +(\S.*)")
FIELD = re.compile(r"  (optional|repeated) (\w+) (\w+) = (\d+)(?: \[([^]]*)\])?;(?:\s*// (.*))?")
SOURCE = re.compile(rf"(?:(\w+): )?({PATH})((?:, (?:cut|at most \d+ bytes|at once as \w+))*)")
# Every object of the API server stands in an envelope, which in a watch stands in an event. These rows begin its table,
# so that the filter can go on with another one when the object's type is known. A bare object has no envelope.
WATCH_EVENT, UNKNOWN = "WatchEvent", "Unknown"
UNKNOWN_PATH, UNKNOWN_META, UNKNOWN_RAW = ("object(2)", "raw(1)"), "typeMeta(1)", "raw(2)"
ROWS_MAX = 255


class Place:
    """One message or field of an object, and what the filter does with it."""

    def __init__(self, step, parent):
        found = STEP.fullmatch(step)
        self.name, self.number = found[1] or "*", int(found[2] or 0)
        self.parent, self.children = parent, {}
        self.kind, self.record, self.number_in_record, self.limit = "KUBE_DESCEND", "0", 0, 0

    def child(self, step):
        if step not in self.children:
            self.children[step] = Place(step, self)
        return self.children[step]

    def below(self, path):
        place = self
        for step in path:
            place = place.child(step)
        return place

    def path(self):
        above = self.parent.path() if self.parent else []
        return [*above, self.name] if self.parent else []


class Record:
    def __init__(self, name, places):
        self.name, self.places = name, places


class Projection:
    """What projection.proto says: objects, the records of each message, and where their fields come from."""

    def __init__(self, text):
        self.objects, self.names, self.roots, self.bare = {}, [], {}, set()
        self.message, self.records = "", []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                self.read(line)
            except (ValueError, KeyError) as error:
                raise Failure(f"proto/{PROJECTION.name}:{number}: {error}") from None

    def read(self, line):
        if found := OBJECT.fullmatch(line):
            self.objects[found[1]] = (found[2], found[3])
            if found[4]:
                self.bare.add(found[1])
            self.roots[found[1]] = Place("*", None) if found[4] else self.new_table(found[1])
        elif found := RECORD.fullmatch(line):
            self.records.append(self.add_record(found[1], found[2].split(", ")))
        elif found := re.fullmatch(r"message (\w+) \{\}?", line):
            self.message = found[1]
            if not self.records:
                raise ValueError(f"{self.message}: no line '// record' above it")
            if line.endswith("}"):
                self.records = []
        elif line == "}":
            self.records = []
        elif found := FIELD.fullmatch(line):
            self.add_field(found)
        elif line.startswith("  ") or line.startswith(("// object ", "// record ")):
            raise ValueError(f"cannot read: {line.strip()}")

    def new_table(self, name):
        """Top of a table: the event, the envelope and the object's own place in it."""
        top = Place("*", None)
        top.child("type(1)")
        envelope = top.below(UNKNOWN_PATH)
        envelope.kind = "KUBE_ENVELOPE"
        if name not in (WATCH_EVENT, UNKNOWN):
            envelope.child(UNKNOWN_META)
            envelope.child(UNKNOWN_RAW)
        return top

    def places(self, name, path):
        """Where a path of an object stands in each table that holds the object."""
        enveloped = [(key, top) for key, top in self.roots.items() if key not in self.bare]
        if name == WATCH_EVENT:
            return [(key, top.below(path)) for key, top in enveloped]
        if name == UNKNOWN:
            return [(key, top.below([*UNKNOWN_PATH, *path])) for key, top in enveloped]
        if name not in self.objects:
            raise ValueError(f"no object {name}")
        if name in self.bare:
            return [(name, self.roots[name].below(path))]
        found = [(name, self.roots[name].below([*UNKNOWN_PATH, UNKNOWN_RAW, *path]))]
        for holder, (items, of) in self.objects.items():
            if of == name:
                top = self.roots[holder].below([*UNKNOWN_PATH, UNKNOWN_RAW, *items.split("."), *path])
                found.append((name, top))
        return found

    def record_number(self, name):
        if name not in self.names:
            self.names.append(name)
        return f"KUBE_{name}"

    def add_record(self, name, paths):
        places = []
        for path in paths:
            parts = path.split(".")
            if not all(STEP.fullmatch(step) for step in parts[1:]):
                raise ValueError(f"no path: {path}")
            places += self.places(parts[0], parts[1:])
        if name != "none":
            for _, place in places:
                place.kind, place.record = "KUBE_RECORD", self.record_number(name)
        return Record(name, places)

    def add_field(self, found):
        _, kind, name, number, options, sources = found.groups()
        if not sources:
            raise ValueError(f"{name}: behind it, say which field of the object it holds: // name(1)")
        limit = re.search(r"max_length = (\d+)", options or "")
        for source in sources.split("; "):
            parts = SOURCE.fullmatch(source)
            if not parts:
                raise ValueError(f"{name}: cannot read '{source}'")
            most = re.search(r"at most (\d+) bytes", parts[3])
            if kind in ("string", "bytes") and not (limit or most):
                raise ValueError(f"{name}: give it a max_length, or say 'at most N bytes'")
            once = re.search(r"at once as (\w+)", parts[3])
            bound = int((most or limit or [0, 0])[1])
            for place in self.fields_at(parts[1], parts[2].split(".")):
                place.kind = "KUBE_KEEP_CUT" if ", cut" in parts[3] else "KUBE_KEEP"
                if place.number == 0:
                    place.kind = "KUBE_PRESENT"
                if once:
                    place.kind, place.record = "KUBE_RECORD_FIELD", self.record_number(once[1])
                place.number_in_record, place.limit = int(number), bound

    def fields_at(self, only, path):
        """Places of a field below those of the message's records; `only` names a record or an object."""
        found = [place.below(path) for record in self.records for name, place in record.places
                 if only in (None, record.name, name)]
        if not found:
            raise ValueError(f"'{only}' is no record of {self.message}, and no object that it stands in")
        return found


def rows_of(top):
    """The places below the top, each after its parent."""
    rows, waiting = [], list(top.children.values())
    while waiting:
        place = waiting.pop(0)
        rows.append(place)
        waiting = [*place.children.values(), *waiting]
    return rows


def rules_table(name, top):
    rows = rows_of(top)
    if len(rows) > ROWS_MAX:
        raise Failure(f"proto/{PROJECTION.name}: {name} has {len(rows)} fields, the filter takes {ROWS_MAX}")
    at = {id(place): number for number, place in enumerate(rows)}
    macro = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
    lines = [f"#define KUBE_ROWS_{macro}"]
    for number, place in enumerate(rows):
        parent = at.get(id(place.parent), "KUBE_ROOT")
        shown = ".".join(place.path()).removeprefix("object.raw.raw.")
        lines.append(f"    /* {number} */ {{{parent}, {place.kind}, {place.number}, {place.record}, "
                     f"{place.number_in_record}, {place.limit}}}, /* {shown} */")
    return " \\\n".join(lines) + "\n"


def generate_rules(out):
    projection = Projection(PROJECTION.read_text())
    tables = {name: top for name, top in projection.roots.items() if name not in (WATCH_EVENT, UNKNOWN)}
    if not tables or not projection.names:
        raise Failure(f"proto/{PROJECTION.name}: no objects or no records: the comments are not understood")
    envelope = [place.path() for place in rows_of(next(iter(tables.values())))].index([*place_names(UNKNOWN_PATH)])
    lines = [header(f"proto/{PROJECTION.name}"), f"""\
/*
 * The records of the field filter and, for each object, the rows of its table (struct kube_rule of
 * wire/kube_filter.h). What each record holds: proto/{PROJECTION.name}.
 */
#ifndef GENERATED_KUBE_RULES_H
#define GENERATED_KUBE_RULES_H

/* Numbers of the records. */
enum {{
    KUBE_RECORD_NONE,
"""]
    lines += [f"    KUBE_{name},\n" for name in projection.names]
    lines += ["    KUBE_RECORDS\n};\n\n",
              "/* Row of the envelope, in every table. */\n", f"#define KUBE_ROW_ENVELOPE {envelope}u\n"]
    for name, top in tables.items():
        lines += [f"\n/* {name} */\n", rules_table(name, top)]
    lines.append("\n#endif\n")
    (out / "kube_rules.h").write_text("".join(lines))


def place_names(path):
    return [STEP.fullmatch(step)[1] for step in path]


# --- HPACK ---

def static_table(rows):
    if len(rows) != 61:
        raise Failure(f"{TABLES.name}: static_table has {len(rows)} rows, RFC 7541 has 61")
    at, entries = 0, []
    for name, value in rows:
        entries.append((at, len(name), len(value)))
        at += len(name) + len(value)
    head = header("tools/build/hpack_tables.json") + f"""\
/*
 * HPACK static table, RFC 7541 Appendix A. Entry i has the index i + 1. All texts stand one behind
 * the other, without NUL, each value behind its name.
 */
#ifndef GENERATED_HPACK_STATIC_H
#define GENERATED_HPACK_STATIC_H

#include <stdint.h>

#define HPACK_STATIC_ENTRIES {len(rows)}u

struct hpack_static_entry {{
    uint16_t at; /* of the name in hpack_static_texts */
    uint8_t name_len;
    uint8_t value_len;
}};

extern const struct hpack_static_entry hpack_static_table[HPACK_STATIC_ENTRIES];
extern const char hpack_static_texts[{at + 1}]; /* with the NUL of the last one */

#endif
"""
    body = [header("tools/build/hpack_tables.json"), '#include "generated/hpack_static.h"\n\n',
            f"const char hpack_static_texts[{at + 1}] =\n"]
    body.append("\n".join(f'    "{name}{value}"' for name, value in rows) + ";\n\n")
    body.append("const struct hpack_static_entry hpack_static_table[HPACK_STATIC_ENTRIES] = {\n")
    for index, ((name, value), numbers) in enumerate(zip(rows, entries), 1):
        body.append(f"    {{{', '.join(map(str, numbers))}}}, /* {index} {name} */\n")
    body.append("};\n")
    return head, "".join(body)


def canonical(lengths):
    """(symbols in code order without EOS, rows of (length, first code, count without EOS, offset))."""
    if len(lengths) != 257:
        raise Failure(f"{TABLES.name}: {len(lengths)} code lengths, RFC 7541 has 257")
    order = sorted(range(257), key=lambda symbol: (lengths[symbol], symbol))
    if order[-1] != EOS or sum(1 << (30 - length) for length in lengths) != 1 << 30:
        raise Failure(f"{TABLES.name}: the code lengths are no complete code that ends in EOS")
    rows, symbols, code, previous = [], [], 0, lengths[order[0]]
    for symbol in order:
        length = lengths[symbol]
        code <<= length - previous
        if not rows or rows[-1][0] != length:
            rows.append([length, code, 0, len(symbols)])
        if symbol != EOS:
            rows[-1][2] += 1
            symbols.append(symbol)
        code += 1
        previous = length
    return symbols, rows


def huffman(lengths):
    symbols, rows = canonical(lengths)
    head = header("tools/build/hpack_tables.json") + f"""\
/*
 * HPACK Huffman code, RFC 7541 Appendix B, as what it is: a canonical code. Codes of one length are
 * consecutive; each row describes one length, shortest first.
 *
 * To decode: let `window` be the next 32 bits of the input, first bit highest, padded with ones.
 * The symbol belongs to the first row with
 *   window - row.first < (uint32_t)row.count << (32 - row.length)
 * and is hpack_huffman_symbols[row.offset + ((window - row.first) >> (32 - row.length))]. Rows are
 * tried in order, so `window >= row.first` holds whenever a row is reached. No row: EOS, an error in
 * a string.
 */
#ifndef GENERATED_HPACK_HUFFMAN_H
#define GENERATED_HPACK_HUFFMAN_H

#include <stdint.h>

#define HPACK_HUFFMAN_ROWS {len(rows)}u
#define HPACK_HUFFMAN_LENGTH_MIN {rows[0][0]}u  /* bits of the shortest code */
#define HPACK_HUFFMAN_LENGTH_MAX {rows[-1][0]} /* bits of the longest code */

struct hpack_huffman_row {{
    uint32_t first; /* first code of this length, its first bit in bit 31 */
    uint8_t length; /* bits */
    uint8_t count;  /* symbols of this length, EOS not counted */
    uint8_t offset; /* of its first symbol in hpack_huffman_symbols */
}};

extern const struct hpack_huffman_row hpack_huffman_rows[HPACK_HUFFMAN_ROWS];
extern const uint8_t hpack_huffman_symbols[256]; /* in the order of their codes, EOS left out */

#endif
"""
    body = [header("tools/build/hpack_tables.json"), '#include "generated/hpack_huffman.h"\n\n',
            "const struct hpack_huffman_row hpack_huffman_rows[HPACK_HUFFMAN_ROWS] = {\n"]
    for length, first, count, offset in rows:
        body.append(f"    {{0x{first << (32 - length):08x}u, {length}, {count}, {offset}}},\n")
    body.append("};\n\nconst uint8_t hpack_huffman_symbols[256] = {\n")
    for start in range(0, 256, 16):
        body.append("    " + ", ".join(str(s) for s in symbols[start:start + 16]) + ",\n")
    body.append("};\n")
    return head, "".join(body)


def generate_hpack(out):
    tables = json.loads(TABLES.read_text())
    for name, (head, body) in (("hpack_static", static_table(tables["static_table"])),
                               ("hpack_huffman", huffman(tables["huffman_code_lengths"]))):
        (out / (name + ".h")).write_text(head)
        (out / (name + ".c")).write_text(body)


def generate_families(out):
    """Each file of boards/ but boards.c is a family of that name: a new one is found here."""
    names = sorted(path.stem for path in BOARDS.glob("*.c") if path.stem != "boards")
    lines = [header("the names of the files of boards/"),
             "#ifndef GENERATED_FAMILIES_H\n#define GENERATED_FAMILIES_H\n\nstruct board_family;\n"]
    lines += [f"extern const struct board_family {name}_family;\n" for name in names]
    lines += ["\n/* All of them. */\n#define BOARD_FAMILIES " + ", ".join(f"&{name}_family" for name in names),
              "\n\n#endif\n"]
    (out / "families.h").write_text("".join(lines))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_manifest(nanopb, out):
    inputs = sorted([*PROTO.glob("*.proto"), *PROTO.glob("*.options"), TABLES,
                     pathlib.Path(__file__).resolve()])
    outputs = sorted([*out.glob("*.c"), *out.glob("*.h")])
    lines = [f"# {LICENCE}\n",
             "# sha256 of what went in and what came out; written by tools/build/generate.py.\n",
             f"generator {nanopb.name}\n"]
    lines += [f"in  {digest(path)} {path.relative_to(ROOT)}\n" for path in inputs]
    lines += [f"out {digest(path)} generated/{path.name}\n" for path in outputs]
    (out / "MANIFEST").write_text("".join(lines))


def generate(out):
    nanopb = nanopb_dir()
    generate_protos(nanopb, out)
    generate_rules(out)
    generate_hpack(out)
    generate_families(out)
    write_manifest(nanopb, out)


def differences(fresh, kept):
    names = {p.name for p in fresh.iterdir()} | {p.name for p in kept.iterdir()}
    for name in sorted(names):
        if not (kept / name).exists():
            yield f"generated/{name}: missing"
        elif not (fresh / name).exists():
            yield f"generated/{name}: nothing generates it"
        elif (fresh / name).read_bytes() != (kept / name).read_bytes():
            yield f"generated/{name}: differs from a fresh generation"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    arguments = parser.parse_args()
    GENERATED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        fresh = pathlib.Path(folder)
        try:
            generate(fresh)
        except Failure as failure:
            print(f"generate: {failure}", file=sys.stderr)
            return 1
        found = list(differences(fresh, GENERATED))
        if arguments.check:
            for line in found:
                print(f"{line}: run 'make generate' and commit the result", file=sys.stderr)
            return 1 if found else 0
        for path in GENERATED.iterdir():
            if not (fresh / path.name).exists():
                path.unlink()
        for path in fresh.iterdir():
            kept = GENERATED / path.name
            if not kept.exists() or kept.read_bytes() != path.read_bytes():
                kept.write_bytes(path.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
