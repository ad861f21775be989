#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Security advisories of what is linked: each has a verdict that still holds, and the list is not older than 30 days.

  tools/gates/check_advisories.py                    what `make check` looks at
  tools/gates/check_advisories.py --tracker FILE     that, and the list beside Debian's security tracker
                                                     (`make advisories TRACKER=FILE`)

The list is tools/gates/advisories.toml: no registry of packages carries security data of C libraries, so people read
the sources that it names. The age fails the gate even where nothing else has changed: that is its purpose.

FILE is the tracker's JSON of all packages ("tracker/data/json" on the tracker's host, 60 MB), or the part of it for the
source packages of LIBRARIES. Somebody fetches it on any machine and hands it in: package mirrors do not carry it, and
besides their packages the build fetches nothing but pinned archives. A CVE concerns a version when it is open in sid,
or fixed there in a later one.
"""

import argparse
import datetime
import json
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


def older(version, fixed):
    """Whether upstream's release lacks what a Debian version has fixed; a fix by a patch comes after revision 1."""
    return subprocess.run(["dpkg", "--compare-versions", f"{version}-1", "lt", fixed], check=False).returncode == 0


def open_in(entry, version):
    """Whether a CVE of the tracker concerns a version, by what sid says, or else by all releases."""
    releases = entry.get("releases", {})
    told = [releases["sid"]] if "sid" in releases else list(releases.values())
    fixed = [one["fixed_version"] for one in told if one.get("status") == "resolved" and "fixed_version" in one]
    return len(fixed) < len(told) or not told or any(older(version, one) for one in fixed if one != "0")


def check_tracker(report, root, file):
    """Each CVE that the tracker has for an accepted version is in the list."""
    listed, versions = read(root)
    tracker = json.loads(pathlib.Path(file).read_text())
    count = 0
    for library in LIBRARIES:
        if not tracker.get(library):
            report.add(str(file), f"has nothing about {library}: this is not the tracker's data, or not all of it")
        for name, entry in sorted(tracker.get(library, {}).items()):
            count += 1
            known = {v for advisory in listed["advisory"] if advisory["id"] == name for v in versions[library]
                     if advisory["library"] == library and concerns(advisory, v)}
            without = [v for v in versions[library] if v not in known and open_in(entry, v)]
            if without:
                about = entry.get("description", "no description").split("\n")[0][:150]
                which = f"{library} {', '.join(without)}"
                report.add(LIST, f"{name} concerns {which} and has no verdict ({about}): add one")
    changed = datetime.date.fromtimestamp(pathlib.Path(file).stat().st_mtime)
    report.looked_at += f"; {count} CVEs of the tracker's data of {changed}"


def show(root):
    listed, versions = read(root)
    for advisory in listed["advisory"]:
        concerned = [v for v in versions[advisory["library"]] if concerns(advisory, v)]
        print(f"{advisory['id']} ({advisory['severity']}, {advisory['published']}), {advisory['library']} "
              f"{' '.join(concerned)}: {advisory['verdict']}. {advisory['why']}")
    for name in LIBRARIES:
        print(f"{name} {' '.join(versions[name])}: read {' and '.join(listed['library'][name]['sources'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tracker", metavar="FILE", help="data of Debian's security tracker, as JSON")
    parser.add_argument("--root", default=gate.ROOT, type=pathlib.Path, help="tree to check")
    given = parser.parse_args()
    show(given.root)
    report = check(given.root)
    if given.tracker:
        check_tracker(report, given.root, given.tracker)
    report.show()
    print(f"{len(report.findings)} findings in {report.looked_at}")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
