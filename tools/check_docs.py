#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""src/agent/report/CATALOGUE.md is what tools/docs.py writes from the tables in the code."""

import pathlib
import sys

import docs
import gate


def check(root):
    report = gate.Report()
    path = pathlib.Path(root) / docs.CATALOGUE
    try:
        wanted = docs.catalogue(root)
    except (OSError, docs.Unreadable) as error:
        report.add(docs.CATALOGUE, f"a table cannot be read: {error}")
        return report
    if not path.is_file() or path.read_text() != wanted:
        report.add(docs.CATALOGUE, "differs from the tables in the code: run make docs")
    report.looked_at = f"{wanted.count(chr(10) + '| `')} rows of tables"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
