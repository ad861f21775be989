#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the functions that read bytes of a peer or of a disk, from what the compiler says about the sources.

The rule: every function, static ones included, that a source or header of the layers FOLDERS or of the FILES outside
them defines, and that has a parameter of a byte type. Byte types are `struct view`, `struct reader`, pointers to
uint8_t and to void, and every struct or pointer to one that has a member of a byte type, or an array of uint8_t, at
any depth. Left out are, by reason of their type: `struct writer` and what only has a writer (the bytes in it are
ours), and texts that end in NUL (char): text_copy or the protobuf decoder has bounded them, and its own proof or fuzz
target shows that.

gcc names the functions with their parameters (-aux-info); the members of structs are read from the sources.

  tools/proofs/reading_functions.py    prints the list: file:line function
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src/base", "src/wire", "src/x509", "src/kubeconfig", "src/dra")
# Readers of a peer in the other layers that make no system call and keep no state of the program.
FILES = ("src/host/apiserver/tls_hello.c",)
DEFINITION = re.compile(r"^\/\* (\S+?):(\d+):NF \*\/ (.*?)\b(\w+) \((.*)\); \/\* \(", re.M)
STRUCT = re.compile(r"\bstruct (\w+)\s*\{")
BYTE_POINTER = re.compile(r"\b(uint8_t|void|unsigned char) (const )?\*")
BYTE_ARRAY = re.compile(r"\buint8_t \w+\[")
OURS = {"writer"}  # structs whose bytes this program wrote
BASIC = {"view", "reader"}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def files(root):
    """FILES, as far as the tree has them: the tests of the gate have a smaller one, and prove.py --fit misses one."""
    return [root / name for name in FILES if (root / name).exists()]


def sources(root):
    return sorted([*(path for folder in FOLDERS for path in (root / folder).glob("*.c")),
                   *files(root)])


def includes(root):
    """Folders of headers that are not of the tree."""
    text = (root / "build/deps/paths.mk").read_text()
    return re.findall(r"^(?:NANOPB|MBEDTLS)_DIR := (.+)$", text, re.M)


def block_after(text, begin):
    """What stands between the brace before `begin` and the one that closes it."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[begin:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[begin:begin + brace.start()]
    return text[begin:]


def structs(root):
    """name -> text of the members, comments left out."""
    found = {}
    single = [path for source in files(root) for path in (source, source.with_suffix(".h"))]
    folders = [path for folder in (*FOLDERS, "generated") for path in sorted((root / folder).glob("*.[ch]"))]
    for path in (*folders, *single):
        text = COMMENT.sub("", path.read_text())
        for head in STRUCT.finditer(text):
            # two files may have a struct of one name: what either has counts
            found[head[1]] = found.get(head[1], "") + block_after(text, head.end())
    return found


def byte_structs(root):
    """Names of the structs that hold or lead to bytes of others."""
    members = {name: body for name, body in structs(root).items() if name not in OURS}
    known = set(BASIC)
    known |= {name for name, body in members.items() if BYTE_POINTER.search(body) or BYTE_ARRAY.search(body)}
    while True:
        more = {name for name, body in members.items()
                if name not in known and known & set(re.findall(r"\bstruct (\w+)", body))}
        if not more:
            return known
        known |= more


def reads_bytes(parameters, byte_types):
    if BYTE_POINTER.search(parameters):
        return True
    return bool(byte_types & set(re.findall(r"\bstruct (\w+)", parameters)))


def definitions_of(root, path, folders):
    """[(file, line, function, parameters)] of what one source and its headers define."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as out:
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-DPB_VALIDATE_UTF8", "-w", f"-I{root}/src", f"-I{root}",
                        *(f"-isystem{folder}" for folder in folders), "-fsyntax-only", "-aux-info", out.name,
                        str(path)], check=True)
        text = pathlib.Path(out.name).read_text()
    found = []
    for name, line, _, function, parameters in DEFINITION.findall(text):
        where = pathlib.Path(name).resolve()
        if where.is_relative_to(root) and str(where.relative_to(root)).startswith((*FOLDERS, *FILES)):
            found.append((str(where.relative_to(root)), int(line), function, parameters))
    return found


def reading_functions(root=ROOT):
    """[(file, line, function)], sorted: the list that the gate compares with the proofs."""
    root = pathlib.Path(root).resolve()
    folders = includes(root)
    byte_types = byte_structs(root)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        lists = list(pool.map(lambda path: definitions_of(root, path, folders), sources(root)))
    return sorted({(name, line, function) for found in lists for name, line, function, parameters in found
                   if reads_bytes(parameters, byte_types)})


def main():
    for name, line, function in reading_functions():
        print(f"{name}:{line} {function}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
