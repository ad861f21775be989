#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets until each has had as many executions as it should, over days, and keeps what they did.

  tools/fuzz/campaign.py run [--seconds N] [--slice N] [TARGET...]   one target at a time, for N seconds in all
  tools/fuzz/campaign.py state                                       what the code of today still lacks
  tools/fuzz/campaign.py ledger                                      writes tests/fuzz/LEDGER.md
  tools/fuzz/campaign.py evidence                                    writes the part of the evidence; no tracked file

A target that costs less than 20 µs should have 10⁸ executions, the others 10⁷, on one state of the code. It may be
ended at any time: what a slice found stays in build/fuzz/run, and tests/fuzz/campaign.json is written after each. Most
slices run without sanitizers but with all assertions (build `fast`), each eighth under ASan and UBSan (`address`).
build/fuzz/campaign.json is a copy of the rows: a checkout of the tracked file loses none.
A finding ends its slice, stays in build/fuzz/findings, and fails the run at its end.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

import fuzz
import targets

sys.path.insert(0, str(fuzz.ROOT / "tools" / "evidence"))
import part  # noqa: E402

ROOT = fuzz.ROOT
DATA = fuzz.FUZZ / "campaign.json"
COPY = fuzz.BUILD / "campaign.json"
LEDGER = fuzz.FUZZ / "LEDGER.md"
BEGIN, END = "<!-- campaign: written by tools/fuzz/campaign.py -->", "<!-- campaign: end -->"
CHEAP_US = 20
GOAL_CHEAP, GOAL_OTHER = 10 ** 8, 10 ** 7
ADDRESS_EVERY = 8
NOT_SHOWN = [
    "Executions without a finding prove nothing about inputs that were not tried.",
    "The comparison of certificates with Go's crypto/x509 (`make x509-million`, `make x509-fuzz`): its results are not "
    "on this page.",
    "OSS-Fuzz's own images were not run: `make fuzz-elsewhere` imitates them in Debian 13. AFL++ ran for less than a "
    "minute in all (the last lines of the ledger).",
    "Where a target permits two decoders to differ: tests/fuzz/README.md lists each such difference.",
]
# What decides on every target's program, besides its libraries; code_sum adds the target's own files and rooms.
CODE = ("boards", "generated", "proto", "cfg", "tools/make/fuzz.mk")
SOURCES = "src"
MODELS = "tests/sim"
NO_CODE = re.compile(r"\.(md|json|dict|options)$|cfg/(deploy|lint)/")
INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True).stdout


def own_files(target):
    """What other targets lack: the target's file, what it includes of tests, and the models if it uses one."""
    files, found = set(), [f"tests/fuzz/fuzz_{target}.c"]
    while found:
        name = found.pop()
        if name in files or not (ROOT / name).is_file():
            continue
        files.add(name)
        found += [other for other in INCLUDED.findall((ROOT / name).read_text()) if other.startswith("tests/")]
        if name.startswith(MODELS + "/"):
            files.add(MODELS)
        oracle = re.sub(r"\.h$", ".cc", name)
        found += [oracle] if oracle != name else []
    return files


def rooms(target):
    """The folders of the sources that a target can run: those of each header that its files include, and that the files
    in these folders include. A header's functions are in the folder of the header."""
    found, own = set(), [ROOT / name for name in own_files(target)]
    files = [path for name in own for path in ([name] if name.is_file() else sorted(name.rglob("*.[ch]")))]
    while files:
        for other in INCLUDED.findall(files.pop().read_text()):
            room = (ROOT / SOURCES / other).parent
            if room not in found and (ROOT / SOURCES / other).is_file():
                found.add(room)
                files += [*room.glob("*.c"), *room.glob("*.h")]
    return sorted(str(room.relative_to(ROOT)) for room in found)


def code_files(target, *words):
    """Which files of a target's code a command of git names: neither documents nor inputs."""
    folders = [f":(glob){room}/*" for room in rooms(target)]
    names = git(*words, "-z", "--", *CODE, *own_files(target), *folders).split("\0")
    return sorted(name for name in names if name and not NO_CODE.search(name))


def code_sum(target):
    """A sum of the code that a target runs, as it lies in the tree."""
    digest = hashlib.sha256()
    for name in code_files(target, "ls-files", "-co", "--exclude-standard"):
        if (ROOT / name).is_file():
            digest.update(name.encode() + b"\0" + hashlib.sha256((ROOT / name).read_bytes()).digest())
    return digest.hexdigest()[:16]


def stamp_of(target):
    """Commit and release of a target's code. `-dirty` and `+` tell of files that code_sum reads: a campaign itself
    changes campaign.json and the ledger, which are no code."""
    dirty = bool(code_files(target, "diff", "--name-only", "--no-renames", "HEAD")
                 or code_files(target, "ls-files", "-o", "--exclude-standard"))
    commit = git("rev-parse", "HEAD").strip() + ("-dirty" if dirty else "")
    return {"commit": commit, "release": part.release(dirty)}


def read_data():
    """The rows of both files; of two rows of a target on the same code, the one with more executions."""
    best = {}
    for path in (DATA, COPY):
        for row in json.loads(path.read_text())["runs"] if path.exists() else []:
            key = row["target"], row["code"]
            if key not in best or row["executions"] > best[key]["executions"]:
                best[key] = row
    return {"runs": list(best.values())}


def write_data(data):
    """One row a line, so that two branches can be merged."""
    rows = ",\n".join("  " + json.dumps(row, sort_keys=True) for row in data["runs"])
    for path in (DATA, COPY):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text('{"runs": [\n' + rows + "\n]}\n")
        fresh.replace(path)


def row_of(data, target):
    """The row of a target on the code of today; a new one when there is none."""
    code = code_sum(target)
    for row in data["runs"]:
        if row["target"] == target and row["code"] == code:
            return row
    row = {"target": target, "code": code, "commit": "", "release": "", "executions": 0, "address": 0, "seconds": 0,
           "fast_executions": 0, "fast_seconds": 0, "edges": 0, "features": 0, "inputs": 0, "findings": 0, "date": ""}
    data["runs"].append(row)
    return row


def cost_us(row):
    """Microseconds of one execution without sanitizers; 0: not known yet."""
    return 1e6 * row["fast_seconds"] / row["fast_executions"] if row["fast_executions"] else 0


def goal_of(row):
    return GOAL_CHEAP if 0 < cost_us(row) < CHEAP_US else GOAL_OTHER


def missing(row):
    """Executions; at least one while the cost is not known, because the goal depends on it."""
    return max(goal_of(row) - row["executions"], 0 if cost_us(row) else 1)


def hours(row):
    return missing(row) * cost_us(row) / 3.6e9


def next_target(rows):
    """The row of the target that reaches its goal soonest; first those whose cost is not known. None: all are there."""
    open_rows = [row for row in rows if missing(row)]
    return min(open_rows, key=lambda row: (cost_us(row) > 0, hours(row), row["target"]), default=None)


def processor_seconds():
    """Of all programs that have ended: what a target costs does not depend on who else uses the machine."""
    spent = os.times()
    return spent.children_user + spent.children_system


def add(row, result, build, spent):
    row["executions"] += result.executions
    row["seconds"] += result.seconds
    if build == "fast":
        row["fast_executions"] += result.executions
        row["fast_seconds"] = round(row["fast_seconds"] + spent, 2)
    else:
        row["address"] += result.executions
        row["edges"] = max(row["edges"], result.edges)
        row["features"] = max(row["features"], result.features)
    row["inputs"] = max(row["inputs"], result.corpus)
    row["findings"] += len(result.findings)
    row["date"] = datetime.date.today().isoformat()


def run_slice(row, seconds):
    """One slice; the build that a target has had least of, one in eight under the sanitizers."""
    slices = row["seconds"] // max(seconds, 1)
    build = "address" if slices % ADDRESS_EVERY == ADDRESS_EVERY - 1 or row["address"] == 0 else "fast"
    before = processor_seconds()
    result = fuzz.run_target(row["target"], build, seconds, 0)
    add(row, result, build, processor_seconds() - before)
    print(f"  {build:<7}", end="")
    fuzz.show(result)


def run(names, seconds, slice_seconds):
    data = read_data()
    findings = sum(row["findings"] for row in data["runs"])
    rows = [row_of(data, name) for name in names]
    # Of the files that the programs were built of, as the code sums are: HEAD may move while a campaign runs.
    stamps = {name: stamp_of(name) for name in names}
    end = datetime.datetime.now() + datetime.timedelta(seconds=seconds)
    try:
        while datetime.datetime.now() < end:
            row = next_target(rows)
            if row is None:
                print("campaign: every target has reached its goal")
                break
            run_slice(row, slice_seconds)
            row.update(stamps[row["target"]])
            write_data({"runs": [each for each in data["runs"] if each["seconds"]]})
    except KeyboardInterrupt:
        print("campaign: ended; what was done is kept")
    state(names)
    return 1 if sum(row["findings"] for row in data["runs"]) > findings else 0


def today(names):
    data = read_data()
    return [row_of(data, name) for name in names]


def state(names):
    rows = today(names)
    for row in rows:
        cost = f"{cost_us(row):7.1f} µs" if cost_us(row) else "not run   "
        print(f"  {row['target']:<14} {row['code']} {cost} "
              f"{row['executions']:>13,} of {goal_words(row):<22}  "
              f"{'done' if not missing(row) else f'{hours(row):.1f} h missing' if cost_us(row) else 'missing'}")
    done = [row for row in rows if not missing(row)]
    rest = sum(hours(row) for row in rows)
    print(f"campaign: {len(done)} of {len(rows)} targets have reached their goal on this code; "
          f"{rest:.0f} h of one core are missing, without those that were not run")
    return 0


HEAD = ["target", "release", "commit", "code", "executions", "of them under ASan", "goal", "µs each", "edges",
        "features", "findings"]


def goal_words(row):
    """The goal of a target; it depends on the cost, which only a run tells."""
    if not cost_us(row):
        return "none before a first run measures the cost"
    return f"{goal_of(row):,}" + ("" if missing(row) else ", reached")


def cells(row):
    cost = f"{cost_us(row):.1f}" if cost_us(row) else "–"
    commit = row["commit"][:12] + ("-dirty" if row["commit"].endswith("-dirty") else "")
    return [row["target"], row["release"], commit, row["code"], f"{row['executions']:,}", f"{row['address']:,}",
            goal_words(row), cost, str(row["edges"]), str(row["features"]), str(row["findings"])]


def ledger_text():
    """The ledger with a table of all rows; build/fuzz/campaign.json may have rows that the tracked one lacks."""
    rows = sorted(read_data()["runs"], key=lambda row: (row["target"], row["date"]))
    ran, done = {row["target"] for row in rows}, {row["target"] for row in rows if not missing(row)}
    rest = [name for name in targets.names() if name not in ran]
    lines = [f"{len(ran)} of {len(targets.names())} targets have a row, {len(done)} have reached their goal."
             + (f" No row: {', '.join(f'`{name}`' for name in rest)}." if rest else "")
             + " A release with a `+` is the code after that release.", ""]
    lines += ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    text = LEDGER.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}"


def write_ledger():
    LEDGER.write_text(ledger_text())
    return 0


def write_evidence(rows):
    """The rows of today's code, and the ledger as a file. Changes no tracked file: a part is of a commit."""
    done = [row for row in rows if not missing(row)]
    executions = sum(row["executions"] for row in rows)
    clang = subprocess.run(["clang-19", "--version"], text=True, stdout=subprocess.PIPE, check=True).stdout
    version = re.search(r"version (\S+)", clang)[1]
    not_shown = [f"{row['target']} has had {row['executions']:,} executions on this code; the goal: {goal_words(row)}."
                 for row in rows if missing(row)] + NOT_SHOWN
    summary = "no target has run on this code"
    if executions:
        summary = (f"{executions:,} executions on this code, {sum(row['findings'] for row in rows)} findings, "
                   f"{len(done)} targets at their goal")
    part.write_part("fuzz", "Fuzz targets", {"libFuzzer of clang": version}, "make fuzz-campaign",
                    f"{len(rows)} targets, {summary}", ["target", "takes in", "compared with", *HEAD[3:]],
                    [[row["target"], targets.head(row["target"], "Input"), targets.compared(row["target"]),
                      *cells(row)[3:]] for row in rows], not_shown, [part.keep("fuzz-ledger.md", ledger_text())])
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "state", "ledger", "evidence"))
    parser.add_argument("--seconds", type=int, default=3600, help="of the whole run")
    parser.add_argument("--slice", type=int, default=60, help="seconds of one target at a time")
    parser.add_argument("targets", nargs="*")
    given = parser.parse_intermixed_args()
    names = given.targets or targets.names()
    if given.what == "run":
        return run(names, given.seconds, given.slice)
    if given.what == "state":
        return state(names)
    return write_ledger() if given.what == "ledger" else write_evidence(today(targets.names()))


if __name__ == "__main__":
    sys.exit(main())
