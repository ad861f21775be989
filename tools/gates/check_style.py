#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes and shapes of hand-written C: lines, files, functions, nesting, parameters, complexity, goto, forms."""

import pathlib
import re
import sys

import gate

LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 900
FUNCTION_LINES_MAX = 60
COMPLEXITY_MAX = 10
NESTING_MAX = 4
PARAMETERS_MAX = 5
# (file, function) whose parameters a library prescribes, and which type of it does.
PRESCRIBED = {
    ("src/host/apiserver/tls_verify.c", "mbedtls_x509_crt_verify_restartable"): "mbedTLS, which calls it",
    ("tests/sim/host/apiserver.c", "choose_protocol"): "OpenSSL's SSL_CTX_alpn_select_cb_func",
    ("tests/bench/wire/speed.c", "on_data"): "nghttp2's nghttp2_on_data_chunk_recv_callback",
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
    lines = text.count("\n")
    if lines > FILE_LINES_MAX:
        report.add(f"{path}:{FILE_LINES_MAX}", f"{lines} lines: cut it where a subject ends ({FILE_LINES_MAX} at most)")


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
    """One definition as ctags sees it."""

    def __init__(self, tag):
        fields = tag.rstrip("\n").split("\t")
        self.name, self.path = fields[0], fields[1]
        extra = dict(field.split(":", 1) for field in fields[3:] if ":" in field)
        self.first = int(extra["line"])
        self.last = int(extra.get("end", self.first))
        self.parameters = count_parameters(extra.get("signature", "()"))


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


def list_functions(root, paths):
    tags = gate.run(["ctags", "-f", "-", "--sort=no", "--fields=+neS", "--excmd=number",
                     "--language-force=C", "--kinds-C=f", *map(str, paths)], cwd=root)
    return [Function(line) for line in tags.splitlines() if not line.startswith("!")]


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


def complexities(root, paths):
    """(path, line, name, modified McCabe number) of each function, by pmccabe."""
    output = gate.run(["pmccabe", *map(str, paths)], cwd=root)
    for line in output.splitlines():
        found = re.match(r"(\d+)\t(?:\d+\t){4}(.+)\((\d+)\): (\S+)", line)
        if found:
            yield found[2], int(found[3]), found[4], int(found[1])


def check_complexity(report, root, sources, functions):
    counted = {path: 0 for path in map(str, sources)}
    for path, line, name, number in complexities(root, sources):
        counted[path] += 1
        if number > COMPLEXITY_MAX:
            report.add(f"{path}:{line}", f"{name}() has complexity {number}: split it, or use a table "
                                         f"({COMPLEXITY_MAX} at most)")
    # Two tools that disagree about what a function is have both overlooked something.
    for path in counted:
        tagged = sum(1 for f in functions if f.path == path)
        if tagged != counted[path]:
            report.add(path, f"ctags sees {tagged} functions, pmccabe {counted[path]}: one of them "
                             "cannot read this file; write the definition in the plain form")


def check(root):
    report = gate.Report()
    paths = gate.own_c_files(root)
    sources = [path for path in paths if path.suffix == ".c"]
    if not sources:
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
    check_complexity(report, root, sources, functions)
    report.looked_at = f"{len(paths)} files, {len(functions)} functions"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
