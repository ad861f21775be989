# SPDX-License-Identifier: Apache-2.0
"""Which tests of tests/gates show that a gate, tools/*/check_NAME.py, finds a violation.

A class of tests belongs to a gate whose module it names. A test of the class counts when it, or a method of the class
that it calls, looks for a finding: it calls assert_found, or reads `findings`. Owns this rule; make_part.py runs the
tests.
"""
import ast
import pathlib

LOOKS = {"assert_found", "findings"}


def attributes_of(method):
    """What of LOOKS it names, and which methods of its class it calls."""
    return {node.attr for node in ast.walk(method) if isinstance(node, ast.Attribute)
            and (node.attr in LOOKS or isinstance(node.value, ast.Name) and node.value.id == "self")}


def looking_tests(group):
    """Names of the tests of a class that look for a finding."""
    used = {item.name: attributes_of(item) for item in group.body if isinstance(item, ast.FunctionDef)}
    looking = set(LOOKS)
    for _ in used:
        looking |= {name for name, attributes in used.items() if attributes & looking}
    return sorted(name for name in used if name.startswith("test_") and name in looking)


def gates_of(group):
    return {node.id for node in ast.walk(group) if isinstance(node, ast.Name) and node.id.startswith("check_")}


def read(root):
    """{gate: (what it finds, {"test_file.Class": [tests]})}."""
    root = pathlib.Path(root)
    found = {path.stem.removeprefix("check_"): (" ".join(ast.get_docstring(ast.parse(path.read_text())).split()), {})
             for path in sorted(root.glob("tools/*/check_*.py"))}
    for path in sorted(root.glob("tests/gates/test_*.py")):
        for group in ast.parse(path.read_text()).body:
            if isinstance(group, ast.ClassDef):
                tests = looking_tests(group)
                for name in gates_of(group):
                    gate = name.removeprefix("check_")
                    if tests and gate in found:
                        found[gate][1][f"{path.stem}.{group.name}"] = tests
    return found


def orphans(found):
    """Gates of which no test shows that they can fail."""
    return sorted(name for name, (_, classes) in found.items() if not classes)
