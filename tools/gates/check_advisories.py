#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Security advisories of what is linked: each has a verdict that still holds, and the list is not older than 30 days.

The list is tools/gates/advisories.toml: no registry of packages carries security data of C libraries, so people read
the sources that it names. The age fails the gate even where nothing else has changed: that is its purpose.
"""

import datetime
import pathlib
import re
import subprocess
import sys
import tomllib

import gate

LIST = "tools/gates/advisories.toml"
PINS = "tools/build/pins"
PROGRAM = "build/neuron-dra-agent.debug"
LIBRARIES = ("mbedtls", "nanopb", "musl")
AGE_DAYS_MAX = 30
WHY_CHARACTERS_MIN = 40
VERDICTS = ("none", "mitigated", "affected")


def pinned(text, library):
    """The versions of a library that tools/build/pins accepts."""
    found = re.search(rf'^{library.upper()}_ACCEPT="([^"]*)"', text, re.M)
    return [entry.partition(":")[0] for entry in found[1].split()] if found else []


def ordered(version):
    return [int(part) for part in version.split(".")]


def concerns(advisory, version):
    return ordered(advisory["first"]) <= ordered(version) <= ordered(advisory["last"])


def read(root):
    """The list, and the accepted versions of each library."""
    root = pathlib.Path(root)
    listed = tomllib.loads((root / LIST).read_text())
    pins = (root / PINS).read_text()
    versions = {name: pinned(pins, name) + listed["library"].get(name, {}).get("versions", []) for name in LIBRARIES}
    return listed, versions


def functions(root):
    """Names in the linked program; None: it is not built."""
    program = pathlib.Path(root) / PROGRAM
    if not program.exists():
        return None
    return {line.split()[-1] for line in gate.run(["nm", str(program)], stderr=subprocess.DEVNULL).splitlines()}


def check_one(report, advisory, versions, linked):
    place = f"{LIST}: {advisory['id']}"
    concerned = [v for v in versions.get(advisory["library"], []) if concerns(advisory, v)]
    if not concerned:
        report.add(place, "no accepted version has it: remove it")
    if advisory["verdict"] not in VERDICTS:
        report.add(place, f"the verdict is none of {', '.join(VERDICTS)}")
    if advisory["verdict"] == "affected":
        which = f"{advisory['library']} {', '.join(concerned)}"
        report.add(place, f"{which} is affected: take another release, or mitigate")
    if len(advisory["why"]) < WHY_CHARACTERS_MIN:
        report.add(place, "say why the verdict holds")
    for name in sorted(set(advisory.get("absent", [])) & (linked or set())):
        report.add(place, f"the verdict rests on {name}() not being linked, and it is")


def check(root, today=None):
    report = gate.Report()
    listed, versions = read(root)
    linked = functions(root)
    age = ((today or datetime.date.today()) - listed["looked"]).days
    if age > AGE_DAYS_MAX:
        report.add(LIST, f"the sources of advisories were read {age} days ago, and {AGE_DAYS_MAX} are allowed: "
                         "read those that the file names, add what is new, and set 'looked' to today")
    if age < 0:
        report.add(LIST, "'looked' lies in the future")
    for name in LIBRARIES:
        if not versions[name] or not listed["library"].get(name, {}).get("sources"):
            report.add(LIST, f"{name} has no version in {PINS} or here, or no source of advisories")
    for advisory in listed["advisory"]:
        check_one(report, advisory, versions, linked)
    count = sum(map(len, versions.values()))
    report.looked_at = f"{len(listed['advisory'])} advisories for {count} versions, {age} days old"
    return report


def show(root):
    listed, versions = read(root)
    for advisory in listed["advisory"]:
        concerned = [v for v in versions[advisory["library"]] if concerns(advisory, v)]
        print(f"{advisory['id']} ({advisory['severity']}, {advisory['published']}), {advisory['library']} "
              f"{' '.join(concerned)}: {advisory['verdict']}. {advisory['why']}")
    for name in LIBRARIES:
        print(f"{name} {' '.join(versions[name])}: read {' and '.join(listed['library'][name]['sources'])}")


if __name__ == "__main__":
    show(gate.ROOT)
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
