# SPDX-License-Identifier: Apache-2.0
"""Writes what the proofs cover: build/proofs/report.txt, and the part `proofs` of `make evidence`."""

import importlib.util
import json
import pathlib
import re

import reading_functions

ROOT = reading_functions.ROOT
HEAD = ["proof", "functions", "input", "properties", "lines reached", "seconds"]
EXCEPTIONS = "tests/proofs/exceptions.toml"
LIMITS = ("cfg/limits.h", "cfg/limits_wire.h")
LISTED = (*reading_functions.FOLDERS, *reading_functions.FILES)
INCLUDED = re.compile(r'^#include "(\w+\.h)"', re.M)
STREAMS = re.compile(r"^#define (?:TABLE|STREAMS) (\d+)u$", re.M)  # of a harness: entries of its table of streams
NOT_SHOWN = [
    "What a function computes is shown only where a harness states it: the proofs are of memory safety, overflow, "
    "assertions and the ranges that headers promise.",
    "A proof holds for one call in any state that its harness allows. That a caller keeps to such states is shown by "
    "the caller's own proof or by its assertions; where a caller has neither, nothing shows it.",
    "Loops with a contract are cut at their head: the contract is checked by CBMC, but blocks after them are entered "
    "in more states than the program has.",
    "The proofs are of the sources as goto-cc reads them, for 64 bits, and not of the machine code of the compiler.",
    "memcmp and memchr are models that check what is read and return any result that the C standard allows.",
]


def evidence():
    """The module tools/evidence/part.py."""
    spec = importlib.util.spec_from_file_location("part", ROOT / "tools/evidence/part.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def union(results):
    """"file function" -> (lines that some proof reaches, lines in blocks of some proof)."""
    found = {}
    for result in results:
        for name, (reached, every) in (result["lines"] or {}).items():
            before = found.get(name, (set(), set()))
            found[name] = (before[0] | set(reached), before[1] | set(every))
    return found


def count_lines(results):
    """(reached, all): a line counts once, whichever proof reaches it."""
    lines = union(results).values()
    return sum(len(reached) for reached, _ in lines), sum(len(every) for _, every in lines)


def defects_text():
    path = ROOT / "build/proofs/defects.json"
    if not path.exists():
        return "seeded defects were not run in this build (make proofs-defects)"
    counts = json.loads(path.read_text())
    return f"{counts['found']} of {counts['seeded']} seeded defects found"


def version():
    text = (ROOT / "tools/proofs/install.sh").read_text()
    return re.search(r"^version=([\d.]+)", text, re.M)[1]


def sources_of(proof):
    """Sources whose functions a proof may name."""
    return [proof["source"], *proof.get("sources", [])]


def number_of(text):
    """A limit as C writes it, without the suffix of its type and the comment behind it."""
    return re.sub(r"(?<=\d)u\b", "", str(text).split("/*", maxsplit=1)[0].strip())


def product_limits():
    """name -> the number that the product has."""
    text = "".join((ROOT / name).read_text() for name in LIMITS)
    return {name: number_of(value) for name, value in re.findall(r"^#define (\w+) +(\S.*)$", text, re.M)}


def harness_text(path):
    """A harness with the headers of its folder that it includes."""
    texts, open_names = {}, [path.name]
    while open_names:
        name = open_names.pop()
        file = path.parent / name
        if name not in texts and file.is_file():
            texts[name] = file.read_text()
            open_names += INCLUDED.findall(texts[name])
    return "".join(texts.values())


def streams_of(proof):
    """How many streams the table of the harness has; None: the proof has no such table."""
    own = re.search(r"-D(?:TABLE|STREAMS)=(\d+)", " ".join(proof.get("defines", [])))
    found = own or STREAMS.search(harness_text(proof["harness"]))
    return found[1] if found else None


def input_of(proof, product):
    """What a proof says of its input, and the limits that are smaller than the product's."""
    smaller = [f"{name} {number_of(value)} (product: {product[name]})"
               for name, value in proof.get("limits", {}).items()]
    streams = streams_of(proof)
    if streams:
        smaller.append(f"a table of {streams} streams (product: {product['H2_SERVER_STREAMS']} as a server, "
                       f"{product['H2_CLIENT_STREAMS']} as a client)")
    return proof["length"] + (f"\nwith {', '.join(smaller)}" if smaller else "")


def folders_outside():
    """Folders of src whose functions are not on the list; what is listed below one is named behind it."""
    names = [f"src/{path.name}" for path in sorted((ROOT / "src").iterdir())
             if path.is_dir() and f"src/{path.name}" not in reading_functions.FOLDERS and any(path.rglob("*.c"))]
    inner = {name: [one for one in LISTED if one.startswith(name + "/")] for name in names}
    return [name + (f" (except {', '.join(inner[name])})" if inner[name] else "") for name in names]


def own_not_shown(proofs, listed, shown):
    """Sentences with figures, before those that always hold."""
    limits = sum(bool(proof.get("limits")) for proof in proofs.values())
    tables = sum(streams_of(proof) is not None for proof in proofs.values())
    return [
        f"The limits of the product: {limits} of {len(proofs)} proofs shrink a limit of {' or '.join(LIMITS)}, and "
        f"{tables} have a harness with a small table of streams. The column `input` names each of these numbers.",
        f"{len(listed) - shown} of the {len(listed)} functions have no proof: {EXCEPTIONS} gives the reason for each, "
        "and names the fuzz target or unit test that stands in.",
        "The list of functions that read bytes of a peer or of a disk is made of "
        f"{', '.join(LISTED)} alone. Functions of {', '.join(folders_outside())} that read "
        "such bytes are not on it.",
    ]


def summary_of(proofs, held, listed, shown, kept):
    reached, total = count_lines(held)
    return (f"{len(held)} of {len(proofs)} proofs hold; they cover {shown} of {len(listed)} functions of "
            f"{', '.join(LISTED)} that read bytes of a peer or of a disk; "
            f"{sum(result['properties'] for result in held)} properties; "
            f"{reached} of {total} lines of the functions that they enter are reached; {defects_text()}; "
            f"{len(held) - kept} proofs ran for this page, and {kept} results are kept from an earlier run "
            "of the same sources, harness and settings (`tools/proofs/prove.py --all` runs every proof again)")


def write(proofs, results, kept):
    """`kept`: how many of the results are of an earlier run."""
    listed = {(name, function) for name, _, function in reading_functions.reading_functions()}
    held = [result for result in results if not result["failures"]]
    covered = {(name, function) for result in held for name in sources_of(proofs[result["name"]])
               for function in proofs[result["name"]]["functions"]}
    shown = len(listed & covered)
    summary, product = summary_of(proofs, held, listed, shown, kept), product_limits()
    rows = []
    for result in sorted(results, key=lambda one: one["name"]):
        proof = proofs[result["name"]]
        one, all_ = count_lines([result])
        rows.append([result["name"], " ".join(proof["functions"]), input_of(proof, product),
                     "FAILS" if result["failures"] else str(result["properties"]), f"{one} of {all_}",
                     str(result["seconds"])])
    known = {result["name"] for result in results}
    rows += [[name, " ".join(proof["functions"]), input_of(proof, product), "not run in this build", "", ""]
             for name, proof in sorted(proofs.items()) if name not in known]
    part = evidence()
    failures = [name for name in sorted(known) if name not in {result["name"] for result in held}]
    files = [part.keep("proof-exceptions.toml", (ROOT / EXCEPTIONS).read_text())]
    part.write_part("proofs", "Proofs by CBMC", {"cbmc": version()}, "make proofs", summary, HEAD, rows,
                    [*own_not_shown(proofs, listed, shown), *NOT_SHOWN], files,
                    failed=f"these proofs fail: {' '.join(failures)}" if failures else "")
    lines = [summary, "", *("\t".join(row).replace("\n", "; ") for row in rows), ""]
    lines += ["Lines that no proof reaches, of functions that one enters:", *unreached(held)]
    pathlib.Path(ROOT / "build/proofs/report.txt").write_text("\n".join(lines) + "\n")
    print(summary)


def unreached(results):
    """file function: lines, of each function whose lines are not all reached."""
    return [f"{name}: {' '.join(map(str, sorted(every - reached)))}"
            for name, (reached, every) in sorted(union(results).items()) if reached and every - reached]
