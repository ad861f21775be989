#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Puts mistakes into the agent, one at a time, and shows that the tests that are named find each.

  tools/fuzz/defects.py [--only NAME] FILE...    those of tests/defects/FILE.toml, two at once
  tools/fuzz/defects.py --dry-run                only whether each edit still fits its file and each fuzz target has
                                                 enough of them; builds nothing

A mistake is one edit of one file. The file is copied, edited, compiled as the named test's own build does, and linked
in place of the right one. `target` says what has to find it:

  NAME        the fuzz target: by its corpus, or within SECONDS
  unit/NAME   tests/unit/test_NAME.c, in which the test `test` has to fail
  sim         random schedules of claims
  aligned     random schedules of claims with devices of both drivers
  crash       the claim store in states that a crash can leave
  steps       the comparison of the simulator's steps with those of tests/model, in build/model/steps.txt, which has to
              refuse the step `test`

Fails when a mistake is not found, and when an edit does not fit its file any more. `make fuzz-defects`,
`make claim-defects` and `make model-trace-defects` build what this needs.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import tomllib

import corpus
import fuzz
import targets

ROOT = fuzz.ROOT
DEFECTS = ROOT / "tests" / "defects"
OBJECTS = ROOT / "build" / "obj" / "fuzz" / "address"
SCRATCH = ROOT / "build" / "defects"
SECONDS = 20
FEWEST = 2  # mistakes of a fuzz target; a single one says little of what else it notices
RUN_SECONDS = 300  # of a program that has to fail
KEYS = {"name", "file", "find", "replace", "target"}
# What the Makefile calls their build, and the arguments that are enough.
PROGRAMS = {
    "sim": ("SIM", ["--claim-seeds", "1500"]),
    "aligned": ("SIM", ["--aligned-seeds", "400"]),
    "crash": ("CRASH", ["1"]),
    "steps": ("SIM", ["--claim-seeds", "150"]),
}


class Unfit(Exception):
    """The edit is not possible, or its result does not compile."""


def read_defects(files):
    defects = []
    for path in sorted(DEFECTS.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["defect"]:
            keys = KEYS | {"test"} if entry.get("target", "").startswith(("unit/", "steps")) else KEYS
            if set(entry) != keys:
                sys.exit(f"defects: {path.name}: {entry.get('name')}: the keys are {', '.join(sorted(keys))}")
            if path.stem in files or not files:
                defects.append(entry)
    return defects


def run(command, fails=False):
    """Runs a program that must succeed; `fails`: it may fail, too."""
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=RUN_SECONDS)
    if done.returncode and not fails:
        raise Unfit(f"does not build:\n{done.stdout[-1500:]}")


def kind_of(target):
    """What the Makefile calls the build of a target."""
    if target.startswith("unit/"):
        return "UNIT"
    return PROGRAMS[target][0] if target in PROGRAMS else "FUZZ"


def test_source(target):
    if target in PROGRAMS:
        return None
    folder, _, name = target.rpartition("/")
    return ROOT / "tests" / "unit" / f"test_{name}.c" if folder else fuzz.FUZZ / f"fuzz_{name}.c"


def libraries(target):
    """What the program of a target has besides the agent: its part that is C++, and libraries."""
    others = targets.head(target, "With").split()
    return [OBJECTS / "tests" / "fuzz" / pathlib.Path(name).with_suffix(".o") for name in others] + \
        shlex.split(targets.head(target, "Links"))


def edited(defect):
    """The file's text with the mistake in it."""
    path = ROOT / defect["file"]
    if not path.is_file():
        raise Unfit(f"{defect['file']} does not exist: adapt the entry")
    text = path.read_text()
    if text.count(defect["find"]) != 1:
        raise Unfit(f"{defect['file']} holds the text to find {text.count(defect['find'])} times: adapt the entry")
    return text.replace(defect["find"], defect["replace"])


def linked(defect, wrong):
    """What the program is made of: the wrong object in place of the right one, or before the archive that has it."""
    target, kind = defect["target"], kind_of(defect["target"])
    if kind == "FUZZ":
        main = OBJECTS / "tests" / "fuzz" / f"fuzz_{target}.o"
        return ["-fsanitize=fuzzer", main, wrong, OBJECTS / "libagent.a", *libraries(target)]
    parts = shlex.split(os.environ[f"{kind}_LINK"])
    if kind == "UNIT":
        return [f"build/obj/unit/tests/unit/test_{target.removeprefix('unit/')}.o", wrong, *parts]
    right = pathlib.Path(defect["file"]).with_suffix(".o").as_posix()
    return [wrong if part.endswith(f"/{right}") else part for part in parts]


def build(defect, folder):
    """The target with the mistake in it."""
    text = edited(defect)
    # A name of its own keeps the file's folder from being searched for headers.
    source = folder / pathlib.Path(defect["file"]).name
    source.write_text(text)
    compiler = shlex.split(os.environ[f"{kind_of(defect['target'])}_COMPILE"])
    wrong = folder / "defect.o"
    run([*compiler, "-w", '-DBUILD_ID="defect"', "-c", source, "-o", wrong])
    program = folder / pathlib.Path(defect["target"]).name
    run([*compiler, "-o", program, *linked(defect, wrong)])
    return program


def find_by_fuzzing(program, target, folder):
    """By which means the target finds the mistake; "" when it does not."""
    more = [f"-artifact_prefix={folder}/", "-rss_limit_mb=0"]
    # Inputs made by hand come first: most mistakes show in them.
    inputs = corpus.unpack(target)
    files = sorted(inputs.iterdir(), key=lambda path: (not path.name.startswith(corpus.OWN), path.name))
    code, _ = fuzz.engine(program, target, *more, *files, limit=fuzz.GRACE_SECONDS)
    if code:
        return "corpus"
    begin = time.monotonic()
    grown = folder / "grown"
    grown.mkdir(exist_ok=True)
    code, _ = fuzz.engine(program, target, *more, f"-max_total_time={SECONDS}", grown, inputs,
                          limit=SECONDS + fuzz.GRACE_SECONDS)
    return f"fuzzing, {time.monotonic() - begin:.0f} s" if code else ""


def find_by_steps(defect, program, folder):
    """The step that the mistake leads to, if the model does not allow it; else ""."""
    steps = folder / "steps.txt"
    run([program, *PROGRAMS["steps"][1], "--steps", steps], fails=True)
    compared = subprocess.run([ROOT / "tools" / "model" / "model.py", "trace", "--only-compare", steps], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    (folder / "output").write_text(compared.stdout)
    return defect["test"] if f"  not in the model: {defect['test']}," in compared.stdout else ""


def find(defect, program, folder):
    """How the target shows the mistake; "" when it does not."""
    target = defect["target"]
    if kind_of(target) == "FUZZ":
        return find_by_fuzzing(program, target, folder)
    if target == "steps":
        return find_by_steps(defect, program, folder)
    arguments = PROGRAMS[target][1] if target in PROGRAMS else []
    done = subprocess.run([program, *arguments], cwd=ROOT, stdout=subprocess.PIPE, timeout=RUN_SECONDS,
                          stderr=subprocess.STDOUT, check=False)
    lines = done.stdout.decode(errors="replace").splitlines()
    (folder / "output").write_text("\n".join(lines))
    if target in PROGRAMS:
        shown = [line for line in lines if line.startswith(("FAIL", "VIOLATION")) or "assertion failed" in line]
        return shown[0].strip() if done.returncode and shown else ""
    begun = [line.split()[-1] for line in lines if line.startswith("[ RUN")]
    failed = [line.split()[-1] for line in lines if line.startswith("[  FAILED  ]")]
    # A sanitizer ends the program, in the test that was begun last.
    crashed = done.returncode and not any(line.startswith("[====") and "run." in line for line in lines)
    return defect["test"] if defect["test"] in (failed + begun[-1:] if crashed else failed) else ""


def try_defect(defect):
    """(found, words) of one mistake."""
    folder = SCRATCH / defect["name"]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        how = find(defect, build(defect, folder), folder)
    except Unfit as why:
        return False, str(why)
    except subprocess.TimeoutExpired:
        return False, f"did not end within {RUN_SECONDS} s"
    return bool(how), how or "not found"


def dry_run(defects):
    """Number of edits that do not fit their file; names each."""
    unfit = 0
    for defect in defects:
        source = test_source(defect["target"])
        try:
            edited(defect)
            if source and not source.is_file():
                raise Unfit(f"there is no target {defect['target']}")
            if source and "test" in defect and not re.search(rf"\({defect['test']}[,)]", source.read_text()):
                raise Unfit(f"{source.name} has no {defect['test']}")
        except Unfit as why:
            unfit += 1
            print(f"  FAIL  {defect['name']}: {why}")
    print(f"defects: {len(defects) - unfit} of {len(defects)} edits fit their files")
    return unfit


def too_few(defects):
    """Number of fuzz targets with fewer than FEWEST mistakes; names each."""
    count = collections.Counter(defect["target"] for defect in defects)
    poor = [name for name in targets.names() if count[name] < FEWEST]
    for name in poor:
        print(f"  FAIL  the fuzz target {name} has {count[name]} seeded mistakes, and needs {FEWEST}: "
              "put mistakes of what it runs into tests/defects")
    return len(poor)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("files", metavar="FILE", nargs="*")
    given = parser.parse_args()
    defects = [entry for entry in read_defects(given.files) if given.only in (None, entry["name"])]
    if given.dry_run:
        poor = 0 if given.files or given.only else too_few(defects)
        return 1 if dry_run(defects) or poor or not defects else 0
    if any(f"{kind_of(entry['target'])}_COMPILE" not in os.environ for entry in defects):
        sys.exit("defects: make fuzz-defects, make claim-defects and make model-trace-defects call this")
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(fuzz.AT_ONCE) as pool:
        for defect, (found, words) in zip(defects, pool.map(try_defect, defects)):
            missed += not found
            print(f"  {'ok  ' if found else 'FAIL'}  {defect['file']:<34} {defect['name']:<48} "
                  f"{defect['target']}: {words}", flush=True)
    files = {entry["file"] for entry in defects}
    print(f"defects: {len(defects) - missed} of {len(defects)} mistakes in {len(files)} files found")
    return 1 if missed or not defects else 0


if __name__ == "__main__":
    sys.exit(main())
