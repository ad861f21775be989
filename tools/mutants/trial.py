# SPDX-License-Identifier: Apache-2.0
"""Tries one mutant: compiles it, links it into the tests that run its function, and runs these until one fails.

The order is that of cost: unit tests without sanitizers, the fastest first; then the simulator with few seeds, the
claim store after every crash, and some unit tests as `make unit` builds them. tools/make/mutants.mk hands in
compilers and objects.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import signal
import subprocess
import threading
import time

from candidates import SCOPE
from equivalent import ROOT

BUILD = ROOT / "build" / "mutants"
MUTANT = "MUTANT_COMPILE"  # at -O2, so that what makes no difference makes the same object
SCRATCH = BUILD / "scratch"
REACH = BUILD / "reach"
# With -w these would be no errors.
ERRORS = ["-Werror=implicit-function-declaration", "-Werror=int-conversion", "-Werror=incompatible-pointer-types",
          "-Werror=return-type"]
# What a mistake in an endless loop may write to the disk.
LIMITS = ["prlimit", "--fsize=268435456", "--core=0"]
# An endless loop: so many seconds of the processor more than so many times what the right program takes. A program that
# waits for ever is ended by the clock, with room for a machine that does other things besides.
GRACE_SECONDS = 5
SLOWER = 10
CLOCK = 20
SANITIZED_MAX = 8      # programs of `make unit` for a mutant that all others let live
# Arguments of the simulator, and of the crash states.
SIMULATIONS = {"scenarios": ["--seeds", "5"], "claims": ["--claim-seeds", "400"], "aligned": ["--aligned-seeds", "40"]}
CRASH = ["1"]
CRASH_SECONDS = 20
# Code of which the crash states run what matters: the store and who writes it.
CRASHED = ("src/agent/ledger/", "src/agent/recovery/", "src/agent/calls/", "src/dra/store", "src/dra/claim",
           "src/dra/cdi")


class Unbuildable(Exception):
    """The mutant does not compile or link."""


def build(command):
    done = subprocess.run([str(word) for word in command], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Unbuildable(done.stdout[-800:])


def command_of(name):
    return shlex.split(os.environ[name])


def compile_text(compiler, text, file, target):
    """The object of a file's text; it is named as the file is, for assertions and includes."""
    source = target.with_suffix(".c")
    source.write_text(f'#line 1 "{file}"\n{text}')
    build([*command_of(compiler), "-w", *ERRORS, '-DBUILD_ID="unit"', f"-I{pathlib.Path(file).parent}", "-c", source,
           "-o", target])


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- what the right programs do ---

class Program:
    """A test program without a mistake: how long it takes, and which functions it runs."""

    def __init__(self, name, path, arguments):
        self.name, self.path, self.arguments = name, path, arguments
        self.good, self.seconds, self.reach = False, 0.0, set()

    def measure(self):
        record = REACH / f"{self.name}.json"
        key = digest(self.path)
        if record.exists():
            kept = json.loads(record.read_text())
            if kept["key"] == key:
                self.good, self.seconds, self.reach = kept["good"], kept["seconds"], set(map(tuple, kept["reach"]))
                return
        addresses = REACH / f"{self.name}.txt"
        addresses.unlink(missing_ok=True)
        child = subprocess.Popen([self.path, *self.arguments], cwd=ROOT, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env={**os.environ, "MUTANTS_REACH": str(addresses)})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.good, self.seconds = child.returncode == 0, usage.ru_utime + usage.ru_stime
        ran = set(addresses.read_text().split()) if addresses.exists() else set()
        self.reach = functions_at(self.path, {int(word, 16) for word in ran})
        record.write_text(json.dumps({"key": key, "good": self.good, "seconds": self.seconds,
                                      "reach": sorted(self.reach)}))


def functions_at(program, addresses):
    """{(base name of the file, function)}; the file is "" for functions that others can call."""
    listed = subprocess.run(["nm", "-pa", "--defined-only", program], text=True, stdout=subprocess.PIPE, check=True)
    found, file = set(), ""
    for line in listed.stdout.splitlines():
        address, kind, *names = line.split(maxsplit=2)
        name = names[0] if names else ""
        if kind == "a":
            file = name
        elif kind in "tT" and int(address, 16) in addresses:
            found.add((file if kind == "t" else "", name))
    return found


def programs(jobs, thorough):
    """All unit tests, and simulations if `thorough`, measured; not those that fail in this build."""
    REACH.mkdir(parents=True, exist_ok=True)
    all_programs = [Program(f"unit/{path.name}".replace("/", "-"), path, []) for path in sorted(BUILD.glob("test_*"))
                    if path.is_file() and os.access(path, os.X_OK)]
    if thorough:
        all_programs += [Program(f"sim-{name}", BUILD / "sim", words) for name, words in SIMULATIONS.items()]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(Program.measure, all_programs))
    return [program for program in all_programs if program.good]


def reaching(mutant, all_programs):
    """The programs that run the mutant's function; outside of functions: anything of its file."""
    file = pathlib.Path(mutant.file).name
    if mutant.function:
        wanted = {(file, mutant.function), ("", mutant.function)}
        return [program for program in all_programs if wanted & program.reach]
    static = [program for program in all_programs if any(where == file for where, _ in program.reach)]
    return static or [program for program in all_programs if program.name.startswith("unit-")]


# --- running wrong ones ---

def ends_badly(command, right_seconds):
    """Why a program fails: "fails" or "does not end"; "" if it passes."""
    seconds = int(GRACE_SECONDS + SLOWER * right_seconds)
    child = subprocess.Popen([*LIMITS, f"--cpu={seconds}", *map(str, command)], cwd=ROOT, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                             env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "stdout"})
    late = threading.Event()

    def end():
        with_group(child, signal.SIGKILL)

    def expire():
        late.set()
        end()
    timer = threading.Timer(CLOCK * seconds, expire)
    timer.start()
    failed = False
    with child.stdout:
        for line in child.stdout:
            if line.startswith(b"[  FAILED  ]"):
                failed = True
                end()
                break
    code = child.wait()
    timer.cancel()
    if late.is_set() or code in (-signal.SIGXCPU, -signal.SIGKILL) and not failed:
        return "does not end"
    return "fails" if failed or code else ""


def with_group(child, number):
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        pass


class Trial:
    """A mutant in a folder of its own."""

    def __init__(self, mutant, folder, all_programs, hints):
        self.mutant, self.folder, self.hints = mutant, folder, hints
        self.programs = reaching(mutant, all_programs)

    def object_of(self, compiler):
        target = self.folder / f"{compiler.lower()}.o"
        if not target.exists():
            compile_text(compiler, self.mutant.text(), self.mutant.file, target)
        return target

    def units(self):
        """Unit tests that run the function: those that found the most of its file first, then the fastest."""
        units = [program for program in self.programs if program.name.startswith("unit-")]
        return sorted(units, key=lambda program: program.seconds / (1 + 4 * self.hints.get(program.name, 0)))

    def run_unit(self, program):
        target = self.folder / "test"
        test = program.path.name
        build([*command_of("MUTANT_CC"), "-no-pie", "-o", target, f"build/obj/mutants/tests/unit/{test}.o",
               self.object_of(MUTANT), *command_of("MUTANT_LINK")])
        return ends_badly([target], program.seconds)

    def run_sanitized(self, program):
        target = self.folder / "test"
        test = program.path.name
        build([*command_of("UNIT_COMPILE"), "-o", target, f"build/obj/unit/tests/unit/{test}.o",
               self.object_of("UNIT_COMPILE"), *command_of("UNIT_LINK")])
        return ends_badly([target], SLOWER * program.seconds)

    def replaced(self, parts, compiler):
        right = "/" + str(pathlib.Path(self.mutant.file).with_suffix(".o"))
        return [self.object_of(compiler) if part.endswith(right) else part for part in parts]

    def run_simulation(self, program):
        target = self.folder / "sim"
        if not target.exists():
            build([*command_of("MUTANT_CC"), "-no-pie", "-o", target,
                   *self.replaced(command_of("SIM_LINK"), MUTANT)])
        return ends_badly([target, *program.arguments], program.seconds)

    def run_crash(self):
        target = self.folder / "crash"
        build([*command_of("CRASH_COMPILE"), "-o", target, *self.replaced(command_of("CRASH_LINK"), "CRASH_COMPILE")])
        return ends_badly([target, *CRASH], CRASH_SECONDS)

    def steps(self, thorough):
        """(name, function) of everything that may find it, in order."""
        units = self.units()
        yield from ((program.name, lambda p=program: self.run_unit(p)) for program in units)
        simulations = [program for program in self.programs if program.name.startswith("sim-")]
        yield from ((program.name, lambda p=program: self.run_simulation(p)) for program in simulations)
        if not thorough:
            return
        if self.mutant.file.startswith(CRASHED):
            yield "crash", self.run_crash
        yield from ((program.name.replace("unit-", "sanitized-"), lambda p=program: self.run_sanitized(p))
                    for program in units[:SANITIZED_MAX])

    def run(self, thorough, until):
        """(verdict, by whom): killed, survived, unbuildable, or unfinished when the time is over."""
        try:
            self.object_of(MUTANT)
            for name, step in self.steps(thorough):
                if time.monotonic() > until:
                    return "unfinished", ""
                how = step()
                if how:
                    return "killed", name if how == "fails" else f"{name} ({how})"
        except Unbuildable as why:
            return "unbuildable", str(why)
        return "survived", ""


def probe(mutant, folder):
    """Digest of the object, which stays for the trial; "" if it does not compile, or equals that of the right file."""
    target = folder / f"{MUTANT.lower()}.o"
    try:
        compile_text(MUTANT, mutant.text(), mutant.file, target)
    except Unbuildable:
        return ""
    return "" if digest(target) == right_object(mutant.file) else digest(target)


def right_object(file, _kept={}):  # pylint: disable=dangerous-default-value
    if file not in _kept:
        # An object holds the name of its source: that of a mutant's.
        target = SCRATCH / "right" / file / f"{MUTANT.lower()}.o"
        target.parent.mkdir(parents=True, exist_ok=True)
        compile_text(MUTANT, (ROOT / file).read_text(), file, target)
        _kept[file] = digest(target)
    return _kept[file]


assert all((ROOT / folder).is_dir() for folder in SCOPE)
