#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The table of the fuzz targets in tests/fuzz/README.md, from the heads of their files.

  tools/fuzz/targets.py            fails when the table is not what the heads say
  tools/fuzz/targets.py --write    writes it
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUZZ = ROOT / "tests" / "fuzz"
README = FUZZ / "README.md"
BEGIN, END = "<!-- targets: written by tools/fuzz/targets.py -->", "<!-- targets: end -->"
# What a library of a line "Links:" is called.
PUBLIC = {"-ljansson": "jansson", "-lnghttp2": "nghttp2", "-lprotobuf": "Google's C++ decoder", "-lresolv": "glibc",
          "-lyaml": "libyaml"}


def names():
    return sorted(path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.c"))


def head(name, word):
    """What the head of a target says behind a word; "" when nothing."""
    text = (FUZZ / f"fuzz_{name}.c").read_text()
    found = re.search(rf"^ \* {word}: (.+)$", text[:text.index("*/", text.index("*/") + 2)], re.MULTILINE)
    return found[1] if found else ""


def compared(name):
    return PUBLIC[head(name, "Links")] if head(name, "Links") else "–"


def table():
    lines = ["| target | input | compared with |", "|---|---|---|"]
    for name in names():
        if not head(name, "Input"):
            sys.exit(f"targets: tests/fuzz/fuzz_{name}.c: the head lacks ' * Input: ...', what the target takes in")
        lines.append(f"| [{name}](fuzz_{name}.c) | {head(name, 'Input')} | {compared(name)} |")
    return "\n".join(lines)


def with_table(text):
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"targets: {README.name} lacks the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main(arguments):
    text = README.read_text()
    fresh = with_table(text)
    if arguments == ["--write"]:
        README.write_text(fresh)
    elif arguments:
        sys.exit(__doc__)
    elif fresh != text:
        print("targets: tests/fuzz/README.md is not what the heads say: tools/fuzz/targets.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
