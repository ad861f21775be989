# SPDX-License-Identifier: Apache-2.0
"""The page of the evidence: HTML and CSS in one file, without script and network.

Owns how the parts look. It judges nothing: a part's state is decided by evidence.py.
"""
import datetime
import hashlib
import html
import pathlib
import platform
import re
import subprocess

import part

STYLE = pathlib.Path(__file__).with_name("page.css")
OPEN_ROWS = 40  # longer tables are folded
BADGE = {"current": "up to date", "outdated": "outdated", "missing": "missing", "failed": "failed"}
ALWAYS_NOT_SHOWN = (
    "Behaviour on Neuron hardware: the agent was never run on any. Nodes, devices and kernel modules are simulated.",
    "Conformance with MISRA, or any certification. The page shows what each tool looked at and found.",
    "That the tools are right. Seeded defects and the tests in tests/gates show that each tool that judges can fail; "
    "the list of what the sandbox permits judges nothing.",
    "Whether the tests that the tables name pass. The page only names them: `make test` runs them and keeps its logs "
    "in build/test; a few goals that are named, such as `make faults`, run at night alone.",
    "An independent review. All of this is made by the project itself; the commands let others repeat it.",
)


class Section:
    """A part with its state; `content` is None where there is none."""

    def __init__(self, name, title, goal, state, content, words):
        self.name, self.goal, self.state, self.content, self.words = name, goal, state, content, words
        self.title = content["title"] if content else title


def esc(text):
    return html.escape(str(text), quote=True)


def cell(text):
    """Text with its lines, with `code` as Markdown writes it, and with places where paths and checksums may break."""
    text = re.sub(r"(?<=[\w.])([/_])(?=\w)", r"\1<wbr>", esc(text))
    text = re.sub(r"\b[0-9a-f]{40,}\b", lambda found: "<wbr>".join(re.findall(".{1,16}", found[0])), text)
    lines = re.sub(r"`([^`\n]+)`", r"<code>\1</code>", text).split("\n")
    return lines[0] if len(lines) == 1 else "".join(f'<span class="line">{line}</span>' for line in lines)


def badge(state):
    return f'<span class="badge {state}">{BADGE[state]}</span>'


def table_of(head, rows):
    head = list(head)
    names = "".join(f"<th scope=\"col\">{cell(name)}</th>" for name in head)
    lines = []
    for row in rows:
        cells = "".join(f'<td data-label="{esc(name)}">{cell(text)}</td>' for name, text in zip(head, row))
        lines.append(f"<tr>{cells}</tr>")
    body = "\n".join(lines)
    return f'<div class="scroll"><table><thead><tr>{names}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def folded(head, rows):
    if not rows:
        return ""
    if len(rows) <= OPEN_ROWS:
        return table_of(head, rows)
    return f"<details><summary>{len(rows)} rows</summary>{table_of(head, rows)}</details>"


def tools_of(content):
    return ", ".join(f"{tool['name']} {tool['version']}" for tool in content["tools"])


def meta(pairs):
    return "<dl>" + "".join(f"<div><dt>{esc(name)}</dt><dd>{value}</dd></div>" for name, value in pairs) + "</dl>"


def file_link(folder, path):
    """A link with the checksum of the file; a file that is gone is named as such."""
    found = folder / path
    if not found.is_file():
        return f"<li>{esc(path)}: not there</li>"
    digest = hashlib.sha256(found.read_bytes()).hexdigest()
    return f'<li><a href="{esc(path)}">{esc(path)}</a> <code>sha256 {digest[:16]}…</code></li>'


def section_html(folder, section):
    lines = [f'<section id="{esc(section.name)}"><h2>{esc(section.title)} {badge(section.state)}</h2>']
    content = section.content
    if content is None:
        lines.append(f'<p class="lack">Not there: it {esc(section.words)}. '
                     f'<code>make {esc(section.goal)}</code> makes it.</p></section>')
        return "\n".join(lines)
    if section.state == "failed":
        lines.append(f'<p class="lack">This part failed, and its result does not count: {esc(section.words)}.</p>')
    elif section.state != "current":
        lines.append(f'<p class="lack">Outdated: {esc(section.words)}.</p>')
    lines.append(f'<p class="summary">{cell(content["summary"])}</p>')
    lines.append(meta([("tools", esc(tools_of(content))), ("command", f"<code>{esc(content['command'])}</code>"),
                       ("date", esc(content["date"])), ("commit", f"<code>{esc(content['commit'])}</code>")]))
    lines.append(folded(content["table"]["head"], content["table"]["rows"]))
    files = [file_link(folder, path) for path in content.get("files", [])]
    if files:
        lines.append(f'<h3>Files</h3><ul class="files">{"".join(files)}</ul>')
    if content["not_shown"]:
        lines.append(f'<p><a href="#not-{esc(section.name)}">What this part does not show</a></p>')
    lines.append("</section>")
    return "\n".join(lines)


def contents(sections):
    rows = []
    for section in sections:
        content = section.content
        rows.append(f'<tr><td data-label="part"><a href="#{esc(section.name)}">{esc(section.title)}</a></td>'
                    f'<td data-label="state">{badge(section.state)}</td>'
                    f'<td data-label="result">{cell(content["summary"] if content else "–")}</td></tr>')
    return ('<div class="scroll"><table class="contents"><thead><tr><th scope="col">part</th><th scope="col">state</th>'
            '<th scope="col">result</th></tr></thead><tbody>' + "\n".join(rows) + "</tbody></table></div>")


def not_shown(sections):
    lines = ['<section id="not-shown"><h2>What is not shown</h2>']
    lines.append("<ul>" + "".join(f"<li>{cell(text)}</li>" for text in ALWAYS_NOT_SHOWN) + "</ul>")
    lacking = [section for section in sections if section.state != "current"]
    if lacking:
        lines.append("<h3>Parts that failed, are missing or outdated</h3><ul>" + "".join(
            f'<li><a href="#{esc(section.name)}">{esc(section.title)}</a>: {esc(section.words)}</li>'
            for section in lacking) + "</ul>")
    lines.append("<h3>By part</h3>")
    for section in sections:
        if section.content and section.content["not_shown"]:
            items = "".join(f"<li>{cell(text)}</li>" for text in section.content["not_shown"])
            name = esc(section.name)
            lines.append(f'<h4 id="not-{name}"><a href="#{name}">{esc(section.title)}</a></h4><ul>{items}</ul>')
    return "\n".join(lines) + "</section>"


def machine():
    release = pathlib.Path("/etc/os-release")
    found = re.search(r'^PRETTY_NAME="([^"]+)"', release.read_text(), re.M) if release.exists() else None
    return f"{found[1] if found else platform.system()}, Linux {platform.release()}, {platform.machine()}"


def first_line(*command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.splitlines()[0] if done.stdout else "not there"


def render(root, commit, sections):
    version = part.release()
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    good = sum(section.state == "current" for section in sections)
    about = meta([("version", esc(version)), ("commit", f"<code>{esc(commit)}</code>"), ("page made", esc(now)),
                  ("page made on", esc(machine())), ("compiler there", esc(first_line("gcc", "--version"))),
                  ("parts", f"{good} of {len(sections)} are up to date with this commit")])
    body = "\n".join(section_html(root / "build/evidence", section) for section in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Evidence: neuron-dra-agent {esc(version)}</title>
<style>
{STYLE.read_text()}</style>
</head>
<body>
<header>
<h1>Evidence for neuron-dra-agent {esc(version)}</h1>
<p>What the project's own tools found about one commit, for a reviewer who wants to repeat it. Each part names its
tools, command, date and commit. It is up to date when no file that it depends on has changed since its own commit;
others are marked. Nothing here claims compliance with a standard or a certification;
<a href="#not-shown">the last section</a> lists what is not shown.</p>
{about}
</header>
<main>
<section id="contents"><h2>Parts</h2>
{contents(sections)}
</section>
{body}
{not_shown(sections)}
</main>
</body>
</html>
"""
