#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""src/agent/report/CATALOGUE.md, the tables of flags and Events, cfg/deploy/ATTRIBUTES.md and the chart's README
are what tools/docs/docs.py writes from tables in the code, golden slices and comments of values.yaml.

Links and anchors of all Markdown files lead somewhere, a first page has at most as many words as tools/docs/pages.py
allows, each alert has a section of the operators' page, and a test types the commands of a page, or says why not."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gates"))
import attributes  # noqa: E402
import chart  # noqa: E402
import docs  # noqa: E402
import gate  # noqa: E402
import pages  # noqa: E402


def check(root):
    report = gate.Report()
    rows = 0
    for name, written in docs.WRITTEN.items():
        path = pathlib.Path(root) / name
        try:
            wanted = written(root)
        except (OSError, docs.Unreadable, attributes.Unreadable, chart.Unreadable) as error:
            report.add(name, f"a table cannot be read: {error}")
            continue
        if not path.is_file() or path.read_text() != wanted:
            report.add(name, "differs from the tables in the code: run make docs")
        rows += wanted.count("\n| `")
    files = gate.tree_files(root)
    count = pages.check_links(root, files, report)
    pages.check_mentions(root, files, report)
    pages.check_length(root, report)
    alerts = pages.check_runbook(root, report)
    blocks = pages.check_commands(root, files, report)
    report.looked_at = f"{rows} rows of tables, {count} links, {alerts} alerts, {blocks} blocks of commands"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__))
