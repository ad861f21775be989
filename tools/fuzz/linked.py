# SPDX-License-Identifier: Apache-2.0
"""Which files of the repository decide on a fuzz target's program, and a sum of them.

files_of reads a built program: the compile units in its debug information are the members that the linker took, and the
compiler's .d file of each names what that unit includes. It needs a build; sum_of needs only the list and a tree.

While no file of a list changes, the list stays what it is, so a list that was made once can be judged in a fresh clone:
another unit is linked only where a linked one refers to it, and another header is read only where one of these files
includes it, or where the rules say so. These are the exceptions, each a new file that takes the place of another:

- a header that the compiler finds before the one of the list, or before one of the machine: in the folder of the file
  that includes it, or below src where the other lies elsewhere;
- a unit that defines a name which a linked unit takes from a later member of the archive, or from a library.

The compiler, the C library and the libraries that a target compares with are of the machine, and are not summed. Of C,
comments are not summed, nor are limits that no file of the list names: they change the program in nothing but the line
numbers that a failed assertion prints.
"""

import hashlib
import os
import pathlib
import re
import subprocess
import sys

import fuzz

ROOT = fuzz.ROOT
# Both count: what -O2 leaves out of one program may be linked into the other.
BUILDS = ("fast", "address")
# The rules by which a program is built, and what of them decides; the rest of these files is about other programs.
RULES = {
    "Makefile": r"(?m)^(?:SOURCES|MAIN|SIM_MODELS|NANOPB_NAMES) :=.*",
    "tools/make/compile.mk": r"(?m)^(?:CLANG|CLANGXX|INCLUDES|DEFINES|LANGUAGE) :?=.*",
    "tools/make/fuzz.mk": r"(?ms)\A.*?(?=^\.PHONY:)",
}
# The release of nanopb, for those whose program has its messages.
PINS = "tools/build/pins"
PARTS = {**RULES, PINS: r"(?m)^NANOPB_ACCEPT=.*"}
UNIT = re.compile(r"DW_TAG_compile_unit\)\n(.*?)(?=\n <|\n  Compilation Unit|\Z)", re.DOTALL)
VALUE = r"{} *: (?:\([^)\n]*\): )?(.+)"
MESSAGES = re.compile(r"generated/(\w+)\.pb\.[ch]")
CODE = re.compile(r"\.(c|h|cc)$")
LIMITS = re.compile(r"cfg/limits\w*\.h")
WORDS = re.compile(r"""(?:/\*.*?\*/|//[^\n]*|[ \t])+|(?P<literal>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.DOTALL)
DEFINITION = re.compile(r"(?m)^#define (\w+)(?:.*\\\n)*.*$")
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
EMBEDDED = re.compile(r'"(proto/\w+\.proto)"')


def in_repository(path, folder):
    """The name of a file from the top of the repository; None: it is of the machine, or made by the build."""
    full = (pathlib.Path(folder) / path).resolve()
    name = str(full.relative_to(ROOT)) if full.is_relative_to(ROOT) else None
    return None if name is None or name.startswith("build/") else name


def units_in(information):
    """The compile units of the repository, from what readelf says of a program."""
    found = set()
    for unit in UNIT.findall(information):
        name, folder = (re.search(VALUE.format(word), unit) for word in ("DW_AT_name", "DW_AT_comp_dir"))
        found.add(in_repository(name[1].strip(), folder[1].strip()) if name and folder else None)
    return found - {None}


def units_of(target, build):
    program = fuzz.BUILD / build / target
    if not program.exists():
        sys.exit(f"campaign: {fuzz.relative(program)} is not there: make fuzz-campaign builds it")
    said = subprocess.run(["readelf", "--debug-dump=info", "--dwarf-depth=1", program], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
                          check=True)
    units = units_in(said.stdout)
    if f"tests/fuzz/fuzz_{target}.c" not in units:
        sys.exit(f"campaign: the debug information of {fuzz.relative(program)} does not name the target's own file in "
                 f"{ROOT}: remove it, and build it here")
    return units


def read_by(rule):
    """What a unit reads of the repository, from its .d file: the first rule; those behind it name single headers."""
    names = rule.replace("\\\n", " ").partition(": ")[2].partition("\n")[0].split()
    return {in_repository(name, ROOT) for name in names} - {None}


def decided_by(files):
    """Those files with what no compiler names: the rules, the sources of messages, what a unit embeds."""
    messages = {found[1] for name in files if (found := MESSAGES.fullmatch(name))}
    found = {*files, *RULES, *(f"proto/{name}.proto" for name in messages), *([PINS] if messages else [])}
    for name in files:
        if name.endswith(".cc"):
            found.update(EMBEDDED.findall((ROOT / name).read_text()))
    return sorted(found)


def files_of(target):
    """The sorted list of the files that decide on a target's programs, as they are built."""
    files = set()
    for build in BUILDS:
        for unit in units_of(target, build):
            rule = ROOT / "build" / "obj" / "fuzz" / build / pathlib.Path(unit).with_suffix(".d")
            files |= {unit} | read_by(rule.read_text())
    return decided_by(files)


def contents(files, commit):
    """What the files have in a commit, or in the tree when it is ""; None: there is no such file."""
    if not commit:
        return [(ROOT / name).read_bytes() if (ROOT / name).is_file() else None for name in files]
    asked = "".join(f"{commit}:{name}\n" for name in files)
    said = subprocess.run(["git", "cat-file", "--batch"], cwd=ROOT, input=asked.encode(), stdout=subprocess.PIPE,
                          check=True).stdout
    found, at = [], 0
    for _ in files:
        head, _, _ = said[at:].partition(b"\n")
        at += len(head) + 1
        words = head.split()
        size = int(words[2]) if len(words) == 3 and words[1] == b"blob" else None
        found.append(None if size is None else said[at:at + size])
        at += 0 if size is None else size + 1
    return found


def without_comments(code):
    """The lines of C that are more than blanks and comments, with one blank for each run of these."""
    text = WORDS.sub(lambda found: found[0] if found["literal"] else " ", code)
    return "\n".join(line.strip() for line in text.split("\n") if line.strip())


def deciding(name, content):
    """What of a file decides on a program, as text: the whole of it, but of the rules their part, and of C the code."""
    if content is None:
        return None
    if name in PARTS:
        return "\n".join(found[0] for found in re.finditer(PARTS[name], content.decode()))
    return without_comments(content.decode()) if CODE.search(name) else content.decode("latin-1")


def limits_named(limits, others):
    """Those lines of the files of limits that define what the other texts name, or what such a definition names."""
    definitions = {found[1]: found[0] for text in limits for found in DEFINITION.finditer(text)}
    rest = [without_comments(DEFINITION.sub("", text)) for text in limits]
    named, new = set(), {word for text in [*others, *rest] for word in NAME.findall(text)} & definitions.keys()
    while new:
        named |= new
        new = {word for name in new for word in NAME.findall(definitions[name])} & definitions.keys() - named
    return [*rest, *(definitions[name] for name in sorted(named))]


def sum_of(files, commit=""):
    """A sum of what a list's files have in the tree, or in a commit. A file that is not there changes it."""
    texts = {name: deciding(name, content) for name, content in zip(files, contents(files, commit))}
    limits = [text for name, text in texts.items() if text is not None and LIMITS.fullmatch(name)]
    others = {name: text for name, text in texts.items() if not LIMITS.fullmatch(name)}
    digest = hashlib.sha256()
    for name, text in others.items():
        digest.update(name.encode() + b"\0" + (b"-" if text is None else hashlib.sha256(text.encode()).digest()))
    for text in limits_named(limits, [text for text in others.values() if text is not None]):
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()[:16]
