# SPDX-License-Identifier: Apache-2.0
"""Which tests of tests/gates show that a gate, tools/*/check_NAME.py, finds a violation.

A class of tests belongs to a gate whose module it names. A test of the class counts when it, or a method of the class
that it calls, looks for a finding: it calls assert_found, or reads `findings`. What an assertion reads does not count
when the assertion holds without any finding (a comparison with [], assertFalse, assertNotIn), nor does its message.
Owns this rule; make_part.py runs the tests.
"""
import ast
import pathlib
import re

LOOKS = {"assert_found", "findings"}
EQUAL = {"assertEqual", "assertListEqual", "assertTupleEqual", "assertSequenceEqual", "assertCountEqual"}
ABSENT = {"assertFalse", "assertNotIn", "assertNotRegex", "assertIsNone"}
UNITTEST = re.compile(r"assert(?!Raises)[A-Z]")    # not the methods of a class here
OF_ONE = {"assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"}


def is_nothing(node):
    """Whether it is an empty literal, or 0."""
    try:
        return not ast.literal_eval(node)
    except (ValueError, TypeError):
        return False


def holds_of_nothing(node):
    """Whether an expression that has to be true is true of an empty list: `not x`, `all(...)`."""
    return (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
            or isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "all")


def pairs_of(first, second):
    """What assertEqual compares: tuples of one length element by element."""
    both = isinstance(first, ast.Tuple) and isinstance(second, ast.Tuple) and len(first.elts) == len(second.elts)
    return zip(first.elts, second.elts) if both else [(first, second)]


def idle_of(node):
    """The arguments of an assertion that say nothing of a finding: its message, and what it holds to be absent."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    name = node.func.attr
    if not UNITTEST.match(name):
        return []
    count = 1 if name in OF_ONE else 2
    compared, idle = node.args[:count], [*node.args[count:], *(word.value for word in node.keywords)]
    if name in ABSENT or name == "assertTrue" and any(map(holds_of_nothing, compared)):
        idle += compared
    elif name in EQUAL and len(compared) == 2:
        idle += [side for pair in pairs_of(*compared) if any(map(is_nothing, pair)) for side in pair]
    return idle


def unread(node, loaded):
    """The value of an assignment to a name that nothing reads."""
    if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) and target.id not in loaded
                                            for target in node.targets):
        return [node.value]
    return []


def walk(tree, skipped):
    """As ast.walk, without the subtrees that are skipped."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if child not in skipped]


def telling_nodes(method):
    """The nodes of a method without those that say nothing of a finding."""
    skipped, before = {idle for node in ast.walk(method) for idle in idle_of(node)}, -1
    while len(skipped) != before:
        before, nodes = len(skipped), list(walk(method, skipped))
        loaded = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        skipped |= {value for node in nodes for value in unread(node, loaded)}
    return nodes


def attributes_of(method):
    """What of LOOKS it names, and which methods of its class it calls, where that tells of a finding."""
    return {node.attr for node in telling_nodes(method) if isinstance(node, ast.Attribute)
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
