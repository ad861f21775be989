#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes and shapes of hand-written C: lines, files, functions, nesting, parameters, complexity, goto, forms."""

import csv
import hashlib
import io
import json
import os
import pathlib
import re
import sys

import gate

LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 820  # without comments and blank lines, so that no comment is shortened for it
FUNCTION_LINES_MAX = 60
COMPLEXITY_MAX = 10
NESTING_MAX = 4
PARAMETERS_MAX = 5
KEPT = "build/lint/functions"
# (file, function) whose parameters a library prescribes, and which type of it does.
PRESCRIBED = {
    ("src/host/apiserver/tls_verify.c", "mbedtls_x509_crt_verify_restartable"): "mbedTLS, which calls it",
    ("tests/sim/host/apiserver.c", "choose_protocol"): "OpenSSL's SSL_CTX_alpn_select_cb_func",
    ("tests/bench/wire/speed.c", "on_data"): "nghttp2's nghttp2_on_data_chunk_recv_callback",
    ("tests/fuzz/fuzz_frames.c", "on_header"): "nghttp2's nghttp2_on_header_callback",
    ("tests/fuzz/fuzz_frames.c", "on_invalid_header"): "nghttp2's nghttp2_on_invalid_header_callback",
    ("tests/fuzz/fuzz_frames.c", "on_data"): "nghttp2's nghttp2_on_data_chunk_recv_callback",
    ("tests/fuzz/fuzz_frames.c", "no_data"): "nghttp2's nghttp2_data_source_read_callback",
    ("tests/interop/terminator.c", "choose_h2"): "OpenSSL's SSL_CTX_alpn_select_cb_func",
    ("tests/interop/terminator.c", "see_hello"): "OpenSSL's SSL_CTX_set_msg_callback",
}


def check_lines(report, path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LINE_COLUMNS_MAX:
            report.add(f"{path}:{number}", f"{len(line)} columns: break the line at {LINE_COLUMNS_MAX}")
        if line != line.rstrip():
            report.add(f"{path}:{number}", "white space at the end of the line: remove it")
        if "\t" in line:
            report.add(f"{path}:{number}", "tab: indent with four spaces")
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    lines = sum(1 for line in code.splitlines() if line.strip())
    if lines > FILE_LINES_MAX:
        report.add(f"{path}:{FILE_LINES_MAX}",
                   f"{lines} lines of code: cut it where a subject ends ({FILE_LINES_MAX} at most)")


def arguments(text, begin):
    """Arguments of the call whose text begins behind its parenthesis; strings stay whole."""
    depth, found = 0, [""]
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[^"\']', text[begin:]):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token, 0)
        if depth < 0:
            break
        if token == "," and depth == 0:
            found.append("")
        else:
            found[-1] += token
    return found


def check_forms(report, path, text):
    """WRITE and WRITE_TEXT: the form is literals, with one hole for each fill."""
    for call in re.finditer(r"^(?!#).*?\bWRITE(_TEXT)?\(", text, re.MULTILINE):
        given = arguments(text, call.end())
        form, *fills = given[2 if call[1] else 1:]
        place = f"{path}:{text.count(chr(10), 0, call.end()) + 1}"
        strings = "".join(re.findall(r'"(?:[^"\\]|\\.)*"', form))
        if re.search(r"[^A-Z0-9_()\s]", re.sub(r'"(?:[^"\\]|\\.)*"', "", form)):
            report.add(place, "the form of WRITE is not a literal: hand a variable in as TEXT")
        elif strings.count("%") != len(fills):
            report.add(place, f"{strings.count('%')} holes, {len(fills)} fills: WRITE asserts that they are as many")


def check_words(report, path, code):
    for number, line in enumerate(code.splitlines(), 1):
        if re.search(r"\bgoto\b", line):
            report.add(f"{path}:{number}", "goto: use a function with early returns")


class Function:
    """One definition as lizard sees it; its complexity is McCabe's, with one for a whole switch."""

    def __init__(self, path, row):
        self.path, self.name = path, row["function"]
        self.first, self.last = int(row["start"]), int(row["end"])
        self.complexity = int(row["CCN"])
        # lizard counts no parameter behind the brackets of an array.
        self.parameters = count_parameters(row["long_name"].removeprefix(self.name))


def count_parameters(signature):
    """Commas at the top level of "(int a, void (*f)(int, int))"."""
    inner = signature.strip()[1:-1].strip()
    if inner in ("", "void"):
        return 0
    depth, count = 0, 1
    for char in inner:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(char, 0)
        if char == "," and depth == 0:
            count += 1
    return count


def deepest(code_lines):
    """Blocks open inside a function's own block."""
    depth = most = 0
    for char in "".join(code_lines):
        depth += {"{": 1, "}": -1}.get(char, 0)
        most = max(most, depth)
    return most - 1


def rows_of(root, paths):
    """path -> what lizard says of its functions."""
    text = gate.run([gate.python_tool("lizard"), "--csv", "--verbose", "--modified", "--languages=cpp", *paths],
                    cwd=root)
    rows = {path: [] for path in paths}
    for row in csv.DictReader(io.StringIO(text)):
        rows[row["file"]].append(row)
    return rows


def list_functions(root, paths):
    """What lizard says of a file is kept with the sum of that file."""
    root, found, fresh = pathlib.Path(root), {}, {}
    about = gate.python_tool("lizard").encode()
    for path in map(str, paths):
        key = hashlib.sha256(about + (root / path).read_bytes()).hexdigest()
        kept = root / KEPT / (path.replace("/", "_") + ".json")
        old = json.loads(kept.read_text()) if kept.exists() else {}
        found[path] = old.get("rows")
        if old.get("key") != key:
            fresh[path] = (kept, key)
    for path, rows in (rows_of(root, list(fresh)) if fresh else {}).items():
        kept, key = fresh[path]
        found[path] = rows
        kept.parent.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps({"key": key, "rows": rows}))
        new.replace(kept)
    return [Function(path, row) for path, rows in found.items() for row in rows]


def check_function(report, function, code_lines):
    place = f"{function.path}:{function.first}"
    lines = function.last - function.first + 1
    if lines > FUNCTION_LINES_MAX:
        report.add(place, f"{function.name}() has {lines} lines: split it at {FUNCTION_LINES_MAX}")
    if function.parameters > PARAMETERS_MAX and (function.path, function.name) not in PRESCRIBED:
        report.add(place, f"{function.name}() takes {function.parameters} parameters: "
                          f"hand in a struct from {PARAMETERS_MAX} on")
    nesting = deepest(code_lines[function.first - 1:function.last])
    if nesting > NESTING_MAX:
        report.add(place, f"{function.name}() nests {nesting} deep: move the inner part out "
                          f"({NESTING_MAX} at most)")


def check_complexity(report, function):
    if function.complexity > COMPLEXITY_MAX and function.path.endswith(".c"):
        report.add(f"{function.path}:{function.first}",
                   f"{function.name}() has complexity {function.complexity}: split it, or use a table "
                   f"({COMPLEXITY_MAX} at most)")


def check_seen(report, path, code, functions):
    """A function that lizard overlooks would be held to nothing. By .clang-format, its brace stands at the margin."""
    begun = len(re.findall(r"^\{", code, re.M))
    seen = sum(1 for function in functions if function.path == path)
    if begun != seen:
        report.add(path, f"lizard sees {seen} of {begun} functions: it cannot read this file; write definitions in "
                         "the plain form, and shifts outside of functions as a macro")


def check(root):
    report = gate.Report()
    paths = gate.own_c_files(root)
    if not any(path.suffix == ".c" for path in paths):
        report.add("src", "no C sources found: the check is looking in the wrong place")
        return report
    code = {}
    for path in paths:
        text = (pathlib.Path(root) / path).read_text()
        code[str(path)] = gate.code_only(text)
        check_lines(report, path, text)
        check_words(report, path, code[str(path)])
        check_forms(report, path, text)
    functions = list_functions(root, paths)
    for function in functions:
        check_function(report, function, code[function.path].splitlines())
        check_complexity(report, function)
    for path, text in code.items():
        check_seen(report, path, text, functions)
    report.looked_at = f"{len(paths)} files, {len(functions)} functions"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
