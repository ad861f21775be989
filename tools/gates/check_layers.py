#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The folder is the room: what each may include, which symbols it may need, and no mutable globals.

Includes are read from the sources; symbols and globals from the objects that `make check-objects` builds
(without link-time optimisation, so that each object shows what its file needs).
"""

import pathlib
import re
import subprocess
import sys

import gate

# Who may know whom, by includes and by symbols: what the files of a room may use besides their own room. "std" are the
# headers of STANDARD, "nanopb" those of NANOPB, "os" every other one and its functions; "any" is everything. A room is
# a folder, or a file that stands above its folder: see room_of.
BELOW_AGENT = {"std", "cfg", "src/base", "src/wire", "src/dra", "boards", "generated", "nanopb"}
ROOMS_OF_AGENT = {"src/agent", "src/agent/api", "src/agent/report", "src/agent/node", "src/agent/publish",
                  "src/agent/ledger", "src/agent/claim", "src/agent/recovery", "src/agent/calls", "src/agent/serve",
                  "src/agent/pods", "src/agent/commands"}
BELOW_CLAIMS = BELOW_AGENT | {"src/agent", "src/agent/api", "src/agent/report", "src/agent/node"}
# The contract of src/agent with the host, and the names of log events.
BELOW_HOST = BELOW_AGENT | {"os", "src/agent", "src/agent/report"}
# Where the functions of that contract are; src/host calls them, and includes nothing of these rooms.
CONTRACT = {"src/agent/agent.c", "src/agent/serve"}
MAY_INCLUDE = {
    "src/base": {"std", "cfg"},
    "src/wire": {"std", "cfg", "src/base", "generated", "nanopb"},
    "src/x509": {"std", "cfg", "src/base"},
    "src/kubeconfig": {"std", "cfg", "src/base"},
    "src/dra": {"std", "cfg", "src/base", "boards", "generated", "nanopb"},
    # what all rooms of the agent share: the contract with the host, the frame of a driver, and the settings
    "src/agent": BELOW_AGENT,
    "src/agent/api": BELOW_AGENT | {"src/agent"},
    "src/agent/report": BELOW_AGENT | {"src/agent", "src/agent/api"},
    "src/agent/node": BELOW_AGENT | {"src/agent", "src/agent/api", "src/agent/report"},
    "src/agent/publish": BELOW_AGENT | {"src/agent", "src/agent/api", "src/agent/report", "src/agent/node"},
    # claims, from the bottom up: none of these rooms knows the slices
    "src/agent/ledger": BELOW_CLAIMS,
    "src/agent/claim": BELOW_CLAIMS | {"src/agent/ledger"},
    "src/agent/recovery": BELOW_CLAIMS | {"src/agent/ledger", "src/agent/claim", "src/agent/publish"},
    "src/agent/calls": BELOW_CLAIMS | {"src/agent/ledger", "src/agent/claim", "src/agent/recovery"},
    # the kubelet's list of pods, for the metrics
    "src/agent/pods": BELOW_CLAIMS | {"src/agent/ledger"},
    "src/agent/serve": BELOW_AGENT | (ROOMS_OF_AGENT - {"src/agent/commands"}),
    # what a command does with the API server in place of the agent's step
    "src/agent/commands": BELOW_AGENT | {"src/agent", "src/agent/api"},
    # joins what all rooms keep; the second alone includes the first
    "src/agent/state.h": BELOW_AGENT | ROOMS_OF_AGENT,
    "src/agent/instance.c": BELOW_AGENT | {"src/agent", "src/agent/state.h"},
    # joins the rooms
    "src/agent/agent.c": BELOW_AGENT | ROOMS_OF_AGENT | {"src/agent/instance.c"},
    # what the commands beside `run` print; knows the settings, and no room of the agent; reads what the kubelet lists
    "src/command": {"std", "cfg", "src/base", "src/wire", "src/dra", "generated", "boards", "src/agent"},
    "boards": {"std", "cfg", "src/base", "generated"},
    "generated": {"std", "nanopb"},
    "cfg": {"std"},
    # the operating system's side: what all of its rooms use
    "src/host": BELOW_HOST,
    "src/host/apiserver": BELOW_HOST | {"src/host", "src/x509", "src/kubeconfig"},
    "src/host/node": BELOW_HOST | {"src/host"},
    "src/host/commands": BELOW_HOST | {"src/agent/commands", "src/command", "src/host", "src/host/node",
                                       "src/host/apiserver"},
    # join the rooms
    "src/host/loop.c": {"any"},
    "src/host/files.c": {"any"},
    "src/host/files.h": {"any"},
    "src": {"any"},
}
# The layout of the joined state: it may include what is private to a room, and only STATE_USER may include it.
STATE = "src/agent/state.h"
STATE_USER = "src/agent/instance.c"
# Names of headers that only the files of their own room, STATE and the tests include. A header that includes a private
# one is private as well.
PRIVATE = re.compile(r"(^|/)(room|\w+_internal)\.h$")
STANDARD = {"stdint.h", "stddef.h", "stdbool.h", "string.h"}
NANOPB = {"pb.h", "pb_encode.h", "pb_decode.h", "pb_common.h"}
# cfg/budget.h adds up the sizes of structs of all folders below src/agent: it sees what src/agent sees, and only the
# rooms from there up may include it.
BUDGET = "cfg/budget.h"
BUDGET_USERS = {"src/agent", "src/agent/instance.c", "src/host", "src"}
# The library configuration is mbedTLS's, not a room.
FOREIGN_CONFIGURATION = "cfg/mbedtls/"

LIBC = {"memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strcmp", "explicit_bzero"}
COMPILER = {"__stack_chk_fail", "__stack_chk_guard", "_GLOBAL_OFFSET_TABLE_"}
# Declared by a pure room, defined by src/host.
PORTS = {"assert_failed"}
# (file, name) of the variables that may change, each the one of its kind.
MUTABLE = {
    ("src/agent/instance.c", "the_agents"),  # all state of the agent
    ("src/host/loop.c", "the_host"),     # descriptors and buffers of the operating system's side
    ("src/host/node/reading.c", "the_reading"),  # where a process notes the file that it reads
    ("src/host/apiserver/tls.c", "arena"),    # memory of mbedTLS
    ("src/host/apiserver/tls.c", "session"),  # the one TLS session and its identity
    ("src/main.c", "settings"),          # flags and variables, read once
}

OBJECTS = "build/obj/check"


def room_of(path):
    """Row of MAY_INCLUDE for a file: src/wire/h2.c is src/wire, src/main.c is src, src/agent/state.h is its own."""
    if str(path) in MAY_INCLUDE:
        return str(path)
    folder = pathlib.PurePath(path).parts[:-1]
    depth = 3 if folder[:2] in (("src", "agent"), ("src", "host")) else 2 if folder[:1] == ("src",) else 1
    return "/".join(folder[:depth])


def included_room(root, name):
    """Path and room of an included file, by the two include paths src/ and the root."""
    for prefix in ("src/", ""):
        if (pathlib.Path(root) / (prefix + name)).is_file():
            return prefix + name, room_of(prefix + name)
    return None, None


def is_private(root, path, seen=()):
    """Whether a header is private to its room, by its name or by what it includes."""
    if PRIVATE.search(path):
        return True
    names = re.findall(r'^\s*#\s*include\s*"([^"]+)"', (pathlib.Path(root) / path).read_text(), re.M)
    others = {included_room(root, name)[0] for name in names} - {None, path, STATE, *seen}
    return any(room_of(other) == room_of(path) and is_private(root, other, (*seen, path)) for other in others)


def judge_include(root, user, room, form, name):
    """Empty when `user`, a file of the room, may include the file of this name, else what is wrong."""
    allowed = MAY_INCLUDE[room]
    path, other = included_room(root, name)
    if form == '"' and path == STATE and str(user) != STATE_USER:
        return f'"{name}" joins what all rooms keep: only {STATE_USER} includes it; call the functions of the room'
    if form == '"' and path and other != room and str(user) != STATE and is_private(root, path):
        return f'"{name}" is private to {other}: only its files include it; call a function of the room'
    if "any" in allowed:
        return ""
    if form == "<":
        if name in STANDARD or "os" in allowed:
            return ""
        return f"<{name}>: only {', '.join(sorted(STANDARD))} below src/host"
    if name in NANOPB:
        return "" if "nanopb" in allowed else f'"{name}": {room} does no protobuf'
    if path is None:
        return f'"{name}" is not in this repository: write it as seen from src/ or from the top'
    if path == BUDGET:
        return "" if room in BUDGET_USERS else f'"{name}" is for {", ".join(sorted(BUDGET_USERS))}'
    if other in allowed | {room}:
        return ""
    return f'"{name}": {room} must not know {other}; it may know {", ".join(sorted(allowed))}'


def check_includes(report, root):
    count = 0
    for path in gate.own_c_files(root, ("src", "boards", "cfg", "generated")):
        if str(path).startswith(FOREIGN_CONFIGURATION):
            continue
        room = "src/agent" if str(path) == BUDGET else room_of(path)
        if room not in MAY_INCLUDE:
            report.add(path, f"{room} is no room: see MAY_INCLUDE in tools/gates/check_layers.py")
            continue
        for number, line in enumerate((pathlib.Path(root) / path).read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not found:
                continue
            count += 1
            problem = judge_include(root, path, room, found[1], found[2])
            if problem:
                report.add(f"{path}:{number}", problem)
    return count


def source_objects(root):
    """(source path, object path) of each object of the check build that comes from a room."""
    base = pathlib.Path(root) / OBJECTS
    for obj in sorted(base.rglob("*.o")):
        source = obj.relative_to(base).with_suffix(".c")
        if room_of(source) in MAY_INCLUDE and (pathlib.Path(root) / source).is_file():
            yield source, obj


def symbols(obj):
    """(needed, defined) global names of an object."""
    needed, defined = set(), set()
    for line in gate.run(["nm", "-g", "-P", str(obj)]).splitlines():
        name, kind = line.split()[:2]
        (needed if kind in "Uw" else defined).add(name)
    return needed, defined


def check_symbols(report, objects):
    tables = {source: symbols(obj) for source, obj in objects}
    owner = {name: room_of(source) for source, (_, defined) in tables.items() for name in defined}
    for source, (needed, _) in tables.items():
        room = room_of(source)
        allowed = MAY_INCLUDE[room] | {room}
        if "any" in allowed:
            continue
        if "os" in allowed:
            allowed |= CONTRACT
        strange = []
        for name in sorted(needed - LIBC - COMPILER - PORTS):
            other = owner.get(name)
            if name.startswith("pb_") and "nanopb" in allowed:
                continue
            if other is None and "os" not in allowed:
                strange.append(name + "()")
            elif other is not None and other not in allowed:
                report.add(source, f"needs {name} of {other}, which {room} must not know")
        if strange:
            report.add(source, f"needs {', '.join(strange)}, which no file here defines: below "
                               f"src/host only {', '.join(sorted(LIBC))} and pb_* come from outside")


def mutable_variables(obj):
    """Names of the variables in sections that stay writable."""
    for line in gate.run(["objdump", "-t", str(obj)]).splitlines():
        found = re.match(r"[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+ (?:\.hidden )?(\S+)$", line)
        if not found or "O" not in found[1]:
            continue
        section, name = found[2], found[3]
        if section.startswith(".data.rel.ro"):
            continue
        if section == "*COM*" or section.startswith((".data", ".bss", ".tdata", ".tbss")):
            yield re.sub(r"\.\d+$", "", name)


def check_globals(report, objects):
    seen = set()
    for source, obj in objects:
        for name in mutable_variables(obj):
            seen.add((str(source), name))
            if (str(source), name) not in MUTABLE:
                report.add(source, f"variable {name} can change: make it const, or keep it in the agent "
                                   "struct and hand it in (exceptions: MUTABLE in tools/gates/check_layers.py)")
    return seen


def check(root):
    report = gate.Report()
    includes = check_includes(report, root)
    try:
        objects = list(source_objects(root))
    except subprocess.CalledProcessError as error:
        report.add(OBJECTS, str(error))
        objects = []
    built = {str(source) for source, _ in objects}
    for path in gate.own_c_files(root, ("src", "boards", "generated")):
        if path.suffix == ".c" and str(path) not in built:
            report.add(path, f"has no object in {OBJECTS}: run 'make check-objects'")
    check_symbols(report, objects)
    check_globals(report, objects)
    report.looked_at = f"{includes} includes, {len(objects)} objects"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
