#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Puts mistakes into parsers and agent, one at a time, and shows that their fuzz targets find each.

  tools/fuzz_defects.py [--only NAME]       all of tests/fuzz/defects/*.toml, two at once
  tools/fuzz_defects.py --dry-run           only whether each edit still fits its file; builds nothing

A mistake is one edit of one file. The file is copied, edited, compiled as make fuzz does, and linked before the
archive of all others; the target then replays its corpus and, if that finds nothing, fuzzes for SECONDS. Fails when a
mistake is not found, and when an edit does not fit its file any more. `make fuzz-defects` builds what this needs.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import sys
import time
import tomllib

import fuzz

ROOT = fuzz.ROOT
OBJECTS = ROOT / "build" / "obj" / "fuzz" / "address"
SCRATCH = fuzz.BUILD / "defects"
SECONDS = 20
COMPILE = "FUZZ_COMPILE"  # compiler and its flags, as the Makefile has them
KEYS = {"name", "file", "find", "replace", "target"}


class Unfit(Exception):
    """The edit is not possible, or its result does not compile."""


def read_defects():
    defects = []
    for path in sorted((fuzz.FUZZ / "defects").glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["defect"]:
            if set(entry) != KEYS:
                sys.exit(f"fuzz-defects: {path.name}: {entry.get('name')}: the keys are {', '.join(sorted(KEYS))}")
            defects.append(entry)
    return defects


def run(command):
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if done.returncode:
        raise Unfit(f"does not build:\n{done.stdout[-1500:]}")


def libraries(target):
    text = (fuzz.FUZZ / f"fuzz_{target}.c").read_text()
    lines = [line for line in text.splitlines() if line.startswith(" * Links: ")]
    return shlex.split(lines[0].removeprefix(" * Links: ")) if lines else []


def edited(defect):
    """The file's text with the mistake in it."""
    path = ROOT / defect["file"]
    if not path.is_file():
        raise Unfit(f"{defect['file']} does not exist: adapt the entry")
    text = path.read_text()
    if text.count(defect["find"]) != 1:
        raise Unfit(f"{defect['file']} holds the text to find {text.count(defect['find'])} times: adapt the entry")
    return text.replace(defect["find"], defect["replace"])


def build(defect, folder):
    """The target with the mistake in it."""
    text = edited(defect)
    # A name of its own keeps the file's folder from being searched for headers.
    source = folder / pathlib.Path(defect["file"]).name
    source.write_text(text)
    compiler = shlex.split(os.environ[COMPILE])
    run([*compiler, "-w", '-DBUILD_ID="fuzz"', "-c", source, "-o", folder / "defect.o"])
    program = folder / defect["target"]
    main = OBJECTS / "tests" / "fuzz" / f"fuzz_{defect['target']}.o"
    run([*compiler, "-fsanitize=fuzzer", "-o", program, main, folder / "defect.o", OBJECTS / "libagent.a",
         *libraries(defect["target"])])
    return program


def find(program, target, folder):
    """By which means the target finds the mistake; "" when it does not."""
    more = [f"-artifact_prefix={folder}/", "-rss_limit_mb=0"]
    # Inputs made by hand come first: most mistakes show in them.
    files = sorted(fuzz.corpus_of(target).iterdir(), key=lambda path: (not path.name.startswith(fuzz.OWN), path.name))
    code, _ = fuzz.engine(program, target, *more, *files, limit=fuzz.GRACE_SECONDS)
    if code:
        return "corpus"
    begin = time.monotonic()
    grown = folder / "grown"
    grown.mkdir(exist_ok=True)
    code, _ = fuzz.engine(program, target, *more, f"-max_total_time={SECONDS}", grown, fuzz.corpus_of(target),
                          limit=SECONDS + fuzz.GRACE_SECONDS)
    return f"fuzzing, {time.monotonic() - begin:.0f} s" if code else ""


def try_defect(defect):
    """(found, words) of one mistake."""
    folder = SCRATCH / defect["name"]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        how = find(build(defect, folder), defect["target"], folder)
    except Unfit as why:
        return False, str(why)
    return bool(how), how or f"not found by the corpus nor in {SECONDS} s"


def dry_run(defects):
    """Number of edits that do not fit their file; names each."""
    unfit = 0
    for defect in defects:
        try:
            edited(defect)
            if not (fuzz.FUZZ / f"fuzz_{defect['target']}.c").is_file():
                raise Unfit(f"there is no target {defect['target']}")
        except Unfit as why:
            unfit += 1
            print(f"  FAIL  {defect['name']}: {why}")
    print(f"fuzz-defects: {len(defects) - unfit} of {len(defects)} edits fit their files")
    return unfit


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME")
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args()
    defects = [entry for entry in read_defects() if given.only in (None, entry["name"])]
    if given.dry_run:
        return 1 if dry_run(defects) or not defects else 0
    if COMPILE not in os.environ:
        sys.exit("fuzz-defects: make fuzz-defects calls this")
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(fuzz.AT_ONCE) as pool:
        for defect, (found, words) in zip(defects, pool.map(try_defect, defects)):
            missed += not found
            print(f"  {'ok  ' if found else 'FAIL'}  {defect['file']:<28} {defect['name']:<44} "
                  f"{defect['target']}: {words}", flush=True)
    files = {entry["file"] for entry in defects}
    print(f"fuzz-defects: {len(defects) - missed} of {len(defects)} mistakes in {len(files)} files found")
    return 1 if missed or not defects else 0


if __name__ == "__main__":
    sys.exit(main())
