# SPDX-License-Identifier: Apache-2.0
"""What the analysis gates share: jobs in parallel, results kept by content, findings, deviation records.

A tool's output for a source is kept in the cache that all clones share, together with a key over everything that went
into it: the source, the headers of this tree that it includes, the configuration of mbedTLS, the packages of the
system's headers, the tool's version, its configuration and its flags. A run of which nothing changed is not repeated,
not even in a fresh clone. A run that failed, or during which a source changed, is not kept.

A finding stands unless a record in cfg/lint/deviations.toml covers it; a record or place that covers nothing is a
finding itself.
"""

import concurrent.futures
import contextlib
import glob
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import tomllib

import check_style
import gate

FOLDERS = ("src", "boards")
RECORDS = "cfg/lint/deviations.toml"
RECORDS_MAX = 25
CACHE = "build/lint"
KEPT_STATES = 6  # of one source: a few branches, and the commit before
# No source names this header of the tree: -DMBEDTLS_CONFIG_FILE does.
LIBRARY_CONFIG = "cfg/mbedtls"
HEADER_PACKAGES = ("libc6-dev", "linux-libc-dev", "musl-dev")
FLAGS = "build/lint/flags"
# A tree without a Makefile (the checkers' tests) is compiled so.
PLAIN_FLAGS = "-std=gnu11 -Isrc -I."
RECORD_FIELDS = {"tool", "rule", "reason", "where", "code"}
TREE = "tree"

DIAGNOSTIC = re.compile(r"^([^\s:][^:]*):(\d+):(\d+): ((?:fatal )?error|warning|style|performance|portability|"
                        r"information): (.*?)(?: \[([^\[\]]+)\])?$")


class Finding:
    """One diagnostic of a tool."""

    def __init__(self, path, line, rule, text, severity="warning"):
        self.path, self.line, self.rule, self.text, self.severity = path, line, rule, text, severity

    def key(self):
        return (self.path, self.line, self.rule, self.text)


# --- sources and flags --------------------------------------------------------------------------------


def sources(root):
    """Relative paths of the hand-written product sources."""
    return [path for path in gate.own_c_files(root, FOLDERS) if path.suffix == ".c"]


def is_own(path):
    """Whether a diagnostic's place is for us to mend."""
    return path.startswith(("src/", "boards/", "cfg/")) and not path.startswith("cfg/mbedtls/")


def flags(root):
    """Language, definitions and include folders of the product."""
    path = pathlib.Path(root) / FLAGS
    return shlex.split(path.read_text() if path.exists() else PLAIN_FLAGS)


def included(root, path, known):
    """Adds to `known` the files of this tree that a file includes, however deep."""
    known.add(path)
    text = (pathlib.Path(root) / path).read_text(errors="replace")
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
        for folder in ("src", "", str(pathlib.PurePath(path).parent)):
            found = os.path.normpath(os.path.join(folder, name))
            if found not in known and (pathlib.Path(root) / found).is_file():
                included(root, found, known)


# --- jobs and their kept results ----------------------------------------------------------------------


class Job:
    """One call of a tool: the command, and the sources that it reads."""

    def __init__(self, tool, name, command, reads, settings="", scratch=None):
        self.tool, self.name, self.command, self.reads = tool, name, command, reads
        self.settings = settings  # text of what else decides about the result
        self.scratch = scratch    # a folder that is there and empty when the tool begins


def version(command):
    return subprocess.run([command, "--version"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=True).stdout


def header_packages():
    """Versions of the packages that the system's headers are of."""
    return subprocess.run(["dpkg-query", "-W", *HEADER_PACKAGES], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False).stdout


def key_of(root, job, about):
    digest = hashlib.sha256(about.encode())
    # Without the name of this folder: another clone has the same result.
    digest.update("\0".join([*job.command, job.settings]).replace(f"{pathlib.Path(root).resolve()}/", "").encode())
    files = {str(path.relative_to(root)) for path in pathlib.Path(root).glob(f"{LIBRARY_CONFIG}/*.h")}
    for path in job.reads:
        included(root, str(path), files)
    for path in sorted(files):
        digest.update(b"\0" + path.encode() + b"\0" + (pathlib.Path(root) / path).read_bytes())
    return digest.hexdigest()


def failure(root, job, done):
    """A diagnostic of our own for a tool that failed without one on our files: it has seen nothing."""
    if not done.returncode or any(finding.severity.endswith("error") for finding in read_findings(root, done.stdout)):
        return ""
    words = next((line for line in done.stdout.splitlines() if "error" in line.lower()), done.stdout[:200].strip())
    return f"{job.reads[0]}:1:1: error: {job.command[0]} failed ({done.returncode}): {words} [exit]\n"


def kept_folder(root):
    """Of this tree the cache of all clones; of another one (the checkers' tests) its own folder."""
    shared = gate.deps_path("CACHE")
    if shared and pathlib.Path(root).resolve() == gate.ROOT:
        return pathlib.Path(shared) / "lint"
    return pathlib.Path(root) / CACHE


def forget_old(folder, name):
    """Removes the results of a source that were not used for longest."""
    used = {}
    for path in folder.glob(f"{glob.escape(name)}.*.txt"):
        with contextlib.suppress(FileNotFoundError):  # another clone does the same
            used[path] = path.stat().st_mtime
    for path in sorted(used, key=used.get, reverse=True)[KEPT_STATES:]:
        path.unlink(missing_ok=True)


def run_job(root, job, about):
    """Output of a tool, from the cache if nothing changed. (text, whether it was kept)"""
    key, name = key_of(root, job, about), job.name.replace("/", "_")
    kept = kept_folder(root) / job.tool / f"{name}.{key[:16]}.txt"
    with contextlib.suppress(FileNotFoundError):
        first, _, text = kept.read_text().partition("\n")
        if first == key:
            kept.touch()
            return text, True
    if job.scratch:
        shutil.rmtree(job.scratch, ignore_errors=True)
        pathlib.Path(job.scratch).mkdir(parents=True)
    done = subprocess.run(job.command, cwd=root, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    # Kept without the name of this folder: the tree may be moved or copied with what is kept.
    text, failed = done.stdout.replace(str(pathlib.Path(root).resolve()) + "/", ""), failure(root, job, done)
    if failed or done.returncode < 0 or key_of(root, job, about) != key:
        return text + failed, False
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as fresh:
        fresh.write(key + "\n" + text)
    pathlib.Path(fresh.name).replace(kept)
    forget_old(kept.parent, name)
    return text, False


def run_jobs(root, jobs):
    """Outputs of the jobs in their order, and how many of them were kept."""
    headers = header_packages()
    about = {tool: version(tool) + headers for tool in {job.command[0] for job in jobs}}
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        done = list(pool.map(lambda job: run_job(root, job, about[job.command[0]]), jobs))
    return [text for text, _ in done], sum(kept for _, kept in done)


# --- findings -----------------------------------------------------------------------------------------


def read_findings(root, text):
    """The diagnostics on our own files, each once."""
    seen, prefix = set(), str(pathlib.Path(root).resolve()) + "/"
    for line in text.splitlines():
        found = DIAGNOSTIC.match(line)
        if not found:
            continue
        path = os.path.normpath(found[1]).removeprefix(prefix)
        finding = Finding(path, int(found[2]), found[6] or found[4], found[5], found[4])
        if is_own(path) and finding.key() not in seen:
            seen.add(finding.key())
            yield finding


# --- deviation records --------------------------------------------------------------------------------


def read_records(root):
    path = pathlib.Path(root) / RECORDS
    if not path.exists():
        return []
    with open(path, "rb") as file:
        return tomllib.load(file).get("deviation", [])


def places_of(record):
    where = record.get("where", [])
    return [where] if isinstance(where, str) else where


class Functions:
    """Name of the function that a line of a source belongs to."""

    def __init__(self, root):
        self.root, self.of_file = root, {}

    def at(self, path, line):
        if path not in self.of_file:
            self.of_file[path] = check_style.list_functions(self.root, [path])
        return next((f.name for f in self.of_file[path] if f.first - 1 <= line <= f.last), "")


def covers(root, functions, record, place, finding):
    """Whether one place of a record covers a finding."""
    path, _, function = place.partition(":")
    if place != TREE and path != finding.path:
        return False
    if function and functions.at(finding.path, finding.line) != function:
        return False
    if "code" in record:
        lines = (pathlib.Path(root) / finding.path).read_text().splitlines()
        return 0 < finding.line <= len(lines) and bool(re.search(record["code"], lines[finding.line - 1]))
    return True


def judge(report, root, tool, findings, describe):
    """Reports what no record covers, and what records cover nothing. Returns the number of deviations."""
    if not sources(root):
        report.add("src", "no C sources found: the check is looking in the wrong place")
    records = [record for record in read_records(root) if record.get("tool") == tool]
    used = {(number, place): 0 for number, record in enumerate(records) for place in places_of(record)}
    functions, covered = Functions(root), 0
    for finding in findings:
        by = [(number, place) for number, place in used
              if records[number].get("rule") == finding.rule
              and covers(root, functions, records[number], place, finding)]
        covered += bool(by)
        for match in by:
            used[match] += 1
        if not by:
            report.add(f"{finding.path}:{finding.line}", describe(finding))
    for (number, place), count in used.items():
        if not count:
            report.add(RECORDS, f"{tool} {records[number].get('rule')}: nothing at '{place}' needs this record: "
                                "remove it or that place")
    return covered
