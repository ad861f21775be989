#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Worst-case stack of the shipped program: the deepest chain of calls from main, ours and with the libraries.

Frames and calls are gcc's own record of the link (-fcallgraph-info=su,da, one .ci file for each partition of the
link-time optimiser): what was inlined or cloned stands there as it is shipped, nanopb and mbedTLS included. musl comes
compiled; its frames and calls are read from the machine code of the linked program.

Calls through pointers are resolved by cfg/lint/stack.txt, which says its own form. Fails: a chain above the bound, a
call through a pointer that no row names, a row that nothing needs, recursion without a bound, a frame of run-time
size, a function that is in the program although no chain leads to it, and one whose address is taken although no row
names it: somebody calls it by a pointer, and a row lacks it.

Not counted: frames of signal handlers (there are none), and what the kernel puts above main (arguments, environment).
"""

import collections
import functools
import pathlib
import platform
import re
import sys

import check_calls
import gate

BYTES_MAX = 18 * 1024  # the whole program; our part of it is printed beside it
# The last function of a chain may use so much below its frame without reserving it (System V ABI, x86-64); gcc's
# figures leave it out.
RED_ZONE = 128
OWN = ("src/", "boards/", "generated/")
ROOT_FUNCTION = "main"
GRAPHS = "build/obj/product/lto"
PROGRAM = "build/neuron-dra-agent.debug"
TABLE = "cfg/lint/stack.txt"
PATHS = "build/deps/paths.mk"
OURS = ("src/", "boards/", "generated/")
# gcc writes calls of these by itself, and leaves them out of its record.
IMPLICIT = ("memcpy", "memset", "memmove", "memcmp", "__stack_chk_fail")
LIBRARY_PATH = re.compile(r".*/(mbedtls|nanopb)-[^/]*/(?:library/)?")
CLONE = re.compile(r"(\.(lto_priv|constprop|part|isra|cold)(\.\d+)?)+$")
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"(?: label: "([^"]+):(\d+):\d+")?')


def plain_path(path):
    """src/x/y.c for our files, mbedtls/y.c and nanopb/y.c for those of the libraries."""
    return LIBRARY_PATH.sub(r"\1/", path)


def base_name(title):
    """Name in the source: without partition and without the optimiser's endings."""
    return CLONE.sub("", check_calls.name_of(title))


class Function:
    """One function of the program; `frame` in bytes, return address included."""

    def __init__(self, path, frame, unbounded=False):
        self.path = path
        self.frame = frame
        self.unbounded = unbounded
        self.calls = set()

    @property
    def ours(self):
        return self.path.startswith(OURS)


class Program:
    """Functions by title, and the sites of calls through pointers: (title, path, line)."""

    def __init__(self):
        self.functions = {}
        self.sites = []
        self.seen_as_copy = set()
        self.pointed_at = set()  # titles of functions whose address stands in a table or is loaded in code

    def read(self, text):
        edges = []
        for line in text.splitlines():
            node = check_calls.NODE.match(line)
            if node:
                self._add(node[1], node[2].split("\\n"))
                continue
            edge = EDGE.match(line)
            if edge:
                edges.append(edge)
        for edge in edges:
            if edge[2] == "__indirect_call":
                self.sites.append((edge[1], plain_path(edge[3] or "?"), int(edge[4] or 0)))
            else:
                self.functions[edge[1]].calls.add(edge[2])

    def _add(self, title, label):
        size = re.match(r"(\d+) bytes \(([a-z,]+)\)", label[2]) if len(label) > 2 else None
        if size:
            path = plain_path(label[1].split(":")[0])
            self.functions[title] = Function(path, int(size[1]), size[2] == "dynamic")

    def named(self, name):
        """Titles of the functions that bear this name in the source."""
        return [title for title in self.functions if base_name(title) == name]


# --- musl, from the machine code ---


def machine_frame(lines):
    """Bytes that a function pushes and reserves at most, its return address included; None: not constant."""
    total = 8
    for line in lines:
        pushed = re.search(r"\bpush[fq]?\b", line)
        taken = re.search(r"\b(?:sub|add)\s+\$(-?0x[0-9a-f]+),%rsp", line)
        if pushed:
            total += 8
        elif taken:
            amount = int(taken[1], 16)
            amount = amount - (1 << 64) if amount >= 1 << 63 else amount
            total += max(0, -amount if "add" in line else amount)
        elif re.search(r"\band\s+\$0x[0-9a-f]+,%rsp", line):
            total += 64
        elif re.search(r"\b(?:sub\s+%r\w+|lea\s+.*|mov\s+.*),%rsp\s*$", line):
            return None
    return total


def read_machine(text):
    """name -> lines of objdump's disassembly."""
    found, lines = {}, []
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <([^>]+)>:$", line)
        if head:
            lines = found.setdefault(head[1], [])
        else:
            lines.append(line)
    return found


def machine_calls(name, lines):
    """(names called, whether it calls through a pointer)."""
    called, indirect = set(), False
    for line in lines:
        jump = re.search(r"\b(?:call|j[a-z]+)\s+[0-9a-f]+ <([^>+]+)>", line)
        if jump and jump[1] != name:
            called.add(jump[1])
        indirect = indirect or re.search(r"\b(?:call|jmp)\s+\*", line) is not None
    return called, indirect


def add_libc(report, program, table, machine):
    """The functions of musl that somebody calls, and what they call."""
    wanted = {target for f in program.functions.values() for target in f.calls}
    wanted |= {name for row in table.calls for name in row.callees}
    recorded = {base_name(title) for title in program.functions}
    queue = sorted(name for name in wanted - recorded if name not in program.functions and name in machine)
    while queue:
        name = queue.pop()
        if name in program.functions:
            continue
        frame = machine_frame(machine[name])
        called, indirect = machine_calls(name, machine[name])
        row = table.libc.get(name)
        if row:
            row.used = True
            frame, called = row.bytes, set()
        elif frame is None or indirect:
            report.add(PROGRAM, f"{name}() of the C library has a frame or a call that cannot be read: "
                                f"give it a row 'libc {name} BYTES' in {TABLE}")
        function = Function("libc", frame or 0)
        function.calls = called
        program.functions[name] = function
        queue += sorted(called - set(program.functions))


def add_libc_elsewhere(program, table):
    """Where the machine code is not read, each function of musl takes what the table allows it."""
    flat = table.libc.get("*")
    for target in {target for f in program.functions.values() for target in f.calls}:
        if target not in program.functions:
            program.functions[target] = Function("libc", flat.bytes if flat else 0)


def join_aliases(program, symbols):
    """Functions that the optimiser found equal are one: other names lead to the recorded one."""
    by_address = collections.defaultdict(list)
    for name, address in symbols.items():
        by_address[address].append(name)
    known = {check_calls.name_of(title): title for title in program.functions}
    for function in program.functions.values():
        for target in [t for t in function.calls if t not in program.functions]:
            same = [known[name] for name in by_address.get(symbols.get(target), ()) if name in known]
            if same:
                function.calls.discard(target)
                function.calls.add(same[0])


def addresses_taken(path, code):
    """Addresses that tables of a position-independent program hold or that instructions load (x86-64)."""
    for pattern, text in ((r"\bR_\w+_RELATIVE\s+([0-9a-f]+)\s*$", gate.run(["readelf", "-rW", path])),
                          (r"\blea\s+.*\(%rip\),%r\w+\s+# ([0-9a-f]+) <", code)):
        yield from (int(address, 16) for address in re.findall(pattern, text, re.M))


def find_pointed_at(program, symbols, path, code):
    """Functions of gcc's record; those of musl are called by each other only."""
    taken = set(addresses_taken(path, code))
    program.pointed_at = {title for title in program.functions
                          if int(symbols[check_calls.name_of(title)], 16) in taken}


# --- the table ---


class Row:
    def __init__(self, number, words):
        self.number = number
        self.used = False
        self.kind = words[0]
        self.words = words
        if self.kind == "call":
            self.glob, self.member = words[1], words[2]
            self.callees = [name for name in words[3:] if name != "-"]
            self.pattern = re.compile(r"\b" + re.escape(self.member) + r"(?:\[[^]]*\])?\)?\s*\(")
        elif self.kind == "libc":
            self.bytes = int(words[2])


class Table:
    """cfg/lint/stack.txt."""

    def __init__(self, report, text):
        self.calls, self.libc, self.bounds, self.unused, self.never = [], {}, {}, [], []
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split("#", 1)[0].split()
            if not words:
                continue
            least = {"call": 4, "libc": 3, "bound": 3, "unused": 3, "never": 3}.get(words[0], 99)
            if len(words) < least:
                report.add(f"{TABLE}:{number}", f"'{line}' is no row: see the head of the file")
                continue
            self._add(Row(number, words))

    def _add(self, row):
        if row.kind == "call":
            self.calls.append(row)
        elif row.kind == "libc":
            self.libc[row.words[1]] = row
        elif row.kind == "bound":
            self.bounds[row.words[1]] = row
        else:
            getattr(self, row.kind).append(row)


class Sources:
    """Lines of our files and of the libraries' by their plain path."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        paths = self.root / PATHS
        text = paths.read_text() if paths.exists() else ""
        self.folders = {}
        for name, key in (("mbedtls", "MBEDTLS_DIR"), ("nanopb", "NANOPB_DIR")):
            found = re.search(rf"^{key} := (.+)$", text, re.M)
            if found:
                folder = pathlib.Path(found[1])
                self.folders[name] = folder / "library" if name == "mbedtls" else folder

    @functools.lru_cache(maxsize=None)
    def lines(self, path):
        head, _, rest = path.partition("/")
        file = self.folders[head] / rest if head in self.folders else self.root / path
        return file.read_text(errors="replace").splitlines() if file.is_file() else []

    @functools.lru_cache(maxsize=None)
    def matching(self, glob):
        head, _, rest = glob.partition("/")
        if head in self.folders:
            return [f"{head}/{file.relative_to(self.folders[head])}" for file in self.folders[head].glob(rest)]
        return [str(file.relative_to(self.root)) for file in self.root.glob(glob)]


def row_of_site(table, sources, path, line):
    """Rows whose expression is called at this place."""
    text = " ".join(sources.lines(path)[max(0, line - 1):line + 2])
    rows = [row for row in table.calls if pathlib.PurePath(path).match(row.glob) and row.pattern.search(text)]
    first = min((row.pattern.search(text).start() for row in rows), default=0)
    return [row for row in rows if row.pattern.search(text).start() == first]


def find_callee(program, path, name):
    """Titles of a callee; 'A/B' is a copy of A for this file, which calls B through the pointer that it is given."""
    outer, _, inner = name.partition("/")
    titles = program.named(outer)
    if not inner or not titles or not program.named(inner):
        return titles if not inner else []
    title = f"{path}/{outer}"
    if title not in program.functions:
        original = program.functions[titles[0]]
        program.functions[title] = Function(original.path, original.frame)
        program.functions[title].calls = set(original.calls)
        program.seen_as_copy.update(titles)
    program.functions[title].calls.update(program.named(inner))
    return [title]


def drop_never(report, program, table):
    """Calls that stand in the code and cannot happen."""
    for row in table.never:
        targets = set(program.named(row.words[2]))
        callers = [t for t in program.named(row.words[1]) if program.functions[t].calls & targets]
        for title in callers:
            program.functions[title].calls -= targets
        if not callers:
            report.add(f"{TABLE}:{row.number}", f"{row.words[1]}() does not call {row.words[2]}(): remove the row")


def resolve_sites(report, program, table, sources):
    for title, path, line in sorted(program.sites):
        rows = row_of_site(table, sources, path, line)
        if len(rows) != 1:
            what = "no row" if not rows else f"{len(rows)} rows"
            report.add(f"{path}:{line}", f"a call through a pointer has {what} in {TABLE}: say what it may call")
            continue
        for name in rows[0].callees:
            titles = find_callee(program, path, name)
            if not titles:
                report.add(f"{TABLE}:{rows[0].number}", f"{name}() is not in the program: correct the row")
            program.functions[title].calls.update(titles)


def check_rows(report, table, sources):
    for name, row in table.libc.items():
        if name != "*" and not row.used and platform.machine() == "x86_64":
            report.add(f"{TABLE}:{row.number}", f"{name}() can be read, or is not in the program: remove the row")
    for row in table.calls:
        if not any(row.pattern.search("\n".join(sources.lines(path))) for path in sources.matching(row.glob)):
            report.add(f"{TABLE}:{row.number}", f"nothing in {row.glob} calls {row.member}: remove the row")


# --- depth ---


def read_proto(text):
    """message -> [(type of a field, whether it is a map)]."""
    fields, opened = {}, []
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    for word in re.finditer(r"message\s+(\w+)\s*\{|\{|\}|(map\s*<\s*\w+\s*,\s*)?([\w.]+)\s*>?\s+\w+\s*=\s*\d+",
                            text):
        if word[1]:
            opened.append(word[1])
            fields.setdefault(word[1], [])
        elif word[0] == "{":
            opened.append(None)
        elif word[0] == "}":
            opened.pop()
        elif opened and opened[-1]:
            fields[opened[-1]].append((word[3].rsplit(".", 1)[-1], word[2] is not None))
    return fields


def proto_depth(root, names):
    """Levels of messages within messages, the outermost included, of STEM (all of a file) or STEM.MESSAGE."""
    def depth(fields, message, above):
        if message in above:
            raise ValueError(f"proto: {message} holds itself")
        return 1 + max((depth(fields, kind, above | {message}) + is_map
                        for kind, is_map in fields[message] if kind in fields), default=0)

    deepest = 0
    for name in names:
        stem, _, message = name.partition(".")
        fields = read_proto((pathlib.Path(root) / "proto" / f"{stem}.proto").read_text())
        for root_message in [message] if message else fields:
            deepest = max(deepest, depth(fields, root_message, frozenset()))
    return deepest


def find_groups(program, skip=frozenset()):
    calls = {title: {t for t in f.calls if t in program.functions and t not in skip}
             for title, f in program.functions.items() if title not in skip}
    return check_calls.find_cycles(calls)


def bounded_heads(report, program, table, root):
    """title -> how often it may stand on the stack, for the functions at which recursion is cut."""
    heads = {}
    for name, row in table.bounds.items():
        for title in program.named(name):
            heads[title] = proto_depth(root, row.words[3:]) if row.words[2] == "proto" else int(row.words[2])
            row.used = True
        if not row.used:
            report.add(f"{TABLE}:{row.number}", f"{name}() is not in the program: remove the row")
    for group in find_groups(program, frozenset(heads)):
        names = ", ".join(base_name(title) + "()" for title in group)
        report.add(program.functions[group[0]].path,
                   f"recursion among {names}: use a loop, or bound it by a row 'bound' in {TABLE} with its reason")
        heads.update({title: 1 for title in group})
    return heads


class Depth:
    """Deepest chains by memory of what was computed; `weigh` gives a function's share."""

    def __init__(self, program, heads, weigh):
        self.program, self.heads, self.weigh = program, heads, weigh
        self.group = {}
        for number, group in enumerate(find_groups(program)):
            self.group.update({title: number for title in group})
        self.known = {}

    def _left(self, title, left):
        """Counters of heads matter only inside one group of recursion."""
        if title not in self.group:
            return ()
        mine = {t: n for t, n in self.heads.items() if self.group.get(t) == self.group[title]}
        return tuple(sorted({**mine, **dict(left)}.items())) if left else tuple(sorted(mine.items()))

    def of(self, title, left=()):
        """(bytes, chain of titles) from this function down; `left`: how often each head may still come."""
        counters = dict(self._left(title, left))
        if title in counters:
            if counters[title] == 0:
                return 0, ()
            counters[title] -= 1
        key = (title, tuple(sorted(counters.items())))
        if key not in self.known:
            best = (0, ())
            for target in sorted(self.program.functions[title].calls):
                if target in self.program.functions:
                    same = title in self.group and self.group.get(target) == self.group[title]
                    below = self.of(target, key[1] if same else ())
                    best = max(best, below, key=lambda entry: entry[0])
            self.known[key] = (best[0] + self.weigh(self.program.functions[title]), (title,) + best[1])
        return self.known[key]


def reachable(program, first):
    seen, queue = set(), list(first)
    while queue:
        title = queue.pop()
        if title in seen or title not in program.functions:
            continue
        seen.add(title)
        queue += program.functions[title].calls
    return seen


def check_unreached(report, program, table, seen):
    """What no chain reaches, although the linker kept it."""
    for row in table.unused:
        names = set(row.words[2:])
        titles = {t for t, f in program.functions.items()
                  if base_name(t) in names and pathlib.PurePath(f.path).match(row.words[1])}
        for name in names - {base_name(title) for title in titles - seen}:
            report.add(f"{TABLE}:{row.number}", f"{name}() is reached, or not there: take it out of the row")
        seen |= titles
    for title in sorted(set(program.functions) - seen):
        function = program.functions[title]
        # Of a library's function the optimiser may leave a copy that nobody calls; pointers to one need a row anyway.
        if function.path.startswith(OWN) or title in program.pointed_at:
            report.add(function.path, f"{base_name(title)}() is in the program and no chain from main leads to it: "
                                      f"the row of the pointer that calls it lacks it ({TABLE})")


def check_pointed_at(report, program, table):
    """What can be called by a pointer stands in a row, even when somebody calls it directly as well."""
    named = {name for row in table.calls for callee in row.callees for name in callee.split("/")}
    named |= {name for row in table.unused for name in row.words[2:]} | {ROOT_FUNCTION}
    for title in sorted(program.pointed_at):
        if base_name(title) not in named:
            report.add(program.functions[title].path, f"the address of {base_name(title)}() is taken and no row names "
                                                      f"it: the row of the pointer that calls it lacks it ({TABLE})")


def chain_text(program, chain):
    steps = [f"{base_name(title)}({program.functions[title].frame})" for title in chain]
    return " > ".join(steps)


def read_program(report, root):
    root = pathlib.Path(root)
    program = Program()
    graphs = sorted((root / GRAPHS).glob("*.ci"))
    table_text = (root / TABLE).read_text() if (root / TABLE).exists() else ""
    table = Table(report, table_text)
    if not graphs or not (root / PROGRAM).exists():
        report.add(GRAPHS, "no call graph of the link: run 'make'")
        return program, table
    for path in graphs:
        program.read(path.read_text())
    symbols = {}
    for line in gate.run(["nm", "-P", str(root / PROGRAM)]).splitlines():
        words = line.split()
        if words[1] == "U":
            report.add(PROGRAM, f"takes {words[0]} from outside: its stack is unknown")
        elif len(words) > 2 and words[1] in "tTwW":
            symbols[words[0]] = words[2]
    # The linker drops what nothing needs (--gc-sections).
    program.functions = {t: f for t, f in program.functions.items() if check_calls.name_of(t) in symbols}
    program.sites = [site for site in program.sites if site[0] in program.functions]
    join_aliases(program, symbols)
    machine = gate.run(["objdump", "-d", "--no-show-raw-insn", str(root / PROGRAM)])
    find_pointed_at(program, symbols, str(root / PROGRAM), machine)
    for function in program.functions.values():
        function.calls.update(IMPLICIT)
    if platform.machine() == "x86_64":
        add_libc(report, program, table, read_machine(machine))
    else:
        add_libc_elsewhere(program, table)
    return program, table


def check(root):
    report = gate.Report()
    program, table = read_program(report, root)
    main = next(iter(program.named(ROOT_FUNCTION)), None)
    if main is None:
        report.add(PROGRAM, "has no main")
        return report
    sources = Sources(root)
    resolve_sites(report, program, table, sources)
    check_rows(report, table, sources)
    drop_never(report, program, table)
    for title, function in sorted(program.functions.items()):
        if function.unbounded:
            report.add(function.path, f"{base_name(title)}() has a stack frame of run-time size")
    heads = bounded_heads(report, program, table, root)
    check_unreached(report, program, table, reachable(program, [main]) | program.seen_as_copy)
    check_pointed_at(report, program, table)
    whole, whole_chain = Depth(program, heads, lambda f: f.frame).of(main)
    ours, _ = Depth(program, heads, lambda f: f.frame if f.ours else 0).of(main)
    whole, ours = whole + RED_ZONE, ours + RED_ZONE
    if whole > BYTES_MAX:
        report.add("stack", f"{whole} bytes ({BYTES_MAX} at most): {chain_text(program, whole_chain)}; "
                            "keep large values in the agent struct")
    report.chain = chain_text(program, whole_chain)
    report.looked_at = (f"{whole} of {BYTES_MAX} bytes at most, {ours} by our own frames alone, "
                        f"{len(program.functions)} functions, {len(program.sites)} calls through pointers")
    return report


def main():
    """Prints the deepest chain as well."""
    seen = []

    def keep(root):
        seen.append(check(root))
        return seen[0]
    status = gate.main(keep, __doc__.splitlines()[0])
    print(getattr(seen[0], "chain", ""))
    return status


if __name__ == "__main__":
    sys.exit(main())
