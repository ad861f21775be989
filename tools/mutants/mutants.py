# SPDX-License-Identifier: Apache-2.0
"""Puts mutants into the code, one at a time, and shows which of them unit tests, simulator and crash states find.

  mutants.py --count N --seed S [--only src/x509]   the first N of the seed's order that change the program
  mutants.py --sample N --seed S --since REV        those of lines that differ from a commit, then of the seed's order

Verdicts are kept in build/mutants/verdicts.json by content, so that the next call goes on; --budget ends this one
after so many minutes. tests/mutants/equivalent.toml explains survivors that no test can find; an entry that fits no
line any more, or whose mutant is found, fails. `make mutants` and `make mutants-sample` build what this needs.
"""

import argparse
import concurrent.futures
import hashlib
import importlib.metadata
import json
import re
import shutil
import sys
import time

import candidates
import trial
from candidates import SCOPE
from equivalent import EQUIVALENT, ROOT, explained, stale

sys.path.insert(0, str(ROOT / "tools" / "evidence"))
import part  # noqa: E402

VERDICTS = trial.BUILD / "verdicts.json"
# What a verdict depends on besides the mutant. A survivor of other inputs is tried again.
INPUTS = ("src", "cfg", "boards", "generated", "tests/unit", "tests/sim", "tests/crash", "tests/vectors")
WHOLE_MIN = 97.0   # percent of those that are not explained
# A sample may have survivors of lines that have just been written; those of the seed's order are explained.
SAMPLE_MIN = 90.0
CHUNK = 16
SEED_OF_TESTS = "1"  # mutants of this seed that lived became tests
README = ROOT / "tests/mutants/README.md"
NOT_SHOWN = (
    "Mutants of more than one line, of headers, assertions and tables of the preprocessor.",
    "The build with sanitizers judges only what lives without them, by eight programs each.",
    "Mutants of src/host, src/command and the other rooms of src/agent.",
    "That a mutant is equivalent: people judged each, and equivalent.toml has their reasons.")


class Verdicts:
    """What was found out, by content of the mutant's file; kept on disk."""

    def __init__(self):
        self.kept = json.loads(VERDICTS.read_text()) if VERDICTS.exists() else {}
        self.inputs = inputs_digest()
        self.earlier = set()  # keys of mutants whose verdict an earlier run made

    @staticmethod
    def key(mutant):
        return hashlib.sha256(f"{mutant.file}\0{mutant.text()}".encode()).hexdigest()

    def get(self, mutant, what):
        """The entry of this kind, if it was made of the same inputs."""
        entry = self.kept.get(f"{what} {self.key(mutant)}")
        return entry if entry and entry["inputs"] == self.inputs else None

    def put(self, mutant, what, **values):
        self.kept[f"{what} {self.key(mutant)}"] = {"inputs": self.inputs, "file": mutant.file, **values}

    def save(self):
        new = VERDICTS.with_suffix(".new")
        new.write_text(json.dumps(self.kept, indent=0))
        new.replace(VERDICTS)

    def hints(self, file):
        """{program: how many mutants of the file it found}."""
        counts = {}
        for entry in self.kept.values():
            if entry["file"] == file and entry.get("verdict") == "killed":
                name = entry["by"].split()[0]
                counts[name] = counts.get(name, 0) + 1
        return counts


def inputs_digest():
    total = hashlib.sha256()
    for folder in INPUTS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in (".c", ".h", ".py", ".zip", ".txt", ".json"):
                total.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


# --- explained survivors ---

def identity(mutant):
    return mutant.file, mutant.function, mutant.before.strip(), mutant.after.strip()


# --- choosing ---

def choose(ranked, count, verdicts, jobs):
    """The first mutants of an order that make another program; at most one on a line."""
    chosen, lines, objects = [], set(), set()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for at in range(0, len(ranked), CHUNK):
            chunk = [m for m in ranked[at:at + CHUNK] if (m.file, m.line) not in lines]
            for mutant, made in zip(chunk, pool.map(lambda one: probed(verdicts, one), chunk)):
                if made and made not in objects and (mutant.file, mutant.line) not in lines:
                    chosen.append(mutant)
                    lines.add((mutant.file, mutant.line))
                    objects.add(made)
                if len(chosen) == count:
                    break
            verdicts.save()
            if len(chosen) == count:
                break
    return chosen


def folder_of(verdicts, mutant):
    folder = trial.SCRATCH / verdicts.key(mutant)[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def probed(verdicts, mutant):
    entry = verdicts.get(mutant, "object")
    if entry is None:
        folder = folder_of(verdicts, mutant)
        entry = {"digest": trial.probe(mutant, folder)}
        verdicts.put(mutant, "object", **entry)
        if not entry["digest"]:
            shutil.rmtree(folder)
    return entry["digest"]


# --- trying ---

def try_one(mutant, programs, verdicts, thorough, until):
    entry = verdicts.get(mutant, "verdict")
    if entry and (entry["thorough"] or not thorough or entry["verdict"] != "survived"):
        verdicts.earlier.add(verdicts.key(mutant))
        return entry["verdict"], entry["by"]
    if time.monotonic() > until:
        return "unfinished", ""
    folder = folder_of(verdicts, mutant)
    verdict, by = trial.Trial(mutant, folder, programs, verdicts.hints(mutant.file)).run(thorough, until)
    shutil.rmtree(folder)
    if verdict != "unfinished":
        verdicts.put(mutant, "verdict", verdict=verdict, by=by, thorough=thorough)
    return verdict, by


def try_all(chosen, verdicts, given):
    """[(mutant, verdict, by)] in their order, and a line for each that is no plain success."""
    programs = trial.programs(given.jobs, not given.sample)
    begin = time.monotonic()    # a machine that is slow to measure the programs tries no fewer mutants
    until = begin + 60 * given.budget
    results = []
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        tries = [pool.submit(try_one, mutant, programs, verdicts, not given.sample, until) for mutant in chosen]
        for mutant, done in zip(chosen, tries):
            verdict, by = done.result()
            results.append((mutant, verdict, by))
            if verdict == "survived":
                print(f"  lives  {mutant}", flush=True)
            if len(results) % CHUNK == 0:
                verdicts.save()
                print(f"  {len(results)} of {len(chosen)} after {time.monotonic() - begin:.0f} s", flush=True)
    verdicts.save()
    return results


# --- the report ---

def percent(killed, all_of_them):
    return 100.0 * killed / all_of_them if all_of_them else 100.0


def count(results, reasons):
    """{room: [tried, killed, explained, unexplained]}, and the total under "all"."""
    rooms = {room: [0, 0, 0, 0] for room in (*SCOPE, "all")}
    for mutant, verdict, _ in results:
        if verdict not in ("killed", "survived"):
            continue
        for room in (mutant.room(), "all"):
            rooms[room][0] += 1
            rooms[room][1 if verdict == "killed" else 2 if identity(mutant) in reasons else 3] += 1
    return rooms


def table(rooms):
    return [[room, str(tried), str(killed), str(equal), str(left), f"{percent(killed, tried - equal):.1f} %"]
            for room, (tried, killed, equal, left) in rooms.items() if tried]


def earlier_rate():
    """Percent of the mutants of SEED_OF_TESTS that were found before tests were written for the others."""
    found = re.search(r"In that earlier run \d+ of \d+ were found \((\d+\.\d) %", README.read_text())
    return found[1] if found else None


def not_shown(left, seed, rate):
    """Sentences for the page: each mutant that nothing found, and what the rate does not say."""
    texts = [f"Not found, and not explained: {mutant}" for mutant in left]
    if seed == SEED_OF_TESTS:
        texts.append("The rate of mutants that nobody has looked at: survivors of an earlier run of the same seed "
                     f"became tests or were explained. In that run {rate} % were found "
                     "(tests/mutants/README.md). `make mutants MUTANTS_SEED=7` tries others.")
    return [*texts, *NOT_SHOWN]


def write_evidence(rows, summary, left, problems, given):
    part.write_part(
        "mutants", "Mutants by a generator", {"universalmutator": importlib.metadata.version("universalmutator")},
        f"make mutants MUTANTS_SEED={given.seed} MUTANTS_COUNT={given.count}", summary,
        ["code", "mutants", "found", "equivalent", "not found", "found of those that are not equivalent"], rows,
        not_shown(left, given.seed, earlier_rate()), [part.keep("equivalent.toml", EQUIVALENT.read_text())],
        failed="; ".join(problems))


def judge(results, earlier, given):
    reasons = explained()
    rooms = count(results, reasons)
    rows = table(rooms)
    head = ["", "mutants", "found", "equivalent", "not found", "rate"]
    for row in [head, *rows]:
        print(f"  {row[0]:<20} {row[1]:>8} {row[2]:>8} {row[3]:>11} {row[4]:>10} {row[5]:>9}")
    problems = stale(reasons)
    problems += [f"{EQUIVALENT.name}: {by} finds it: remove the entry: {mutant}"
                 for mutant, verdict, by in results if verdict == "killed" and identity(mutant) in reasons]
    tried, killed, equal, left = rooms["all"]
    rate, least = percent(killed, tried - equal), SAMPLE_MIN if given.sample else WHOLE_MIN
    unfinished = sum(1 for _, verdict, _ in results if verdict == "unfinished")
    if rate < least:
        problems.append(f"{rate:.1f} % are found, {least} % is the least: write tests for those that live, or explain"
                        " them")
    if tried < len(results) // 2:
        problems.append(f"only {tried} of {len(results)} were tried within {given.budget} minutes")
    for problem in problems:
        print(f"  FAIL  {problem}")
    summary = (f"{killed} of {tried - equal} mutants found ({rate:.1f} %), {left} not, {equal} equivalent"
               + (f", {unfinished} not tried" if unfinished else ""))
    print(f"mutants: {summary}")
    if not given.sample and not given.only:
        left = [mutant for mutant, verdict, _ in results if verdict == "survived" and identity(mutant) not in reasons]
        kept = (f"; {earlier} of the {tried} verdicts are kept from an earlier run of the same sources and tests "
                f"(remove {VERDICTS.relative_to(ROOT)} to try every mutant again)")
        write_evidence(rows, summary + kept, left, problems, given)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--since", default="HEAD~5")
    parser.add_argument("--only", default="", metavar="PATH", help="files below it alone, as src/x509")
    parser.add_argument("--budget", type=float, default=240, help="minutes")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    trial.SCRATCH.mkdir(parents=True, exist_ok=True)
    verdicts = Verdicts()
    changed = candidates.changed_since(given.since) if given.sample else {}
    ranked = candidates.ranked(given.seed, changed, given.only)
    chosen = choose(ranked, given.sample or given.count, verdicts, given.jobs)
    results = try_all(chosen, verdicts, given)
    return judge(results, len(verdicts.earlier), given)


if __name__ == "__main__":
    sys.exit(main())
