# SPDX-License-Identifier: Apache-2.0
"""The checkers on small trees with one violation each: a gate that cannot fail guards nothing."""

import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/gates"))

import gate  # noqa: E402

gate.open_rooms()

import attributes  # noqa: E402
import chart  # noqa: E402
import check_binary  # noqa: E402
import check_calls  # noqa: E402
import check_docs  # noqa: E402
import check_format  # noqa: E402
import check_layers  # noqa: E402
import check_limits  # noqa: E402
import check_reuse  # noqa: E402
import check_scripts  # noqa: E402
import check_style  # noqa: E402
import check_tree  # noqa: E402
import docs  # noqa: E402
import generate  # noqa: E402
import pages  # noqa: E402
import states  # noqa: E402

# REUSE-IgnoreStart
LICENCE = "SPDX-License-Identifier: Apache-2.0"
# REUSE-IgnoreEnd
SPDX = f"/* {LICENCE} */\n"
PAGE = "tests/" + "page.md"    # in two parts: check_docs.py looks for such names in this file as well
GOOD = SPDX + "int answer(void);\nint answer(void)\n{\n    return 42;\n}\n"


class Tree(unittest.TestCase):
    """A temporary tree with one good source, to which each test adds its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("src/base/good.c", GOOD)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def compile(self):
        """Objects and call graphs of every source, where `make check-objects` puts them."""
        for source in sorted(self.root.glob("src/**/*.c")):
            name = source.relative_to(self.root).with_suffix(".o")
            for folder, level in (("check", "-Os"), ("calls", "-O0")):
                out = self.root / "build/obj" / folder / name
                out.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["gcc", level, "-fPIE", "-w", "-fcallgraph-info=su,da", "-Isrc", "-I.",
                                "-c", str(source.relative_to(self.root)), "-o", str(out)],
                               cwd=self.root, check=True)

    def assert_clean(self, report):
        self.assertEqual(report.findings, [])
        self.assertTrue(report.looked_at)

    def assert_found(self, report, *words):
        """One finding holds all the words."""
        for line in report.findings:
            if all(word in line for word in words):
                return
        self.fail(f"nothing with {words} in {report.findings}")


class Format(Tree):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / ".clang-format", self.root)

    def test_good(self):
        self.assert_clean(check_format.check(self.root))

    def test_other_form(self):
        self.write("src/base/bad.c", SPDX + "int  f( void );\n")
        self.assert_found(check_format.check(self.root), "src/base/bad.c:2", "clang-format-19 -i")
        # What is kept of the first look hides nothing.
        self.assert_found(check_format.check(self.root), "src/base/bad.c:2", "clang-format-19 -i")

    def test_nothing(self):
        shutil.rmtree(self.root / "src")
        self.assert_found(check_format.check(self.root), "no C files")


class Style(Tree):
    def check(self, body):
        self.write("src/base/bad.c", SPDX + body)
        return check_style.check(self.root)

    def test_good(self):
        self.assert_clean(check_style.check(self.root))

    def test_no_sources(self):
        shutil.rmtree(self.root / "src")
        self.assert_found(check_style.check(self.root), "no C sources")

    def test_function_length(self):
        lines = "    n++;\n"
        shortest = "int f(int n)\n{\n" + lines * 57 + "}\n"
        longest = "int f(int n)\n{\n" + lines * 58 + "}\n"
        self.assert_clean(self.check(shortest))
        self.assert_found(self.check(longest), "src/base/bad.c:2:", "f()", "61 lines")

    def test_goto(self):
        self.assert_found(self.check("int f(int n)\n{\nback:\n    goto back;\n}\n"), "bad.c:5:", "goto")

    def test_goto_in_comment_and_string(self):
        self.assert_clean(self.check("/* no goto */\nconst char *f(void)\n{\n    return \"goto\";\n}\n"))

    def test_complexity(self):
        branches = "".join(f"    if (n == {i}) {{\n        return {i};\n    }}\n" for i in range(10))
        self.assert_found(self.check("int f(int n)\n{\n" + branches + "    return 0;\n}\n"),
                          "f()", "complexity 11")

    def test_nesting(self):
        text = "int f(int n)\n{\n" + "    while (n) {\n" * 5 + "    }\n" * 5 + "    return n;\n}\n"
        self.assert_found(self.check(text), "f()", "nests 5 deep")

    def test_parameters(self):
        self.assert_clean(self.check("int f(int a, int b, int c, int d, void (*e)(int, int))\n{\n}\n"))
        self.assert_found(self.check("int f(int a, int b, int c, int d, int e, int g)\n{\n}\n"),
                          "f()", "6 parameters")

    def test_forms(self):
        body = "void f(struct writer *w)\n{\n    WRITE(w,\n          %s);\n}\n"
        self.assert_clean(self.check(body % '"% of %" NAME "\\"%\\"", TEXT(a(b, ",")), NUMBER(1), VIEW(v)'))
        self.assert_found(self.check(body % '"% of %", TEXT(a)'), "bad.c:4:", "2 holes, 1 fills")
        self.assert_found(self.check(body % 'form, TEXT(a)'), "bad.c:4:", "not a literal")

    def test_columns(self):
        self.assert_found(self.check("/* " + "x" * 100 + " */\n"), "bad.c:2:", "columns")

    def test_file_length(self):
        self.assert_clean(self.check("\n/* a */ int x;\n" * 820))
        self.assert_found(self.check("int x;\n" * 821), "bad.c", "821 lines")


    def test_white_space(self):
        self.assert_found(self.check("int a; \n"), "bad.c:2", "white space")
        self.assert_found(self.check("\tint a;\n"), "bad.c:2", "tab")

    def test_tests_are_looked_at(self):
        self.write("tests/unit/test_bad.c", SPDX + "/* " + "x" * 100 + " */\n")
        self.assert_found(check_style.check(self.root), "tests/unit/test_bad.c:2", "columns")

    def test_function_that_lizard_overlooks(self):
        self.assert_found(self.check("int a = b < c;\nint f(void)\n{\n    return 0;\n}\n"), "bad.c",
                          "cannot read this file")


class Scripts(Tree):
    def check(self, name, text):
        self.write(name, text)
        return check_scripts.check(self.root)

    def test_good(self):
        self.write("tools/good.py", "import sys\n\nprint(sys.argv)\n")
        report = self.check("tools/good", "#!/bin/sh\nset -eu\necho \"$1\"\n")
        self.assert_clean(report)
        self.assertEqual(report.looked_at, "1 shell scripts, 1 of Python")

    def test_none(self):
        self.assert_found(check_scripts.check(self.root), "no scripts")

    def test_shell(self):
        self.assert_found(self.check("tools/bad.sh", "#!/bin/sh\ncd /tmp/x\nrm -r x\n"), "tools/bad.sh:2", "SC2164")

    def test_python(self):
        self.assert_found(self.check("tools/bad.py", "import sys\n"), "tools/bad.py:1", "'sys' imported but unused")
        self.assert_found(self.check("tools/bad.py", "def f(:\n"), "tools/bad.py:1", "invalid syntax")

    def test_lines(self):
        self.assert_found(self.check("tools/bad.py", "# " + "x" * 120 + "\n"), "bad.py:1", "columns")
        self.assert_found(self.check("tools/bad.sh", "#!/bin/sh\n\techo\n"), "bad.sh:2", "tab")


class Layers(Tree):
    def setUp(self):
        super().setUp()
        self.write("src/base/good.h", SPDX + "int answer(void);\n")
        self.write("src/wire/h2.h", SPDX + "int frame(void);\n")
        self.write("src/wire/h2.c", SPDX + '#include "wire/h2.h"\n#include "base/good.h"\n'
                   "int frame(void) { return answer(); }\n")

    def check(self, name=None, text=""):
        if name:
            self.write(name, SPDX + text)
        self.compile()
        return check_layers.check(self.root)

    def test_good(self):
        self.assert_clean(self.check())

    def test_upward_include(self):
        self.assert_found(self.check("src/base/bad.c", '#include "wire/h2.h"\n'),
                          "src/base/bad.c:2", "src/base must not know src/wire")

    def test_sideways_include(self):
        self.assert_found(self.check("src/dra/bad.c", '#include "wire/h2.h"\n'),
                          "src/dra must not know src/wire")

    def test_system_include(self):
        self.assert_found(self.check("src/agent/bad.c", "#include <stdio.h>\n"), "bad.c:2", "<stdio.h>")

    def test_symbol_without_include(self):
        self.assert_found(self.check("src/dra/bad.c", "int frame(void);\nint f(void) { return frame(); }\n"),
                          "src/dra/bad.c", "frame of src/wire")

    ROOMS = ("api", "report", "node", "publish", "ledger", "claim", "recovery", "calls", "serve")

    def rooms(self):
        """A function in each room of src/agent, and the struct that joins them."""
        for room in self.ROOMS:
            self.write(f"src/agent/{room}/{room}.h", SPDX + f"int {room}_step(void);\n")
            self.write(f"src/agent/{room}/room.h", SPDX + f"struct {room} {{ int n; }};\n")
            self.write(f"src/agent/{room}/{room}.c", SPDX + f'#include "agent/{room}/room.h"\n'
                       f"int {room}_step(void) {{ return 0; }}\n")
        self.write("src/agent/state.h", SPDX + "".join(f'#include "agent/{room}/room.h"\n' for room in self.ROOMS))
        self.write("src/agent/instance.c", SPDX + '#include "agent/state.h"\nint joins(void);\n'
                                                  "int joins(void) { return 1; }\n")

    def judge_header(self, name, text):
        """The includes alone, which no object is needed for."""
        self.write(name, SPDX + text)
        report = gate.Report()
        check_layers.check_includes(report, self.root)
        (self.root / name).unlink()
        return report

    def test_rooms_of_the_agent(self):
        self.rooms()
        self.write("src/agent/serve/use.h", SPDX + '#include "agent/calls/calls.h"\n')
        self.write("src/agent/agent.c", SPDX + '#include "agent/serve/serve.h"\nint f(void) { return serve_step(); }\n')
        self.assert_clean(self.check())

    def test_room_above_by_include(self):
        self.rooms()
        for room, above in (("api", "report"), ("report", "node"), ("node", "publish"), ("node", "ledger"),
                            ("publish", "ledger"), ("ledger", "publish"),
                            ("ledger", "claim"), ("claim", "recovery"), ("recovery", "calls"), ("calls", "serve")):
            with self.subTest(room=room, above=above):
                report = self.judge_header(f"src/agent/{room}/bad.h", f'#include "agent/{above}/{above}.h"\n')
                self.assert_found(report, f"src/agent/{room}/bad.h:2",
                                  f"src/agent/{room} must not know src/agent/{above}")

    def test_room_above_by_symbol(self):
        self.rooms()
        self.assert_found(self.check("src/agent/calls/bad.c", "int serve_step(void);\n"
                                     "int f(void) { return serve_step(); }\n"),
                          "src/agent/calls/bad.c", "needs serve_step of src/agent/serve")

    def test_the_frame_is_above_all(self):
        self.rooms()
        self.write("src/agent/agent.c", SPDX + "int frame_step(void);\nint frame_step(void) { return 0; }\n")
        self.assert_found(self.check("src/agent/serve/bad.c", "int frame_step(void);\n"
                                     "int f(void) { return frame_step(); }\n"),
                          "src/agent/serve/bad.c", "frame_step of src/agent/agent.c")

    def test_what_rooms_share_knows_none(self):
        self.rooms()
        self.assert_found(self.judge_header("src/agent/agent.h", '#include "agent/api/api.h"\n'),
                          "src/agent/agent.h:2", "src/agent must not know src/agent/api")

    def test_joined_state_is_for_one_file(self):
        self.rooms()
        for name in ("src/agent/api/bad.h", "src/agent/calls/bad.c", "src/agent/agent.c", "src/host/bad.c"):
            with self.subTest(name=name):
                self.assert_found(self.judge_header(name, '#include "agent/state.h"\n'), f"{name}:2",
                                  "only src/agent/instance.c includes it")

    def test_private_headers(self):
        self.rooms()
        self.write("src/agent/ledger/half_internal.h", SPDX)
        self.write("src/agent/ledger/moves.h", SPDX + '#include "agent/ledger/room.h"\n')
        for header in ("room", "half_internal", "moves"):
            include = f'#include "agent/ledger/{header}.h"\n'
            for name in ("src/agent/calls/bad.c", "src/agent/serve/bad.h", "src/agent/agent.c", "src/host/loop.c"):
                with self.subTest(header=header, name=name):
                    self.assert_found(self.judge_header(name, include), f"{name}:2", "is private to src/agent/ledger")
            self.assertEqual(self.judge_header("src/agent/ledger/good.c", include).findings, [])

    def test_certificates_make_no_system_call(self):
        for room in ("x509", "kubeconfig"):
            with self.subTest(room=room):
                self.assert_found(self.check(f"src/{room}/bad.c", "#include <time.h>\n"), f"src/{room}/bad.c:2",
                                  "<time.h>")
                (self.root / f"src/{room}/bad.c").unlink()
        self.assert_found(self.check("src/x509/bad.c", "int open(const char *p, int f);\n"
                                     "int f(void) { return open(\"x\", 0); }\n"), "src/x509/bad.c", "open()")

    def test_rooms_of_the_host(self):
        self.rooms()
        self.write("src/host/node/probe.h", SPDX + "int probe(void);\n")
        self.assert_clean(self.check("src/host/node/probe.c", "#include <time.h>\nint serve_step(void);\n"
                                     "int probe(void) { return serve_step(); }\n"))
        self.assert_found(self.check("src/host/sockets.c", "int probe(void);\nint f(void) { return probe(); }\n"),
                          "src/host/sockets.c", "probe of src/host/node")
        self.assert_found(self.judge_header("src/host/apiserver/bad.h", '#include "host/node/probe.h"\n'),
                          "src/host/apiserver must not know src/host/node")
        self.assert_found(self.judge_header("src/host/commands/bad.h", '#include "agent/serve/serve.h"\n'),
                          "src/host/commands must not know src/agent/serve")

    def test_unknown_room(self):
        self.assert_found(self.check("src/agent/attic/bad.c", GOOD), "src/agent/attic is no room")

    def test_heap_symbol(self):
        self.assert_found(self.check("src/wire/bad.c", "void *malloc(unsigned long);\nvoid *f(void) "
                                                       "{ return malloc(4); }\n"),
                          "src/wire/bad.c", "malloc()")

    def test_global(self):
        self.assert_found(self.check("src/dra/bad.c", "static int count;\nint f(void) { return count++; }\n"),
                          "src/dra/bad.c", "variable count")

    def test_local_static(self):
        self.assert_found(self.check("src/dra/bad.c", "int f(void) { static int seen = 1; return seen++; }\n"),
                          "variable seen")

    def test_constants_are_no_globals(self):
        text = 'static const char *const names[] = {"a", "b"};\n' \
               "const char *f(int i) { return names[i]; }\n"
        self.assert_clean(self.check("src/dra/table.c", text))

    def test_unlisted_host_global(self):
        self.assert_found(self.check("src/host/bad.c", "int count;\nint f(void) { return count++; }\n"),
                          "src/host/bad.c", "count", "MUTABLE")

    def test_missing_object(self):
        self.compile()
        self.write("src/wire/new.c", GOOD)
        self.assert_found(check_layers.check(self.root), "src/wire/new.c", "has no object")

    def test_unknown_folder(self):
        self.assert_found(self.check("src/misc/bad.c", GOOD), "src/misc is no room")


class Calls(Tree):
    def check(self, text):
        self.write("src/base/bad.c", SPDX + text)
        self.compile()
        return check_calls.check(self.root)

    def test_good(self):
        self.compile()
        self.assert_clean(check_calls.check(self.root))

    def test_recursion(self):
        self.assert_found(self.check("int f(int n)\n{\n    return n ? n * f(n - 1) : 1;\n}\n"),
                          "src/base/bad.c:2", "recursion", "f()")

    def test_recursion_that_the_optimiser_hides(self):
        self.assert_found(self.check("static int f(int n)\n{\n    return n ? f(n - 1) : 1;\n}\n"
                                     "int g(int n)\n{\n    return f(n);\n}\n"), "recursion", "f()")

    def test_mutual_recursion_across_files(self):
        self.write("src/base/other.c", SPDX + "int f(int n);\nint g(int n) { return n ? f(n - 1) : 0; }\n")
        self.assert_found(self.check("int g(int n);\nint f(int n) { return n ? g(n - 1) : 1; }\n"),
                          "recursion", "f()", "g()")

    def test_array_of_run_time_size(self):
        self.assert_found(self.check("int use(char *);\nint f(int n)\n{\n    char a[n];\n"
                                     "    return use(a);\n}\n"), "bad.c:3", "run-time size")

    def test_large_frame(self):
        self.assert_found(self.check("int use(char *);\nint f(void)\n{\n    char a[9000];\n"
                                     "    return use(a);\n}\n"), "f()", "bytes of stack")

    def test_no_graphs(self):
        self.assert_found(check_calls.check(self.root), "no call graphs")


class Binary(Tree):
    """The shipped binary is far larger than these, so only the rule under test is asked for."""

    def link(self, text, *flags):
        self.write("main.c", text)
        self.write(check_binary.BUDGET, "#define RAM_BYTES_MAX (2u * 1024u)\n"
                                        "#define BINARY_BYTES_MAX (512u * 1024u)\n")
        (self.root / "build").mkdir(exist_ok=True)
        subprocess.run(["gcc", "-w", *flags, "main.c", "-o", check_binary.DEBUG], cwd=self.root, check=True)
        subprocess.run(["objcopy", "--strip-all", check_binary.DEBUG, check_binary.BINARY],
                       cwd=self.root, check=True)
        return check_binary.check(self.root)

    def test_missing(self):
        self.assert_found(check_binary.check(self.root), check_binary.BINARY, "make")

    def test_heap_and_stdio(self):
        report = self.link("#include <stdio.h>\n#include <stdlib.h>\nint main(int n, char **v)\n{\n"
                           '    return printf("%p", malloc((size_t)n));\n}\n', "-static")
        self.assert_found(report, "holds malloc")
        self.assert_found(report, "holds printf")
        self.assert_found(report, "bytes", "BINARY_BYTES_MAX")  # glibc alone is larger than the agent may be
        self.assert_found(report, "not position-independent")

    def test_stripped_twin(self):
        report = self.link("int main(void)\n{\n    return 0;\n}\n", "-s")
        self.assert_found(report, "twin with symbols")

    def test_dynamic(self):
        self.assert_found(self.link("int main(void)\n{\n    return 0;\n}\n"), "not static")

    def test_static_memory(self):
        report = self.link("char table[2048];\nint main(void)\n{\n    return table[0];\n}\n")
        self.assert_found(report, "bytes of static memory", "RAM_BYTES_MAX")

    MAIN = "int main(int n, char **v)\n{\n    char a[64];\n    a[n] = 1;\n    return a[n - 1];\n}\n"

    def hardened(self, *flags):
        """Linked as it should be, but for the flags that come last."""
        return self.link(self.MAIN, "-g", check_binary.LANGUAGE, *check_binary.FLAGS,
                         check_binary.BRANCHES[platform.machine()], "-static-pie", "-Wl,-z,relro,-z,now", *flags)

    def test_hardened(self):
        report = self.hardened()
        for found in report.findings:
            self.assertRegex(str(found), "holds |bytes of static memory|more than BINARY_BYTES_MAX")

    def test_what_checksec_sees(self):
        for flags, text in ((("-Wl,-z,norelro",), "no full RELRO"), (("-Wl,-z,lazy", "-pie"), "no full RELRO"),
                            (("-Wl,-z,execstack",), "executable stack"), (("-no-pie",), "not position-independent"),
                            (("-pie", "-Wl,-rpath,/lib"), "search path of libraries"),
                            (("-pie", "-fno-stack-protector"), "does not guard the stack")):
            self.assert_found(self.hardened(*flags), text, "checksec")

    def test_segments(self):
        self.assert_found(self.hardened("-Wl,-z,noseparate-code"), "maps its head executable")
        self.assert_found(self.link(self.MAIN, "-nostdlib", "-static", "-Wl,--omagic,-e,main"),
                          "writable and executable")
        self.assert_found(self.hardened("-Wl,--build-id=none"), "no build id")

    def test_units_without_a_flag(self):
        flags = {*check_binary.FLAGS, check_binary.BRANCHES[platform.machine()]}
        for flag in flags:
            self.assert_found(self.link(self.MAIN, "-g", check_binary.LANGUAGE, *(flags - {flag})),
                              "1 of 1 units", flag)
        self.assert_found(self.link(self.MAIN, "-g"), "this check reads the wrong file")


class Limits(Tree):
    WHY = "/* Claims of one call: the API allows no more. More: refused. */\n"

    def check(self, text):
        self.write("cfg/limits.h", SPDX + text)
        return check_limits.check(self.root)

    def test_used_and_explained(self):
        self.write("src/base/use.c", SPDX + "int a[CLAIMS_MAX];\nint b[BOTH];\n")
        self.assert_clean(self.check(self.WHY + "#define CLAIMS_MAX 4\n\n" + self.WHY
                                     + "#define ONE 1\n#define BOTH (ONE + 1)\n"))

    def test_unused(self):
        self.assert_found(self.check(self.WHY + "#define LONELY_MAX 4\n"), "cfg/limits.h:3", "LONELY_MAX")

    def test_used_in_a_comment_only(self):
        self.write("src/base/use.c", SPDX + "/* LONELY_MAX */\n")
        self.assert_found(self.check(self.WHY + "#define LONELY_MAX 4\n"), "nobody uses it")

    def test_used_by_tests_and_sums_only(self):
        self.write("tests/unit/test_use.c", SPDX + "int a[LONELY_MAX];\n")
        self.write("cfg/budget.h", SPDX + "_Static_assert(LONELY_MAX < 5, \"\");\n")
        self.assert_found(self.check(self.WHY + "#define LONELY_MAX 4\n"), "nobody uses it")

    def test_used_by_an_unused_one(self):
        self.assert_found(self.check(self.WHY + "#define PART 4\n#define WHOLE_MAX (2 * PART)\n"), "PART", "nobody")

    def test_unexplained(self):
        self.write("src/base/use.c", SPDX + "int a[CLAIMS_MAX];\n")
        self.assert_found(self.check("/* ---- claims of one call, no more ---- */\n#define CLAIMS_MAX 4\n"),
                          "CLAIMS_MAX", "say above")
        self.assert_found(self.check("/* Why. */\n#define CLAIMS_MAX 4\n"), "CLAIMS_MAX", "say above")
        # What was said of the one before is not said of this one.
        self.assert_found(self.check(self.WHY + "#define OTHER_MAX 4\n/* Claims. */\n#define CLAIMS_MAX 4\n"),
                          "cfg/limits.h:5", "say above")

    def test_twice(self):
        self.write("src/base/use.c", SPDX + "int a[CLAIMS_MAX];\n")
        self.assert_found(self.check(self.WHY + "#define CLAIMS_MAX 4\n#define CLAIMS_MAX 5\n"), "defined twice")


class Docs(Tree):
    """The catalogue of log events, metrics and pages beside the tables of the real code."""

    def setUp(self):
        super().setUp()
        for name in (docs.LOG, docs.EVENTS, docs.METRICS, docs.PAGES, docs.CALLS, docs.FLAGS):
            self.write(name, (ROOT / name).read_text())
        for name in (attributes.TEXTS, attributes.IDENTITY, chart.VALUES, f"{chart.CHART}/Chart.yaml"):
            self.write(name, (ROOT / name).read_text())
        shutil.copytree(ROOT / states.ROOM, self.root / states.ROOM)
        shutil.copytree(ROOT / attributes.VECTORS, self.root / attributes.VECTORS,
                        ignore=shutil.ignore_patterns("recorded", "dranet"))
        self.write(attributes.DOCUMENT, attributes.document(self.root))
        self.write(chart.DOCUMENT, chart.document(self.root))
        self.write(docs.CHART_FLAGS, docs.chart_flags(self.root))
        self.write(docs.CATALOGUE, docs.catalogue(self.root))
        self.write(docs.OPERATORS, f"# Running\n\n{docs.FLAGS_FIRST}\n{docs.FLAGS_LAST}\n{docs.MARK_FIRST}\n"
                   f"{docs.MARK_LAST}\n\n## More\n")
        self.write(docs.OPERATORS, docs.operators(self.root))
        for name in pages.WORDS_MAX:
            self.write(name, "# A page\n")
        self.write(pages.ALERTS, "  - alert: NeuronDRADown\n    expr: up == 0\n")
        self.write(pages.RUNBOOK, "# Operate\n\n## Alerts\n\n### NeuronDRADown\n\nLook at the pod.\n")
        # The page of attributes links to it.
        self.write("boards/README.md", "# Boards\n")

    def change(self, name, old, new):
        text = (self.root / name).read_text()
        self.assertIn(old, text)
        self.write(name, text.replace(old, new))

    def found(self, *words):
        self.assert_found(check_docs.check(self.root), docs.CATALOGUE, *words)

    def test_written(self):
        self.assert_clean(check_docs.check(self.root))
        text = docs.catalogue(self.root)
        for row in ("| `store_failed` | error |", "| `neuron_dra_log_events_total` | counter | `event` |",
                    "| `CDIFileFailed` | Warning | `Prepare` | `cdi_file_failed` |", "| `/readyz` |",
                    "| `neuron_dra_ready` | gauge |  |", "--runtime-config=resource.k8s.io/v1beta1=true"):
            self.assertIn(row, text)

    def test_stale(self):
        self.change(docs.LOG, '"see what else uses the path: ss -lxp on the node"', '"fix it"')
        self.found("run make docs")

    def test_table_of_events(self):
        text = docs.operators(self.root)
        self.assertIn("| `CDIFileFailed` | `cdi_file_failed` | a CDI file cannot be read, written or removed | check",
                      text)
        self.assertTrue(text.startswith("# Running\n") and text.endswith(f"{docs.MARK_LAST}\n\n## More\n"), text)
        self.change(docs.OPERATORS, "check the free space", "check it")
        self.assert_found(check_docs.check(self.root), docs.OPERATORS, "run make docs")
        self.change(docs.OPERATORS, docs.MARK_LAST, "")
        self.assert_found(check_docs.check(self.root), docs.OPERATORS, "lacks the lines")

    def test_table_of_flags(self):
        text = docs.operators(self.root)
        for row in ("| `--node-name` | `NODE_NAME` |  | required by run |",
                    "| `--log-format` | `LOG_FORMAT` | `text`, `json` | `text` |",
                    "| `--efa-driver-name` | `EFA_DRIVER_NAME` |  | `dra.net` |",
                    "| `--output` |  | `text`, `json`, `yaml` |"):
            self.assertIn(row, text)
        for old, new, words in ((".help = \"where the boot", ".help = \"here the boot", "run make docs"),
                                ("= EFA_DRIVER_NAME,", "= EFA_DRIVER,", "does not define EFA_DRIVER"),
                                (".help = \"where the boot", ".hint = \"where the boot", "no row of a flag"),
                                ("setting_rows[] =", "rows[] =", "setting_rows is missing")):
            before = (self.root / docs.FLAGS).read_text()
            self.change(docs.FLAGS, old, new)
            self.assert_found(check_docs.check(self.root), docs.OPERATORS, words)
            self.write(docs.FLAGS, before)

    def found_attribute(self, *words):
        self.assert_found(check_docs.check(self.root), attributes.DOCUMENT, *words)

    def test_golden_file_of_an_attribute(self):
        golden = f"{attributes.VECTORS}/boards/inf2.xlarge.txt"
        self.change(golden, "0 coreCount int 2", "0 coreCount int 2\n0 engines capacity 2")
        self.found_attribute("says nothing of engines", "[boards.\"engines\"]")
        self.write(attributes.TEXTS, (self.root / attributes.TEXTS).read_text() +
                   "\n[boards.engines]\nwhose = 'own'\nmeaning = 'engines'\nsource = 'a | flag'\n")
        self.found_attribute("run make docs")
        self.assertIn("| `engines` | capacity | inf2.xlarge | own | engines | a \\| flag | "
                      "`device.capacity['neuron.aws.com'].?engines.orValue(quantity('0'))"
                      ".compareTo(quantity('2')) >= 0` |",
                      attributes.document(self.root))
        self.change(golden, "0 engines capacity 2", "0 engines int 2")
        self.change(f"{attributes.VECTORS}/boards/trn1.2xlarge.txt", "0 coreCount int 2", "0 engines capacity 2")
        self.found_attribute("engines is capacity here and int elsewhere")

    def test_text_of_an_attribute(self):
        for old, new, words in (("[boards.topology_x]", "[boards.topology_z]", "says nothing of topology_x"),
                                ("[efa.shares]", "[efa.parts]\nwhose = ''\nmeaning = ''\nsource = ''\n[efa.shares]",
                                 "no golden file has efa.parts"),
                                ("[efa.shares]", "[efa.shares]\nalways = true", "is always there, but not in all"),
                                ("[efa.shares]", "[efa.shares]\nexample = 'true'", "needs meaning, source, whose"),
                                ("[efa.shares]", "[efa.shares]\nsauce = ''", "needs meaning, source, whose")):
            before = (self.root / attributes.TEXTS).read_text()
            self.change(attributes.TEXTS, old, new)
            self.found_attribute(words)
            self.write(attributes.TEXTS, before)

    def test_attributes_of_one_row(self):
        self.assertIn("| `contiguousN_id` | int | N = 2: types **B**; not `neuron-node`. N = 3 to 6: inf2.24xlarge, "
                      "inf2.48xlarge. N = 7 to 12: inf2.48xlarge | own |", attributes.document(self.root))
        golden = self.root / attributes.VECTORS / "boards/inf2.48xlarge.txt"
        golden.write_text(golden.read_text().replace(" contiguous12_id int ", " contiguous12_id string "))
        self.found_attribute("contiguous#_id is of several types")

    def test_golden_file_of_a_flag(self):
        more = f"{attributes.VECTORS}/{attributes.MORE}/efa-share.txt"
        for line in ("when with `--efa-share 8`\n", "board efa trn2.48xlarge\n"):
            before = (self.root / more).read_text()
            self.change(more, line, "")
            self.found_attribute("efa-share.txt lacks its lines 'when ")
            self.write(more, before)

    def found_value(self, *words):
        self.assert_found(check_docs.check(self.root), chart.DOCUMENT, *words)

    def test_values_of_the_chart(self):
        text = chart.document(self.root)
        for row in ("| `draDriver.ports.metrics` | `51516` | HTTP pages such as `/metrics` and `/readyz`. |",
                    "| `draDriver.readinessProbe` | `{periodSeconds: 5, timeoutSeconds: 5}` | Times of",
                    "| `draDriver.tolerations` | see values.yaml | Taints that the agent tolerates. |"):
            self.assertIn(row, text)
        self.change(chart.VALUES, "    # HTTP pages such as", "    # Pages such as")
        self.found_value("run make docs")

    def test_value_without_a_comment(self):
        self.change(chart.VALUES, "    # gRPC health service.\n", "")
        self.found_value("draDriver.ports.healthcheck has no comment")

    def test_value_of_another_form(self):
        self.change(chart.VALUES, "  ports:\n", "  ports: |\n    more text\n")
        self.found_value("neither a key nor an item of a list: more text")

    def test_list_of_maps(self):
        self.write(chart.VALUES, "# List.\nlist:\n- a: 1\n  b: 2\n- c\n# Next.\nnext: {}\n")
        text = chart.document(self.root)
        self.assertTrue(text.endswith("| `list` | `[a: 1, b: 2, c]` | List. |\n| `next` | `{}` | Next. |\n"), text)

    def test_absent(self):
        (self.root / docs.CATALOGUE).unlink()
        self.found("run make docs")

    def test_name_of_another_form(self):
        self.change(docs.LOG, '"store_failed"', '"Store failed"')
        self.found("Store failed is not snake_case")

    def test_name_twice(self):
        self.change(docs.LOG, '"store_failed"', '"started"')
        self.found("started stands there twice")

    def test_reason_of_no_event(self):
        self.change(docs.EVENTS, "LOG_ID_STORE_FAILED", "LOG_ID_STORE_LOST")
        self.found("LOG_ID_STORE_LOST of", "is not in it")

    def test_row_without_a_remedy(self):
        self.change(docs.LOG, '"the agent stopped", "none"', '"the agent stopped"')
        self.found("rows must have 5 columns")

    def test_metric_of_another_form(self):
        self.change(docs.METRICS, ".type = COUNTER,", "")
        self.found("no row of a metric")

    def found_in_page(self, text, *words):
        self.write(PAGE, text)
        self.assert_found(check_docs.check(self.root), f"{PAGE}:", *words)

    def test_link_to_no_file(self):
        for text in ("# A\n\nsee [b](b.md)\n", "# A\n\nsee [b\nc](../src/b.md#b)\n", "# A\n\n![a](a.png)\n",
                     "# A\n\n[`b`](b.md \"title\")\n", "# A\n\n[a][b]\n\n[b]: b.md\n", "# A\n\n[a [b] c](b.md)\n",
                     "# A\n\n`a` [b](../../b.md)\n"):
            self.found_in_page(text, "leads to no file")

    def test_link_to_no_heading(self):
        for text in ("# A\n\n[b](#b)\n", "# A\n\n[b](../README.md#b)\n", "# A b\n\n[b](#A-b)\n",
                     "# A\n\n# A\n\n[b](#a-2)\n", "# A\n\n```sh\n# b\n```\n\n[b](#b)\n",
                     "# A\n\n[b](../src/base/good.c#b)\n"):
            self.found_in_page(text, "leads to no heading")

    def test_links_that_lead_somewhere(self):
        self.write(PAGE, "# A `b`, c-d_e: [f](page.md)!\n\n## A\n\n## A\n\n[a](#a-b-c-d_e-f), [b](page.md#a-1)\n"
                   "[c](../README.md#a-page) [d](..) [e](../src/base/) [f](https://a.example/x.md#y) [g](mailto:a@b)\n"
                   "`[h](h.md)` ``[i](`i.md)``\n\n```\n[j](j.md)\n```\n<!-- [k](k.md) -->\na ` b\n\n[l](#a) c ` d\n")
        self.assert_clean(check_docs.check(self.root))

    def test_commands_that_nothing_types(self):
        reasons, wrong = "tests/e2e/" + "readme_test.go", "types these commands"
        for text in ("# A\n\n```sh\nmake b\n```\n", "# B\n\n# A\n\n    make b\n"):
            self.write(reasons, "package e2e\n")
            self.found_in_page(text, wrong)
            self.write(reasons, f'package e2e\n\t"{PAGE} # A": "hours",\n')
            self.assert_clean(check_docs.check(self.root))
            self.write(reasons, f'package e2e\n\tshellBlock(t, "{PAGE}", "# A")\n')
            self.assert_clean(check_docs.check(self.root))
        self.write(PAGE, "# C\n\n```yaml\n    make b\n```\n\nmake b\n")
        self.assert_clean(check_docs.check(self.root))

    def test_mention_of_no_page(self):
        name = PAGE
        self.write("src/base/mention.c", SPDX + f"/* see {name} */\n")
        self.assert_found(check_docs.check(self.root), "src/base/mention.c:2", f"there is no {name}")

    def test_long_page(self):
        self.write("README.md", "# A\n" + "word " * 998)
        self.assert_clean(check_docs.check(self.root))
        self.write("README.md", "# A\n" + "word " * 999)
        self.assert_found(check_docs.check(self.root), "README.md", "1001 words, 1000 at most")
        (self.root / "README.md").unlink()
        self.assert_found(check_docs.check(self.root), "README.md", "0 words")

    def test_alert_without_a_section(self):
        self.change(pages.ALERTS, "expr: up == 0", "expr: up == 0\n  - alert: NeuronDRAAbsent")
        self.assert_found(check_docs.check(self.root), pages.RUNBOOK, "NeuronDRAAbsent", "add a heading")
        self.write(pages.ALERTS, "groups: []\n")
        self.assert_found(check_docs.check(self.root), pages.ALERTS, "has no alert")


class Repository(Tree):
    def check(self, name, text):
        self.write(name, text)
        return check_tree.check(self.root)

    def test_good(self):
        self.assert_clean(check_tree.check(self.root))

    def test_top_level(self):
        self.assert_found(self.check("docs/a.md", "# a\n"), "docs", "top level")

    def test_foreign_copyright(self):
        self.assert_found(self.check("src/base/bad.c", SPDX + "/* Copyright" + " (c) 2020 Somebody */\n"),
                          "bad.c:2", "third-party")

    def test_unfinished(self):
        self.assert_found(self.check("src/base/bad.c", SPDX + "/* TO" + "DO: more */\n"), "bad.c:2", "finish")

    def test_registry_host(self):
        self.assert_found(self.check("tools/x.sh", f"# {LICENCE}\nhttp://deb."
                                     + "debian.org/debian\n"), "tools/x.sh:2", "mirror")

    def test_machine_path(self):
        self.assert_found(self.check("src/base/bad.c", SPDX + "/* see /wor" + "k/x */\n"), "bad.c:2", "path")

    def test_third_party(self):
        self.assert_found(self.check("src/base/pb_decode.c", GOOD), "third-party")
        self.assert_found(self.check("tools/vendor/x.py", f"# {LICENCE}\n"), "third-party")

    def test_archives(self):
        self.assert_found(self.check("tests/fuzz/x.zip", b"PK\0"), "tests/fuzz/x.zip", "never committed")
        self.assert_found(self.check("tests/fuzz/corpus/x.tar", b"PK\0"), "tests/fuzz/corpus/x.tar", "never committed")
        report = self.check("tests/fuzz/corpus/x.zip", b"PK\0")
        self.assertFalse([line for line in report.findings if "corpus/x.zip" in line])

    def test_binary(self):
        self.assert_found(self.check("tools/blob", b"\x7fELF\0"), "tools/blob", "binary")
        self.write("tests/vectors/slice.pb", b"\0")
        self.assertFalse([line for line in check_tree.check(self.root).findings if "slice.pb" in line])


class Licences(Tree):
    def check(self, name, text):
        for path in check_reuse.PLACES:
            self.write(path, (ROOT / path).read_text())
        self.write(name, text)
        return check_reuse.check(self.root)

    def test_good(self):
        self.assert_clean(self.check("README.md", "# A form without comments\n"))

    def test_no_licence(self):
        self.assert_found(self.check("src/base/bad.c", "int a;\n"), "src/base/bad.c", "no license")

    def test_foreign_licence(self):
        self.assert_found(self.check("src/base/bad.c", SPDX.replace("Apache-2.0", "MIT")), "src/base/bad.c", "MIT")

    def test_no_files(self):
        shutil.rmtree(self.root)
        self.root.mkdir()
        self.assertTrue(check_reuse.check(self.root).findings)


class HpackTables(unittest.TestCase):
    """The generated code against another implementation."""

    def test_huffman_codes(self):
        from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
        symbols, rows = generate.canonical(list(REQUEST_CODES_LENGTH))
        self.assertEqual(sum(row[2] for row in rows), 256)
        for length, first, count, offset in rows:
            for place in range(count):
                symbol = symbols[offset + place]
                self.assertEqual((REQUEST_CODES[symbol], REQUEST_CODES_LENGTH[symbol]), (first + place, length))

    def test_data_file(self):
        import json
        from hpack.huffman_constants import REQUEST_CODES_LENGTH
        from hpack.table import HeaderTable
        tables = json.loads(generate.TABLES.read_text())
        self.assertEqual(tables["huffman_code_lengths"], list(REQUEST_CODES_LENGTH))
        self.assertEqual([(n.encode(), v.encode()) for n, v in tables["static_table"]],
                         list(HeaderTable.STATIC_TABLE))

    def test_incomplete_code_is_refused(self):
        with self.assertRaises(generate.Failure):
            generate.canonical([8] * 257)


class Generation(unittest.TestCase):
    def test_unmatched_option_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            proto = pathlib.Path(folder) / "proto"
            shutil.copytree(ROOT / "proto", proto)
            with open(proto / "dra.options", "a", encoding="utf-8") as options:
                options.write("dra.Claim.nothing max_length:3\n")
            self.addCleanup(setattr, generate, "PROTO", generate.PROTO)
            generate.PROTO = proto
            out = pathlib.Path(folder) / "out"
            out.mkdir()
            with self.assertRaisesRegex(generate.Failure, "did not match"):
                generate.run_nanopb(generate.nanopb_dir(), out, sorted(proto.glob("*.proto")))

    def test_field_without_size_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            proto = pathlib.Path(folder) / "proto"
            shutil.copytree(ROOT / "proto", proto)
            text = (proto / "dra.options").read_text().replace("dra.Claim.uid ", "#")
            (proto / "dra.options").write_text(text)
            self.addCleanup(setattr, generate, "PROTO", generate.PROTO)
            generate.PROTO = proto
            out = pathlib.Path(folder) / "out"
            out.mkdir()
            generate.run_nanopb(generate.nanopb_dir(), out, [proto / "dra.proto"])
            with self.assertRaisesRegex(generate.Failure, "callbacks asked for"):
                generate.check_callbacks(out, proto / "dra.proto")

    def test_difference_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            fresh, kept = pathlib.Path(folder) / "fresh", pathlib.Path(folder) / "kept"
            fresh.mkdir()
            kept.mkdir()
            (fresh / "same.h").write_text("a")
            (kept / "same.h").write_text("a")
            (fresh / "changed.h").write_text("a")
            (kept / "changed.h").write_text("b")
            (fresh / "new.h").write_text("a")
            (kept / "old.h").write_text("a")
            self.assertEqual(list(generate.differences(fresh, kept)),
                             ["generated/changed.h: differs from a fresh generation",
                              "generated/new.h: missing", "generated/old.h: nothing generates it"])


if __name__ == "__main__":
    unittest.main()
