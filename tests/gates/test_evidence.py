# SPDX-License-Identifier: Apache-2.0
"""The evidence page: parts that are missing, broken or outdated."""

import ast
import collections
import contextlib
import html.parser
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from test_gates import ROOT, Tree

import campaign  # noqa: E402  test_gates has set the path
import check_threats  # noqa: E402
import coverage  # noqa: E402
import evidence  # noqa: E402
import gate_tests  # noqa: E402
import host_coverage  # noqa: E402
import linked  # noqa: E402
import make_part  # noqa: E402
import page  # noqa: E402
import part  # noqa: E402
import proof_report  # noqa: E402
import requirements  # noqa: E402
import vex  # noqa: E402


class Reader(html.parser.HTMLParser):
    """Whether elements are closed in their order; what is linked, and which anchors there are."""

    VOID = {"meta", "br", "wbr"}

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.ids, self.tags, self.wrong = [], [], [], set(), []
        self.feed(text)
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


class Page(unittest.TestCase):
    """The page of a repository with one commit, from parts that a test writes."""

    def setUp(self):
        tree = Tree()
        tree.setUp()
        self.addCleanup(tree.doCleanups)
        self.root = tree.root
        tree.write("CHANGELOG.md", "# Changes\n\n## Unreleased\n\n## 9.9.9 (today)\n\n## 9.9.8\n")
        tree.write("Makefile", "one: ## it\n")
        tree.write(".gitignore", "/build\n")
        tree.write("tools/evidence/parts.toml", "".join(
            f'[{name}]\ntitle = "Title of {name}"\ngoal = "{goal}"\nminutes = 1\nreads = ["src"]\n'
            for name, goal in (("first", "one"), ("second", "absent"))))
        self.git("init", "-q")
        self.commit("first")
        folder = self.root / "build/evidence"
        for target, name, value in ((evidence, "ROOT", self.root), (evidence, "FOLDER", folder),
                                    (part, "ROOT", str(self.root)),
                                    (evidence, "LIST", self.root / "tools/evidence/parts.toml"),
                                    (part, "PAGE_FOLDER", str(folder)), (part, "PARTS", str(folder / "parts"))):
            patch = mock.patch.object(target, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        requirements.goals_of.cache_clear()

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.com", *words], cwd=self.root,
                              check=True, text=True, stdout=subprocess.PIPE).stdout

    def commit(self, text):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", text)

    def write(self, name, **more):
        part.write_part(name, f"Title of {name}", {"tool": "1.2"}, "make it", "all <good> & `done`", ("a", "b"),
                        [("x", "1\n2")], ["Nothing of <this>."], **more)

    def made(self, *arguments):
        """(exit code, text of the page) of a run."""
        with mock.patch("sys.argv", ["evidence.py", *arguments]), mock.patch("builtins.print"):
            code = evidence.main()
        text = (self.root / "build/evidence/index.html").read_text()
        reader = Reader(text)
        self.assertEqual(reader.wrong, [])
        self.assertEqual(reader.tags & {"script", "img", "link", "iframe"}, set())
        for link in reader.links:
            self.assertFalse(link.startswith(("http", "//", "data:")), link)
            self.assertTrue(not link.startswith("#") or link[1:] in reader.ids, link)
        self.assertEqual(len(reader.ids), len(set(reader.ids)))
        return code, text

    def test_all_there(self):
        for name in ("first", "second"):
            self.write(name, files=[part.keep(f"{name}.txt", "content")])
        code, text = self.made("--page")
        self.assertEqual(code, 0)
        self.assertNotIn("Not regenerated", text)
        self.assertIn("all &lt;good&gt; &amp; <code>done</code>", text)
        self.assertIn("Nothing of &lt;this&gt;.", text)
        self.assertIn('href="files/first.txt"', text)
        self.assertIn('<span class="line">1</span><span class="line">2</span>', text)

    def test_release(self):
        """A plus says that the commit is not that of the release."""
        self.assertIn("<title>Evidence: neuron-dra-agent 9.9.9+</title>", self.made("--page")[1])
        self.git("tag", "v9.9.9")
        self.assertIn("<title>Evidence: neuron-dra-agent 9.9.9</title>", self.made("--page")[1])
        (self.root / "Makefile").write_text("one: ## another\n")
        self.assertIn("<title>Evidence: neuron-dra-agent 9.9.9+</title>", self.made("--page")[1])

    def test_print_opens_folded_tables(self):
        printed = self.made("--page")[1].split("@media print {", 1)[1].split("</style>", 1)[0]
        self.assertRegex(printed, r"details::details-content \{ content-visibility: visible; \}")

    def test_missing(self):
        self.write("first")
        code, text = self.made("--page")
        self.assertEqual(code, 1)
        self.assertIn("Title of second <span class=\"badge missing\">", text)
        self.assertEqual(text.count("Not there: it was not made"), 1)

    def test_of_another_commit(self):
        """A part stays while nothing that it reads has changed."""
        for name in ("first", "second"):
            self.write(name)
        (self.root / "README.md").write_text("a page")
        self.commit("A page")
        self.assertEqual(self.made("--page")[0], 0)
        (self.root / "src/base/good.c").write_text("changed")
        self.commit("A source")
        code, text = self.made("--page")
        self.assertEqual(code, 1)
        self.assertEqual(text.count("what it reads has changed since"), 4)

    def test_of_another_document(self):
        """A document decides on a part that says so, and on no other."""
        for name in ("first", "second"):
            self.write(name)
        (self.root / "src/base/README.md").write_text("a document")
        self.commit("A document")
        listed = evidence.LIST.read_text().replace('["src"]', '["src", "tests", "cfg"]')
        evidence.LIST.write_text(listed)
        for path in ("tests/fuzz/campaign.json", "cfg/deploy/chart/values.yaml"):
            (self.root / path).parent.mkdir(parents=True)
            (self.root / path).write_text("{}")
        self.commit("Executions of fuzz targets, and the chart")
        self.assertEqual(self.made("--page")[0], 0)
        evidence.LIST.write_text(listed + "documents = true\n")
        code, text = self.made("--page")
        self.assertEqual(code, 1)
        self.assertIn("Title of second <span class=\"badge outdated\">", text)
        self.assertIn("Title of first <span class=\"badge current\">", text)

    def test_what_every_part_reads(self):
        for path in evidence.EVERY_PART_READS:
            for name in ("first", "second"):
                self.write(name)
            self.assertEqual(self.made("--page")[0], 0)
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text("changed")
            self.commit(path)
            self.assertEqual(self.made("--page")[0], 1, path)

    def test_of_no_commit(self):
        (self.root / "src/base/good.c").write_text("changed")
        for name in ("first", "second"):
            self.write(name)
        code, text = self.made()
        self.assertEqual(code, 1)
        self.assertIn("made of files that differed from commit", text)
        self.git("checkout", "-q", ".")
        self.assertEqual(self.made("--page")[0], 1)

    def test_unknown_commit(self):
        self.write("first")
        path = pathlib.Path(part.PARTS) / "first.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "commit": "0" * 40}))
        self.assertIn("what it reads has changed since", self.made("--page")[1])

    def test_broken(self):
        self.write("first")
        path = pathlib.Path(part.PARTS) / "first.json"
        for text, word in (("{", "cannot be read"), ('{"name": "first"}', "lacks command"), ("[]", "lacks command")):
            with self.subTest(text):
                path.write_text(text)
                code, shown = self.made("--page")
                self.assertEqual(code, 1)
                self.assertIn(word, shown)

    def test_made_where_missing(self):
        """A goal is called once; what it leaves is taken, and a goal that is not there is named."""
        writer = f"import sys; sys.path[:0] = [{str(ROOT / 'tools/evidence')!r}]; import part; " \
                 f"part.ROOT = {str(self.root)!r}; part.PARTS = {part.PARTS!r}; " \
                 "part.write_part('first', 'T', {}, 'c', 's', [], [], [])"
        (self.root / "Makefile").write_text(f'one: ## it\n\t@echo run >>build/runs; python3 -B -c "{writer}"\n')
        self.commit("A goal")
        (self.root / "build").mkdir(exist_ok=True)
        requirements.goals_of.cache_clear()
        with mock.patch.dict(os.environ, MAKEFLAGS="-n"):
            code, text = self.made()
        self.assertEqual(code, 1)
        self.assertIn("the Makefile has no goal absent", text)
        self.made()
        self.assertEqual((self.root / "build/runs").read_text(), "run\n")

    def goal(self, before="", after=""):
        """A goal that writes its part between two lines of shell."""
        writer = f"import sys; sys.path[:0] = [{str(ROOT / 'tools/evidence')!r}]; import part; " \
                 f"part.ROOT = {str(self.root)!r}; part.PARTS = {part.PARTS!r}; " \
                 "part.write_part('first', 'T', {}, 'c', 'the result', [], [], [])"
        (self.root / "Makefile").write_text(
            f'one: ## it\n\t@echo run >>build/runs{before}; python3 -B -c "{writer}"{after}\n')
        lists = self.root / "tools/evidence/parts.toml"
        lists.write_text(lists.read_text().partition("[second]")[0])
        self.commit("A goal")
        (self.root / "build").mkdir(exist_ok=True)
        requirements.goals_of.cache_clear()

    def runs(self):
        return (self.root / "build/runs").read_text().count("run")

    def test_goal_that_writes_and_then_fails(self):
        """The result is shown as failed, now and by a later page, and the next call makes it again."""
        self.goal(after="; exit 3")
        for count in (1, 2):
            code, text = self.made()
            self.assertEqual((code, self.runs()), (1, count))
            self.assertIn('<span class="badge failed">failed</span>', text)
            self.assertIn("the result", text)
            self.assertEqual(text.count("This part failed, and its result does not count: made of commit"), 1)
            self.assertIn("make one failed: build/evidence/logs/first.log", text)
            self.assertEqual(self.made("--page")[0], 1)
        self.goal()
        self.assertEqual(self.made()[0], 0)
        self.assertEqual(self.runs(), 3)

    def test_goal_that_fails_leaves_an_older_part(self):
        """What an earlier goal wrote did not fail: it is of its commit still."""
        self.goal()
        self.made()
        older = self.git("rev-parse", "HEAD").strip()
        (self.root / "Makefile").write_text("one: ## it\n\t@exit 3\n")
        (self.root / "src/base/good.c").write_text("changed")
        self.commit("A goal that fails")
        code, text = self.made()
        self.assertEqual(code, 1)
        self.assertIn("what it reads has changed since; make one failed", text)
        self.git("checkout", "-q", older)
        self.assertEqual(self.made("--page")[0], 0)

    def test_goal_that_goes_back_and_fails(self):
        """An older part becomes current while its goal fails: the goal failed all the same."""
        self.goal()
        self.made()
        older = self.git("rev-parse", "HEAD").strip()
        (self.root / "Makefile").write_text(f"one: ## it\n\t@git checkout -q {older}; exit 3\n")
        (self.root / "src/base/good.c").write_text("changed")
        self.commit("A goal that goes back")
        code, text = self.made()
        self.assertEqual(code, 1)
        self.assertIn('<span class="badge failed">', text)

    def test_head_that_moves(self):
        """Results of files before a commit, stamped with that commit, do not count."""
        author = "-c user.name=n -c user.email=e@example.com"
        self.goal(before=f"; git {author} commit -q --allow-empty -m moved")
        code, text = self.made()
        self.assertEqual(code, 1)
        self.assertRegex(text, r"the files changed from [0-9a-f]{40} to [0-9a-f]{40} while make one ran")
        self.goal()
        self.assertEqual(self.made()[0], 0)

    def test_goal_that_changes_files(self):
        """No later goal runs on files of no commit."""
        self.goal(before="; echo changed >>Makefile")
        lists = self.root / "tools/evidence/parts.toml"
        lists.write_text(lists.read_text() + lists.read_text().replace("[first]", "[later]"))
        self.commit("A later part")
        code, text = self.made()
        self.assertEqual((code, self.runs()), (1, 1))
        self.assertRegex(text, r"the files changed from [0-9a-f]{40} to [0-9a-f]{40}-dirty while")

    def test_part_of_a_tool_that_fails_alone(self):
        """A goal that somebody calls by hand writes why it fails."""
        self.write("first", failed="2 proofs fail")
        code, text = self.made("--page")
        self.assertEqual(code, 1)
        self.assertIn("2 proofs fail", text)
        self.assertIn('<span class="badge failed">', text)

    def test_goal_that_fails(self):
        (self.root / "Makefile").write_text("one: ## it\n\t@exit 3\n")
        self.commit("A goal")
        requirements.goals_of.cache_clear()
        self.assertIn("make one failed", self.made()[1])

    def test_file_that_is_gone(self):
        self.write("first", files=["files/gone.txt"])
        self.assertIn("files/gone.txt: not there", self.made("--page")[1])


class Failing(unittest.TestCase):
    """Tools that write their part and then fail say so in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.written = mock.Mock()
        said = contextlib.redirect_stdout(io.StringIO())
        said.__enter__()  # pylint: disable=unnecessary-dunder-call
        self.addCleanup(said.__exit__, None, None, None)
        self.put(part, write_part=self.written, keep=mock.DEFAULT)

    def put(self, module, **values):
        patch = mock.patch.multiple(module, **values)
        patch.start()
        self.addCleanup(patch.stop)

    def failed(self, main, *arguments):
        with mock.patch("sys.argv", ["tool", *arguments]):
            code = main()
        return code, self.written.call_args.kwargs["failed"]

    def test_proofs(self):
        results = [{"name": name, "failures": failures, "properties": 1, "seconds": 1, "lines": {}}
                   for name, failures in (("good", []), ("bad", ["overflow"]))]
        proofs = {result["name"]: {"functions": []} for result in results}
        (self.folder / "build/proofs").mkdir(parents=True)
        (self.folder / "exceptions").touch()
        self.put(proof_report, ROOT=self.folder, EXCEPTIONS="exceptions", evidence=lambda: part, version=lambda: "1",
                 product_limits=dict, input_of=mock.Mock(return_value="any"), summary_of=mock.Mock(return_value=""),
                 own_not_shown=mock.Mock(return_value=[]), sources_of=mock.Mock(return_value=[]),
                 count_lines=mock.Mock(return_value=(1, 1)), unreached=mock.Mock(return_value=[]))
        self.put(proof_report.reading_functions, reading_functions=mock.Mock(return_value=[]))
        for these, wanted in ((results, "these proofs fail: bad"), (results[:1], "")):
            proof_report.write(proofs, these, 0)
            self.assertEqual(self.written.call_args.kwargs["failed"], wanted)

    def test_coverage(self):
        (self.folder / "build/coverage").mkdir(parents=True)
        for name in ("build/coverage/gaps.txt", "exclusions"):
            (self.folder / name).touch()
        self.put(coverage.gaps, EXCLUSIONS="exclusions")
        for problems in (["src/base: 1 gap more"], []):
            self.put(coverage, ROOT=self.folder, run_programs=mock.Mock(return_value=True), tool=mock.DEFAULT,
                     measure=mock.Mock(return_value=((), {})), all_rooms=list, version_of_llvm=lambda: "19",
                     arguments_for=mock.DEFAULT, judge=mock.Mock(return_value=([mock.Mock(excused=True)], problems)))
            self.assertEqual(self.failed(coverage.main, "program"), (len(problems), "".join(problems)))

    def test_host_coverage(self):
        lines = collections.namedtuple("Lines", "percent count")
        folder = self.folder / "host-coverage"
        folder.mkdir()
        for name in ("1.profraw", "tests.log"):
            (folder / name).touch()
        self.put(coverage, tool=mock.DEFAULT, version_of_llvm=lambda: "19")
        for percent, wanted in ((94.9, (1, "wanted 95 %")), (95.0, (0, ""))):
            rows = {"src/main.c": {"lines": lines(percent, 10)}}
            self.put(host_coverage.line_coverage, rows_of=mock.Mock(return_value=rows),
                     total=mock.Mock(return_value=rows["src/main.c"]))
            self.assertEqual(self.failed(host_coverage.main, "--build", str(self.folder), "--agent", "agent"), wanted)


class SecondBuild(unittest.TestCase):
    """`twice.sh` in a repository whose goal writes one file."""

    def built_twice(self, recipe):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tools/image").mkdir(parents=True)
            for name in ("twice.sh", "copy.sh"):
                shutil.copy(ROOT / "tools/image" / name, root / "tools/image")
            (root / "Makefile").write_text(f"it:\n\t@mkdir -p build/out\n\t@{recipe} >build/out/file\n")
            (root / ".gitignore").write_text("/build\n")
            subprocess.run(["git", "init", "-q"], cwd=root, check=True)
            subprocess.run(["make", "-s", "it"], cwd=root, check=True)
            return subprocess.run([root / "tools/image/twice.sh", "it", "build/out/file", "a", "b", "c"], check=False,
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_the_same(self):
        self.assertEqual(self.built_twice("echo constant").returncode, 0)

    def test_the_folder_is_in_the_file(self):
        done = self.built_twice("echo $(CURDIR)")
        self.assertEqual(done.returncode, 1)
        self.assertIn("build/out/file", done.stdout)

    def test_the_second_build_fails(self):
        self.assertEqual(self.built_twice("test ! -d ../name && echo constant").returncode, 1)


class Parts(unittest.TestCase):
    def test_three_hours(self):
        parts = evidence.read_list()
        self.assertLessEqual(sum(about["minutes"] for about in parts.values()), 180)
        for name, about in parts.items():
            self.assertEqual(set(about) - {"documents"}, {"title", "goal", "minutes", "reads"}, name)

    def test_rows_fit_their_head(self):
        with self.assertRaisesRegex(ValueError, "a row of 1 cells"):
            part.write_part("x", "T", {}, "c", "s", ("a", "b"), [("1",)], [])

    def test_long_tables_are_folded(self):
        rows = [("1",)] * (page.OPEN_ROWS + 1)
        self.assertIn("<details>", page.folded(["a"], rows))
        self.assertNotIn("<details>", page.folded(["a"], rows[1:]))


class Readings(unittest.TestCase):
    """What make_part.py takes out of the output of other tools."""

    def test_seeded_defects(self):
        line = f"  {'ok  '}  {'src/wire/h2.c':<34} {'h2-forgets':<48} unit/h2: test_one"
        self.assertEqual(make_part.DEFECT.fullmatch(line).groups(),
                         ("ok  ", "src/wire/h2.c", "h2-forgets", "unit/h2", "test_one"))
        self.assertIsNone(make_part.DEFECT.fullmatch("defects: 3 of 3 mistakes in 2 files found"))
        text = (ROOT / "tools/fuzz/defects.py").read_text()
        self.assertIn("""{'ok  ' if found else 'FAIL'}  {defect['file']:<34} {defect['name']:<48} \"""", text)

    def test_rules_of_landlock(self):
        rule = ("landlock_add_rule(3<anon_inode:[landlock-ruleset]>, LANDLOCK_RULE_PATH_BENEATH, "
                "{allowed_access=LANDLOCK_ACCESS_FS_%s, parent_fd=4<NODE/sys>}, 0) = 0")
        read, cut, make = (rule % rights for rights in ("READ_FILE|0x4000", "READ_FILE", "MAKE_DIR"))
        trace = "\n".join(['[pid    7] prctl(PR_SET_NAME, "neuron-dra-read"...) = 0', f"[pid    7] {cut}",
                           f"[pid   77] {read}", f"[pid   77] {make}",
                           f"[pid   77] {rule % 'EXECUTE'}".replace("= 0", "= -1 EPERM")])
        self.assertEqual(make_part.rules_of(trace), [("agent", "NODE/sys", "read_file, truncate, make_dir"),
                                                     ("reader", "NODE/sys", "read_file")])
        self.assertEqual(make_part.rules_of(cut), [("agent", "NODE/sys", "read_file")])

    def test_calls_of_the_sandbox(self):
        agent, reader = (dict(make_part.listed_calls(name)) for name in ("SANDBOX_CALLS", "READER_CALLS"))
        text = (ROOT / "src/host/sandbox_calls.h").read_text()
        self.assertEqual(len(agent) + len(reader), text.count("X(SYS_"))
        self.assertIn("connect", agent)
        self.assertNotIn("connect", reader)


class TheParts(unittest.TestCase):
    """The list of parts of the repository itself."""

    def test_goals(self):
        rules = (ROOT / "tools/make/evidence.mk").read_text()
        own = {f"evidence-{name}" for name in re.search(r"addprefix evidence-,(.*)\)", rules)[1].split()}
        requirements.goals_of.cache_clear()
        goals = requirements.goals_of(ROOT) | own | set(re.findall(r"^(evidence-\w+):", rules, re.M))
        for name, about in evidence.read_list().items():
            self.assertIn(about["goal"], goals, name)

    def test_no_goal_writes_a_tracked_file(self):
        """`make fuzz-ledger` writes the ledger: a part that it wrote, and all later ones, would be of no commit."""
        goal = evidence.read_list()["fuzz"]["goal"]
        said = subprocess.run(["make", "-n", "--no-print-directory", goal], cwd=ROOT, check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        self.assertIn("/usr/bin/python3 tools/fuzz/campaign.py evidence\n", said)
        self.assertNotIn("campaign.py ledger", said)

    def test_reads_are_there(self):
        for name, about in evidence.read_list().items():
            for path in (*about["reads"], *evidence.EVERY_PART_READS):
                self.assertTrue((ROOT / path).exists(), f"{name}: {path}")

    def assert_read(self, name, about, path):
        self.assertTrue(any(path == read or path.startswith(read + "/") for read in about["reads"]),
                        f"{name} does not read {path}")

    @staticmethod
    def modules_of(*paths):
        """Tools, and the modules of all rooms that they import, without part.py, which decides on the form alone."""
        homes = {path.stem: path for path in ROOT.glob("tools/*/*.py") if path.stem != "part"}
        found, waiting = set(), list(paths)
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                named = re.findall(r"^ *(?:import|from) (\w+)", one.read_text(), re.M)
                waiting += [homes[name] for name in named if name in homes]
        return {str(one.relative_to(ROOT)) for one in found}

    @staticmethod
    def modules_of_maker(name):
        """The modules that make_part.py uses for one part: not all that it imports."""
        homes = {path.stem: path for path in ROOT.glob("tools/*/*.py") if path.stem != "part"}
        functions = {item.name: item for item in ast.parse(pathlib.Path(make_part.__file__).read_text()).body
                     if isinstance(item, ast.FunctionDef)}
        found, waiting = set(), [make_part.PARTS[name].__name__]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                if one in functions:
                    waiting += [node.id for node in ast.walk(functions[one]) if isinstance(node, ast.Name)]
        return [homes[one] for one in found if one in homes and hasattr(make_part, one)]

    def test_the_tool_of_each_part_is_read(self):
        """A change of what writes a part, or of a tool that its goal runs before, has the part made again."""
        writers = {name: path for path in ROOT.glob("tools/*/*.py")
                   for name in re.findall(r'\bpart\.write_part\(\s*"([\w-]+)"', path.read_text())}
        for name, about in evidence.read_list().items():
            if name in make_part.PARTS:
                own = self.modules_of(*self.modules_of_maker(name)) | {"tools/evidence/make_part.py"}
            else:
                runs = [ROOT / read for read in about["reads"] if read.endswith(".py")]
                own = self.modules_of(writers[name], *(path for path in runs if path.name != "make_part.py"))
            for path in own:
                self.assert_read(name, about, path)
        self.assertEqual(set(writers), set(evidence.read_list()))

    def test_the_code_of_the_fuzz_targets_is_read(self):
        about = evidence.read_list()["fuzz"]
        own = {path for row in campaign.read_data()["runs"] for path in row["files"]}
        self.assertIn("src/wire/h2.c", own)
        for path in {*own, *linked.PARTS}.difference(evidence.EVERY_PART_READS):
            self.assert_read("fuzz", about, path)

    def test_the_simulator_and_the_defects_of_the_model_are_read(self):
        """sim.mk links all sources but src/host and src/main.c."""
        about = evidence.read_list()["model"]
        folders = [path for path in (ROOT / "src").iterdir() if path.is_dir() and path.name != "host"]
        linked = [str(path.relative_to(ROOT)) for path in folders if list(path.rglob("*.c"))]
        self.assertGreater(len(linked), 3)
        for path in (*linked, "boards", "cfg", "generated", "tests/sim", "tests/defects/steps.toml"):
            self.assert_read("model", about, path)

    def test_the_headers_of_the_threat_model_are_read(self):
        headers = {header for _, header in check_threats.INVARIANTS.findall((ROOT / check_threats.PAGE).read_text())}
        self.assertTrue(headers)
        for path in headers:
            self.assert_read("threats", evidence.read_list()["threats"], path)

    def test_the_folders_of_the_conformance_tests_are_read(self):
        folders = {folder for path in (ROOT / "tests/conformance").rglob("*.go")
                   for folder in re.findall(r'"\.\./(\w+)[/"]', path.read_text()) if (ROOT / "tests" / folder).is_dir()}
        self.assertIn("vectors", folders)
        for folder in folders:
            self.assert_read("host-coverage", evidence.read_list()["host-coverage"], f"tests/{folder}")

    def test_the_files_of_make_are_read(self):
        for name, about in evidence.read_list().items():
            goal = "evidence" if name in make_part.PARTS else about["goal"].removeprefix("evidence-")
            homes = {str(path.relative_to(ROOT)) for path in ROOT.glob("tools/make/*.mk")
                     if re.search(rf"^{goal}:", path.read_text(), re.M)} - {"tools/make/evidence.mk"}
            for path in homes:
                self.assert_read(name, about, path)


GATE_TESTS = """import check_one
class One(Tree):
    def check(self):
        return check_one.check(self.root).findings
    def found(self, word):
        self.assert_found(self.check(), word)
    def test_seeded(self):
        self.found("x")
    def test_clean(self):
        self.assert_clean(check_one.check(self.root))
class Two(Tree):
    def test_clean(self):
        self.assert_clean(check_two.check(self.root))
"""


class GateTests(unittest.TestCase):
    def test_rule(self):
        """A gate whose tests are all of a clean tree is an orphan."""
        tree = Tree()
        tree.setUp()
        self.addCleanup(tree.doCleanups)
        for name in ("one", "two"):
            tree.write(f"tools/gates/check_{name}.py", f'"""Looks for {name}."""\n')
        tree.write("tests/gates/test_x.py", GATE_TESTS)
        found = gate_tests.read(tree.root)
        self.assertEqual(found["one"], ("Looks for one.", {"test_x.One": ["test_seeded"]}))
        self.assertEqual(gate_tests.orphans(found), ["two"])

    IDLE = ("self.assertEqual(self.findings(), [])", "self.assertEqual([], self.report().findings)",
            "self.assertEqual((report.findings, report.looked_at), ([], 'the last 1 commits'))",
            "self.assertEqual(len(self.findings()), 0)", "self.assertFalse(self.findings())",
            "self.assertFalse([line for line in report.findings if 'x' in line])",
            "self.assertTrue(not self.findings())",
            "self.assertTrue(all('x' in line for line in report.findings))", "self.assertNotIn('x', report.findings)",
            "found = self.findings()\n        count = len(found)\n        self.assertEqual(count, 0)",
            "self.assertTrue(report.looked_at, report.findings)", "self.assertEqual(1, 1, msg=report.findings)")
    TELLING = ("self.assertEqual(self.findings(), ['x'])", "self.assertEqual(len(self.findings()), 1)",
               "self.assertEqual((report.looked_at, report.findings), ([], ['x']))", "self.assertTrue(self.findings())",
               "self.assertIn('x', report.findings[0])", "found = self.findings()\n        self.assertIn('x', found)",
               "self.assertEqual(self.findings(), [])\n        self.assertEqual(self.findings(1), ['x'])",
               "self.assert_found(check_one.check(self.root), 'x')")

    def test_a_look_for_nothing_does_not_count(self):
        """Of each form alone: a gate that has no other test is an orphan."""
        tree = Tree()
        tree.setUp()
        self.addCleanup(tree.doCleanups)
        tree.write("tools/gates/check_one.py", '"""Looks for one."""\n')
        for orphans, forms in ((["one"], self.IDLE), ([], self.TELLING)):
            for form in forms:
                with self.subTest(form):
                    tree.write("tests/gates/test_x.py", "class One:\n    def findings(self, day=0):\n"
                               "        return check_one.check(self.root, day).findings\n"
                               f"    def test_it(self):\n        {form}\n")
                    self.assertEqual(gate_tests.orphans(gate_tests.read(tree.root)), orphans)

    def test_clean_trees_of_the_repository_do_not_count(self):
        found = gate_tests.read(ROOT)
        for gate, group, test in (("advisories", "test_advisories.Advisories", "test_good"),
                                  ("commits", "test_commits.Histories", "test_a_merge_is_left_alone")):
            self.assertNotIn(test, found[gate][1][group])

    def test_every_gate_can_fail(self):
        found = gate_tests.read(ROOT)
        self.assertGreater(len(found), 20)
        self.assertEqual(gate_tests.orphans(found), [])

    def test_a_test_that_fails_ends_it(self):
        with self.assertRaises(SystemExit):
            make_part.run_tests(["test_evidence.GateTests.no_such_test"])
        self.assertEqual(make_part.run_tests(["test_evidence.GateTests.test_rule"]), 1)


class Statements(unittest.TestCase):
    def test_verdicts(self):
        for advisory, wanted in (({"verdict": "none"}, ("not_affected", "vulnerable_code_not_in_execute_path")),
                                 ({"verdict": "none", "absent": ["f"]},
                                  ("not_affected", "vulnerable_code_not_present")),
                                 ({"verdict": "mitigated"}, ("not_affected", "inline_mitigations_already_exist")),
                                 ({"verdict": "affected", "why": "w"}, ("affected", None))):
            status = vex.status_of(advisory)
            self.assertEqual((status["status"], status.get("justification")), wanted)

    def test_the_repository(self):
        document = vex.document(ROOT, "0" * 40)
        self.assertGreater(len(document["statements"]), 1)
        for one in document["statements"]:
            self.assertTrue(one["products"][0]["subcomponents"], one)


if __name__ == "__main__":
    unittest.main()
