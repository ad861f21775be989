#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Headers as documentation: what a caller must know stands where he looks, and doxygen makes a page of it.

Read from src/**/*.h and boards/*.h. A script can see that something is written, not whether it is true or enough:
what a comment says is for a reader to judge.

  file      a paragraph at the head: what the file is for
  function  a comment above or beside each; one that returns enum status is MUST_USE
  struct    a comment above, or beside its brace; its members need none
  enum      the same
  macro     a comment above or beside

A comment also covers what stands directly below its declaration and belongs to the same family: reader_u8, reader_u16;
of macros, all that follow without an empty line. doxygen reads copies whose comments have its form, line by line.

  tools/docs/check_headers.py --page     `make doc-headers`: writes build/doc/html/index.html too
"""

import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import gate  # noqa: E402

FOLDERS = ("src", "boards")
CONFIGURATION = gate.ROOT / "cfg/lint/doxygen"
HEAD_WORDS_MIN = 8
# (file, function) whose status its callers may ignore, and why.
STATUS_IGNORED = {
    ("src/host/apiserver/tls_internal.h", "tls_judge"): "always a failure of the peer",
}
NAME = re.compile(r"#\s*define\s+(?P<macro>\w+)|(?!(?:struct|enum|union)\s+\w+\s*[{;])[^=({]*?\b(?P<function>\w+)\(")
WARNING = re.compile(r"(\S+:\d+): (?:warning|error): (.*)")
MEMBER = re.compile(r"\(variable\) of (?:class|struct|union) |\(enumvalue\) ")


def marked(path, text):
    """(text whose comments have doxygen's form, words of the paragraph at its head)."""
    guard = text.find("#ifndef")
    head = []

    def mark(match):
        comment = match[0]
        if not comment.startswith("/*") or "SPDX" in comment or comment.startswith("/* ---"):
            return comment
        body = re.sub(r"([\\@<%])", r"\\\1", comment[2:])
        if match.start() < guard and not head:
            head.extend(re.findall(r"\w+", comment))
            return f"/** @file {path} {body.lstrip(' ')}"
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        return ("/**<" if before.strip() else "/**") + body
    text = gate.TOKEN.sub(mark, text)
    # A comment beside the brace of a struct is that of the struct.
    return re.sub(r"^(\s*(?:struct|enum|union)\b[^;\n]*\{)\s*/\*\*<(.*?)\*/$", r"/**\2*/ \1", text, flags=re.M), head


def same_family(one, other):
    """Whether two names share their first two words, or the first one where a name has only two words."""
    least = min(2, len(one) - 1, len(other) - 1)
    return least > 0 and one[:least] == other[:least]


class Family:
    """Repeats a comment for the members of its family below it, on their own lines."""

    def __init__(self):
        self.said, self.words, self.macro = "", [], False

    def take(self, found, above, beside):
        """The comment that this item lacks, or empty."""
        words, macro = (found["macro"] or found["function"]).split("_"), bool(found["macro"])
        own = above or beside
        related = macro and self.macro or same_family(words, self.words)
        lacking = self.said if related and not own else ""
        self.said, self.words, self.macro = own or lacking, words, macro
        return lacking


def item_ends(lines, at):
    """Index of the last line of the item that begins at a line."""
    depth = 0
    for end in range(at, len(lines)):
        code = gate.code_only(lines[end]).rstrip()
        depth += code.count("{") - code.count("}")
        if lines[at].startswith("#"):
            ended = not code.endswith("\\")
        else:
            ended = depth == 0 and code.endswith((";", "}"))
        if ended:
            return end
    return len(lines) - 1


def shared(text):
    """Text in which each member of a family has the comment."""
    lines, at, above, family = text.split("\n"), 0, "", Family()
    while at < len(lines):
        line, end = lines[at], at
        if line.startswith("/**") and "*/ " not in line:
            while "*/" not in lines[end]:
                end += 1
            above = " ".join(re.sub(r"^/\*\*|\*/$|^ \*", "", part).strip() for part in lines[at:end + 1])
        elif not line.strip() or line.startswith(("/*", " ")):
            above, family = "", Family()
        else:
            end, found = item_ends(lines, at), NAME.match(line)
            if found:
                beside = re.findall(r"/\*\*<(.*?)\*/", "\n".join(lines[at:end + 1]), re.S)
                lacking = family.take(found, above, " ".join(beside))
                if lacking and found["macro"]:
                    lines[end] += f" /**< {lacking} */"
                elif lacking:
                    lines[at] = f"/** {lacking} */ {line}"
            above = ""
        at = end + 1
    return "\n".join(lines)


def check_status(report, path, code):
    for found in re.finditer(r"^(?:static inline )?enum status (\w+)\(", code, re.M):
        if (str(path), found[1]) not in STATUS_IGNORED:
            line = code.count("\n", 0, found.start()) + 1
            report.add(f"{path}:{line}", f"{found[1]}() can fail: declare it MUST_USE")


def run_doxygen(report, copies, out):
    page = f"OUTPUT_DIRECTORY = {out}\nGENERATE_HTML = YES\n" if out else "GENERATE_HTML = NO\nGENERATE_XML = YES\n" \
        f"OUTPUT_DIRECTORY = {copies}/out\n"
    text = CONFIGURATION.read_text() + f"INPUT = {copies}/in\nSTRIP_FROM_PATH = {copies}/in\n{page}"
    done = subprocess.run(["doxygen", "-"], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    for line in sorted(set(done.stderr.replace(f"{copies}/in/", "").splitlines())):
        found = WARNING.match(line)
        if found and not MEMBER.search(found[2]):
            report.add(found[1], found[2])
    if done.returncode:
        report.add("cfg/lint/doxygen", f"doxygen failed: {done.stderr.strip()[-200:]}")


def check(root, out=None):
    report = gate.Report()
    headers = [path for path in gate.own_c_files(root, FOLDERS) if path.suffix == ".h"]
    if not headers:
        report.add("src", "no headers: the check is looking in the wrong place")
        return report
    with tempfile.TemporaryDirectory() as folder:
        for path in headers:
            text = (pathlib.Path(root) / path).read_text()
            copy = pathlib.Path(folder) / "in" / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            new, head = marked(path, text)
            copy.write_text(shared(new))
            if len(head) < HEAD_WORDS_MIN:
                report.add(f"{path}:2", "no paragraph that says what this file is for: add it at the top")
            check_status(report, path, gate.code_only(text))
        run_doxygen(report, folder, out)
    report.looked_at = f"{len(headers)} headers"
    return report


def main():
    if sys.argv[1:] != ["--page"]:
        return gate.main(check, __doc__.splitlines()[0])
    page = gate.ROOT / "build/doc"
    page.mkdir(parents=True, exist_ok=True)
    report = check(gate.ROOT, page)
    report.show()
    print(f"{page.relative_to(gate.ROOT)}/html/index.html")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
