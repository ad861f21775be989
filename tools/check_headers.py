#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Headers as documentation: what a caller must know stands where he looks.

Read from src/**/*.h and boards/*.h. A script can see that something is said, not that it is true:

  file      what it owns, what it never does, and in src/wire and src/dra the source of its format
  function  a comment above or beside each; the verdicts of one that returns enum status, which must be MUST_USE;
            what a bool says ("whether", "true", "false"); whether a pointer can be NULL; the unit of a length or time
  struct    a comment above, beside or within; whose memory a pointer member is (or that it is a function)
  enum      a comment above or within
  macro     a comment above or beside

A comment also covers what stands directly below its declaration and belongs to the same family: reader_u8, reader_u16;
of macros, all that follow without an empty line.
Everywhere a pointer parameter is borrowed for the call and not NULL: a comment only says where it is otherwise.
"""

import pathlib
import re
import sys

import gate

FOLDERS = ("src", "boards")
NEGATION = re.compile(r"\b(never|no|not|none|nothing|nobody|neither|only|internal)\b", re.I)
SOURCE = {
    "src/wire": (r"RFC \d+|gRPC|Kubernetes|YAML", "RFC, gRPC or Kubernetes document"),
    "src/dra": (r"Kubernetes|KEP|CDI|resource\.k8s\.io|kernel|Neuron|proto/", "Kubernetes, CDI or Neuron document"),
}
VERDICT = re.compile(r"\b((PEER|FULL|HOST)_[A-Z*]+|STATUS_(MORE|OK)|same (verdicts|as)|verdicts? (of|as))", re.I)
# What only passes a verdict on need not be looked at.
ALWAYS = re.compile(r"\b(always (PEER|FULL|HOST)_|may be ignored)")
LENGTH = re.compile(r"\b(?:size_t|u?int(?:16|32|64)_t|unsigned|int)\s+(len|length|cap|size|n|bytes|"
                    r"timeout|delay|wait|pause|interval|period|deadline|now|after|age|rate)\b")
UNIT = re.compile(r"\b(bytes?|octets?|digits|entries|(milli|nano)?seconds|ms|characters)\b", re.I)
POINTER_MEMBER = re.compile(r"^[^()]*\*\s*(?:const\s+)?\w+(?:\[\w*\])*\s*;|^[^()]*\*\s*(?:const\s+)?\w+\[[^]]*\]\s*;")
OWNERSHIP = re.compile(r"\b(borrow(s|ed)|static|own(s|ed|er)?|caller'?s?|NULL|input|const rows?|literals?|handed|"
                       r"argument|opaque)\b", re.I)


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
    if not head or len(head.split()) < 8:
        report.add(f"{path}:2", "begin with a paragraph: what this file owns, and what it never does")
        return
    if not re.search(r"\bown(s|er|ed)?\b", head, re.I) or not NEGATION.search(head):
        report.add(f"{path}:2", "the first paragraph says what the file owns, and what it never does")
    for folder, (pattern, words) in SOURCE.items():
        if str(path).startswith(folder) and not re.search(pattern, head):
            report.add(f"{path}:2", f"the first paragraph names its source ({words})")


def function_name(code):
    """Name of a declared function, or None: the word before the first parenthesis that is no attribute."""
    plain = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", code)
    found = re.match(r"[^=({]*?\b(\w+)\s*\(", plain, re.S)
    return found[1] if found and not plain.lstrip().startswith(("struct {", "_Static_assert", "typedef")) else None


def check_function(report, place, name, item):
    if not item.said.strip():
        report.add(place, f"{name}() has no comment: its job, units, ownership, errors")
        return
    result = item.code.split(name)[0]
    if "enum status" in result and "*" not in result:
        if "MUST_USE" not in item.code and not ALWAYS.search(item.said):
            report.add(place, f"{name}() can fail: declare it MUST_USE, or say that it 'may be ignored'")
        if not VERDICT.search(item.said):
            report.add(place, f"{name}(): the comment names no verdict: which, and when")
    elif re.search(r"\bbool\b", result) and not re.search(r"\b(whether|true|false|valid)\b", item.said, re.I):
        report.add(place, f"{name}(): the comment does not say what true means ('Whether …')")
    elif "*" in result and not re.search(r"\bNULL\b", item.said):
        report.add(place, f"{name}(): the comment does not say whether the result can be NULL")
    length = LENGTH.search(item.code.split(name, 1)[1])
    if length and not UNIT.search(item.said):
        report.add(place, f"{name}(): in which unit is '{length[1]}'?")


def members(item, comments_of_line):
    """(line number, code of a member, what is said beside it or above it)."""
    for number, line in enumerate(item.code.splitlines(), item.first):
        if number > item.first and line.strip() and "}" not in line:
            yield number, line.strip(), comments_of_line.get(number, "") + comments_of_line.get(number - 1, "")


def check_struct(report, path, item, comments_of_line):
    found = re.match(r"\s*(?:static\s+)?(?:const\s+)?(struct|enum|union)\s*(\w*)", item.code)
    place = f"{path}:{item.first}"
    if not item.said.strip():
        report.add(place, f"{found[1]} {found[2]} has no comment: what it is, units, ownership")
        return
    if found[1] != "struct":
        return
    for number, code, said in members(item, comments_of_line):
        if POINTER_MEMBER.match(code) and not OWNERSHIP.search(said + " " + item.above):
            report.add(f"{path}:{number}", f"'{code}': whose memory is it? (borrowed, static, owned, NULL when)")


def is_guard(path, code):
    name = re.sub(r"\W", "_", path.name.upper())
    return re.search(rf"define\s+\w*{name}\b", code) is not None


def check_item(report, path, item, comments_of_line):
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
        check_struct(report, path, item, comments_of_line)
        return 1
    name = function_name(item.code)
    if name and name != "_Static_assert":
        check_function(report, place, name, item)
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
        comments_of_line = {}
        for comment in read_comments(text):
            for number in range(comment.first, comment.last + 1):
                comments_of_line[number] = comments_of_line.get(number, "") + " " + comment.text
        count += sum(check_item(report, path, item, comments_of_line) for item in items)
    if not headers:
        report.add("src", "no headers: the check is looking in the wrong place")
    report.looked_at = f"{count} declarations in {len(headers)} headers"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
