# SPDX-License-Identifier: Apache-2.0
"""What Markdown pages have to hold, whoever writes them: links that lead somewhere, a length that readers accept, a
section for each alert, a test that types their commands. tools/docs/check_docs.py is the gate.
"""

import os
import pathlib
import re

ALERTS = "cfg/deploy/chart/files/alerts.yaml"
RUNBOOK = "cfg/deploy/operate.md"
# The tests that type commands of pages, and the reasons of blocks that none of them types.
TYPED, REASONS = "tests/e2e", "tests/e2e/readme_test.go"
# Words of a page, as `wc -w` counts them. A first page is read whole or not at all.
WORDS_MAX = {"README.md": 1000, "cfg/deploy/README.md": 150}

FENCE = re.compile(r"^ *(```|~~~).*?^ *\1[^\n]*$", re.M | re.S)
CODE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n *\n).)*?(?<!`)\1(?!`)", re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
HEADING = re.compile(r"^#{1,6} +(.+?) *#* *$", re.M)
# [text](target) and [text](target "title"), an image's too; [name]: target. The text may have one pair of brackets.
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]^]+\]: +(\S+)", re.M)
# A page that another file names by its path from the top, as remedies and comments do.
MENTION = re.compile(r"(?<![\w/.-])(?:boards|cfg|generated|proto|src|tests|tools|\.github)/[\w./-]+\.md\b")
COMMAND = re.compile(r"    +(kubectl|helm|make|ctr|neuron-dra-agent|skopeo) ")
ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")    # a scheme: https:, mailto:


def blanked(found):
    """Spaces of the same length and lines, so that places stay."""
    return re.sub(r"[^\n]", " ", found[0])


def prose(text):
    """The page without code and comments, in which brackets are no links."""
    for pattern in (FENCE, COMMENT, CODE):
        text = pattern.sub(blanked, text)
    return text


def anchor(heading):
    """The anchor of a heading, as GitHub makes it: the text of links and code, lower case, no punctuation."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def anchors(text):
    """All anchors of a page; of equal headings the second has -1, the third -2."""
    found, seen = set(), {}
    for heading in HEADING.findall(FENCE.sub(blanked, text)):
        name = anchor(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def links(text):
    """(line, target) of each link of a page."""
    bare = prose(text)
    for pattern in (LINK, REFERENCE):
        for found in pattern.finditer(bare):
            yield bare.count("\n", 0, found.start(1)) + 1, found[1]


def check_links(root, names, report):
    """Each relative link names a file or folder of the tree, and each anchor a heading of it. The number of links."""
    root, count = pathlib.Path(root), 0
    files = {str(name) for name in names}
    known = files | {str(parent) for name in files for parent in pathlib.PurePosixPath(name).parents}
    pages = {name: (root / name).read_text() for name in files if name.endswith(".md")}
    anchors_of = {name: anchors(text) for name, text in pages.items()}
    for name, text in sorted(pages.items()):
        for line, target in links(text):
            if ELSEWHERE.match(target):
                continue
            count += 1
            path, _, fragment = target.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if there not in known:
                report.add(f"{name}:{line}", f"the link {target} leads to no file of the tree")
            elif fragment and fragment not in anchors_of.get(there, set()):
                report.add(f"{name}:{line}", f"the link {target} leads to no heading of {there}")
    return count


def check_mentions(root, names, report):
    """Each Markdown file that a text of the tree names by its path is there."""
    files = {str(name) for name in names}
    for name in sorted(files):
        text = (pathlib.Path(root) / name).read_bytes().decode(errors="replace")
        for found in MENTION.finditer(text):
            if found[0] not in files:
                report.add(f"{name}:{text.count(chr(10), 0, found.start()) + 1}", f"there is no {found[0]}")


def check_length(root, report):
    """No page of WORDS_MAX is longer than that, or absent."""
    for name, most in WORDS_MAX.items():
        path = pathlib.Path(root) / name
        words = len(path.read_text().split()) if path.is_file() else 0
        if not 0 < words <= most:
            report.add(name, f"{words} words, {most} at most: move what is not for a first look to another page")


def check_runbook(root, report):
    """Each alert has a section of the page that its runbook_url names. The number of alerts."""
    alerts, page = pathlib.Path(root) / ALERTS, pathlib.Path(root) / RUNBOOK
    names = re.findall(r"^ *- alert: (\w+)$", alerts.read_text() if alerts.is_file() else "", re.M)
    found = anchors(page.read_text()) if page.is_file() else set()
    for name in names:
        if name.lower() not in found:
            report.add(RUNBOOK, f"the alert {name} of {ALERTS} has no section: add a heading {name} and what to do")
    if not names:
        report.add(ALERTS, "has no alert")
    return len(names)


def command_blocks(text):
    """heading line -> line of its first command, of headings with commands below them; readme_test.go reads as much."""
    found, heading, fence, language = {}, "", False, ""
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.lstrip(" ")
        if bare.startswith("```"):
            fence, language = not fence, bare[3:]
        elif (fence and language == "sh") or (not fence and COMMAND.match(line)):
            found.setdefault(heading, number)
        elif not fence and line.startswith("#"):
            heading = line
    return found


def check_commands(root, names, report):
    """A test of the cluster types the commands of each page, or REASONS says why none does. The number of blocks."""
    root, count = pathlib.Path(root), 0
    typed = "".join((root / name).read_text() for name in names if name.suffix == ".go" and str(name.parent) == TYPED)
    known = {f"{page} {heading}" for page, heading in re.findall(r'shellBlock\(t, "([^"]+)", "([^"]+)"\)', typed)}
    reasons = root / REASONS
    known |= set(re.findall(r'^\t"([^"]+)": +"', reasons.read_text() if reasons.is_file() else "", re.M))
    for name in (name for name in names if name.suffix == ".md"):
        for heading, number in command_blocks((root / name).read_text()).items():
            count += 1
            if f"{name} {heading}" not in known:
                report.add(f"{name}:{number}", f"no test of {TYPED} types these commands, and {REASONS} has no reason")
    return count
