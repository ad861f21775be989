#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets until each has had as many executions as it should, over days, and keeps what they did.

  tools/fuzz/campaign.py run [--seconds N] [--slice N] [TARGET...]   one target at a time, for N seconds in all
  tools/fuzz/campaign.py state                                       what the code of today still lacks
  tools/fuzz/campaign.py ledger                                      writes tests/fuzz/LEDGER.md
  tools/fuzz/campaign.py evidence                                    writes the part of the evidence; no tracked file

A target that costs less than 20 µs should have 10⁸ executions, the others 10⁷, on one state of the code: of the files
that its program is made of (linked.py). `run` reads their names from the built program, and keeps them and their sum
with the row. The other commands need no build: a row counts as long as these files have the row's sum.

A run may be ended at any time: what a slice found stays in build/fuzz/run, and tests/fuzz/campaign.json is written
after each. Most slices run without sanitizers but with all assertions (build `fast`), each eighth under ASan and UBSan
(`address`). build/fuzz/campaign.json is a copy of the rows: a checkout of the tracked file loses none. A row names its
list of files by the list's own sum, because many rows share one.
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
import linked
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


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True).stdout


def stamp_of(files):
    """Commit and release of the code of a target. `-dirty` and `+` report changes of these files only: a campaign
    itself changes campaign.json and the ledger, which are no code."""
    dirty = linked.sum_of(files) != linked.sum_of(files, "HEAD")
    commit = git("rev-parse", "HEAD").strip() + ("-dirty" if dirty else "")
    return {"commit": commit, "release": part.release(dirty)}


def list_name(files):
    return hashlib.sha256(" ".join(files).encode()).hexdigest()[:8]


def read_data():
    """The rows of both files, each with its list of files; of two rows of a target on the same code, the one with more
    executions. A row without a list is of a campaign that summed whole folders: it can be held against no tree."""
    best = {}
    for path in (DATA, COPY):
        content = json.loads(path.read_text()) if path.exists() else {"runs": []}
        for row in content["runs"]:
            key = row["target"], row["code"]
            if "files" in row and (key not in best or row["executions"] > best[key]["executions"]):
                best[key] = {**row, "files": content["files"][row["files"]].split()}
    return {"runs": list(best.values())}


def write_data(data):
    """One row a line, and behind them one list a line, so that two branches can be merged."""
    lists = {list_name(row["files"]): " ".join(row["files"]) for row in data["runs"]}
    rows = ",\n".join("  " + json.dumps({**row, "files": list_name(row["files"])}, sort_keys=True)
                      for row in data["runs"])
    names = ",\n".join(f"  {json.dumps(name)}: {json.dumps(lists[name])}" for name in sorted(lists))
    for path in (DATA, COPY):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text('{"runs": [\n' + rows + '\n],\n"files": {\n' + names + "\n}}\n")
        fresh.replace(path)


def new_row(target, code="", files=()):
    return {"target": target, "code": code, "files": list(files), "commit": "", "release": "", "executions": 0,
            "address": 0, "seconds": 0, "fast_executions": 0, "fast_seconds": 0, "edges": 0, "features": 0, "inputs": 0,
            "findings": 0, "date": ""}


def row_of_program(data, target):
    """The row of a target's built program; a new one when there is none."""
    files = linked.files_of(target)
    code = linked.sum_of(files)
    for row in data["runs"]:
        if row["target"] == target and row["code"] == code:
            return row
    data["runs"].append(new_row(target, code, files))
    return data["runs"][-1]


def row_of_tree(data, target):
    """The row of a target whose files are those of the tree, without a build; one without executions when there is
    none. Two are possible where a compiler read other files: the one with more executions."""
    rows = [row for row in data["runs"] if row["target"] == target and linked.sum_of(row["files"]) == row["code"]]
    return max(rows, key=lambda row: row["executions"], default=new_row(target))


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
    rows = [row_of_program(data, name) for name in names]
    # Of the files that the programs were built of, as the code sums are: HEAD may move while a campaign runs.
    stamps = {row["target"]: stamp_of(row["files"]) for row in rows}
    end = datetime.datetime.now() + datetime.timedelta(seconds=seconds)
    try:
        while datetime.datetime.now() < end:
            row = next_target(rows)
            if row is None:
                print("campaign: every target has reached its goal")
                break
            run_slice(row, slice_seconds)
            row.update(stamps[row["target"]])
            # The engine reports no seconds of a slice that ends in a finding.
            write_data({"runs": [each for each in data["runs"] if each["seconds"] or each["findings"]]})
    except KeyboardInterrupt:
        print("campaign: ended; what was done is kept")
    state(names)
    return 1 if sum(row["findings"] for row in data["runs"]) > findings else 0


def today(names):
    data = read_data()
    return [row_of_tree(data, name) for name in names]


def progress(rows):
    """How far the targets are on the code that the rows are of."""
    done = sum(not missing(row) for row in rows)
    fresh = sum(not row["code"] for row in rows)
    return (f"{done} of {len(rows)} targets have reached their goal, {len(rows) - done - fresh} have begun, "
            f"{fresh} were not run")


def state(names):
    rows = today(names)
    for row in rows:
        cost = f"{cost_us(row):7.1f} µs" if cost_us(row) else "not run   "
        print(f"  {row['target']:<14} {row['code'] or '–':<16} {cost} "
              f"{row['executions']:>13,} of {goal_words(row):<22}  "
              f"{'done' if not missing(row) else f'{hours(row):.1f} h missing' if cost_us(row) else 'missing'}")
    rest = sum(hours(row) for row in rows)
    print(f"campaign: on this code {progress(rows)}; those that have begun lack {rest:.0f} h of one core")
    return 0


HEAD = ["target", "release", "commit", "code", "executions", "of them under ASan", "goal", "µs each", "edges",
        "features", "findings"]


def goal_words(row):
    """The goal of a target; it depends on the cost, which only a run tells."""
    if not cost_us(row):
        return "none before a first run measures the cost"
    return f"{goal_of(row):,}" + ("" if missing(row) else ", reached")


def short(commit):
    return commit[:12] + ("-dirty" if commit.endswith("-dirty") else "")


def cells(row):
    cost = f"{cost_us(row):.1f}" if cost_us(row) else "–"
    return [row["target"], row["release"], short(row["commit"]), row["code"] or "–", f"{row['executions']:,}",
            f"{row['address']:,}", goal_words(row), cost, str(row["edges"]), str(row["features"]), str(row["findings"])]


def ledger_text():
    """The ledger with a table of all rows; build/fuzz/campaign.json may have rows that the tracked one lacks."""
    rows = sorted(read_data()["runs"], key=lambda row: (row["target"], row["date"]))
    names = targets.names()
    ran, done = {row["target"] for row in rows}, {row["target"] for row in rows if not missing(row)}
    rest = [name for name in names if name not in ran]
    commit = stamp_of(sorted({name for row in rows for name in row["files"]}))["commit"]
    lines = [f"On the code of commit {short(commit)}, {progress(today(names))}.", "",
             f"On the code of any row, {len(ran)} of {len(names)} targets have run, "
             f"and {len(done)} have reached their goal."
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
