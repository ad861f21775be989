#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Searches the model of a claim's life (tests/model) with Spin, and compares it with what the simulator's agent does.

  tools/model/model.py check [--quick|--deep]
                                          each configuration: its states, depth and time; the evidence part `model`
  tools/model/model.py defects [NAME...]  each mistake of defects.toml is found, by the property that it names
  tools/model/model.py steps              the steps that a claim can make in the model: build/model/steps.txt
  tools/model/model.py trace FILE         each step of FILE, written by `sim --steps`, is one of them
  tools/model/model.py trace-defects [NAME]
                                          each mistake of tests/defects/steps.toml leads to a step that is none of them

Spin generates a program that visits every state; it is compiled without partial-order reduction, hashing of states or
a bound on depth, and a search that ends early counts as a failure. Counterexamples lie in build/model/NAME.txt.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "evidence"))
import part  # noqa: E402

MODEL = ROOT / "tests" / "model"
BUILD = ROOT / "build" / "model"
PROPERTIES = {
    "answer_is_lost": "no answered prepare is lost",
    "device_is_shared": "no device to two living claims",
    "device_is_in_use": "nothing is released, or given away, while a pod may use it",
    "claim_comes_back": "no unprepared claim is held again",
    "not_released": "every claim that is over is released in the end",
}
# What the kept result of a run depends on, from the root. A result of other files is not used.
SEARCHED = ["tests/model/claim.pml", "tests/model/configurations.toml", "tools/model/model.py", "tools/build/pins"]
TRACED = [*SEARCHED, "tests/model/steps.h", "tests/sim", "src", "boards", "generated", "cfg", "proto"]
READS = {
    "check": SEARCHED,
    "deep": SEARCHED,
    "defects": [*SEARCHED, "tests/model/defects.toml"],
    "trace": TRACED,
    "trace-defects": [*TRACED, "tests/defects/steps.toml", "tools/fuzz/defects.py"],
}
DEPTH_MAX = 4000000
# A search for steps alone keeps two bits of a hash of each state instead of the state, and is cut where a state looks
# like one that it has seen. What it misses it does not allow, so the comparison is stricter than the model.
# Searches of other depths, with other hashes, miss other states.
STEPS_ALONE = ["-w25", "-k2"]
STEPS_DEPTHS = [2000, 20000, 1000000]
# A step of the cluster, or a fault, may be several of the model's: the simulator does at once what takes the model's
# cluster up to four steps, as to create, allocate and reserve a claim.
AT_ONCE = 4
NOT_SHOWN = [
    "The model has two claims of one device each and two devices; it is no proof for more.",
    "Faults (a crash, reboot, loss or deletion by force) are bounded: in `make model` a run has at most one with two "
    "claims, and three with one claim; in `make model-deep` it has at most two with two claims.",
    "Errors of the disk, torn writes, damaged halves, shares and parts of devices, and the EFA driver are not "
    "modelled: the simulator and the crash states cover them.",
    "The release of a claim that is over assumes that the API server answers, that the kubelet writes its checkpoint, "
    "and that the agent does each of its jobs again and again, in any order. It is searched with one fault. With two "
    "agents, `make model` searches it for one claim, and `make model-deep` for two, with the jobs in one fixed order.",
    "An agent that cannot read the kubelet's checkpoint. The chart does not mount it by default "
    "(`draDriver.kubeletState.enabled`): a claim that vanishes without an unprepare then stays held until a reboot or "
    "`neuron-dra-agent release`.",
    "The agent looks at the memory of a rebuilt claim's devices only when the API server answers, and the claim has "
    "one pod as its only consumer. In the model each claim has one pod; no configuration has a loss of the store, a "
    "container that outlives its claim, and an API server that does not answer, in one run with two claims.",
    "Not counted as lost: an answered prepare whose store and CDI file are lost, that no agent has in memory, and "
    "that the API server has not reserved with that device any more (EXCUSE in claim.pml).",
    "Not counted as held again: an unprepared claim that is still, or again, reserved, and that the list of claims "
    "takes in after the store was lost while no agent had it in memory, or after its tombstone was lost (NO_WITNESS, "
    "NO_TOMBSTONE).",
    "Not counted as released while in use: a claim whose container outlived its unprepare, or ran while the kubelet "
    "lost its checkpoint (`forgotten`).",
    "These guards of the agent have no seeded defect, because the model holds without them (README.md of tests/model "
    "has the reasons): the second answer before a release; that the kubelet's checkpoint is there, and newer than "
    "the prepare; the release after a reboot without a checkpoint; no claim of the list beside a rival; no new claim "
    "before the list of claims, or that of the CDI root, was read.",
    "While the agent works for one claim, the model keeps the pod and the API object of the other claim as they are "
    "(MAY_MOVE in claim.pml). The reason that this hides no broken property is an argument; what `make model` searches "
    "with two claims was once searched without this reduction, and nothing was broken.",
    "The model never loses the store or the CDI root while the agent works for a claim (busy_for in claim.pml).",
    "In the model, the memory of a device is in use exactly while the container of its claim runs.",
    "The comparison with the simulator shows each step of a claim to be one that the model allows from that claim's "
    "observed state; it does not compare whole runs.",
]


class Failure(Exception):
    """What was to be shown is not."""


def read(name):
    return tomllib.loads((MODEL / name).read_text(encoding="utf-8"))


def pinned_version():
    found = re.search(r'^SPIN_VERSION=(\S+)', (ROOT / "tools/build/pins").read_text(encoding="utf-8"), re.M)
    return found.group(1)


def spin_version():
    if shutil.which("spin") is None:
        sys.exit("model: spin is not installed: tools/build/deps.sh test")
    said = subprocess.run(["spin", "-V"], text=True, stdout=subprocess.PIPE, check=True).stdout
    version = re.search(r"Spin Version (\S+)", said).group(1)
    if version != pinned_version():
        sys.exit(f"model: spin is {version}, and tools/build/pins asks for {pinned_version()}")
    return version


def run(command, folder, output=None, environment=None):
    """Runs a program; its output goes to a file or is returned."""
    done = subprocess.run(command, cwd=folder, text=True, stdout=output or subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment, check=False)
    if done.returncode and output is None:
        raise Failure(f"{' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}")
    return done.stdout


def defines(configuration, steps):
    values = [f"-D{key}={value}" for key, value in configuration["set"].items()]
    return values + (["-DLIVENESS"] if configuration.get("liveness") else []) + (["-DSTEPS"] if steps else [])


def build(folder, model, configuration, steps=False):
    """Writes the model and the program that searches it into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "claim.pml").write_text(model, encoding="utf-8")
    shutil.copy(MODEL / "steps.h", folder)
    run(["spin", "-a", *defines(configuration, steps), "claim.pml"], folder)
    # for a few seconds of search the compiler's optimization takes longer than it saves
    optimize = "-O2" if configuration.get("large") else "-O0"
    kind = [] if configuration.get("liveness") else ["-DSAFETY"]
    kind += ["-DBITSTATE"] if "hash" in configuration else []
    run(["gcc", optimize, "-w", "-I.", *kind, "-DNOREDUCE", "-DNOFAIR", "-DVECTORSZ=2048", "-o", "pan", "pan.c"],
        folder)


def number(pattern, text):
    found = re.search(pattern, text)
    return int(float(found.group(1))) if found else 0


def search(folder, configuration, steps=False):
    """Visits every state; returns what was found."""
    alone = "hash" in configuration
    command = ["./pan", "-E", f"-m{configuration.get('depth', DEPTH_MAX)}"]
    command += [*STEPS_ALONE, f"-h{configuration['hash']}"] if alone else ["-w24"]
    command += ["-a"] if configuration.get("liveness") else []
    command += ["-A"] if steps else []  # `check` looks at the properties
    environment = dict(os.environ, STEPS_FILE=str(folder / "steps.txt")) if steps else None
    begin = time.monotonic()
    with open(folder / "search.txt", "w", encoding="utf-8") as stream:
        run(command, folder, stream, environment)
    text = (folder / "search.txt").read_text(encoding="utf-8")
    broken = re.search(r"assertion violated (.*) \(at depth", text)
    name = None
    if broken:
        name = next((p for p in PROPERTIES if p in broken.group(1)), "an assertion without a name")
    elif "acceptance cycle" in text:
        name = "not_released"
    complete = alone or "Search not completed" not in text and "max search depth too small" not in text
    if name is None and not complete or "errors:" not in text:
        raise Failure(f"the search ended early: {folder}/search.txt")
    return {"states": number(r"(\S+) states, stored", text), "transitions": number(r"(\S+) transitions", text),
            "depth": number(r"depth reached (\d+)", text), "seconds": round(time.monotonic() - begin, 1),
            "broken": name}


def counterexample(folder, configuration):
    """Writes the steps that lead to the broken property; returns the file."""
    path = BUILD / (folder.name + ".txt")
    text = run(["spin", "-t", "-p", "-g", *defines(configuration, False), "claim.pml"], folder)
    path.write_text(text, encoding="utf-8")
    return path


def show(name, result):
    print(f"  {name:18} {result['states']:>10} states {result['transitions']:>11} transitions, "
          f"depth {result['depth']:>6}, {result['seconds']:>6} s", flush=True)


# --- the configurations ---------------------------------------------------------------------------------------------


def check_one(configuration):
    folder = BUILD / configuration["name"]
    build(folder, (MODEL / "claim.pml").read_text(encoding="utf-8"), configuration)
    result = search(folder, configuration)
    if result["broken"]:
        path = counterexample(folder, configuration)
        raise Failure(f"{configuration['name']}: {PROPERTIES.get(result['broken'], result['broken'])}: not so, "
                      f"see {path}")
    return result


def is_chosen(configuration, quick, deep):
    if configuration.get("steps") == "only":
        return False
    return configuration.get("quick", False) if quick else configuration.get("deep", False) == deep


def check(quick, deep):
    version = spin_version()
    begun = None if quick else begin("deep" if deep else "check")
    chosen = [c for c in read("configurations.toml")["configuration"] if is_chosen(c, quick, deep)]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {c["name"]: pool.submit(check_one, c) for c in chosen}
        for name, job in jobs.items():
            results[name] = job.result()
            show(name, results[name])
    states = sum(r["states"] for r in results.values())
    print(f"model: {len(results)} configurations, {states} states, nothing broken")
    if begun:
        keep(begun, {"version": version, "results": results})
        write_evidence()


def digest(name):
    """The sum of the files that a result depends on."""
    whole = hashlib.sha256()
    for read_path in map(ROOT.joinpath, READS[name]):
        for path in sorted(read_path.rglob("*")) if read_path.is_dir() else [read_path]:
            if path.is_file() and "__pycache__" not in path.parts:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                whole.update(f"{path.relative_to(ROOT)} {content}\n".encode())
    return whole.hexdigest()


def begin(name):
    """Before a run: if it fails or is ended, no result of an earlier one is left."""
    (BUILD / f"{name}.json").unlink(missing_ok=True)
    return name, digest(name)


def keep(begun, value):
    name, of_files = begun
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / f"{name}.json").write_text(json.dumps({"digest": of_files, "value": value}, indent=1), encoding="utf-8")


def kept(name):
    """The result of the last run, if it was of the files that there are now."""
    path = BUILD / f"{name}.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return stored["value"] if stored.get("digest") == digest(name) else None


def write_evidence():
    """The part of `make evidence`. Only a search that broke nothing writes it, with what the other runs left before."""
    checked, deep, found, traced, sought = map(kept, ("check", "deep", "defects", "trace", "trace-defects"))
    if checked is None:
        return
    checked["results"].update(deep["results"] if deep else {})
    about = {c["name"]: c for c in read("configurations.toml")["configuration"]}
    rows = [[name, about[name]["about"],
             PROPERTIES["not_released"] if about[name].get("liveness") else
             "; ".join(text for key, text in PROPERTIES.items() if key != "not_released"),
             f"{r['states']:,} states, {r['transitions']:,} transitions, depth {r['depth']:,}", f"{r['seconds']} s"]
            for name, r in checked["results"].items()]
    missing = [] if deep else ["`make model-deep` (two claims with two faults; two claims and two agents until all is "
                               "released) was not run on this model."]
    if found:
        rows += [["defect " + name, d["about"], PROPERTIES[d["property"]], "found", f"{d['seconds']} s"]
                 for name, d in found.items()]
    else:
        missing.append("`make model-defects` was not run on this model.")
    if traced:
        rows.append(["comparison with the simulator", f"{traced['schedules']} schedules of claims",
                     "each step of a claim is one that the model allows",
                     f"{traced['times']:,} steps, {traced['kinds']} kinds, of {traced['allowed']} in the model", ""])
        missing.append(f"The simulator made {traced['kinds']:,} kinds of steps, and the model allows "
                       f"{traced['allowed']:,}: steps that the simulator did not make are not compared.")
    else:
        missing.append("`make model-trace` was not run on this model and agent.")
    if sought:
        rows += [["agent defect " + name, d["about"], "each step of a claim is one that the model allows",
                  f"found: {d['step']}", ""] for name, d in sought.items()]
    else:
        missing.append("`make model-trace-defects` was not run on this model and agent.")
    states = sum(r["states"] for r in checked["results"].values())
    part.write_part("model", "A model of a claim's life", {"spin": checked["version"]},
                    "make model model-defects model-trace model-trace-defects",
                    f"{len(checked['results'])} configurations with {states:,} states searched whole, nothing broken; "
                    f"seeded defects found: {len(found or {})} in the model, {len(sought or {})} in the agent; "
                    f"{traced['times'] if traced else 0:,} steps of the simulator compared",
                    ["name", "what it has", "property", "result", "time"], rows, NOT_SHOWN + missing)


# --- seeded mistakes ------------------------------------------------------------------------------------------------


def seeded(model, defect):
    if model.count(defect["find"]) != 1:
        raise Failure(f"{defect['name']}: `find` stands {model.count(defect['find'])} times in claim.pml")
    return model.replace(defect["find"], defect["replace"])


def find_defect(defect):
    configurations = {c["name"]: c for c in read("configurations.toml")["configuration"]}
    configuration = configurations[defect.get("configuration", "one-fault")]
    folder = BUILD / ("defect-" + defect["name"])
    build(folder, seeded((MODEL / "claim.pml").read_text(encoding="utf-8"), defect), configuration)
    result = search(folder, configuration)
    if result["broken"] != defect["property"]:
        raise Failure(f"{defect['name']}: {defect['property']} was to be broken, and {result['broken'] or 'nothing'} "
                      "was")
    counterexample(folder, configuration)
    shutil.rmtree(folder)
    return {"about": defect["about"], "property": defect["property"], "seconds": result["seconds"],
            "depth": result["depth"]}


def find_or_say(defect):
    try:
        return find_defect(defect)
    except Failure as failure:
        return str(failure)


def defects(names):
    spin_version()
    chosen = [d for d in read("defects.toml")["defect"] if d["name"] in names or not names]
    unknown = set(names) - {d["name"] for d in chosen}
    if unknown:
        sys.exit(f"model: no such defect: {', '.join(sorted(unknown))}")
    begun = None if names else begin("defects")
    found, failures = {}, 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for defect, result in zip(chosen, pool.map(find_or_say, chosen)):
            if isinstance(result, str):
                failures += 1
                print(f"  NOT FOUND {result}", flush=True)
            else:
                found[defect["name"]] = result
                print(f"  {defect['name']:34} {defect['property']:18} {result['seconds']} s, "
                      f"build/model/defect-{defect['name']}.txt", flush=True)
    print(f"model: {len(found)} of {len(chosen)} defects found")
    if failures:
        raise Failure("a mistake in the model is not found")
    missing = set(PROPERTIES) - {d["property"] for d in found.values()}
    if not names and missing:
        raise Failure(f"no defect breaks {', '.join(sorted(missing))}")
    if begun:
        keep(begun, found)


# --- the simulator's steps ------------------------------------------------------------------------------------------


def collect_from(configuration):
    folder = BUILD / ("steps-" + configuration["name"])
    build(folder, (MODEL / "claim.pml").read_text(encoding="utf-8"), configuration, steps=True)
    return search(folder, configuration, steps=True)


def collect_steps():
    spin_version()
    chosen = []
    for configuration in read("configurations.toml")["configuration"]:
        if configuration.get("steps") == "only":
            chosen += [{**configuration, "name": f"{configuration['name']}-{depth}", "hash": n, "depth": depth}
                       for n, depth in enumerate(STEPS_DEPTHS, 1)]
        elif configuration.get("steps"):
            chosen.append(configuration)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for configuration, result in zip(chosen, pool.map(collect_from, chosen)):
            show(configuration["name"], result)
    lines = {line for c in chosen for line in (BUILD / ("steps-" + c["name"]) / "steps.txt").read_text().splitlines()}
    (BUILD / "steps.txt").write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
    print(f"model: {len(lines)} kinds of steps of a claim in build/model/steps.txt")


class Allowed:
    """The steps of the model, by who makes them and from which state."""

    def __init__(self, path):
        self.steps = {}
        self.count = 0
        for line in path.read_text(encoding="utf-8").splitlines():
            who, before, after = line.split()
            self.steps.setdefault((who, before), set()).add(after)
            self.count += 1

    def after(self, who, before):
        return self.steps.get((who, before), set())

    def within(self, who, before, after, most):
        """Whether up to `most` steps of `who` lead there."""
        reached = {before}
        for _ in range(most):
            reached |= {state for seen in reached for state in self.after(who, seen)}
        return after in reached

    def allows(self, who, before, after):
        if who in "AK":
            return after in self.after(who, before)
        if who in "CF":
            return self.within(who, before, after, AT_ONCE)
        # X: a process ended within a call of the files port, which may have had its effect before
        return any(self.within("F", state, after, AT_ONCE) for state in self.after("A", before) | {before})


def trace(path, schedules, only_compare):
    begun = None if only_compare else begin("trace")
    allowed = Allowed(BUILD / "steps.txt")
    refused = kinds = times = 0
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        who, before, after, count, seed = line.split()
        kinds += 1
        times += int(count)
        if not allowed.allows(who, before, after):
            refused += 1
            print(f"  not in the model: {who} {before} -> {after}, {count} times, first in `sim --steps FILE --first "
                  f"{seed} --claim-seeds {seed}`; tests/sim/virtual/steps.h has the letters")
    if kinds < 50 or times < 1000:
        raise Failure(f"{path} has only {kinds} kinds of steps, {times} in all")
    print(f"model: {times} steps of the simulator, of {kinds} kinds; the model allows {allowed.count} kinds")
    if refused:
        raise Failure(f"{refused} kinds of steps that the model does not allow")
    if begun is None:
        return
    keep(begun, {"schedules": schedules, "times": times, "kinds": kinds, "allowed": allowed.count})


def trace_defects(name):
    """Runs tools/fuzz/defects.py, which fails unless a comparison finds each mistake in the agent's steps."""
    begun = None if name else begin("trace-defects")
    command = [ROOT / "tools/fuzz/defects.py", *(["--only", name] if name else []), "steps"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise Failure("a mistake in the agent's steps is not found")
    if begun:
        listed = tomllib.loads((ROOT / "tests/defects/steps.toml").read_text(encoding="utf-8"))["defect"]
        keep(begun, {d["name"]: {"about": f"a mistake in {d['file']}", "step": d["test"]} for d in listed})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    depth = verbs.add_parser("check").add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true")
    depth.add_argument("--deep", action="store_true")
    verbs.add_parser("defects").add_argument("names", nargs="*")
    verbs.add_parser("steps")
    tracing = verbs.add_parser("trace")
    tracing.add_argument("file")
    tracing.add_argument("--schedules", type=int, default=0)
    tracing.add_argument("--only-compare", action="store_true", help="a mistake is sought: leave no evidence")
    verbs.add_parser("trace-defects").add_argument("name", nargs="?")
    arguments = parser.parse_args()
    try:
        if arguments.verb == "check":
            check(arguments.quick, arguments.deep)
        elif arguments.verb == "defects":
            defects(arguments.names)
        elif arguments.verb == "steps":
            collect_steps()
        elif arguments.verb == "trace-defects":
            trace_defects(arguments.name)
        else:
            trace(arguments.file, arguments.schedules, arguments.only_compare)
    except Failure as failure:
        sys.exit(f"model: {failure}")


if __name__ == "__main__":
    main()
