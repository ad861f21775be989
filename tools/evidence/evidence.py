#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what is missing of the evidence, and the page build/evidence/index.html from what is there.

  tools/evidence/evidence.py          `make evidence`: makes each part that is missing or outdated, then the page
  tools/evidence/evidence.py --page   `make evidence-page`: the page alone, from the parts that are there

Each part has a goal of make (parts.toml), so an interrupted run goes on where it was. The page is written in any case;
the exit code is 1 when a part is missing, outdated or failed.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import page  # noqa: E402
import part  # noqa: E402
import requirements  # noqa: E402

ROOT = pathlib.Path(part.ROOT)
LIST = pathlib.Path(__file__).with_name("parts.toml")
FOLDER = pathlib.Path(part.PAGE_FOLDER)
FIELDS = {"name", "title", "tools", "command", "date", "commit", "summary", "table", "not_shown"}
# What decides on each part: versions of libraries and tools, and the flags of all compilers. part.py and page.py do not
# count: they decide on the form of a part, and a change of them would repeat three hours of work.
EVERY_PART_READS = ("tools/build/pins", "tools/make/compile.mk")
CURRENT, OUTDATED, MISSING, FAILED = "current", "outdated", "missing", "failed"
# Documents, what is for the cluster (cfg/deploy), and the numbers of the fuzz ledger decide only on the parts that have
# `documents` in parts.toml, or name a path below cfg/deploy.
NO_DOCUMENTS = (":(exclude,glob)**/*.md", ":(exclude)cfg/deploy", ":(exclude)tests/fuzz/campaign.json")


def path_of(name):
    return pathlib.Path(part.PARTS) / f"{name}.json"


def read_part(name):
    """(content of a part or None, why it cannot be shown)."""
    path = path_of(name)
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        return None, "was not made"
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        return None, f"cannot be read: {error}"
    lacks = FIELDS - set(content) if isinstance(content, dict) else FIELDS
    if lacks:
        return None, f"lacks {', '.join(sorted(lacks))}"
    return content, None


def unchanged(root, commit, about):
    """Whether no file that decides on a part differs between its commit and HEAD."""
    if not commit or commit.endswith("-dirty"):
        return False
    deploy = [path for path in about["reads"] if path.startswith("cfg/deploy/")]
    others = [path for path in about["reads"] if path not in deploy]
    for paths in ([*others, *EVERY_PART_READS, *(() if about.get("documents") else NO_DOCUMENTS)], deploy):
        if paths and subprocess.run(["git", "diff", "--quiet", commit, "HEAD", "--", *paths], cwd=root, check=False,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return False
    return True


def state_of(root, name, about):
    """(state, content or None, words about it)."""
    content, why = read_part(name)
    if content is None:
        return MISSING, None, why
    if content.get("failed"):
        return FAILED, content, f"made of commit {content['commit'][:12]}; {content['failed']}"
    if unchanged(root, content["commit"], about):
        return CURRENT, content, f"made of commit {content['commit'][:12]}; what it reads has not changed since"
    if content["commit"].endswith("-dirty"):
        return OUTDATED, content, f"made of files that differed from commit {content['commit'][:12]}"
    return OUTDATED, content, f"made of commit {content['commit'][:12]}; what it reads has changed since"


def make(name, about):
    """Runs a part's goal; None, or why it was not made."""
    if about["goal"] not in requirements.goals_of(ROOT) | own_goals():
        return f"the Makefile has no goal {about['goal']}"
    log = FOLDER / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    print(f"evidence: make {about['goal']} (at most {about['minutes']} minutes; {log.relative_to(ROOT)})", flush=True)
    with open(log, "wb") as stream, subprocess.Popen(
            ["make", "--no-print-directory", about["goal"]], cwd=ROOT, env=environment, stdout=stream,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            code = process.wait(timeout=60 * about["minutes"])
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"did not end within {about['minutes']} minutes"
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return f"make {about['goal']} failed: {log.relative_to(ROOT)}" if code else None


def stamp_of(name):
    path = path_of(name)
    return path.read_bytes() if path.exists() else None


def make_at_one_commit(name, about):
    """As make(). What a goal writes before it fails, or while the files change, does not count: the part says why."""
    before, old = part.commit(), stamp_of(name)
    why, after = make(name, about), part.commit()
    if after != before:
        moved = f"the files changed from {before} to {after} while make {about['goal']} ran"
        why = f"{why}; {moved}" if why else moved
    content = read_part(name)[0]
    if content is None:
        return why or f"make {about['goal']} wrote no part"
    if why and stamp_of(name) != old:
        part.mark_failed(name, why)
    return why


def own_goals():
    return {about["goal"] for about in read_list().values() if about["goal"].startswith("evidence-")}


def read_list():
    return tomllib.loads(LIST.read_text())


def make_missing():
    """{name: why} of the parts that could not be made."""
    failed = {}
    for name, about in read_list().items():
        if state_of(ROOT, name, about)[0] == CURRENT:
            continue
        if part.commit().endswith("-dirty"):
            print("evidence: the files here are not those of a commit, so no part is made: commit, then make evidence")
            break
        why = make_at_one_commit(name, about)
        if why:
            failed[name] = why
            print(f"evidence: {name}: {why}", flush=True)
    return failed


def main():
    if sys.argv[1:] not in ([], ["--page"]):
        sys.exit(__doc__)
    failed = {} if sys.argv[1:] else make_missing()
    sections = []
    for name, about in read_list().items():
        state, content, words = state_of(ROOT, name, about)
        if name in failed and failed[name] not in words:
            words = f"{words}; {failed[name]}"
        if name in failed and state == CURRENT:
            state = FAILED
        sections.append(page.Section(name, about["title"], about["goal"], state, content, words))
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "index.html").write_text(page.render(ROOT, part.commit(), sections))
    lacking = [f"{section.name} ({section.state})" for section in sections if section.state != CURRENT]
    print(f"evidence: {FOLDER.relative_to(ROOT)}/index.html: {len(sections) - len(lacking)} of {len(sections)} parts "
          "are up to date" + (f"; not: {', '.join(lacking)}" if lacking else ""))
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
