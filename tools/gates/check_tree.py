#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The repository as a whole: top level, banned words, nothing third-party, nothing binary."""

import pathlib
import re
import sys

import gate

TOP_LEVEL = {"Makefile", "README.md", "CHANGELOG.md", "LICENSE", "src", "cfg", "generated", "proto", "tools",
             "tests", "boards"}
# Data of tests may be bytes.
BINARY_FOLDERS = ("tests/vectors/", "tests/fuzz/")
# Inputs of the fuzz targets: bytes, even where they look like text. What engines found is an archive a target.
INPUTS = ("tests/fuzz/corpus/", "tests/fuzz/seeds/")
CORPUS = re.compile(r"tests/fuzz/corpus/\w+\.zip|tests/vectors/x509/situations\.zip")
ARCHIVES = {".a", ".so", ".o", ".tar", ".gz", ".bz2", ".xz", ".zip", ".whl", ".jar", ".deb", ".exe"}
FOREIGN_FOLDERS = {"vendor", "node_modules", "third_party", "site-packages"}
FOREIGN_NAMES = {"pb.h", "pb_common.c", "pb_common.h", "pb_encode.c", "pb_encode.h", "pb_decode.c",
                 "pb_decode.h", "nanopb.proto", "cmocka.h", "generated.proto", "api.proto"}

# Written so that no pattern matches its own text.
BANNED = [
    (r"\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b", "finish it or leave it out"),
    (r"(?i)\bfor no[w]\b|\bplace ?holde[r]\b", "say what it is, or finish it"),
    (r"\b(deb|snapshot|security|archive)[.]debian[.]or[g]\b", "take the mirror from the machine's own apt"),
    (r"\b(pypi[.]or[g]|pythonhosted[.]or[g]|proxy[.]golang[.]or[g]|sum[.]golang[.]or[g])", "name no registry"),
    (r"\b(registry[.]npmjs[.]or[g]|crates[.]i[o]|repo1?[.]maven|salsa[.]debian)", "name no registry"),
    (r"(?i)\bcopyrigh[t] (\(c\)|©|\d{4})", "third-party: nothing of others is committed"),
    (r"/wor[k]/|/tmp/(team|build-part)\b|\bpyen[v]\b", "a path of one machine: derive it"),
    (r"(?i)\b(claud[e]|anthropi[c]|chatgp[t]|copilo[t]|language mode[l])\b", "files speak of the project alone"),
]


def check_top_level(report, files):
    for name in sorted({path.parts[0] for path in files}):
        if name not in TOP_LEVEL and not name.startswith("."):
            report.add(name, f"the top level holds only {', '.join(sorted(TOP_LEVEL))} and dot files")


def check_foreign(report, path):
    if path.suffix in ARCHIVES and not CORPUS.fullmatch(str(path)):
        report.add(path, "archives and objects are made or fetched, never committed")
    if FOREIGN_FOLDERS & set(path.parts[:-1]) or path.name in FOREIGN_NAMES:
        report.add(path, "third-party source: fetch it at build time (tools/build/deps.sh), never commit it")


def check_words(report, path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, remedy in BANNED:
            found = re.search(pattern, line)
            if found:
                report.add(f"{path}:{number}", f"'{found[0]}': {remedy}")


def check(root):
    report = gate.Report()
    files = gate.tree_files(root)
    if not files:
        report.add(root, "no files: the check is looking in the wrong place")
    check_top_level(report, files)
    texts = 0
    for path in files:
        check_foreign(report, path)
        if str(path).startswith(INPUTS):
            continue
        data = (pathlib.Path(root) / path).read_bytes()
        if b"\0" in data:
            if not str(path).startswith(BINARY_FOLDERS):
                report.add(path, f"binary: only {' and '.join(BINARY_FOLDERS)} may hold bytes")
            continue
        text = data.decode(errors="replace")
        texts += 1
        check_words(report, path, text)
    report.looked_at = f"{len(files)} files, {texts} of them text"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
