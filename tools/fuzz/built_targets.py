#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a folder of fuzz targets as OSS-Fuzz does before it runs them.

  tools/fuzz/built_targets.py OUT address|undefined|memory libfuzzer|afl [TARGET...]

The folder is moved elsewhere first, because OSS-Fuzz runs targets where they were not built. Of each target:
- it is there, a program for this machine, and compares with what its head names, but for the memory sanitizer
- its seeds, options and dictionary are there and can be read
- it needs no shared library that OSS-Fuzz's runner lacks
- its own code calls one sanitizer, and no other
- it starts, is instrumented, and runs its seeds, with the sanitizers' options and the limits of the runner
"""

import configparser
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

FUZZ = pathlib.Path(__file__).resolve().parents[2] / "tests" / "fuzz"
RUNS = 4
EDGES_MIN = 100
SECONDS = 900  # of one step, on a machine that does other things too
# As OSS-Fuzz's bad_build_check: calls of a sanitizer's functions. A build for another one has a few from the engine.
CALLS_MIN = {"asan": 1000, "msan": 1000, "ubsan": 168}
CALLS_MAX = {"asan": 0, "msan": 3, "ubsan": 200}
WANTED = {"address": "asan", "memory": "msan", "undefined": "ubsan"}
# What is in the image of the runner: the C library, the compiler's, and no C++ library.
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libresolv.so.2", "libdl.so.2", "libpthread.so.0", "librt.so.1"}
LOADER = re.compile(r"ld-linux[-\w]*\.so\.\d")
RUNNER = {
    "ASAN_OPTIONS": "alloc_dealloc_mismatch=0:allocator_may_return_null=1:check_malloc_usable_size=0:"
                    "detect_odr_violation=0:detect_leaks=1:detect_stack_use_after_return=1:handle_abort=1:"
                    "max_uar_stack_size_log=16:quarantine_size_mb=10:strict_memcmp=1:use_sigaltstack=1",
    "MSAN_OPTIONS": "print_stats=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:silence_unsigned_overflow=1",
}
LIMITS = ["-rss_limit_mb=2560", "-timeout=25"]


def run(command, folder, **more):
    """(code, output); a program that does not end has failed."""
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, timeout=SECONDS,
                              env={**os.environ, **RUNNER, **more})
    except subprocess.TimeoutExpired as late:
        return 1, (late.stdout or b"").decode(errors="replace") + f"\nno end after {SECONDS} s"
    return done.returncode, done.stdout.decode(errors="replace")


def tail(output):
    return "\n    ".join(output.splitlines()[-12:])


def head(target, word):
    found = re.search(rf"^ \* {word}: (.*)$", (FUZZ / f"{target}.c").read_text(), re.MULTILINE)
    return found[1] if found else ""


def check_program(path):
    with open(path, "rb") as stream:
        start = stream.read(20)
    machine = {"x86_64": 62, "aarch64": 183}[platform.machine()]
    if start[:4] != b"\x7fELF" or int.from_bytes(start[18:20], "little") != machine or not os.access(path, os.X_OK):
        yield "is no program for this machine"
        return
    _, output = run(["readelf", "-d", path], path.parent)
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", output):
        if name not in LIBRARIES and not LOADER.fullmatch(name):
            yield f"needs {name}, which the runner lacks"


def calls_of(path):
    """How often a program calls each sanitizer's functions."""
    with subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE) as code:
        done = subprocess.run(["grep", "-oE", r"(callq?|bl) +[0-9a-f]+ <__(asan|msan|ubsan)"], stdin=code.stdout,
                              text=True, stdout=subprocess.PIPE, check=False)
    return {name: done.stdout.count(f"<__{name}\n") for name in CALLS_MIN}


def check_calls(path, sanitizer, engine):
    calls = calls_of(path)
    wanted = WANTED[sanitizer]
    if calls[wanted] < CALLS_MIN[wanted]:
        yield f"{calls[wanted]} calls of {wanted}: it is not compiled with it"
    if engine == "libfuzzer":
        for name in set(calls) - {wanted}:
            if calls[name] > CALLS_MAX[name]:
                yield f"{calls[name]} calls of {name} in a build for {wanted}"


def check_compared(target, compared, sanitizer):
    wanted = head(target, "Links") or "-"
    if sanitizer == "memory" and wanted != "-":
        wanted = "alone"
    if compared != wanted:
        yield f"compares with {compared}, not with {wanted}"


def arguments_of(folder, target):
    """What the runner reads from the files beside a target."""
    options = configparser.ConfigParser()
    options.read(folder / f"{target}.options")
    given = options["libfuzzer"] if options.has_section("libfuzzer") else {}
    dictionary = folder / f"{target}.dict"
    return [f"-{name}={value}" for name, value in given.items()] + \
        ([f"-dict={dictionary}"] if dictionary.exists() else [])


def seeds_of(folder, target, into):
    archive = folder / f"{target}_seed_corpus.zip"
    if not archive.exists():
        return 0
    with zipfile.ZipFile(archive) as seeds:
        seeds.extractall(into)
        return len(seeds.namelist())


def check_libfuzzer(folder, target, seeds):
    arguments = arguments_of(folder, target) + LIMITS
    code, output = run([folder / target, "-seed=1337", f"-runs={RUNS}", *arguments], folder)
    edges = re.search(r"INFO: Loaded \d+ modules? +\((\d+) ", output)
    if code or f"Done {RUNS} runs" not in output:
        yield f"does not start:\n    {tail(output)}"
    elif not edges or int(edges[1]) < EDGES_MIN:
        yield "is not instrumented"
    else:
        code, output = run([folder / target, "-runs=0", *arguments, seeds], folder)
        if code:
            yield f"fails with its seeds:\n    {tail(output)}"


def check_afl(folder, target, seeds, scratch):
    smallest = scratch / "first"
    smallest.mkdir()
    shutil.copy(min(seeds.iterdir(), key=lambda path: path.stat().st_size), smallest)
    code, output = run(["afl-fuzz", "-V", "1", "-m", "none", "-t", "25000+", "-i", smallest, "-o", scratch / "afl",
                        "--", folder / target], folder, AFL_NO_UI="1", AFL_SKIP_CPUFREQ="1", AFL_NO_AFFINITY="1",
                       AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES="1", AFL_FORKSRV_INIT_TMOUT="30000",
                       ASAN_OPTIONS="abort_on_error=1:symbolize=0:detect_leaks=0:detect_odr_violation=0",
                       MSAN_OPTIONS="exit_code=86:symbolize=0")
    if code or "All set and ready to roll" not in output:
        yield f"afl-fuzz does not run it:\n    {tail(output)}"
        return
    for seed in sorted(seeds.iterdir()):
        code, output = run([folder / target, seed], folder)
        if code:
            yield f"fails with its seed {seed.name}:\n    {tail(output)}"
            return


def check_target(folder, target, compared, sanitizer, engine):
    """(mistakes, seeds)"""
    path = folder / target
    if not path.is_file():
        return ["was not built"], 0
    scratch = pathlib.Path(tempfile.mkdtemp())
    seeds = scratch / "seeds"
    seeds.mkdir()
    count = seeds_of(folder, target, seeds)
    mistakes = [*check_program(path), *check_calls(path, sanitizer, engine),
                *check_compared(target, compared, sanitizer)]
    mistakes += [] if count else ["has no seeds"]
    if not mistakes:
        mistakes += check_libfuzzer(folder, target, seeds) if engine == "libfuzzer" else \
            check_afl(folder, target, seeds, scratch)
    shutil.rmtree(scratch)
    return mistakes, count


def main(arguments):
    if len(arguments) < 3 or arguments[1] not in WANTED or arguments[2] not in ("libfuzzer", "afl"):
        sys.exit(__doc__)
    out, sanitizer, engine, *names = arguments
    out = pathlib.Path(out)
    moved = pathlib.Path(tempfile.mkdtemp(prefix="elsewhere-"))
    for path in out.iterdir():
        shutil.move(path, moved)
    compared = dict(line.split(None, 1) for line in (moved / "targets.txt").read_text().splitlines())
    targets = names or sorted(path.stem for path in FUZZ.glob("fuzz_*.c"))
    failed = total = 0
    for target in targets:
        mistakes, count = check_target(moved, target, compared.get(target, ""), sanitizer, engine)
        failed += bool(mistakes)
        total += count
        print(f"  {'FAIL' if mistakes else 'ok  '}  {target}: {compared.get(target, '')}, {count} seeds", flush=True)
        for mistake in mistakes:
            print(f"        {mistake}", flush=True)
    for path in moved.iterdir():
        shutil.move(path, out)
    moved.rmdir()
    print(f"built_targets: {sanitizer}, {engine}: {len(targets) - failed} of {len(targets)} targets are as OSS-Fuzz "
          f"wants them, {total} seeds")
    return 1 if failed or not targets else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
