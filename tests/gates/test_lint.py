# SPDX-License-Identifier: Apache-2.0
"""clang-tidy, cppcheck with MISRA and the analysers on sources with one violation each, and their records."""

import pathlib
import shutil
import tempfile
import unittest
import unittest.mock

from test_gates import GOOD, SPDX, Tree

# pylint: disable=wrong-import-position
import check_analysers  # noqa: E402
import check_deviations  # noqa: E402
import check_misra  # noqa: E402
import check_tidy  # noqa: E402
import lint  # noqa: E402

BAD = "src/base/bad.c"
REASON = "a reason that is long enough to be one, at least for this test"


def record(**fields):
    """One deviation record as text."""
    lines = ["[[deviation]]"]
    for name, value in fields.items():
        lines.append(f"{name} = {value!r}" if not isinstance(value, list) else f"{name} = {value}")
    return "\n".join(lines) + "\n"


class Lint(Tree):
    def records(self, *records):
        self.write(lint.RECORDS, "".join(records))


class Tidy(Lint):
    def check(self, text):
        self.write(BAD, SPDX + text)
        return check_tidy.check(self.root)

    def test_good(self):
        self.assert_clean(check_tidy.check(self.root))

    def test_bugprone(self):
        report = self.check("int f(int n);\nint f(int n)\n{\n    if (n > 0) {\n        return 1;\n"
                            "    } else {\n        return 1;\n    }\n}\n")
        self.assert_found(report, "bad.c:5:", "bugprone-branch-clone")

    def test_cert(self):
        self.assert_found(self.check("#include <stdlib.h>\nint f(const char *s);\nint f(const char *s)\n{\n"
                                     "    return atoi(s);\n}\n"), "cert-err34-c")

    def test_recursion(self):
        self.assert_found(self.check("int f(int n);\nint f(int n)\n{\n    return n > 0 ? f(n - 1) : n;\n}\n"),
                          "misc-no-recursion")

    def test_cognitive_complexity(self):
        text = "int f(int n);\nint f(int n)\n{\n    int sum = 0;\n" + "    for (int i = 0; i < n; i++) {\n" * 4
        text += "        if (i > sum) {\n            sum++;\n        }\n" * 4 + "    }\n" * 4 + "    return sum;\n}\n"
        self.assert_found(self.check(text), "cognitive complexity")

    def test_thread_unsafe(self):
        self.assert_found(self.check("#include <stdlib.h>\nconst char *f(void);\nconst char *f(void)\n{\n"
                                     "    return getenv(\"A\");\n}\n"), "concurrency-mt-unsafe")

    def test_header(self):
        self.write("src/base/bad.h", SPDX + "#define TWICE(n) n * 2\n")
        self.assert_found(self.check('#include "base/bad.h"\nint f(int n);\nint f(int n)\n{\n'
                                     "    return TWICE(n);\n}\n"), "src/base/bad.h:2:", "macro-parentheses")

    def test_unreadable(self):
        self.assert_found(self.check("int f(void)\n{\n    return nothing;\n}\n"), "bad.c:4:", "clang-diagnostic-error")

    def test_no_sources(self):
        (self.root / "src/base/good.c").unlink()
        self.assert_found(check_tidy.check(self.root), "no C sources")


class Analysers(Lint):
    def check(self, text):
        self.write(BAD, SPDX + text)
        return check_analysers.check(self.root)

    def test_good(self):
        self.assert_clean(check_analysers.check(self.root))

    def test_null(self):
        report = self.check("#include <stddef.h>\nint f(int n);\nint f(int n)\n{\n    const int *p = NULL;\n"
                            "    if (n == 3) {\n        p = &n;\n    }\n    return *p;\n}\n")
        self.assert_found(report, "bad.c:10:", "-Wanalyzer")
        self.assert_found(report, "bad.c:10:", "core.NullDereference")

    def test_freed(self):
        report = self.check("#include <stdlib.h>\nint f(int *p);\nint f(int *p)\n{\n    free(p);\n    return *p;\n}\n")
        self.assert_found(report, "bad.c:7:", "-Wanalyzer-use-after-free")
        self.assert_found(report, "bad.c:7:", "unix.Malloc")

    def test_tool_that_fails(self):
        self.write(BAD, GOOD)
        job = lint.Job("clang", BAD, ["clang-19", "--analyze", "-Xclang", "-analyzer-checker=nothing", BAD], [BAD])
        (text,), _ = lint.run_jobs(self.root, [job])
        self.assertEqual([finding.rule for finding in lint.read_findings(self.root, text)], ["exit"])

    def test_tool_that_is_ended(self):
        self.write(BAD, GOOD)
        job = lint.Job("bash", BAD, ["bash", "-c", "kill -TERM $$", BAD], [BAD])
        for _ in range(2):
            (text,), kept = lint.run_jobs(self.root, [job])
            self.assertEqual([finding.rule for finding in lint.read_findings(self.root, text)], ["exit"])
            self.assertEqual(kept, 0)

    def test_dead_store(self):
        self.assert_found(self.check("int f(int n);\nint f(int n)\n{\n    int m = n;\n    m = 4;\n    return n;\n}\n"),
                          "deadcode.DeadStores")

    def test_unreadable(self):
        self.assert_found(self.check("int f(void)\n{\n    return nothing;\n}\n"), "bad.c:4:", "undeclared")


class Shared(Tree):
    """Results in a folder that several trees share."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.shared = pathlib.Path(folder.name)
        shared = unittest.mock.patch.object(lint, "kept_folder", return_value=self.shared)
        shared.start()
        self.addCleanup(shared.stop)

    def run_in(self, root, number):
        """What a tool says about a source with that number in its header, and whether that was kept."""
        for name, text in ((BAD, SPDX + '#include "base/number.h"\n'), ("src/base/number.h", f"{number}\n")):
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = ["bash", "-c", f"echo {BAD}:1:1: error: $(cat {root}/src/base/number.h) '[number]'"]
        (text,), kept = lint.run_jobs(root, [lint.Job("bash", BAD, command, [BAD])])
        return [finding.text for finding in lint.read_findings(root, text)], kept

    def test_another_clone(self):
        self.assertEqual(self.run_in(self.root, 1), (["1"], 0))
        with tempfile.TemporaryDirectory() as other:
            self.assertEqual(self.run_in(other, 1), (["1"], 1))
            self.assertEqual(self.run_in(other, 2), (["2"], 0))
        self.assertEqual(self.run_in(self.root, 1), (["1"], 1))

    def test_source_that_changes_meanwhile(self):
        self.write(BAD, SPDX)
        command = ["bash", "-c", f"echo '// more' >>{self.root}/{BAD}"]
        self.assertEqual(lint.run_jobs(self.root, [lint.Job("bash", BAD, command, [BAD])])[1], 0)
        self.assertEqual(list(self.shared.rglob("*.txt")), [])

    def test_tool_that_fails(self):
        self.write(BAD, SPDX)
        job = lint.Job("bash", BAD, ["bash", "-c", "exit 3"], [BAD])
        for _ in range(2):
            (text,), kept = lint.run_jobs(self.root, [job])
            self.assertEqual(kept, 0)
            self.assertIn("failed (3)", text)

    def test_configuration_of_the_library(self):
        self.assertEqual(self.run_in(self.root, 1)[1], 0)
        self.write("cfg/mbedtls/mbedtls_config.h", "#define MORE\n")
        self.assertEqual(self.run_in(self.root, 1)[1], 0)
        self.assertEqual(self.run_in(self.root, 1)[1], 1)

    def test_bound(self):
        for number in range(lint.KEPT_STATES + 3):
            self.assertEqual(self.run_in(self.root, number), ([str(number)], 0))
        self.assertEqual(len(list(self.shared.rglob("*.txt"))), lint.KEPT_STATES)

    def test_own_folder_of_another_tree(self):
        unittest.mock.patch.stopall()
        self.assertEqual(lint.kept_folder(self.root), self.root / lint.CACHE)


class Misra(Lint):
    def check(self, text, name=BAD):
        self.write(name, SPDX + text)
        return check_misra.check(self.root)

    def test_required(self):
        self.assert_found(self.check("int f(unsigned n);\nint f(unsigned n)\n{\n    return (n == 0) ? 1 : 2;\n}\n"),
                          "bad.c:5", "rule 10.4")

    def test_function_of_one_file(self):
        other = "int f(int n);\nint f(int n)\n{\n    return n;\n}\n"
        self.assert_found(self.check("int g(int n);\nint g(int n)\n{\n    return n;\n}\nint h(int n);\n"
                                     "int h(int n)\n{\n    return g(n);\n}\n"), "bad.c", "rule 8.7:")
        self.write("src/base/other.c", SPDX + other)
        report = self.check("int f(int n);\nint (*const table[1])(int n) = {f};\n")
        self.assertFalse([line for line in report.findings if "other.c" in line and "8.7" in line])

    def test_two_on_one_line(self):
        report = self.check("int f(int n);\nint f(int n)\n{\n    goto end;\nend:\n"
                            "    if (n > 010) return 1l > n;\n    return n;\n}\n")
        for rule in ("7.1", "7.3", "15.1", "15.5", "15.6"):
            self.assert_found(report, f"rule {rule}:")
        self.assertGreaterEqual(sum("bad.c:7" in line for line in report.findings), 3)

    def test_across_files(self):
        self.write("src/base/other.c", SPDX + "int answer(void);\nint answer(void)\n{\n    return 41;\n}\n")
        self.assert_found(self.check(GOOD, "src/base/third.c"), "rule 8.6")

    def test_core(self):
        self.assert_found(self.check("int f(int n);\nint f(int n)\n{\n    int a[4] = {0};\n    a[4] = n;\n"
                                     "    return a[0];\n}\n"), "bad.c:6", "arrayIndexOutOfBounds")

    def test_unreadable(self):
        self.assert_found(self.check("int f(void)\n{\n    return (1;\n}\n"), "could not read")

    def test_each_text_differs(self):
        lines = check_misra.RULES.read_text().split("Appendix A", 1)[1].splitlines()[1:]
        texts = [line for line in lines if line and not line.startswith(("Rule ", "Appendix"))]
        self.assertGreater(len(texts), 150)
        self.assertEqual(len(texts), len(set(texts)))
        self.assertEqual([text for text in texts if not text[0].isupper()], [])


class Deviations(Lint):
    """The mechanism, with findings made by hand."""

    FOUND = lint.Finding("src/base/good.c", 5, "10.4", "words")

    def judge(self, *findings, tool="misra"):
        report = check_deviations.gate.Report()
        lint.judge(report, self.root, tool, findings, lambda finding: finding.text)
        return report

    def test_none(self):
        self.assert_found(self.judge(self.FOUND), "src/base/good.c:5: words")

    def test_covered(self):
        for place in ("tree", ["src/base/good.c"], ["src/base/good.c:answer"]):
            self.records(record(tool="misra", rule="10.4", where=place, reason=REASON))
            self.assertEqual(self.judge(self.FOUND).findings, [])

    def test_other_rule_tool_function_and_code(self):
        for change in ({"rule": "10.1"}, {"tool": "tidy"}, {"where": ["src/base/good.c:question"]},
                       {"code": "return 41"}):
            fields = {"tool": "misra", "rule": "10.4", "where": ["src/base/good.c"], "reason": REASON} | change
            self.records(record(**fields))
            self.assert_found(self.judge(self.FOUND), "src/base/good.c:5: words")

    def test_code(self):
        self.records(record(tool="misra", rule="10.4", where="tree", code="return 4[0-9]", reason=REASON))
        self.assertEqual(self.judge(self.FOUND).findings, [])

    def test_stale_record(self):
        self.records(record(tool="misra", rule="10.4", where="tree", reason=REASON))
        self.assert_found(self.judge(), lint.RECORDS, "10.4", "remove it")

    def test_stale_place(self):
        self.write(BAD, GOOD)
        self.records(record(tool="misra", rule="10.4", where=["src/base/good.c", BAD], reason=REASON))
        self.assert_found(self.judge(self.FOUND), BAD, "remove it or that place")

    def test_good_record(self):
        self.records(record(tool="misra", rule="10.4", where=["src/base/good.c"], reason=REASON))
        self.assert_clean(check_deviations.check(self.root))

    def test_too_many(self):
        self.records(*(record(tool="misra", rule=f"1.{n}", where="tree", reason=REASON) for n in range(26)))
        self.assert_found(check_deviations.check(self.root), "26 records", "25 at most")

    def test_silenced_in_the_source(self):
        for line in ("int a; // NOLINT(cert-err33-c)", "/* NOLINTNEXTLINE */", "/* cppcheck-suppress misra */",
                     '#pragma GCC diagnostic ignored "-Wshadow"', "#ifndef __clang_analyzer__"):
            self.write("src/base/silent.c", SPDX + line + "\n")
            self.assert_found(check_deviations.check(self.root), "src/base/silent.c", "silences a tool")

    def test_bad_records(self):
        self.records(record(tool="lint", rule="1", where=["src/gone.c"], reason="so", wher=["x"], code="("),
                     record(tool="misra", rule="2", where="tree", reason=REASON) * 2,
                     record(rule="3"))
        report = check_deviations.check(self.root)
        for words in (["1: lint 1", "the tool is one of"], ["1: lint 1", "say why"], ["src/gone.c", "no such file"],
                      ["unknown field 'wher'"], ["no regular expression"], ["misra 2", "twice"],
                      ["4: None 3", "no 'reason'"], ["4: None 3", "no 'where'"], ["4: None 3", "no 'tool'"]):
            self.assert_found(report, *words)

    def test_no_toml(self):
        self.records("[[deviation")
        self.assertTrue(check_deviations.check(self.root).findings)


class Kept(Lint):
    """Results are kept by content."""

    def run_tidy(self):
        return lint.run_jobs(self.root, list(check_tidy.jobs(self.root)))

    def test_unchanged(self):
        first, kept = self.run_tidy()
        self.assertEqual(kept, 0)
        self.assertEqual(self.run_tidy(), (first, 1))

    def test_moved(self):
        """A finding does not get lost with the name of its folder."""
        self.write(BAD, SPDX + "#define TWICE(n) n * 2\n")
        self.run_tidy()
        before = check_tidy.check(self.root).findings
        moved = self.root.with_name(self.root.name + "-moved")
        self.addCleanup(shutil.rmtree, moved)
        shutil.copytree(self.root, moved)
        self.assertEqual(lint.run_jobs(moved, list(check_tidy.jobs(moved)))[1], len(lint.sources(moved)))
        self.assertTrue(before)
        self.assertEqual(check_tidy.check(moved).findings, before)

    def test_changed_header(self):
        self.write("src/base/part.h", SPDX)
        self.write("src/base/good.h", SPDX + '#include "base/part.h"\n')
        self.write("src/base/good.c", SPDX + '#include "base/good.h"\n')
        self.run_tidy()
        self.write("src/base/part.h", SPDX + "#define TWICE(n) n * 2\n")
        self.assertEqual(self.run_tidy()[1], 0)


if __name__ == "__main__":
    unittest.main()
