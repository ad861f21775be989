# SPDX-License-Identifier: Apache-2.0
"""The graph, its gate and the size ledger on small trees with one violation each."""

import subprocess
import sys
import unittest

sys.dont_write_bytecode = True

from test_gates import SPDX, Tree  # noqa: E402

# pylint: disable=wrong-import-position
import check_graph  # noqa: E402
import check_size  # noqa: E402
import check_writers  # noqa: E402
import gate  # noqa: E402
import graph  # noqa: E402
import size  # noqa: E402
import way  # noqa: E402


class Graph(Tree):
    """base, wire above it, and an agent of two rooms and a frame."""

    def setUp(self):
        super().setUp()
        self.write("src/base/good.h", SPDX + "int answer(void);\n")
        self.source("src/agent/api/client", "int client(void);\n", "int client(void) { return answer(); }\n",
                    "base/good.h")
        self.source("src/agent/calls/calls", "int calls(void);\n", "int calls(void) { return client(); }\n",
                    "agent/api/client.h")
        self.write("src/agent/agent.c", SPDX + '#include "agent/calls/calls.h"\nint agent(void) { return calls(); }\n')

    def source(self, stem, header, body, *includes):
        self.write(stem + ".h", SPDX + header)
        lines = "".join(f'#include "{name}"\n' for name in (stem.removeprefix("src/") + ".h", *includes))
        self.write(stem + ".c", SPDX + lines + body)

    def draw(self):
        self.compile()
        code = graph.Code(self.root)
        self.write("src/README.md", graph.replace_block("# The code\n", graph.block(code)))
        return code

    def check(self):
        self.draw()
        return check_graph.check(self.root, enforced=True)

    def test_good(self):
        self.assert_clean(self.check())

    def test_rooms(self):
        code = self.draw()
        self.assertEqual(code.room_edges(), {"base": set(), "agent/api": {"base"}, "agent/calls": {"agent/api"},
                                             "agent.c": {"agent/calls"}})

    def test_no_objects(self):
        self.assert_found(check_graph.check(self.root, enforced=True), "no objects")

    def test_circle_of_calls(self):
        self.source("src/wire/a", "int a(void);\n", "int a(void) { return b(); }\n", "wire/b.h")
        self.source("src/wire/b", "int b(void);\n", "int a(void);\nint b(void) { return a(); }\n")
        self.assert_found(self.check(), "src/wire/a uses src/wire/b (b(), wire/b.h)",
                          "src/wire/b uses src/wire/a (a())")

    def test_circle_through_a_table(self):
        self.source("src/wire/a", "int a(void);\n", "int a(void) { return b(); }\n", "wire/b.h")
        self.source("src/wire/b", "int b(void);\n",
                    "int a(void);\nstatic int (*const table[])(void) = {a};\n"
                    "int b(void) { return table[0](); }\n")
        self.assert_found(self.check(), "a circle of 2 files", "src/wire/b uses src/wire/a (a())")

    def test_circle_of_includes_and_calls(self):
        self.source("src/wire/a", "struct a { int n; };\nint a(void);\n", "int a(void) { return b(0); }\n", "wire/b.h")
        self.source("src/wire/b", "struct a;\nint b(struct a *a);\n", "int b(struct a *a) { return a->n; }\n",
                    "wire/a.h")
        self.assert_found(self.check(), "a circle of 2 files", "wire/a.h")

    def test_shared_header_is_no_circle(self):
        self.write("src/wire/both.h", SPDX + "int first(void);\nint second(void);\n")
        self.write("src/wire/both.c", SPDX + '#include "wire/both.h"\nint first(void) { return second(); }\n')
        self.write("src/wire/other.c", SPDX + '#include "wire/both.h"\nint second(void) { return 2; }\n')
        self.assert_clean(self.check())

    def test_circle_of_rooms(self):
        self.source("src/agent/api/low", "int low(void);\n", "int low(void) { return late(); }\n",
                    "agent/calls/late.h")
        self.source("src/agent/calls/late", "int late(void);\n", "int late(void) { return 1; }\n")
        report = self.check()
        self.assert_found(report, "a circle of 2 rooms", "agent/api uses agent/calls", "agent/api/low")
        self.assertEqual(len(report.findings), 1)

    def test_port_is_no_call(self):
        self.write("src/base/assert.h", SPDX + "_Noreturn void assert_failed(const char *f, int n);\n")
        self.write("src/base/ends.c", SPDX + '#include "base/assert.h"\nvoid ends(void) { assert_failed("", 1); }\n')
        self.write("src/host/panic.c", SPDX + '#include "base/assert.h"\nvoid ends(void);\n'
                   "_Noreturn void assert_failed(const char *f, int n) { ends(); for (;;) { } }\n")
        self.assert_clean(self.check())

    def test_joined_state_is_in_the_search(self):
        self.write("src/agent/state.h", SPDX + '#pragma once\n#include "agent/calls/room.h"\n')
        self.write("src/agent/calls/room.h", SPDX + "struct calls { int n; };\n")
        self.write("src/agent/instance.c", SPDX + '#include "agent/state.h"\nint joins(void) { return 1; }\n')
        self.assert_clean(self.check())
        self.assertIn("`agent/state.h`: 1 (agent/instance.c)", graph.block(graph.Code(self.root)))
        self.write("src/agent/calls/more.h", SPDX + '#include "agent/state.h"\n')
        self.write("src/agent/calls/room.h", SPDX + '#include "agent/calls/more.h"\n')
        self.assert_found(self.check(), "a circle of", "src/agent/state.h")

    def test_header_below_the_state_of_its_room(self):
        """wait.h has a type that room.h needs, wait.c has what room.h lays out: no circle."""
        self.write("src/agent/calls/room.h", SPDX + '#include "agent/calls/wait.h"\n'
                                                     "struct calls { struct wait wait; };\n")
        self.write("src/agent/calls/wait.h", SPDX + "struct wait { int n; };\nint waits(void);\n")
        self.write("src/agent/calls/wait.c", SPDX + '#include "agent/calls/room.h"\nint waits(void) { return 1; }\n')
        self.assert_clean(self.check())

    def test_old_picture(self):
        self.draw()
        self.source("src/agent/serve/links", "int links(void);\n", "int links(void) { return calls(); }\n",
                    "agent/calls/calls.h")
        self.compile()
        self.assert_found(check_graph.check(self.root, enforced=True), "src/README.md", "--readme")

    def test_block_is_replaced_in_place(self):
        text = f"before\n{graph.MARK_FIRST}\nold\n{graph.MARK_LAST}\nafter\n"
        self.assertEqual(graph.replace_block(text, "new"), "before\nnew\nafter\n")

    def test_shown_arrows(self):
        known = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
        self.assertEqual(graph.leave_out_shown(known), {"a": {"b"}, "b": {"c"}, "c": set()})


class Writers(Tree):
    """Two modules of one room, and another room."""

    def setUp(self):
        super().setUp()
        folder = "src/agent/serve"
        self.write(f"{folder}/calls.h", SPDX + "struct call {\n    int state;\n};\nint calls(void);\n")
        self.write(f"{folder}/links.h", SPDX + "struct link {\n    int used;\n};\nint links(void);\nint more(void);\n")
        self.write(f"{folder}/room.h", SPDX + '#include "agent/serve/calls.h"\n#include "agent/serve/links.h"\n'
                   "struct serve {\n    int count;\n    struct call call[4];\n    struct link link;\n};\n")
        self.write("src/agent/api/room.h", SPDX + "struct api {\n    int sent;\n};\n")
        self.write("src/agent/frame.h", SPDX + "struct serve;\nstruct api;\nstruct agent {\n    int stopping;\n"
                   "    struct serve *serve;\n    struct api *api;\n};\n")
        self.write(f"{folder}/links.c", SPDX + "int links(void) { return 1; }\n")

    def check(self, body):
        self.write("src/agent/serve/calls.c", SPDX + '#include "agent/api/room.h"\n#include "agent/frame.h"\n'
                   '#include "agent/serve/room.h"\nint calls(void) { return 1; }\n' + body)
        self.compile()
        return check_writers.check(self.root, enforced=True)

    def test_own_state(self):
        self.assert_clean(self.check("int f(struct agent *a)\n{\n    struct call *c = &a->serve->call[1];\n"
                                     "    c->state = 2;\n    a->serve->call[0].state++;\n    a->serve->count = 1;\n"
                                     "    return a->serve->link.used == 1;\n}\n"))

    def test_through_the_agent(self):
        self.assert_found(self.check("int f(struct agent *a)\n{\n    a->serve->link.used = 1;\n    return 0;\n}\n"),
                          "src/agent/serve/calls", "a->serve->link.used of src/agent/serve/links")

    def test_of_another_room(self):
        self.assert_found(self.check("int f(struct agent *a)\n{\n    a->api->sent = 1;\n    return 0;\n}\n"),
                          "src/agent/serve/calls", "a->api->sent of src/agent/api/room")

    def test_through_a_pointer(self):
        self.assert_found(self.check("int f(struct link *l)\n{\n    l->used |= 1;\n    return 0;\n}\n"),
                          "link.used of src/agent/serve/links")

    def test_of_the_frame(self):
        self.assert_found(self.check("int f(struct agent *a)\n{\n    a->stopping = 1;\n    return 0;\n}\n"),
                          "a->stopping of src/agent/agent")

    def test_second_file_of_a_module(self):
        self.write("src/agent/serve/other.c", SPDX + '#include "agent/serve/links.h"\nint more(void) { return 1; }\n'
                   "int g(struct link *l)\n{\n    l->used = 1;\n    return 0;\n}\n")
        self.assert_clean(self.check(""))

    def test_no_objects(self):
        self.assert_found(check_writers.check(self.root, enforced=True), "no objects")


class Way(Tree):
    def test_files_and_calls_up(self):
        """A program that prints calls of its own functions, as build/sim/way does."""
        self.write("src/wire/h2.h", SPDX + "int frame(void);\nint list(void);\n")
        self.write("src/wire/h2.c", SPDX + "int frame(void) { return 1; }\n")
        self.write("src/wire/h2_list.c", SPDX + "int list(void) { return 1; }\n")
        self.write("src/agent/links.c", SPDX + "int links(void) { return 1; }\nint handler(void) { return 2; }\n")
        self.write("main.c", "#include <stdio.h>\n"
                   "int links(void);\nint handler(void);\nint frame(void);\nint list(void);\n"
                   "static void say(void *o, void *c, void *f) { printf(\"%p %p %p\\n\", o, c, f); }\n"
                   "int main(void)\n{\n"
                   "say(links, 0, links); say(links, links, frame); say(links, frame, handler);\n"
                   "say(list, 0, list); say(links, frame, list); return 0; }\n")
        self.compile()
        (self.root / way.PROGRAM).parent.mkdir(parents=True)
        subprocess.run(["gcc", "-g", "-O0", "-w", "-no-pie", "-fno-pie", "-o", way.PROGRAM, "main.c", "src/wire/h2.c",
                        "src/wire/h2_list.c", "src/agent/links.c"], cwd=self.root, check=True)
        found = way.Way(graph.Code(self.root))
        self.assertEqual(dict(found.functions), {"src/agent/links.c": ["links", "handler"], "src/wire/h2.c": ["frame"],
                                                 "src/wire/h2_list.c": ["list"]})
        self.assertEqual(dict(found.up), {("src/wire/h2", "src/agent/links"): {"handler"}})
        self.assertIn("3 files (2 modules", found.line())
        self.assertIn("1 of them in src/agent", found.line())


class Ledger(unittest.TestCase):
    def judge(self, before, now, binary=(1000, 1000)):
        report = gate.Report()
        check_size.judge(report, {"binary": binary[0], "layers": before}, {"binary": binary[1], "layers": now})
        return report.findings

    def test_growth(self):
        kept = {"wire": {"text": 50000, "bss": 0}}
        self.assertEqual(self.judge(kept, {"wire": {"text": 51000, "bss": 256}}), [])
        self.assertIn("wire: text grew from 50000 to 51001 bytes (2.0 %): run 'make size UPDATE=1'",
                      self.judge(kept, {"wire": {"text": 51001, "bss": 0}})[0])
        self.assertEqual(len(self.judge(kept, {"wire": {"text": 50000, "bss": 257}})), 1)

    def test_new_and_gone(self):
        findings = self.judge({"old": {"text": 300}}, {"new": {"text": 300}})
        self.assertEqual([line.split(":")[0] for line in findings], ["new", "old"])

    def test_whole_binary(self):
        self.assertIn("binary: file grew", self.judge({}, {}, (400000, 408001))[0])


class Measure(Tree):
    """A linked program whose bytes are known."""

    def build(self):
        self.write("src/wire/w.c", "static const char names[300] = {1};\nstatic char state[5000];\n"
                                   "const char *w(int n) { return n > 9 ? state + n : n ? names + n : "
                                   "\"a literal of the wire\"; }\n")
        self.write("src/main.c", "const char *w(int n);\nint main(int n, char **v) { return *w(n); }\n")
        (self.root / "build").mkdir()
        subprocess.run(["gcc", "-g", "-Os", "-flto", "-static", "-ffile-prefix-map=" + str(self.root) + "=.", "-o",
                        size.DEBUG, "src/main.c", "src/wire/w.c"], cwd=self.root, check=True)
        subprocess.run(["objcopy", "--strip-all", size.DEBUG, size.PROGRAM], cwd=self.root, check=True)

    def test_attribution(self):
        self.build()
        rooms = size.measure(self.root)
        self.assertEqual(rooms["wire"]["bss"], 5000)
        self.assertGreaterEqual(rooms["wire"]["rodata"], 300 + len("a literal of the wire"))
        self.assertGreater(rooms["wire"]["text"] + rooms["main"]["text"], 10)
        total = sum(kinds["text"] for kinds in rooms.values())
        text = sum(length for name, _, _, length in size.read_sections(str(self.root / size.DEBUG))
                   if size.SECTIONS[name] == "text")
        self.assertEqual(total, text)

    def test_ledger_is_written_and_read(self):
        self.build()
        (self.root / "tests/bench").mkdir(parents=True)
        self.assert_found(check_size.check(self.root, enforced=True), size.LEDGER, "is not there")
        size.write_ledger(self.root, size.current(self.root))
        self.assert_clean(check_size.check(self.root, enforced=True))
        ledger = size.read_ledger(self.root)
        ledger["layers"]["wire"]["bss"] = 4000
        size.write_ledger(self.root, ledger)
        self.assert_found(check_size.check(self.root, enforced=True), "wire: bss grew from 4000 to 5000")
        ledger["compiler"] = "1.2.3"
        size.write_ledger(self.root, ledger)
        report = check_size.check(self.root, enforced=True)
        self.assert_clean(report)
        self.assertIn("not compared", report.looked_at)


if __name__ == "__main__":
    unittest.main()
