#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets, each for some seconds on a copy of its corpus, and says what they found.

  tools/fuzz/fuzz.py [--seconds N] [--build fast] TARGET...   run; the repository is not changed
  tools/fuzz/fuzz.py --merge TARGET...                        keep what the runs found: minimise into the archive
  tools/fuzz/fuzz.py --ledger                                 sums of tests/fuzz/LEDGER.md

Two targets at once. Before it runs, the whole corpus is replayed under the memory sanitizer. A finding fails the run,
stays in build/fuzz/findings and is printed with the command that reproduces it.
"""

import argparse
import concurrent.futures
import configparser
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

import corpus

ROOT = corpus.ROOT
FUZZ = ROOT / "tests" / "fuzz"
BUILD = ROOT / "build" / "fuzz"
AT_ONCE = 2
GRACE_SECONDS = 300  # of a run beyond its time: reading the corpus, the last input
INPUT_SECONDS = 30  # on a machine that does other things too
MEMORY_MB = 1024
CORPUS_FILES_MAX = 250
SHOWN_LINES = 30  # of the output of a finding


@dataclasses.dataclass
class Result:
    """What one target did."""
    target: str
    executions: int = 0
    seconds: int = 0
    edges: int = 0
    features: int = 0
    corpus: int = 0
    findings: list = dataclasses.field(default_factory=list)


def options(target):
    """Flags of tests/fuzz/fuzz_TARGET.options and its .dict, in the form that fuzzing services read."""
    path = FUZZ / f"fuzz_{target}.options"
    reader = configparser.ConfigParser()
    reader.read(path)
    given = dict(reader["libfuzzer"]) if reader.has_section("libfuzzer") else {}
    dictionary = FUZZ / f"fuzz_{target}.dict"
    if dictionary.exists():
        given["dict"] = str(dictionary)
    return [f"-{name}={value}" for name, value in given.items()]


def kept(target):
    """What earlier runs found; not a part of the repository."""
    return BUILD / "run" / target


def relative(path):
    return path.relative_to(ROOT)


def engine(program, target, *more, limit=None):
    """(exit code, output) of a fuzzing engine's program."""
    findings = BUILD / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    command = [str(program), *options(target), f"-timeout={INPUT_SECONDS}", f"-rss_limit_mb={MEMORY_MB}",
               f"-artifact_prefix={findings}/{target}-", *map(str, more)]
    try:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=limit, check=False)
    except subprocess.TimeoutExpired as late:
        return 1, (late.stdout or b"").decode(errors="replace") + f"\nno end after {limit} s"
    return done.returncode, done.stdout.decode(errors="replace")


def read_output(result, output):
    """The engine's last words about itself."""
    for line in output.splitlines():
        found = re.match(r"#(\d+)\s.* cov: (\d+) ft: (\d+) corp: (\d+)", line)
        if found:
            result.edges, result.features, result.corpus = map(int, found.groups()[1:])
        found = re.match(r"stat::number_of_executed_units: (\d+)", line)
        if found and result.executions == 0:
            result.executions = int(found.group(1))
        found = re.match(r"Done (\d+) runs in (\d+) second", line)
        if found:
            result.executions, result.seconds = map(int, found.groups())


def finding_words(program, output):
    """What broke, in the engine's words, and how to see it again."""
    lines = output.splitlines()
    begin = next((i for i, line in enumerate(lines) if "ERROR:" in line or "broken:" in line
                  or "does not" in line or "runtime error:" in line), max(len(lines) - SHOWN_LINES, 0))
    files = re.findall(r"Test unit written to (\S+)", output)
    words = lines[begin:begin + SHOWN_LINES]
    for name in files:
        words.append(f"reproduce: {relative(program)} {relative(pathlib.Path(name))}")
    return "\n".join(words)


def replay(target, build):
    """A finding of the corpus alone under another build, or None."""
    program = BUILD / build / target
    if not program.exists():
        return f"make {relative(program)}: the {build} build of the target is not there"
    files = sorted(corpus.unpack(target).iterdir())
    code, output = engine(program, target, *files, limit=GRACE_SECONDS)
    return finding_words(program, output) if code else None


def run_target(target, build, seconds, seed):
    result = Result(target)
    scratch = kept(target)
    scratch.mkdir(parents=True, exist_ok=True)
    program = BUILD / build / target
    if build == "address":
        found = replay(target, "memory")
        result.findings += [found] if found else []
    code, output = engine(program, target, f"-max_total_time={seconds}", f"-seed={seed}",
                          "-print_final_stats=1", scratch, corpus.unpack(target), limit=seconds + GRACE_SECONDS)
    read_output(result, output)
    if code:
        result.findings.append(finding_words(program, output))
    return result


def show(result):
    rate = result.executions // max(result.seconds, 1)
    print(f"  {'FAIL' if result.findings else 'ok  '}  {result.target:<14} {result.executions:>11} executions "
          f"{rate:>8}/s  {result.edges:>5} edges {result.features:>6} features  corpus {result.corpus:>4}  "
          f"{len(result.findings)} findings", flush=True)
    for words in result.findings:
        print(words, flush=True)


def run_all(targets, build, seconds, seed):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [pool.submit(run_target, target, build, seconds, seed) for target in targets]
        results = []
        for run in concurrent.futures.as_completed(runs):
            results.append(run.result())
            show(results[-1])
    findings = sum(len(result.findings) for result in results)
    total = sum(result.executions for result in results)
    print(f"fuzz: {len(results)} targets, {total} executions, {findings} findings")
    return 1 if findings else 0


def smallest_set(target, folders, kind, *more):
    """Inputs of the folders that together have the features of all."""
    fresh = BUILD / "merge" / f"{target}-{kind}"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    code, output = engine(BUILD / "address" / target, target, "-set_cover_merge=1", *more, fresh, *folders)
    if code:
        sys.exit(f"merge: {target} failed:\n{output[-2000:]}")
    return sorted(fresh.iterdir())


def merge(target):
    """Minimises the repository's corpus together with what runs found. Inputs made by hand stay."""
    folder, scratch = corpus.unpack(target), kept(target)
    scratch.mkdir(parents=True, exist_ok=True)
    before = len(list(folder.iterdir()))
    files = smallest_set(target, [folder, scratch], "all")
    if len(files) > CORPUS_FILES_MAX:
        # How often an edge was taken keeps hundreds of inputs: those that take each edge once stay, others as they fit.
        once = smallest_set(target, [folder, scratch], "edges", "-use_counters=0")[:CORPUS_FILES_MAX]
        names = {path.name for path in once}
        others = sorted((path for path in files if path.name not in names), key=lambda path: path.stat().st_size)
        files = once + others[:CORPUS_FILES_MAX - len(once)]
    own = {path.read_bytes() for path in corpus.seeds_of(target)}
    found = [content for content in (path.read_bytes() for path in files) if content not in own]
    found = found[:max(CORPUS_FILES_MAX - len(own), 0)]
    corpus.write_archive(corpus.archive_of(target), corpus.named_by_sum(found))
    print(f"merge: {target}: {before} -> {len(found) + len(own)} inputs, {len(own)} of them made by hand, "
          f"{sum(map(len, [*found, *own]))} bytes")


def ledger():
    """Executions and open findings of the whole table."""
    executions = findings = targets = 0
    for line in (FUZZ / "LEDGER.md").read_text().splitlines():
        cells = [cell.strip().replace(",", "") for cell in line.strip("|").split("|")]
        if len(cells) >= 3 and re.fullmatch(r"\d+", cells[1]):
            targets += 1
            executions += int(cells[1])
            findings += int(cells[-1])
    print(f"ledger: {targets} rows, {executions:,} executions, {findings} open findings")
    return 1 if findings else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=30, help="of each target")
    parser.add_argument("--seed", type=int, default=0, help="of the engine's random numbers; 0: another each time")
    parser.add_argument("--build", default="address", choices=("address", "memory", "fast"))
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    parser.add_argument("targets", nargs="*")
    given = parser.parse_args()
    if given.ledger:
        return ledger()
    if not given.targets:
        sys.exit("fuzz: no targets: make fuzz")
    if given.merge:
        for target in given.targets:
            merge(target)
        return 0
    return run_all(given.targets, given.build, given.seconds, given.seed)


if __name__ == "__main__":
    sys.exit(main())
