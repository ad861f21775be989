#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The finished binary: no heap, no stdio formatting, its size, its static memory, and how it is hardened.

Symbols are read from the twin with symbols, build/neuron-dra-agent.debug; everything else from the binary that is
shipped.
"""

import json
import math
import pathlib
import platform
import re
import subprocess
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
# What checksec has to say, and what is missing otherwise. FORTIFY_SOURCE is not among it: musl has none.
CHECKSEC = {"relro": ("full", "has no full RELRO (-z relro, -z now)"),
            "canary": ("yes", "does not guard the stack (-fstack-protector-strong)"),
            "nx": ("yes", "has an executable stack (-z noexecstack)"),
            "pie": ("yes", "is not position-independent (-fPIE, -pie)"),
            "rpath": ("no", "has a search path of libraries"),
            "runpath": ("no", "has a search path of libraries")}
# What no inspection of machine code shows for all functions.
LANGUAGE = "-std=gnu11"
FLAGS = ["-fPIE", "-fstack-protector-strong", "-fstack-clash-protection", "-ftrivial-auto-var-init=zero",
         "-fno-strict-overflow", "-fno-delete-null-pointer-checks"]
BRANCHES = {"x86_64": "-fcf-protection=full", "aarch64": "-mbranch-protection=standard"}


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


def check_checksec(report, binary, debug):
    """What checksec sees of the shipped binary; the guard of the stack needs symbols, so that of the twin."""
    def seen_in(path):
        return next(iter(json.loads(gate.run(["checksec", f"--file={path}", "--format=json"])).values()))
    seen = {**seen_in(binary), "canary": seen_in(debug)["canary"]}
    for key, (wanted, text) in CHECKSEC.items():
        if seen.get(key) != wanted:
            report.add(BINARY, f"{text}: checksec says {key}={seen.get(key)} (tools/make/compile.mk)")


def check_flags(report, path):
    """The flags that each unit was compiled with, the libraries' included, as the compiler wrote them into DWARF."""
    producers = re.findall(r"DW_AT_producer.*?: (GNU C.*)", gate.run(
        ["readelf", "--debug-dump=info", "--dwarf-depth=1", "-W", str(path)], stderr=subprocess.DEVNULL))
    units = [producer.split() for producer in producers if f" {LANGUAGE} " in producer]
    if not units:
        report.add(DEBUG, f"no unit says that it was compiled with {LANGUAGE}: this check reads the wrong file")
    for flag in [*FLAGS, BRANCHES[platform.machine()]]:
        without = sum(flag not in unit for unit in units)
        if without:
            report.add(DEBUG, f"{without} of {len(units)} units are compiled without {flag} (HARDEN in "
                              "tools/make/compile.mk)")
    return len(units)


def check_elf(report, path):
    segments = gate.run(["readelf", "-lW", str(path)])
    dynamic = gate.run(["readelf", "-dW", str(path)])
    wanted = [
        ("INTERP" not in segments and "(NEEDED)" not in dynamic, "is not static"),
        ("TEXTREL" not in dynamic, "has text relocations (-z text)"),
        (not re.search(r"LOAD(\s+0x[0-9a-f]+){5}\s+RWE", segments), "has a segment that is writable and executable"),
        (not re.search(r"LOAD\s+0x0+ .*E\s+0x[0-9a-f]+\n", segments),
         "maps its head executable (-z separate-code)"),
        ("Build ID: " in gate.run(["readelf", "-nW", str(path)]), "has no build id (--build-id)"),
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
    check_checksec(report, binary, debug)
    units = check_flags(report, debug)
    report.looked_at = f"{size} bytes, static memory {memory}, {symbols} symbols, {units} units hardened"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
