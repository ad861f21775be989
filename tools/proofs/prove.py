#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of tests/proofs with CBMC, reports what they cover, and shows that seeded defects are found.

  tools/proofs/prove.py                    every proof whose sources changed since it last held, then the report
  tools/proofs/prove.py NAME...            these proofs, changed or not
  tools/proofs/prove.py --quick            those marked quick that changed, QUICK_SECONDS in all: `make check`
  tools/proofs/prove.py --defects [NAME]   seeds each mistake of tests/proofs/defects.toml; its proof must fail
  tools/proofs/prove.py --report           the report of what was run before, without running anything
  tools/proofs/prove.py --fit              only looks whether loops and defects still fit their sources

tests/proofs/README.md explains the form of a harness and of the file beside it.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time
import tomllib

import proof_report
import reading_functions

ROOT = reading_functions.ROOT
PROOFS = ROOT / "tests/proofs"
OUT = ROOT / "build/proofs"
QUICK_SECONDS = 120  # what `make check` spends on proofs at most
PROOF_SECONDS = 1500  # of the processor; a proof that takes longer has failed
MEMORY = 9 << 30  # address space of one CBMC
# Bounds, pointers, division, signed overflow, shifts and unwinding assertions are on by default.
CHECKS = ["--conversion-check", "--unsigned-overflow-check", "--pointer-overflow-check"]
SUMMARY = re.compile(r"^\*\* (\d+) of (\d+) failed", re.M)
COVERED = re.compile(r"^\[\S+\.coverage\.\d+\] .*\(lines (.*)\): (SATISFIED|FAILED)$", re.M)
FAILED = re.compile(r"^\[(.*?)\] (?:line (\d+) )?(.*): FAILURE$", re.M)
DEFAULT_UNWIND = 6
LIMITS = proof_report.LIMITS
UNREAD = ("seconds", "quick", "length")  # settings of a proof that change nothing of its result
NO_GROUPS = ("defects.toml", "exceptions.toml")


class Misfit(ValueError):
    """A loop or a defect that its source does not have, or has more than once."""


def stubs_of_base():
    """function -> its stub in stubs.h"""
    text = (PROOFS / "stubs.h").read_text()
    names = re.findall(r"^\w[\w *]*\bstub_((?:view|reader|writer|text)_\w+)\(", text, re.M)
    names += [f"reader_{name}" for name in re.findall(r"^STUB_NUMBER\(\w+, \w+, (\w+)\)", text, re.M)]
    return {name: f"stub_{name}" for name in names}


def load():
    """name -> proof, with the settings of its file put into it."""
    found = {}
    for path in sorted(PROOFS.glob("*.toml")):
        if path.name in NO_GROUPS:
            continue
        group = tomllib.loads(path.read_text())
        for proof in group["proof"]:
            if proof["name"] in found:
                raise ValueError(f"{path.name}: a second proof {proof['name']}")
            merged = {key: value for key, value in group.items() if key not in ("proof", "loop")} | proof
            own = group.get("stubs", {}) | proof.get("stubs", {})
            merged["stubs"] = (stubs_of_base() if merged.get("modular") else {}) | own
            for name in proof["functions"] + proof.get("real", []):
                merged["stubs"].pop(name, None)
            left_alone = set(proof.get("unrolled", [])) | set(merged["stubs"])
            merged["stubs"] = dict(sorted(merged["stubs"].items()))
            merged["loops"] = [loop for loop in group.get("loop", []) if loop["function"] not in left_alone]
            merged["harness"] = path.with_suffix(".c")
            found[proof["name"]] = merged
    return found


def load_defects():
    return tomllib.loads((PROOFS / "defects.toml").read_text())["defect"]


# --- sources with contracts of loops, and with a defect ---

def body_of(text, function, name):
    """(begin, end) of a function in the text of a source."""
    starts = [m for m in re.finditer(rf"^[^\s#/*}}][^;{{}}]*?\b{function}\([^;{{}}]*?\)\n{{", text, re.M)]
    if len(starts) != 1:
        raise Misfit(f"{name}: {function} is defined {len(starts)} times")
    return starts[0].end(), text.index("\n}", starts[0].end())


def with_loop(text, loop):
    """The source with one loop's contract, on the line of its head."""
    begin, end = body_of(text, loop["function"], loop["file"])
    body = text[begin:end]
    if body.count(loop["at"] + " {") != 1:
        raise Misfit(f"{loop['file']}: {loop['function']} has the loop `{loop['at']}` "
                     f"{body.count(loop['at'] + ' {')} times")
    contract = ""
    if "assigns" in loop:
        contract += f" __CPROVER_assigns({loop['assigns']})"
    contract += f" __CPROVER_loop_invariant({loop['invariant']})"
    if "decreases" in loop:
        contract += f" __CPROVER_decreases({loop['decreases']})"
    contract = " ".join(contract.split())
    at = begin + body.index(loop["at"] + " {") + len(loop["at"])
    return text[:at] + " " + contract + text[at:]


def without_check(text, name, function, check):
    """The source with one check of CBMC off in one function; the lines keep their numbers."""
    begin, end = body_of(text, function, name)
    begin = max(text.rfind(mark, 0, begin) + len(mark) for mark in ("\n\n", "\n}\n"))
    end = text.index("\n}", end) + 3
    first, after = text.count("\n", 0, begin) + 1, text.count("\n", 0, end) + 1
    return (text[:begin] + f'#pragma CPROVER check push\n#pragma CPROVER check disable "{check}"\n#line {first}\n'
            + text[begin:end] + f"#pragma CPROVER check pop\n#line {after}\n" + text[end:])


def with_limits(limits):
    """The files of LIMITS with smaller numbers, for a proof that the real ones would make too long."""
    texts = {name: (ROOT / name).read_text() for name in LIMITS}
    for limit, value in limits.items():
        count = 0
        for name, text in texts.items():
            texts[name], here = re.subn(rf"^#define {limit} .*$", f"#define {limit} {value}", text, flags=re.M)
            count += here
        if count != 1:
            raise Misfit(f"{' and '.join(LIMITS)} define {limit} {count} times")
    return texts


def with_defect(text, defect):
    if text.count(defect["find"]) != 1:
        raise Misfit(f"{defect['file']}: {defect['name']}: `find` stands there {text.count(defect['find'])} times")
    return text.replace(defect["find"], defect["replace"])


def overlay(proof, folder, defect=None):
    """Writes the sources that differ from the tree's into folder; returns their names."""
    texts = {}
    if defect:
        texts[defect["file"]] = with_defect((ROOT / defect["file"]).read_text(), defect)
    for loop in proof["loops"]:
        name = loop["file"]
        texts[name] = with_loop(texts.get(name) or (ROOT / name).read_text(), loop)
    for allowed in proof.get("allow", []):
        name = allowed["file"]
        for function in allowed["functions"]:
            texts[name] = without_check(texts.get(name) or (ROOT / name).read_text(), name, function, allowed["check"])
    if proof.get("limits"):
        texts |= with_limits(proof["limits"])
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return set(texts)


# --- one proof ---

def cbmc_folder():
    return subprocess.run([str(ROOT / "tools/proofs/install.sh")], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


def execute(command, log, seconds):
    """Exit code, output and processor seconds; the output is added to log. `seconds` are of the processor, so that a
    busy machine fails no proof."""
    def cap():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

    with open(log, "a+", encoding="utf-8", errors="replace") as stream:
        stream.write("$ " + " ".join(map(str, command)) + "\n")
        stream.flush()
        begin = stream.seek(0, os.SEEK_END)
        child = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, preexec_fn=cap, cwd=ROOT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        stream.seek(begin)
        out = stream.read()
    return child.returncode, out, usage.ru_utime + usage.ru_stime


def compile_flags(proof, folder):
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DPB_VALIDATE_UTF8", "-DPROOF", f"-I{folder}/src", f"-I{folder}",
             f"-I{PROOFS}", f"-I{ROOT}/src", f"-I{ROOT}"]
    flags += [f"-I{path}" for path in reading_functions.includes(ROOT)]
    return flags + proof.get("defines", [])


def build(proof, tools, folder, defect=None):
    """Makes folder/proof.goto; returns an error text or ''."""
    log = folder / "log"
    log.write_text("")
    changed = overlay(proof, folder, defect)
    linked = [str(folder / name) if name in changed else str(ROOT / name) for name in proof.get("link", [])]
    entry = "proof_" + proof["name"]
    raw = folder / "raw.goto"
    code, out, _ = execute([f"{tools}/bin/goto-cc", *compile_flags(proof, folder), str(proof["harness"]), *linked,
                         "--function", entry, "-o", str(raw)], log, 300)
    if code:
        return "goto-cc: " + out.strip()[-600:]
    replace = [word for name, stub in proof["stubs"].items() for word in ("--replace-calls", f"{name}:{stub}")]
    steps = []
    if replace:
        steps.append(replace)
    steps.append(["--drop-unused-functions"])
    if proof.get("unwind_first"):
        steps.append(["--unwindset", ",".join(proof["unwind_first"])])
    if proof["loops"]:
        steps.append(["--apply-loop-contracts"])
    for number, step in enumerate(steps):
        made = folder / f"step{number}.goto"
        code, out, _ = execute([f"{tools}/bin/goto-instrument", *step, str(raw), str(made)], log, 600)
        if code:
            return "goto-instrument: " + out.strip()[-600:]
        raw = made
    os.replace(raw, folder / "proof.goto")
    return ""


def solver_options(proof, tools):
    options = ["--unwind", str(proof.get("unwind", DEFAULT_UNWIND)), "--object-bits", "10"]
    if proof.get("unwindset"):
        options += ["--unwindset", ",".join(proof["unwindset"])]
    if proof.get("solver") == "kissat":
        options += ["--external-sat-solver", f"{tools}/bin/kissat"]
    return options


def verify(proof, tools, folder):
    """(properties, failures, seconds) of the program that build made; failures is a list of texts."""
    checks = [check for check in CHECKS if check not in proof.get("unchecked", [])]
    code, out, seconds = execute([f"{tools}/bin/cbmc", str(folder / "proof.goto"),
                                  "--function", "proof_" + proof["name"], *checks, *solver_options(proof, tools),
                                  "--slice-formula"], folder / "log", proof.get("seconds", PROOF_SECONDS))
    summary = SUMMARY.search(out)
    failures = [f"{name}: {text} (line {line})" for name, line, text in FAILED.findall(out)]
    if code not in (0, 10) or not summary:
        return 0, [f"cbmc ended with {code}: " + " ".join(out.strip().splitlines()[-2:])[-300:]], seconds
    if (code == 0) != (int(summary[1]) == 0):
        failures.append("cbmc contradicts itself")
    return int(summary[2]), failures, seconds


def cover(proof, tools, folder):
    """The lines that the proof reaches (covered_lines), or None where CBMC ended early."""
    (folder / "cover.log").unlink(missing_ok=True)
    code, out, _ = execute([f"{tools}/bin/cbmc", str(folder / "proof.goto"), "--function", "proof_" + proof["name"],
                            "--cover", "location", "--no-standard-checks", "--no-unwinding-assertions",
                            *solver_options(proof, tools)],
                           folder / "cover.log", proof.get("seconds", PROOF_SECONDS))
    return covered_lines(out, folder) if code in (0, 10) else None


def covered_lines(out, folder):
    """"file function" of src -> [lines of reached blocks, lines of all blocks]. A block of CBMC names the lines of each
    function in it, inlined ones included."""
    found = {}
    for blocks, verdict in COVERED.findall(out):
        for part in blocks.split("; "):
            path, function, lines = part.rsplit(":", 2)
            path = path.replace(f"{folder}/", "").replace(f"{ROOT}/", "")
            if path.startswith("src/"):
                reached, every = found.setdefault(f"{path} {function}", (set(), set()))
                every |= line_numbers(lines)
                if verdict == "SATISFIED":
                    reached |= line_numbers(lines)
    return {name: [sorted(reached), sorted(every)] for name, (reached, every) in found.items()}


def line_numbers(text):
    """{56, 58, 59} of "56,58-59"."""
    numbers = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


# --- what is kept of a proof that held ---

def digest(data):
    return hashlib.sha256(data).hexdigest()


def depends(proof):
    """Files that the proof reads: name -> digest."""
    out = subprocess.run(["gcc", "-MM", "-MT", "x", *compile_flags(proof, OUT / "none"), str(proof["harness"]),
                          *(str(ROOT / name) for name in proof.get("link", []))],
                         stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT).stdout
    names = {word for word in out.replace("\\\n", " ").split() if not word.endswith(":")}
    names |= {str(ROOT / loop["file"]) for loop in proof["loops"]}
    return {name.replace(str(ROOT) + "/", ""): digest(pathlib.Path(ROOT / name).read_bytes()) for name in names}


def settings_key(proof):
    text = json.dumps({key: str(value) for key, value in proof.items() if key not in UNREAD},
                      sort_keys=True)
    tool = (ROOT / "tools/proofs/install.sh").read_text()
    return digest((text + tool + " ".join(CHECKS)).encode())


def kept(proof):
    """The result of the last run, if nothing that it read has changed."""
    path = OUT / proof["name"] / "result.json"
    if not path.exists():
        return None
    result = json.loads(path.read_text())
    if result["settings"] != settings_key(proof):
        return None
    for name, value in result["files"].items():
        file = ROOT / name
        if not file.exists() or digest(file.read_bytes()) != value:
            return None
    return result


def prove(proof, tools, with_cover=True):
    """Runs one proof and keeps its result if it holds."""
    folder = OUT / proof["name"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").unlink(missing_ok=True)
    result = {"name": proof["name"], "settings": settings_key(proof), "files": depends(proof), "properties": 0,
              "lines": {}, "seconds": 0.0}
    error = build(proof, tools, folder)
    if error:
        result["failures"] = [error]
    else:
        result["properties"], result["failures"], seconds = verify(proof, tools, folder)
        result["seconds"] = round(seconds, 1)
    if not result["failures"] and with_cover:
        result["lines"] = cover(proof, tools, folder)
        result["failures"] += missed(proof, result["lines"])
    if not result["failures"] and with_cover:
        (folder / "result.json").write_text(json.dumps(result, indent=1))
    return result


def missed(proof, lines):
    """A text for each function that the proof names and does not enter."""
    if lines is None:
        return ["the coverage of blocks could not be had (cover.log)"]
    entered = {name.split()[1] for name, (reached, _) in lines.items() if reached}
    return [f"{name}: the proof names this function and does not enter it"
            for name in proof["functions"] if name not in entered]


# --- many proofs ---

def show(result, note=""):
    state = "FAIL" if result["failures"] else "ok"
    reached, total = proof_report.count_lines([result])
    print(f"  {state:<4} {result['name']:<34} {result['properties']:>5} properties, {reached} of {total} lines, "
          f"{result['seconds']} s{note}", flush=True)
    for line in result["failures"][:12]:
        print(f"         {line}")


def run(proofs, tools, jobs, stop_at=None, with_cover=True):
    """Results of the proofs, in the order in which they end; none begins after stop_at."""
    def one(proof):
        if stop_at and time.monotonic() > stop_at:
            return None
        result = prove(proof, tools, with_cover)
        show(result)
        return result

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(one, proofs))
    return [result for result in results if result], results.count(None)


def prove_all(proofs, names, jobs, everything, with_cover):
    tools = cbmc_folder()
    chosen = [proofs[name] for name in names] if names else list(proofs.values())
    results, before = [], 0
    if not names and not everything:
        results = [result for result in map(kept, chosen) if result]
        known, before = {result["name"] for result in results}, len(results)
        for result in results:
            show(result, ", unchanged")
        chosen = [proof for proof in chosen if proof["name"] not in known]
    ran, _ = run(chosen, tools, jobs, None, with_cover)
    results += ran
    failed = [result["name"] for result in results if result["failures"]]
    if not names:
        proof_report.write(proofs, results, before)
    print(f"{len(results) - len(failed)} of {len(results)} proofs hold"
          + (f"; not: {' '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def quick_results(proofs, jobs):
    """(results, kept, left): runs the quick proofs that changed, for QUICK_SECONDS at most."""
    quick = [proof for proof in proofs.values() if proof.get("quick")]
    changed = [proof for proof in quick if not kept(proof)]
    if not changed:
        return [], len(quick), 0
    ran, left = run(changed, cbmc_folder(), jobs, time.monotonic() + QUICK_SECONDS)
    return ran, len(quick) - len(changed), left


def find_defect(defect, proofs, tools):
    """What the proof says of the source with the defect: the first failure, or None where it still holds."""
    proof = proofs[defect["target"]]
    folder = OUT / "defects" / defect["name"]
    folder.mkdir(parents=True, exist_ok=True)
    error = build(proof, tools, folder, defect)
    if error:
        return None, "does not build: " + error
    _, failures, _ = verify(proof, tools, folder)
    if failures and failures[0].startswith("cbmc ended"):
        return None, failures[0]
    return (failures[0], "") if failures else (None, "the proof still holds")


def defects_found(proofs, names, jobs):
    tools = cbmc_folder()
    chosen = [defect for defect in load_defects() if not names or defect["name"] in names]

    def one(defect):
        begin = time.monotonic()
        found, why = find_defect(defect, proofs, tools)
        print(f"  {'found' if found else 'MISSED'} {defect['name']} by {defect['target']} "
              f"({time.monotonic() - begin:.1f} s): {found or why}", flush=True)
        return bool(found)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        verdicts = list(pool.map(one, chosen))
    OUT.mkdir(parents=True, exist_ok=True)
    if not names:
        (OUT / "defects.json").write_text(json.dumps({"found": sum(verdicts), "seeded": len(verdicts)}))
    print(f"{sum(verdicts)} of {len(verdicts)} seeded defects found")
    return 0 if all(verdicts) else 1


def misfits(proofs):
    """A text for each loop and defect that does not fit its source."""
    texts = []
    for proof in proofs.values():
        for loop in proof["loops"]:
            try:
                with_loop((ROOT / loop["file"]).read_text(), loop)
            except Misfit as error:
                texts.append(str(error))
        for allowed in proof.get("allow", []):
            for function in allowed["functions"]:
                try:
                    body_of((ROOT / allowed["file"]).read_text(), function, allowed["file"])
                except Misfit as error:
                    texts.append(str(error))
    for defect in load_defects():
        try:
            with_defect((ROOT / defect["file"]).read_text(), defect)
        except Misfit as error:
            texts.append(str(error))
        if defect["target"] not in proofs:
            texts.append(f"defects.toml: {defect['name']}: no proof {defect['target']}")
    return sorted(set(texts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, help="time that each program may take, instead of the usual one")
    parser.add_argument("--all", action="store_true", help="unchanged proofs too")
    parser.add_argument("--no-cover", action="store_true", help="verify alone: the result is not kept")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--defects", action="store_true")
    parser.add_argument("--report", action="store_true", help="the report alone, of the proofs that were run before")
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    proofs = load()
    if options.seconds:
        for proof in proofs.values():
            proof["seconds"] = options.seconds
    if options.fit:
        for text in misfits(proofs):
            print(text)
        return 1 if misfits(proofs) else 0
    if options.defects:
        return defects_found(proofs, options.names, options.jobs)
    if options.report:
        results = [result for result in map(kept, proofs.values()) if result]
        proof_report.write(proofs, results, len(results))
        return 0
    if options.quick:
        results, _, left = quick_results(proofs, options.jobs)
        print(f"{left} left for make proofs")
        return 1 if any(result["failures"] for result in results) else 0
    return prove_all(proofs, options.names, options.jobs, options.all, not options.no_cover)


if __name__ == "__main__":
    sys.exit(main())
