#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The finished binary: no heap, no stdio formatting, its size, its static memory, and how it is hardened.

Symbols are read from the twin with symbols, build/neuron-dra-agent.debug; everything else from the binary that is
shipped.
"""

import math
import pathlib
import re
import sys

import gate

BINARY = "build/neuron-dra-agent"
DEBUG = BINARY + ".debug"
BUDGET = "cfg/budget.h"

HEAP = {"malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc", "posix_memalign", "memalign",
        "valloc", "pvalloc", "malloc_usable_size", "sbrk", "brk", "strdup", "strndup", "asprintf", "vasprintf",
        "getline", "getdelim", "open_memstream", "__libc_malloc", "__libc_calloc", "__libc_realloc",
        "__libc_free", "__malloc_donate", "__expand_heap"}
STDIO = {"printf", "fprintf", "sprintf", "snprintf", "dprintf", "vprintf", "vfprintf", "vsprintf", "vsnprintf",
         "vdprintf", "printf_core", "fopen", "fdopen", "fwrite", "fputs", "fputc", "puts", "putchar", "perror",
         "scanf", "fscanf", "sscanf", "vsscanf", "__stdio_write"}


def check_symbols(report, path):
    names = set()
    for line in gate.run(["nm", "-P", str(path)]).splitlines():
        # Link-time optimisation adds .constprop.0 and the like.
        names.add(line.split()[0].split(".")[0])
    if len(names) < 100:
        report.add(DEBUG, f"only {len(names)} symbols: this is not the twin with symbols")
    for name in sorted(names & HEAP):
        report.add(DEBUG, f"holds {name}: nothing may use a heap (find the caller with `nm` on build/obj)")
    for name in sorted(names & STDIO):
        report.add(DEBUG, f"holds {name}: format with src/base writers, write with system calls")
    return len(names)


def check_size(report, root, path):
    size, bound = path.stat().st_size, read_bound(root, "BINARY_BYTES_MAX")
    if size > bound:
        report.add(BINARY, f"{size} bytes: {size - bound} more than BINARY_BYTES_MAX in {BUDGET}")
    return f"{size} of {bound}"


def read_bound(root, name):
    """A number of cfg/budget.h: a product of numbers."""
    found = re.search(rf"#define {name} \(([0-9u *]+)\)", (pathlib.Path(root) / BUDGET).read_text())
    if not found:
        raise ValueError(f"{BUDGET}: {name} is not a product of numbers in parentheses")
    return math.prod(int(factor.strip(" u")) for factor in found[1].split("*"))


def check_memory(report, root, path):
    """Tables, buffers and the TLS arena, libraries included: all memory but the stack."""
    sections = dict(re.findall(r"^(\.\S+)\s+(\d+)", gate.run(["size", "-A", str(path)]), re.M))
    used = sum(int(sections.get(name, 0)) for name in (".data", ".bss", ".tdata", ".tbss"))
    bound = read_bound(root, "RAM_BYTES_MAX")
    if not used:
        report.add(BINARY, "no writable section found: this check reads the wrong file")
    if used > bound:
        report.add(BINARY, f"{used} bytes of static memory: {used - bound} more than RAM_BYTES_MAX in {BUDGET}")
    return used


def check_elf(report, path):
    header = gate.run(["readelf", "-hW", str(path)])
    segments = gate.run(["readelf", "-lW", str(path)])
    dynamic = gate.run(["readelf", "-dW", str(path)])
    wanted = [
        ("Type:" in header and re.search(r"Type:\s+DYN", header), "is not position-independent"),
        ("INTERP" not in segments and "(NEEDED)" not in dynamic, "is not static"),
        (re.search(r"GNU_RELRO", segments), "has no RELRO segment (-z relro)"),
        (re.search(r"BIND_NOW|FLAGS_1.*NOW", dynamic), "binds lazily (-z now)"),
        ("TEXTREL" not in dynamic, "has text relocations (-z text)"),
        (re.search(r"GNU_STACK(\s+0x[0-9a-f]+){5}\s+RW\s", segments), "has an executable stack (-z noexecstack)"),
        (not re.search(r"LOAD(\s+0x[0-9a-f]+){5}\s+RWE", segments), "has a segment that is writable and executable"),
        (re.search(r"NOTE", segments), "has no build id (--build-id)"),
    ]
    for good, text in wanted:
        if not good:
            report.add(BINARY, text + ": see LINK_HARDEN in tools/make/compile.mk")
    if ".symtab" in gate.run(["readelf", "-SW", str(path)]):
        report.add(BINARY, "is not stripped")


def check(root):
    report = gate.Report()
    binary, debug = pathlib.Path(root) / BINARY, pathlib.Path(root) / DEBUG
    for path in (binary, debug):
        if not path.exists():
            report.add(path.relative_to(root), "is not there: run 'make'")
    if report.findings:
        return report
    symbols = check_symbols(report, debug)
    size = check_size(report, root, binary)
    memory = check_memory(report, root, debug)
    check_elf(report, binary)
    report.looked_at = f"{size} bytes, static memory {memory}, {symbols} symbols"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
