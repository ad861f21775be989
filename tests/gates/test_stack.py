# SPDX-License-Identifier: Apache-2.0
"""The stack gate on small programs with one fault each."""

import subprocess

import test_gates

import check_stack

MAIN = test_gates.SPDX + """
int sink(char *);
__attribute__((noinline)) int leaf(int n) { volatile char a[100]; a[n] = 1; return a[0]; }
__attribute__((noinline)) int large(int n) { volatile char a[9000]; a[n] = 1; return a[0]; }
struct port { int (*read)(int); };
"""


class Stack(test_gates.Tree):
    def check(self, code, table="", flags=("-static",)):
        """Links a program without a C library, so that nothing but the code under test is in it."""
        self.write("src/main.c", MAIN + code)
        self.write(check_stack.TABLE, table)
        (self.root / check_stack.GRAPHS).mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-O1", "-w", "-nostdlib", *flags, "-ffreestanding", "-fno-stack-protector",
                        "-fno-inline", "-ffunction-sections", "-Wl,--gc-sections,-e,main",
                        "-fcallgraph-info=su,da", "-dumpdir", check_stack.GRAPHS + "/", "src/main.c",
                        "-o", check_stack.PROGRAM], cwd=self.root, check=True)
        return check_stack.check(self.root)

    def test_chain(self):
        report = self.check("int main(int n) { return leaf(n) + large(n); }\n")
        self.assert_clean(report)
        self.assertRegex(report.chain, r"^main\(\d+\) > large\((8|9)\d\d\d\)$")

    def test_missing(self):
        self.assert_found(check_stack.check(self.root), check_stack.GRAPHS, "make")

    def test_too_deep(self):
        report = self.check("int deeper(int n) { volatile char a[12000]; a[n] = 1; return large(n) + a[0]; }\n"
                            "int main(int n) { return deeper(n); }\n")
        self.assert_found(report, "18432 at most", "deeper(", "large(")

    POINTER = ("int main(int n, char **v) { struct port p = {n > 1 ? leaf : large}; v[0] = (char *)&p;\n"
               "    return p.read(n) + 1; }\n")

    def test_pointer(self):
        report = self.check(self.POINTER, "call src/*.c read leaf large\n")
        self.assert_clean(report)
        self.assertIn("> large(", report.chain)

    def test_pointer_without_row(self):
        self.assert_found(self.check(self.POINTER), "src/main.c:8", "no row")

    def test_pointer_with_two_rows(self):
        self.assert_found(self.check(self.POINTER, "call src/*.c read leaf\ncall src/main.c read large\n"), "2 rows")

    def test_callee_that_the_row_lacks(self):
        self.assert_found(self.check(self.POINTER, "call src/*.c read leaf\n"), "large()", "no chain from main")

    def test_callee_that_is_not_there(self):
        self.assert_found(self.check(self.POINTER, "call src/*.c read leaf large gone\n"), "stack.txt:1", "gone()")

    def test_callee_that_is_called_directly_too(self):
        """Neither unreached nor in the row: recursion through the pointer would not be seen."""
        for takes in ("int (*const table[])(int) = {leaf, large};\n"
                      "int main(int n) { return table[n & 1](n) + large(n); }\n",
                      "int main(int n) { int (*volatile table[])(int) = {leaf, large};\n"
                      "    return table[n & 1](n) + large(n); }\n"):
            flags = ("-fPIE", "-static-pie")
            self.assert_found(self.check(takes, "call src/*.c table leaf\n", flags), "src/main.c", "large() is taken")
            self.assert_clean(self.check(takes, "call src/*.c table leaf large\n", flags))

    def test_row_that_nothing_needs(self):
        self.assert_found(self.check("int main(int n) { return leaf(n); }\n", "call src/*.c write leaf\n"),
                          "stack.txt:1", "nothing in src/*.c calls write")

    def test_copy_for_one_caller(self):
        code = ("int with(int (*f)(int), int n) { return f(n) + 1; }\n"
                "int (*volatile pointer)(int (*)(int), int);\n"
                "int main(int n) { pointer = with; return pointer(leaf, n) + large(n); }\n")
        report = self.check(code, "call src/main.c pointer with/leaf\ncall src/main.c f -\n")
        self.assert_clean(report)
        self.assertIn("> large(", report.chain)

    RECURSION = "int again(int n) { volatile char a[1000]; a[n] = 1; return n ? again(n - 1) * n + a[0] : 1; }\n"

    def test_recursion(self):
        code = self.RECURSION + "int main(int n) { return again(n); }\n"
        self.assert_found(self.check(code), "recursion", "again()")
        report = self.check(code, "bound again 3\n")
        self.assert_clean(report)
        self.assertEqual(report.chain.count("again("), 3)
        self.assert_found(self.check(code, "bound again 30\n"), "at most")
        self.assert_found(self.check(code, "bound again 3\nbound gone 3\n"), "stack.txt:2", "gone()")

    def test_call_that_cannot_happen(self):
        code = self.RECURSION + "int main(int n) { return again(n); }\n"
        self.assert_clean(self.check(code, "never again again\n"))
        self.assert_found(self.check(code, "never again again\nnever leaf again\n"), "stack.txt:2", "leaf()")

    def test_frame_of_run_time_size(self):
        code = "int main(int n) { volatile char a[n]; a[0] = 1; return a[n - 1]; }\n"
        self.assert_found(self.check(code), "main()", "run-time size")

    def test_unused(self):
        code = ("int (*const table[])(int) = {leaf, large};\n"
                "int main(int n, char **v) { v[0] = (char *)table; return 0; }\n")
        self.assert_clean(self.check(code, "unused src/*.c leaf large\n"))
        self.assert_found(self.check(code, "unused src/*.c leaf large main\n"), "main() is reached")

    def test_library(self):
        """What gcc has no record of is read from the machine code."""
        code = ('__asm__(".globl lib\\nlib: push %rbx\\nsub $0x8000,%rsp\\nadd $0x8000,%rsp\\npop %rbx\\nret");\n'
                "int lib(void); int main(void) { return lib(); }\n")
        report = self.check(code)
        self.assert_found(report, "at most", "lib(32784)")
        code = code.replace("sub $0x8000", "sub %rax")
        self.assert_found(self.check(code), "lib()", "libc lib BYTES")
        self.assert_clean(self.check(code, "libc lib 100\n"))
        self.assert_found(self.check("int main(void) { return 0; }\n", "libc lib 100\n"), "lib()", "remove the row")

    def test_unreadable_row(self):
        self.assert_found(self.check("int main(void) { return 0; }\n", "call src/main.c\n"), "stack.txt:1", "no row")

    def test_depth_of_messages(self):
        self.write("proto/a.proto", 'syntax = "proto3";\nmessage Top { Middle m = 1; }\n'
                   "message Middle { map<string, Leaf> l = 2; // Top t = 3;\n}\nmessage Leaf { int32 n = 1; }\n")
        self.assertEqual(check_stack.proto_depth(self.root, ["a"]), 4)  # a map is a message of its own
        self.assertEqual(check_stack.proto_depth(self.root, ["a.Leaf"]), 1)
        self.write("proto/b.proto", "message Loop { Loop l = 1; }\n")
        with self.assertRaisesRegex(ValueError, "holds itself"):
            check_stack.proto_depth(self.root, ["b"])
