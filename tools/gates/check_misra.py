#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cppcheck with its add-on for the rules of MISRA C:2012, over all product sources in one call.

One call, because some rules compare files. The release is pinned (tools/build/pins), so that findings do not depend on
the machine. It reads musl's headers, as the product does: without them it does not know the types of system calls.
The add-on checks rules, no directives, and many rules only in part: this is a net with known holes, no claim of
conformance.
"""

import json
import pathlib
import platform
import re
import sys

import gate
import lint

TOOL = "cppcheck"  # names the folder of what is kept
RULES = gate.ROOT / "cfg/lint/misra-rules.txt"
LIBRARY = gate.ROOT / "cfg/lint/cppcheck.cfg"
MACHINE = platform.machine()
MUSL = f"/usr/include/{MACHINE}-linux-musl"
# cppcheck is no compiler: this is what one would define.
COMPILER = ["-D__GNUC__=12", "-D__linux__=1", f"-D__{MACHINE}__=1"]
# Messages that mean a file was not read to its end; they count wherever they stand.
BROKEN = {"syntaxError", "internalError", "internalAstError", "unknownMacro", "preprocessorErrorDirective",
          "cppcheckError", "missingInclude", "noValidConfiguration", "toomanyconfigs", "misra-config"}
# Notes on cppcheck itself; and the type of a callback's parameter is its library's choice.
NOT_ASKED = ("missingIncludeSystem", "normalCheckLevelMaxBranches", "constParameterCallback")
TEMPLATE = "{file}:{line}:{column}: {severity}: {message} [{id}]"


def program(root):
    """The pinned cppcheck, as tools/build/deps.sh installed it."""
    for base in (pathlib.Path(root), gate.ROOT):
        paths = base / "build/deps/paths.mk"
        found = re.search(r"^CPPCHECK := (.+)$", paths.read_text(), re.M) if paths.exists() else None
        if found:
            return found[1]
    raise ValueError("no CPPCHECK in build/deps/paths.mk: run 'make deps-test'")


def own_flags(root):
    """-D and -I of the product; of -isystem only the folder."""
    words = iter(lint.flags(root))
    for word in words:
        if word == "-isystem":
            yield "-I" + next(words)
        elif word.startswith(("-D", "-I")):
            yield word


def jobs(root):
    addon = pathlib.Path(root) / lint.CACHE / "misra.json"
    addon.parent.mkdir(parents=True, exist_ok=True)
    addon.write_text(json.dumps({"script": "misra.py", "python": "/usr/bin/python3",
                                 "args": [f"--rule-texts={RULES}"]}))
    # Without one, cppcheck puts its own files beside the sources.
    scratch = pathlib.Path(root) / lint.CACHE / "cppcheck-scratch"
    paths = lint.sources(root)
    command = [program(root), f"--addon={addon}", f"--cppcheck-build-dir={scratch}",
               "--enable=style,warning,performance,portability", "--std=c11", "--platform=unix64", "--quiet",
               f"--library=posix,gnu,{LIBRARY}", f"--template={TEMPLATE}",
               *(f"--suppress={name}" for name in NOT_ASKED), *COMPILER, *own_flags(root), "-I" + MUSL,
               *map(str, paths)]
    yield lint.Job(TOOL, "all", command, paths, RULES.read_text() + LIBRARY.read_text(), scratch)


def describe(finding):
    if finding.rule[0].isdigit():
        return f"MISRA C:2012 rule {finding.rule}: {finding.text}"
    return f"{finding.text} [{finding.rule}]"


def broken(text):
    for line in text.splitlines():
        found = lint.DIAGNOSTIC.match(line)
        if found and found[6] in BROKEN:
            yield line


def used_elsewhere(finding, texts):
    """Rule 8.7 overlooks a function whose only use in another file is its name in a table."""
    lines = texts[str(finding.path)].splitlines()
    name = re.search(r"(\w+)\(", lines[finding.line - 1])
    return name is not None and any(re.search(rf"\b{name[1]}\b", text) for path, text in texts.items()
                                    if path != str(finding.path))


def check(root):
    report = gate.Report()
    texts = {str(path): gate.code_only((pathlib.Path(root) / path).read_text()) for path in lint.sources(root)}
    (text,), _ = lint.run_jobs(root, list(jobs(root)))
    for line in broken(text):
        report.add("cppcheck", f"could not read a file: {line}")
    misra, others = [], []
    for finding in lint.read_findings(root, text):
        if finding.rule in BROKEN:
            continue
        (misra if finding.rule.startswith("misra-c2012-") else others).append(finding)
        finding.rule = finding.rule.removeprefix("misra-c2012-")
    misra = [finding for finding in misra if finding.rule != "8.7" or not used_elsewhere(finding, texts)]
    deviations = lint.judge(report, root, "misra", misra, describe)
    deviations += lint.judge(report, root, "cppcheck", others, describe)
    report.looked_at = f"{len(lint.sources(root))} sources, {deviations} places with a record"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
