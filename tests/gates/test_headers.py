# SPDX-License-Identifier: Apache-2.0
"""The headers gate on headers with one omission each."""

import test_gates

import check_headers

HEAD = (test_gates.SPDX + "/* Things of one kind. Owns their format, does no I/O. */\n"
        "#ifndef BASE_X_H\n#define BASE_X_H\n")


class Headers(test_gates.Tree):
    def check(self, body, name="src/base/x.h", head=HEAD):
        self.write(name, head + body)
        return check_headers.check(self.root)

    def test_good(self):
        report = self.check('#include "base/status.h"\n'
                            "/* A thing. */\nstruct thing {\n    size_t len; /* bytes */\n"
                            "    const char *name; /* borrowed */\n};\n"
                            "/* Kinds. */\nenum kind { KIND_A, /* the first */ KIND_B };\n"
                            "/* Flags of a thing. */\n#define THING_FLAG_A 1u\n#define THING_FLAG_B 2u\n"
                            "/* Reads `len` bytes. PEER_MALFORMED: no thing. */\n"
                            "MUST_USE enum status thing_read(struct thing *t, const uint8_t *data, size_t len);\n"
                            "/* Whether a thing is there. */\nbool thing_there(const struct thing *t);\n"
                            "bool thing_away(const struct thing *t); /* true: it is gone */\n"
                            "/* Its name; NULL: it has none. */\nconst char *thing_name(const struct thing *t);\n"
                            "struct thing;\n")
        self.assert_clean(report)
        self.assertIn("1 headers", report.looked_at)

    def test_no_headers(self):
        self.assert_found(check_headers.check(self.root), "no headers")

    def test_head(self):
        self.assert_found(self.check("", head=test_gates.SPDX + "#ifndef BASE_X_H\n"), "x.h:2", "paragraph")
        self.assert_found(self.check("", head=test_gates.SPDX + "/* Things. */\n"), "x.h:2", "paragraph")

    def test_function_without_comment(self):
        self.assert_found(self.check("void f(int a);\n"), "x.h:5", "f(int a)", "not documented")
        # What stands above a neighbour is said of the neighbour only.
        self.assert_found(self.check("/* Does it. */\nvoid do_this(void);\nvoid leave_that(void);\n"), "x.h:7",
                          "leave_that(void)")
        self.assert_found(self.check("/* --- life --- */\n\nvoid f(int a);\n"), "f(int a)", "not documented")

    def test_fallible(self):
        self.assert_found(self.check("/* Reads. PEER_CLOSED: gone. */\nenum status f(int a);\n"), "f()", "MUST_USE")
        self.assert_clean(self.check("/* Reads. */\nMUST_USE enum status f(int a);\n"))
        self.assert_clean(self.check("/* Points to it. */\nenum status *f(int a);\n"))

    def test_types(self):
        self.assert_found(self.check("struct s {\n    int a;\n};\n"), "Compound s", "not documented")
        self.assert_found(self.check("enum e { A, B };\n"), "e (enumeration)", "not documented")
        self.assert_found(self.check("extern const int table[3];\n"), "table[3]", "not documented")

    def test_macro(self):
        self.assert_found(self.check("#define LIMIT 3\n"), "x.h:5", "LIMIT", "not documented")
        self.assert_clean(self.check("/* Both. */\n#define ONE_A 1\n#define OTHER_B \\\n    2\n"))
        self.assert_found(self.check("/* One. */\n#define ONE_A 1\n\n#define OTHER_B \\\n    2\n"), "x.h:8", "OTHER_B")

    def test_inline_function(self):
        self.assert_found(self.check("static inline int twice(int n)\n{\n    return 2 * n;\n}\n"
                                     "/* Does it. */\nvoid other(void);\n"), "x.h:5", "twice(int n)")
