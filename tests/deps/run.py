#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`make deps-mirrors`: the tests of this folder, or those named, as test_cache.Library."""

import sys
import unittest

sys.dont_write_bytecode = True


def main():
    names = sys.argv[1:] or ["test_mirrors", "test_cache"]
    result = unittest.main(module=None, argv=["run.py", *names], exit=False).result
    failed = {test.id() for test, _ in result.failures + result.errors}
    for name in sorted(failed):
        print(f"  FAIL  {name}")
    print(f"deps-mirrors: {result.testsRun - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
