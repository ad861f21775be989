#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the parts of the evidence that no other target makes: `make evidence-NAME` calls it.

  tools/evidence/make_part.py requirements | threats | gates | misra | memory | sandbox | binary | sbom | twice
                              | defects

Each part is what the gate or tool of its subject finds, as a table. A part whose tool fails is not written.
"""
import collections
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import gate  # noqa: E402

gate.open_rooms()

import check_advisories  # noqa: E402
import check_binary  # noqa: E402
import check_misra  # noqa: E402
import check_requirements  # noqa: E402
import check_stack  # noqa: E402
import check_threats  # noqa: E402
import gate_tests  # noqa: E402
import lint  # noqa: E402
import part  # noqa: E402
import requirements  # noqa: E402
import size  # noqa: E402
import vex  # noqa: E402

ROOT = gate.ROOT
BINARY, DEBUG = ROOT / check_binary.BINARY, ROOT / check_binary.DEBUG
IMAGE = ROOT / "build/image"
COMPARED = ("build/neuron-dra-agent", "build/neuron-dra-agent.debug", "build/image/neuron-dra-agent.tar",
            "build/image/neuron-dra-agent.spdx.json")
RULE = re.compile(r"^(?:\[pid +(\d+)\] )?landlock_add_rule\(.*allowed_access=([^,]+), "
                  r"parent_fd=\d+<([^>]*)>\}, 0\) = 0")
READER = re.compile(r'^\[pid +(\d+)\] prctl\(PR_SET_NAME, "neuron-dra-read"', re.M)
DEFECT = re.compile(r"  (ok  |FAIL)  (\S+) +(\S+) +([\w/]+): (.*)")


def stop(text):
    raise SystemExit(f"evidence: {text}")


def checked(module):
    """The report of a gate that has to find nothing."""
    report = module.check(ROOT)
    if report.findings:
        report.show(sys.stderr)
        stop(f"{module.__name__} has findings: mend them first")
    return report


def first_line(*command):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False).stdout.strip().splitlines()[0]


def own(name="the gates of make check"):
    return {name: "of this commit"}


# --- requirements and threats -------------------------------------------------------------------------


def make_requirements():
    report = checked(check_requirements)
    listed, flags, invariants = requirements.read_all(ROOT)
    rows = [(one.name.replace("src/", ""), one.text, one.source, "\n".join(one.code), "\n".join(one.shown))
            for group in (listed, flags, invariants) for one in group]
    links = sum(len(one.shown) for group in (listed, flags, invariants) for one in group)
    part.write_part(
        "requirements", "Requirements, code, and what shows them", own("check_requirements, check_flags"),
        "make evidence-requirements",
        f"{len(listed)} requirements, {len(flags)} flags and {len(invariants)} invariants, {links} links to what shows "
        f"them; every C file of src and boards ({len(requirements.sources(ROOT))}) belongs to one; no orphan",
        ("requirement", "what has to hold", "promised in", "code", "shown by"), rows,
        ["That a test shows all of its requirement: people made the links; a gate finds only that both ends exist.",
         "That the list is complete: requirements were drawn from the documents and headers by reading them."])
    return report


def make_threats():
    checked(check_threats)
    rows = [(*words, "\n".join(shown)) for *words, shown in check_threats.read(ROOT)]
    page = part.keep("THREATS.md", (ROOT / check_threats.PAGE).read_text())
    part.write_part(
        "threats", "Threats, what bounds them, and what shows it", own("check_threats"), "make evidence-threats",
        f"{len(rows)} threats with {sum(row[-1].count(chr(10)) + 1 for row in rows)} links to tests, "
        "fuzz targets, gates and goals of make",
        ["from whom", *check_threats.HEAD], rows,
        ["Threats that nobody thought of. The section Out of scope of the threat model names those that are left out.",
         "That what a row names shows its threat to be bounded: people made the links, and the gate finds only that "
         "both ends exist.",
         "What holds for the tables of assets and entry points: no test is named for them."],
        [page])


# --- the gates themselves ------------------------------------------------------------------------------


def run_tests(names):
    """How many tests of tests/gates ran; a test that fails or is skipped ends the program."""
    done = subprocess.run([sys.executable, "-B", "-m", "unittest", *names], cwd=ROOT / "tests/gates", text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    ran = re.search(r"^Ran (\d+) tests? in ", done.stdout, re.M)
    if done.returncode or not ran or "skipped=" in done.stdout or int(ran[1]) != len(names):
        stop(f"the tests of the gates fail: {done.stdout[-2000:]}")
    return int(ran[1])


def make_gates():
    found = gate_tests.read(ROOT)
    alone = gate_tests.orphans(found)
    if alone:
        stop(f"no test in tests/gates shows that these gates can fail: {', '.join(alone)}")
    names = sorted({f"{group}.{test}" for _, groups in found.values() for group, tests in groups.items()
                    for test in tests})
    count = run_tests(names)
    rows = [(name, re.split(r"(?<=\.) (?=[A-Z])", text)[0],
             "\n".join(f"tests/gates/{group.replace('.', '.py ')}: {len(tests)}" for group, tests in groups.items()))
            for name, (text, groups) in found.items()]
    part.write_part(
        "gates", "Gates, and the tests that show that each can fail", own(), "make evidence-gates",
        f"{len(found)} gates, each with a test of a seeded violation; {count} such tests ran for this page and pass",
        ("gate", "what it checks", "tests that look for a finding"), rows,
        ["That each rule of a gate has a violation of its own: the tests are found by what they call (`assert_found` "
         "or `findings`, and not to see that there are none), and a gate without any fails. How much of its rules they "
         "cover was not measured.",
         "That the gates are all that is needed: they look for what somebody thought of."],
        [part.keep("gate-tests.txt", "".join(f"{name}\n" for name in names))])


# --- MISRA --------------------------------------------------------------------------------------------


def finding_counts(records, findings, tool):
    """How many findings each record covers."""
    functions, counts = lint.Functions(ROOT), collections.Counter()
    for finding in findings:
        for number, record in enumerate(records):
            if record["tool"] == tool and record["rule"] == finding.rule and any(
                    lint.covers(ROOT, functions, record, place, finding) for place in lint.places_of(record)):
                counts[number] += 1
    return counts


def make_misra():
    (text,), kept = lint.run_jobs(ROOT, list(check_misra.jobs(ROOT)))
    report = checked(check_misra)
    findings = [finding for finding in lint.read_findings(ROOT, text) if finding.rule not in check_misra.BROKEN]
    for finding in findings:
        finding.tool = "misra" if finding.rule.startswith("misra-c2012-") else "cppcheck"
        finding.rule = finding.rule.removeprefix("misra-c2012-")
    records = lint.read_records(ROOT)
    counts = sum((finding_counts(records, [f for f in findings if f.tool == tool], tool)
                  for tool in ("misra", "cppcheck")), collections.Counter())
    rows = [(record["tool"], record["rule"], "\n".join(lint.places_of(record)),
             str(counts[number]) if record["tool"] in ("misra", "cppcheck") else "counted by its own gate",
             " ".join(record["reason"].split())) for number, record in enumerate(records)]
    listing = "".join(f"{f.path}:{f.line}: [{f.tool} {f.rule}] {f.text}\n"
                      for f in sorted(findings, key=lint.Finding.key))
    rules = len(re.findall(r"^Rule ", check_misra.RULES.read_text(), re.M))
    part.write_part(
        "misra", "MISRA C:2012 findings and deviation records",
        {"cppcheck with its MISRA add-on": first_line(check_misra.program(ROOT), "--version").split()[-1]},
        "make evidence-misra",
        f"0 findings without a record; {len(records)} of at most {lint.RECORDS_MAX} records (all tools), which cover "
        f"{sum(counts.values())} findings of cppcheck in {report.looked_at.split(',')[0]}; "
        + ("its output is kept from an earlier run of the same version on the same files (remove "
           f"lint/{check_misra.TOOL} from the cache of dependencies to run it again)" if kept
           else "it ran for this page"),
        ("tool", "rule", "where", "findings", "reason"), rows,
        [f"Compliance with MISRA C:2012: cppcheck looks at {rules} rules, many of them in part. Directives, and rules "
         "of later amendments and editions, are not checked by a tool.",
         "The code of mbedTLS, nanopb and musl, and generated files: no rule is checked there.",
         "A review of the records by somebody outside the project."],
        [part.keep("misra-findings.txt", listing), part.keep("deviations.toml", (ROOT / lint.RECORDS).read_text())])


# --- memory -------------------------------------------------------------------------------------------


def make_memory():
    stack, binary = checked(check_stack), checked(check_binary)
    bounds = {name: check_binary.read_bound(ROOT, name) for name in ("RAM_BYTES_MAX", "BINARY_BYTES_MAX")}
    report = gate.Report()
    ram = check_binary.check_memory(report, ROOT, DEBUG)
    whole, ours = re.match(r"(\d+) of \d+ bytes at most, (\d+)", stack.looked_at).groups()
    rows = [("stack, whole program with libraries", f"{int(whole):,}", f"{check_stack.BYTES_MAX:,}", stack.chain),
            ("stack, our own frames alone", f"{int(ours):,}", "", "the same chains, frames of libraries left out"),
            ("static memory (.data, .bss, TLS)", f"{ram:,}", f"{bounds['RAM_BYTES_MAX']:,}",
             "RAM_BYTES_MAX of cfg/budget.h"),
            ("heap", "0", "0", f"none of {len(check_binary.HEAP)} names of allocators is a symbol of the program"),
            ("program on disk, stripped", f"{BINARY.stat().st_size:,}", f"{bounds['BINARY_BYTES_MAX']:,}",
             "BINARY_BYTES_MAX of cfg/budget.h")]
    for layer, kinds in size.by_layer(size.measure(ROOT)).items():
        rows.append((f"static memory of {layer}", f"{kinds['data'] + kinds['bss']:,}", "",
                     f"code {kinds['text']:,}, constants {kinds['rodata']:,}"))
    part.write_part(
        "memory", "Stack, static memory and heap",
        {"gcc": first_line("gcc", "-dumpfullversion"), "binutils": first_line("objdump", "--version").split()[-1]},
        "make evidence-memory",
        f"stack {int(whole):,} of {check_stack.BYTES_MAX:,} bytes, static memory {ram:,} of "
        f"{bounds['RAM_BYTES_MAX']:,} bytes, no heap", ("what", "bytes", "bound", "how"), rows,
        ["Frames of musl are read from machine code by patterns, or have a bound by hand in cfg/lint/stack.txt.",
         "Calls through pointers are resolved by a table that people keep; a gate finds what the table lacks.",
         "Memory of the kernel for the process: socket buffers, page tables."],
        [part.keep("stack.txt", stack.looked_at + "\n" + stack.chain + "\n"),
         part.keep("stack-table.txt", (ROOT / check_stack.TABLE).read_text())])
    return binary


# --- sandbox ------------------------------------------------------------------------------------------


def listed_calls(macro):
    text = (ROOT / "src/host/sandbox_calls.h").read_text()
    body = text.split(f"#define {macro}(X)", 1)[1].split("\n\n", 1)[0].replace("\\\n", " ")
    rows = re.findall(r'X\(SYS_(\w+),\s*((?:"[^"]*"\s*)+)\)', body)
    return [(name, "".join(re.findall('"([^"]*)"', text))) for name, text in rows]


def traced_start(top):
    """What strace sees of the agent's start in a pod, on a simulated node below `top`."""
    subprocess.run([sys.executable, "-B", ROOT / "tools/simnode/simnode.py", "make", "--board", "trn2.48xlarge",
                    "--dir", top], check=True, stdout=subprocess.DEVNULL)
    folders = {"--cdi-root": "var/run/cdi", "--kubelet-registrar-directory-path": "var/lib/kubelet/plugins_registry",
               "--kubelet-plugins-directory-path": "var/lib/kubelet/plugins", "--sysfs-root": "sys",
               "--proc-root": "proc", "--dev-root": "dev"}
    (top / "var/lib/kubelet/device-plugins").mkdir(parents=True)
    arguments = []
    for flag, folder in folders.items():
        (top / folder).mkdir(parents=True, exist_ok=True)
        arguments += [flag, str(top / folder)]
    done = subprocess.run(
        ["strace", "-f", "-y", "-e", "trace=landlock_add_rule,landlock_restrict_self,prctl", "timeout", "3", BINARY,
         "run", "--node-name", "node", "--healthcheck-port", "-1", "--metrics-port", "-1", *arguments], check=False,
        text=True, env={**os.environ, "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return done.stderr.replace(str(top), "NODE")


def rights_of(words):
    """Landlock's names without their prefix; 0x4000 is a right that older strace does not name."""
    return [word.removeprefix("LANDLOCK_ACCESS_FS_").replace("0x4000", "TRUNCATE").lower()
            for word in words.split("|")]


def rules_of(trace):
    """[(process, path, rights)]: the agent first. Landlock permits what any rule of a path permits."""
    readers = set(READER.findall(trace))
    rules = {}
    for line in trace.splitlines():
        found = RULE.search(line)
        if found:
            process = "reader" if found[1] in readers else "agent"
            held = rules.setdefault((process, found[3] or "/"), [])
            held += [right for right in rights_of(found[2]) if right not in held]
    return [(*place, ", ".join(rights)) for place, rights in sorted(rules.items())]


def make_sandbox():
    with tempfile.TemporaryDirectory() as folder:
        trace = traced_start(pathlib.Path(folder))
    rules = rules_of(trace)
    entered = trace.count("PR_SET_SECCOMP, SECCOMP_MODE_FILTER")
    both = {process for process, _, _ in rules} == {"agent", "reader"}
    if not both or entered < 2 or "landlock_restrict_self" not in trace:
        stop("strace saw no landlock rules or no seccomp filters: this kernel has none of them, or ptrace is refused")
    agent, reader = listed_calls("SANDBOX_CALLS"), listed_calls("READER_CALLS")
    rows = [(process, "files below", path, rights) for process, path, rights in rules]
    rows += [("agent", "system call", name, purpose) for name, purpose in agent]
    rows += [("reader", "system call", name, purpose) for name, purpose in reader]
    part.write_part(
        "sandbox", "System calls and paths that the sandbox permits",
        {"strace": first_line("strace", "--version").split()[-1], "Linux": platform.release()}, "make evidence-sandbox",
        f"{len(agent)} system calls for the agent, {len(reader)} for the reader processes, which read sysfs for it; "
        f"{sum(process == 'agent' for process, _, _ in rules)} paths for the agent, "
        f"{sum(process == 'reader' for process, _, _ in rules)} for the readers; {entered} processes entered a seccomp "
        "filter. NODE stands for the temporary folder that holds the simulated node: NODE/var/run is what /var/run is "
        "on a real node",
        ("process", "kind", "name", "rights or purpose"), rows,
        ["The rules in a pod, which are narrower: a rule is for the parent of a directory, unless the directory is a "
         "mount point or a symbolic link (`rule_open` of src/host/sandbox.c). The volumes of a pod are mount points; "
         "the simulated node has none.",
         "Arguments of system calls are not filtered, only their numbers.",
         "On a kernel without landlock, or where it is switched off, paths are not restricted; the log says so.",
         "TCP ports and addresses: landlock's rules for the network are not used."],
        [part.keep("sandbox-strace.txt", trace)])


# --- the binary ---------------------------------------------------------------------------------------


def make_binary():
    checked(check_binary)
    seen = json.loads(gate.run(["checksec", f"--file={BINARY}", "--format=json"]))
    seen = next(iter(seen.values()))
    twin = next(iter(json.loads(gate.run(["checksec", f"--file={DEBUG}", "--format=json"])).values()))
    # checksec finds the guard of the stack by a symbol, which the stripped program has not.
    rows = [(f"checksec: {key}", value) for key, value in sorted(seen.items()) if key not in ("filename", "canary")]
    rows.append(("checksec, of the same program with symbols: canary", twin["canary"]))
    units = gate.Report()
    count = check_binary.check_flags(units, DEBUG)
    rows += [(f"compiled with {flag}", f"all {count} units, libraries included")
             for flag in [*check_binary.FLAGS, check_binary.BRANCHES[platform.machine()]]]
    segments = gate.run(["readelf", "-lW", str(BINARY)])
    rows += [("dynamic loader", "none: the program is static" if "INTERP" not in segments else "asked for"),
             ("writable and executable segments", str(len(re.findall(r"LOAD.*RWE", segments)))),
             ("build id", re.search(r"Build ID: (\w+)", gate.run(["readelf", "-nW", str(BINARY)]))[1]),
             ("sha256 of the stripped program", hashlib.sha256(BINARY.read_bytes()).hexdigest())]
    symbols = gate.run(["nm", "-n", "-S", str(DEBUG)])
    kinds = collections.Counter(line.split()[-2].upper() for line in symbols.splitlines() if len(line.split()) >= 3)
    names = {"T": "functions", "D": "variables", "B": "zeroed variables", "R": "constants", "W": "weak",
             "V": "weak objects"}
    rows += [(f"symbols: {names[kind]}", str(kinds[kind])) for kind in names if kinds[kind]]
    rows.append(("symbols taken from elsewhere", str(len(re.findall(r"^ +U ", symbols, re.M)))))
    part.write_part(
        "binary", "Symbols and hardening of the program",
        {"checksec": checksec_version(), "binutils": first_line("readelf", "--version").split()[-1]},
        "make evidence-binary", "static, position-independent, full RELRO, guarded stack, no executable stack, no "
        "symbol of a heap or of formatted input and output", ("what", "found"), rows,
        ["FORTIFY_SOURCE: musl has none.",
         "That hardware enforces landing pads (CET, BTI): Debian's musl has none, so the program is not marked.",
         "The program for arm64: these figures are of this machine's."],
        [part.keep("checksec.json", json.dumps({"program": seen, "with symbols": twin}, indent=1) + "\n"),
         part.keep("symbols.txt", symbols), part.keep("segments.txt", segments)])


def checksec_version():
    found = re.search(r"v?(\d[\d.]+)", first_line("checksec", "--version"))
    return found[1] if found else "of this machine"


# --- SBOM and VEX -------------------------------------------------------------------------------------


def check_sbom(tool, sbom):
    """Ends the program unless the SBOM is valid, and a copy whose first package has no proper identifier is not."""
    with tempfile.TemporaryDirectory() as folder:
        content = json.loads(sbom.read_text())
        content["packages"][0]["SPDXID"] = "not an identifier"
        damaged = pathlib.Path(folder) / sbom.name
        damaged.write_text(json.dumps(content))
        done, other = (subprocess.run([tool, "--infile", path], text=True, check=False, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT) for path in (sbom, damaged))
    if done.returncode:
        stop(f"pyspdxtools finds the SBOM not valid: {done.stdout.strip()[-1000:]}")
    if not other.returncode:
        stop("pyspdxtools takes a damaged SBOM for a valid one")


def make_sbom():
    sbom = IMAGE / "neuron-dra-agent.spdx.json"
    checked(check_advisories)
    folder = subprocess.run([ROOT / "tools/build/deps.sh", "evidence"], text=True, check=True,
                            stdout=subprocess.PIPE).stdout.strip()
    check_sbom(f"{folder}/bin/pyspdxtools", sbom)
    spdx = gate.run([f"{folder}/bin/pip", "list", "--format=freeze", "--disable-pip-version-check"])
    document = vex.document(ROOT, part.commit())
    stated = part.keep("neuron-dra-agent.vex.json", json.dumps(document, indent=1) + "\n")
    checker = ROOT / "tools/evidence/vexcheck"
    for command in (["test", "-count=1", "."], ["run", ".", pathlib.Path(part.PAGE_FOLDER) / stated]):
        done = subprocess.run(["go", *command], cwd=checker, text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode:
            stop(f"go-vex finds the statement not valid, or its check fails: {done.stdout.strip()[-1000:]}")
    packages = json.loads(sbom.read_text())["packages"]
    rows = [("package", f"{one['name']} {one['versionInfo']}", one["licenseDeclared"],
             next((c["checksumValue"] for c in one.get("checksums", [])), "")) for one in packages]
    rows += [("advisory", one["vulnerability"]["name"], vex.words(one), one["impact_statement"])
             for one in document["statements"]]
    listed, versions = check_advisories.read(ROOT)
    named = {advisory["library"] for advisory in listed["advisory"]}
    rows += [("advisory", f"{name} {' '.join(versions[name])}", "none known", f"sources read on {listed['looked']}")
             for name in check_advisories.LIBRARIES if name not in named]
    go_vex = re.search(r"openvex/go-vex v(\S+)", (checker / "go.mod").read_text())[1]
    part.write_part(
        "sbom", "Software bill of materials, and known advisories",
        {"spdx-tools": re.search(r"^spdx-tools==(\S+)", spdx, re.M)[1], "go-vex": go_vex}, "make evidence-sbom",
        f"SPDX 2.3 with {len(packages)} packages, valid by pyspdxtools, which refuses a damaged copy; OpenVEX "
        f"with {len(document['statements'])} statements, valid by go-vex; advisories read on {listed['looked']}",
        ("kind", "name", "licence or status", "checksum or reason"), rows,
        ["Advisories of libgcc, the compiler's library, of which the program has arithmetic functions: nobody reads "
         "them.",
         "Where musl and libgcc were built: their checksums are of the archives that were linked, as packages of the "
         "distribution installed them.",
         "Advisories that were published after the day on which the sources were read.",
         "The compiler and the packages of the machine that builds: the statement of a release names them.",
         "An independent look at each verdict; `make advisories` finds only whether functions are absent."],
        [part.keep(sbom.name, sbom.read_bytes()), stated,
         part.keep("advisories.toml", (ROOT / check_advisories.LIST).read_text())])


# --- two builds, seeded defects -----------------------------------------------------------------------


def make_twice():
    done = subprocess.run([ROOT / "tools/image/twice.sh", "image", " ".join(COMPARED),
                           *(os.environ[name] for name in ("BUILD_ID", "REVISION", "CREATED"))], check=False)
    if done.returncode:
        stop("the two builds differ, or the second one failed")
    rows = [(name, hashlib.sha256((ROOT / name).read_bytes()).hexdigest(), "the same in the second folder")
            for name in COMPARED]
    part.write_part(
        "twice", "Two builds in two folders, one digest",
        {"gcc": first_line("gcc", "-dumpfullversion"), **own("twice.sh")}, "make evidence-twice",
        f"{len(rows)} files, byte for byte the same from two folders", ("file", "sha256", "compared"), rows,
        ["Builds on two machines or by two compilers: both builds ran here, one after the other.",
         "The program for arm64; `make release-twice` builds it twice too."])


def run_defects(goal):
    """Output of a goal that puts mistakes into the agent."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", "--no-print-directory", goal], cwd=ROOT, env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


def kind_of(target):
    if target.startswith("unit/"):
        return "unit tests"
    programs = {"sim": "simulator", "aligned": "simulator, both drivers", "crash": "crash states"}
    return programs.get(target, "fuzz targets")


def make_defects():
    output = "".join(run_defects(goal) for goal in ("claim-defects", "fuzz-defects"))
    found = [line.groups() for line in map(DEFECT.fullmatch, output.splitlines()) if line]
    missed = [name for verdict, _, name, _, _ in found if verdict == "FAIL"]
    if missed or len(re.findall(r"^defects: \d+ of \d+ mistakes", output, re.M)) != 2:
        sys.stderr.write(output[-3000:])
        stop(f"seeded mistakes that were not found: {', '.join(missed) or 'a run failed'}")
    tools = collections.Counter(kind_of(target) for _, _, _, target, _ in found)
    rows = [(kind_of(target), file, name, target, how) for _, file, name, target, how in found]
    part.write_part(
        "defects", "Seeded defects, and the tool that finds each",
        {"clang": first_line("clang-19", "--version").split()[3], **own("defects.py")}, "make evidence-defects",
        f"{len(found)} of {len(found)} found: "
        + ", ".join(f"{count} by {tool}" for tool, count in sorted(tools.items())),
        ("tool", "file", "defect", "target", "found by"), rows,
        ["The defects were made by hand: they are those that somebody thought of. The part about mutants has others.",
         "The gates of make check have seeded violations of their own, which the part about gates lists."],
        [part.keep("defects.txt", output)])


PARTS = {"requirements": make_requirements, "threats": make_threats, "gates": make_gates, "misra": make_misra,
         "memory": make_memory, "sandbox": make_sandbox, "binary": make_binary, "sbom": make_sbom, "twice": make_twice,
         "defects": make_defects}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        sys.exit(__doc__)
    PARTS[sys.argv[1]]()
    made = json.loads((pathlib.Path(part.PARTS) / f"{sys.argv[1]}.json").read_text())
    print(f"evidence: {made['title']}: {made['summary']}")


if __name__ == "__main__":
    main()
