#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cfg/lint/deviations.toml: what each record must say, and how many there may be.

Whether a record still covers something is for the gate of its tool to say. A comment or pragma that silences a tool
would be a deviation without a record: the sources have none.
"""

import pathlib
import re
import sys
import tomllib

import gate
import lint

SILENCE = re.compile(r"\bNOLINT|\bcppcheck-suppress\b|#\s*pragma\s+(GCC|clang)\s+(diagnostic|system_header)|"
                     r"\b_Pragma\b|\b__(clang_analyzer|cppcheck)__\b", re.I)
TOOLS = {"misra", "cppcheck", "tidy", "gcc", "clang"}
REASON_MIN = 40  # characters; less is no reason


def check_record(report, root, record, number):
    name = f"{lint.RECORDS} ({number}: {record.get('tool')} {record.get('rule')})"
    for field in sorted({"tool", "rule", "reason", "where"} - set(record)):
        report.add(name, f"has no '{field}'")
    for field in sorted(set(record) - lint.RECORD_FIELDS):
        report.add(name, f"has an unknown field '{field}'")
    if record.get("tool") not in TOOLS:
        report.add(name, f"the tool is one of {', '.join(sorted(TOOLS))}")
    if len(" ".join(str(record.get("reason", "")).split())) < REASON_MIN:
        report.add(name, "say why the code stays as it is, in a sentence")
    for place in lint.places_of(record):
        if place != lint.TREE and not (pathlib.Path(root) / place.partition(":")[0]).is_file():
            report.add(name, f"'{place}': no such file (FILE, FILE:FUNCTION or '{lint.TREE}')")
    try:
        re.compile(record.get("code", ""))
    except re.error as error:
        report.add(name, f"'code' is no regular expression: {error}")


def check_silence(report, root):
    for path in gate.own_c_files(root, (*lint.FOLDERS, "cfg")):
        for number, line in enumerate((pathlib.Path(root) / path).read_text().splitlines(), 1):
            found = SILENCE.search(line)
            if found:
                report.add(f"{path}:{number}", f"'{found[0]}' silences a tool: mend the code, or write a record in "
                                               f"{lint.RECORDS}")


def check(root):
    report = gate.Report()
    check_silence(report, root)
    try:
        records = lint.read_records(root)
    except tomllib.TOMLDecodeError as error:
        report.add(lint.RECORDS, str(error))
        return report
    for number, record in enumerate(records, 1):
        check_record(report, root, record, number)
    seen = set()
    for record in records:
        for place in lint.places_of(record):
            key = (record.get("tool"), record.get("rule"), place, record.get("code"))
            if key in seen:
                report.add(lint.RECORDS, f"{key[0]} {key[1]}: '{place}' is recorded twice")
            seen.add(key)
    if len(records) > lint.RECORDS_MAX:
        report.add(lint.RECORDS, f"{len(records)} records, {lint.RECORDS_MAX} at most: mend code instead")
    report.looked_at = f"{len(records)} of {lint.RECORDS_MAX} records"
    return report


if __name__ == "__main__":
    sys.exit(gate.main(check, __doc__.splitlines()[0]))
