# SPDX-License-Identifier: Apache-2.0
"""The rooms of tools/: which there are, and that no module and no room needs one that needs it."""

import ast
import unittest

from test_gates import ROOT

import check_calls  # noqa: E402  test_gates has set the path

TOOLS = ROOT / "tools"
ROOMS = {"build", "cluster", "docs", "evidence", "fuzz", "gates", "graph", "image", "make", "model", "mutants",
         "proofs", "simnode"}


def read_imports():
    """path of a module -> paths of the modules of tools/ that it imports, wherever in its text."""
    modules = {path.stem: path for path in TOOLS.glob("*/*.py")}
    imports = {}
    for path in modules.values():
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module)
        imports[path] = {modules[name] for name in names if name in modules}
    return imports


class Rooms(unittest.TestCase):
    def test_tools_lie_in_rooms(self):
        self.assertEqual({path.name for path in TOOLS.iterdir()} - {"__pycache__", "README.md"}, ROOMS)

    def test_names_of_modules_differ(self):
        names = [path.stem for path in TOOLS.glob("*/*.py")]
        self.assertEqual(len(names), len(set(names)))

    def test_no_circle(self):
        imports = read_imports()
        self.assertGreater(len(imports), 50)
        self.assertEqual(check_calls.find_cycles(imports), [])
        rooms = {path.parent.name: set() for path in imports}
        for path, known in imports.items():
            rooms[path.parent.name].update(other.parent.name for other in known if other.parent != path.parent)
        self.assertEqual(rooms["gates"], set())
        self.assertEqual(check_calls.find_cycles(rooms), [])


if __name__ == "__main__":
    unittest.main()
