# SPDX-License-Identifier: Apache-2.0
"""What tools/build/failures.py and the summary of tools/build/run_tests.py say of outputs of each kind."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

from test_gates import ROOT

# pylint: disable=wrong-import-position
import failures  # noqa: E402
import run_tests  # noqa: E402


GO = """\
--- FAIL: TestA (1.00s)
    --- FAIL: TestA/sub (0.50s)
        a_test.go:7: want 1, got 2
        agent_test.go:158: log of the agent in /tmp/nd1/n2:
            ts=2026-01-01T00:00:00.000Z level=error event=api_connect_failed text="error: nothing"
FAIL

table
 case | error: of the peer | 3 |
FAIL\tconformance\t2.000s
"""
GO_VERBOSE = """\
=== RUN   TestA
    a_test.go:1: a note of a test that passes
--- PASS: TestA (0.00s)
=== RUN   TestB
=== PAUSE TestB
=== RUN   TestC
    c_test.go:9: c is wrong
=== CONT  TestB
    b_test.go:3: b is wrong
--- FAIL: TestC (0.00s)
--- FAIL: TestB (0.00s)
FAIL
"""
UNIT = """\
  FAIL  test_bytes: 20 passed, 1 failed (exit 1)
        [==========] Running 21 test(s).
        [  ERROR   ] --- 0xf != 0x10
        [   LINE   ] --- tests/unit/test_bytes.c:14: error: Failure!
        [  FAILED  ] test_views
        [  PASSED  ] 20 test(s).
        [  FAILED  ] 1 test(s), listed below:
        [  FAILED  ] test_views
  ok    test_cdi: 3 passed
unit: 23 passed, 1 failed
"""
CHECK = """\
  ok    build      the binary (1.0 s)
  FAIL  style      12 files (0.1 s)
src/a.c:3: 120 columns
  ok    tree       12 files (0.1 s)
check: 2 passed, 1 failed
make: *** [Makefile:500: check] Error 1
"""
PANIC = """\
panic: test timed out after 30m0s
\trunning tests:
\t\tTestA (29m0s)

goroutine 1 [running]:
"""


class Reasons(unittest.TestCase):
    def expect(self, text, *lines):
        self.assertEqual(failures.reasons(text.splitlines()), list(lines))

    def test_go(self):
        self.expect(GO, "--- FAIL: TestA (1.00s)", "--- FAIL: TestA/sub (0.50s)", "a_test.go:7: want 1, got 2")
        self.expect(GO_VERBOSE, "--- FAIL: TestC (0.00s)", "c_test.go:9: c is wrong",
                    "--- FAIL: TestB (0.00s)", "b_test.go:3: b is wrong")
        self.expect(PANIC, "panic: test timed out after 30m0s", "running tests:", "TestA (29m0s)")

    def test_rows(self):
        self.expect(UNIT, "FAIL test_bytes: 20 passed, 1 failed (exit 1)", "[ ERROR ] --- 0xf != 0x10",
                    "[ LINE ] --- tests/unit/test_bytes.c:14: error: Failure!", "[ FAILED ] test_views")
        self.expect(CHECK, "FAIL style 12 files (0.1 s)", "src/a.c:3: 120 columns",
                    "make: *** [Makefile:500: check] Error 1")

    def test_itself(self):
        """The command's output passes through, and its exit code."""
        for command, code, end in (("echo fine", 0, "fine\n"),
                                   ("echo a.c:1:2: error: no; exit 3", 3, "failed:\n  a.c:1:2: error: no\n")):
            done = subprocess.run([sys.executable, ROOT / "tools/build/failures.py", "sh", "-c", command], check=False,
                                  stdout=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, code)
            self.assertTrue(done.stdout.endswith(end), done.stdout)

    def test_others(self):
        self.expect("one\n\ntwo", "one", "two")
        self.expect("", "it said nothing")
        self.expect("  CC a.c\na.c:1:2: error: no\n", "a.c:1:2: error: no")
        many = failures.reasons([f"a.c:{i}:1: error: no" for i in range(99)])
        self.assertEqual((len(many), many[-1]), (failures.LINES, "… and 88 lines more"))
        self.assertLessEqual(len(failures.reasons(["x.c:1: error: " + "x" * 999])[0]), failures.COLUMNS)


class Summary(unittest.TestCase):
    def lines(self, failed, of):
        why = [f"reason {i}" for i in range(failures.LINES)]
        results = [(f"part{i}", 1.0, "fine", why if i < failed else []) for i in range(of)]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = run_tests.summarise(results)
        self.assertEqual(code, 1 if failed else 0)
        return out.getvalue().splitlines()

    def test_it_fits(self):
        for failed in range(5):
            lines = self.lines(failed, 13)
            self.assertLessEqual(len(lines), 40)
            self.assertEqual(sum("reason 0" in line for line in lines), failed)
        self.assertEqual(self.lines(1, 3)[-1], "test: 2 passed, 1 failed: part0")

    def test_second_tries_are_named(self):
        logs = run_tests.LOGS
        with tempfile.TemporaryDirectory() as folder:
            run_tests.LOGS = pathlib.Path(folder)
            (run_tests.LOGS / "part1.reruns").write_text("conformance.TestA: 2 runs, 1 failures\n")
            (run_tests.LOGS / "part2.reruns").write_text("")
            try:
                lines = self.lines(0, 3)
            finally:
                run_tests.LOGS = logs
        again = [line.strip() for line in lines if "second try" in line]
        self.assertEqual(again, ["passed at the second try: conformance.TestA (2 runs, 1 failures)"])


if __name__ == "__main__":
    unittest.main()
