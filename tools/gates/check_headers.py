#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Headers as documentation: what a caller must know stands where he looks.

Read from src/**/*.h and boards/*.h. A script can see that something is written, not whether it is true or enough:
what a comment says is for a reader to judge.

  file      a paragraph at the head: what the file is for
  function  a comment above or beside each; one that returns enum status is MUST_USE
  struct    a comment above, beside or within
  enum      the same
  macro     a comment above or beside

A comment also covers what stands directly below its declaration and belongs to the same family: reader_u8, reader_u16;
of macros, all that follow without an empty line.
"""

import pathlib
import re
import sys

import gate

FOLDERS = ("src", "boards")
HEAD_WORDS_MIN = 8
# (file, function) whose status its callers may ignore, and why.
STATUS_IGNORED = {
    ("src/host/apiserver/tls_internal.h", "tls_judge"): "always a failure of the peer",
}


class Comment:
    def __init__(self, first, last, text, beside):
        self.first, self.last, self.text, self.beside = first, last, text, beside


class Item:
    """A declaration or macro: lines, code without comments, and what is said about it."""

    def __init__(self, first, last, code):
        self.first, self.last, self.code = first, last, code
        self.above = self.within = ""

    @property
    def said(self):
        return self.above + " " + self.within


def read_comments(text):
    for match in gate.TOKEN.finditer(text):
        if match[0].startswith("/"):
            first = text.count("\n", 0, match.start()) + 1
            before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
            words = re.sub(r"\s*\n\s*\*\s?", " ", match[0].strip("/*"))
            yield Comment(first, first + match[0].count("\n"), words.strip(), before.strip() != "")


def read_items(code):
    """Items at the outermost level of a header, macros included."""
    lines = code.splitlines()
    at = 0
    while at < len(lines):
        stripped = lines[at].strip()
        first = at
        if stripped.startswith("#"):
            while lines[at].rstrip().endswith("\\"):
                at += 1
            yield Item(first + 1, at + 1, "\n".join(lines[first:at + 1]))
        elif stripped:
            depth, ended = 0, False
            while not ended:
                line = lines[at]
                depth += line.count("{") - line.count("}")
                function_end = line.rstrip() == "}" and re.search(r"\)\s*\{", "\n".join(lines[first:at + 1]))
                ended = depth == 0 and (line.rstrip().endswith(";") or bool(function_end))
                at += not ended
                if at >= len(lines):
                    return
            yield Item(first + 1, at + 1, "\n".join(lines[first:at + 1]))
        at += 1


def words_of(item):
    """Words of the name of a function or macro: h2, on, data."""
    macro = re.match(r"\s*#\s*define\s+(\w+)", item.code)
    name = None if item.code.lstrip().startswith("#") else function_name(item.code)
    return (macro[1] if macro else name or "").split("_")


def same_family(one, other):
    """Whether two names begin with the same two words, or with the only one that a short name has before its last."""
    least = min(2, len(one) - 1, len(other) - 1)
    return least > 0 and one[:least] == other[:least]


def is_macro(item):
    return re.match(r"\s*#\s*define\b", item.code) is not None


def share_comments(items):
    for before, item in zip(items, items[1:]):
        group = is_macro(item) and is_macro(before)
        if item.first == before.last + 1 and not item.above and (
                group or same_family(words_of(item), words_of(before))):
            item.above = before.said


def read_header(text):
    """(comment at the head, items with what is said about them)."""
    comments = list(read_comments(text))
    items = list(read_items(gate.code_only(text)))
    for item in items:
        item.above = " ".join(c.text for c in comments if c.last == item.first - 1 and not c.beside
                              and not c.text.startswith("---"))
        item.within = " ".join(c.text for c in comments if item.first <= c.first <= item.last)
    share_comments(items)
    head = next((c.text for c in comments if "SPDX" not in c.text), "")
    return head, items


def check_head(report, path, head):
    if len(head.split()) < HEAD_WORDS_MIN:
        report.add(f"{path}:2", "begin with a paragraph: what this file is for")


def function_name(code):
    """Name of a declared function, or None: the word before the first parenthesis that is no attribute."""
    plain = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", code)
    found = re.match(r"[^=({]*?\b(\w+)\s*\(", plain, re.S)
    return found[1] if found and not plain.lstrip().startswith(("struct {", "_Static_assert", "typedef")) else None


def check_function(report, path, name, item):
    place = f"{path}:{item.first}"
    if not item.said.strip():
        report.add(place, f"{name}() has no comment")
    result = item.code.split(name)[0]
    if "enum status" in result and "*" not in result and "MUST_USE" not in item.code and (
            (str(path), name) not in STATUS_IGNORED):
        report.add(place, f"{name}() can fail: declare it MUST_USE")


def check_type(report, path, item):
    found = re.match(r"\s*(?:static\s+)?(?:const\s+)?(?:typedef\s+)?(struct|enum|union)\s*(\w*)", item.code)
    if not item.said.strip():
        report.add(f"{path}:{item.first}", f"{found[1]} {found[2]} has no comment")


def is_guard(path, code):
    name = re.sub(r"\W", "_", path.name.upper())
    return re.search(rf"define\s+\w*{name}\b", code) is not None


def check_item(report, path, item):
    place = f"{path}:{item.first}"
    if item.code.lstrip().startswith("#"):
        macro = re.match(r"\s*#\s*define\s+(\w+)", item.code)
        if not macro or macro[1] == "X" or is_guard(path, item.code):
            return 0
        if not item.said.strip():
            report.add(place, f"{macro[1]} has no comment")
        return 1
    if re.match(r"\s*(struct|enum|union)\s+\w+\s*;", item.code):
        return 0
    if re.match(r"\s*(typedef\s+)?(struct|enum|union)\s*\w*\s*\{", item.code):
        check_type(report, path, item)
        return 1
    name = function_name(item.code)
    if name and name != "_Static_assert":
        check_function(report, path, name, item)
        return 1
    if item.code.lstrip().startswith("extern") and not item.said.strip():
        report.add(place, "a declaration without a comment")
    return 0


def check(root):
    report = gate.Report()
    headers = [path for path in gate.own_c_files(root, FOLDERS) if path.suffix == ".h"]
    count = 0
    for path in headers:
        text = (pathlib.Path(root) / path).read_text()
        head, items = read_header(text)
        check_head(report, path, head)
        count += sum(check_item(report, path, item) for item in items)
    if not headers:
        report.add("src", "no headers: the check is looking in the wrong place")
    report.looked_at = f"{count} declarations in {len(headers)} headers"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
