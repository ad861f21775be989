# SPDX-License-Identifier: Apache-2.0
"""Writes what the proofs cover: build/proofs/report.txt, and the part `proofs` of `make evidence`."""

import importlib.util
import json
import pathlib
import re

import reading_functions

ROOT = reading_functions.ROOT
HEAD = ["proof", "functions", "input", "properties", "lines reached", "seconds"]
NOT_SHOWN = [
    "What a function computes is shown only where a harness states it: the proofs are of memory safety, overflow, "
    "assertions and the ranges that headers promise.",
    "Functions of tests/proofs/exceptions.toml have no proof; the file names what stands in for each.",
    "A proof holds for one call in any state that its harness allows; that every caller keeps to such states is shown "
    "by the caller's own proof or by its assertions, not by this one.",
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


def write(proofs, results):
    listed = {(name, function) for name, _, function in reading_functions.reading_functions()}
    held = [result for result in results if not result["failures"]]
    covered = {(name, function) for result in held for name in sources_of(proofs[result["name"]])
               for function in proofs[result["name"]]["functions"]}
    shown = len(listed & covered)
    reached, total = count_lines(held)
    summary = (f"{len(held)} of {len(proofs)} proofs hold; they cover {shown} of {len(listed)} functions that read "
               f"bytes of a peer or of a disk; {sum(result['properties'] for result in held)} properties; "
               f"{reached} of {total} lines of the functions that they enter are reached; "
               f"{defects_text()}")
    rows = []
    for result in sorted(results, key=lambda one: one["name"]):
        proof = proofs[result["name"]]
        one, all_ = count_lines([result])
        rows.append([result["name"], " ".join(proof["functions"]), proof["length"],
                     "FAILS" if result["failures"] else str(result["properties"]), f"{one} of {all_}",
                     str(result["seconds"])])
    known = {result["name"] for result in results}
    rows += [[name, " ".join(proof["functions"]), proof["length"], "not run in this build", "", ""]
             for name, proof in sorted(proofs.items()) if name not in known]
    evidence().write_part("proofs", "Proofs by CBMC", {"cbmc": version()}, "make proofs", summary, HEAD, rows,
                          NOT_SHOWN)
    lines = [summary, "", *("\t".join(row) for row in rows), ""]
    lines += ["Lines that no proof reaches, of functions that one enters:", *unreached(held)]
    pathlib.Path(ROOT / "build/proofs/report.txt").write_text("\n".join(lines) + "\n")
    print(summary)


def unreached(results):
    """file function: lines, of each function whose lines are not all reached."""
    return [f"{name}: {' '.join(map(str, sorted(every - reached)))}"
            for name, (reached, every) in sorted(union(results).items()) if reached and every - reached]
