# SPDX-License-Identifier: Apache-2.0
"""The gate of `make coverage`, on functions and counts made by hand: each of its rules finds a violation."""

import collections
import pathlib
import tempfile
import unittest

from test_gates import ROOT

# pylint: disable=wrong-import-position
import coverage  # noqa: E402
import coverage_gaps as gaps  # noqa: E402

FILE = "src/base/bytes.c"
REASON = "No caller passes more than the ten bytes that a varint has."


def condition(line, text, true, false, column=5):
    return gaps.Condition((line, column, line, column + len(text)), text, true, false)


def function(conditions=(), decisions=(), dark=()):
    return gaps.Function(FILE, "reader_varint", 1, 40, list(conditions), list(decisions), list(dark))


def record(**changes):
    return {"function": f"{FILE}:reader_varint", "text": "i < 10u", "never": "false", "reason": REASON} | changes


def both(first, second, covered):
    """A decision `first && second` on line 7 with its two conditions."""
    second.place = (7, first.place[3] + 4, 7, first.place[3] + 4 + len(second.text))
    place = (7, first.place[1], 7, second.place[3])
    return function([first, second], [(place, f"{first.text} && {second.text}", covered)])


def judged(one, *records):
    return gaps.Judge([one], list(records))


def still_open(judge):
    return [(gap.kind, gap.text) for gap in judge.gaps if not gap.excused]


class Records(unittest.TestCase):
    def test_gap_without_a_record(self):
        judge = judged(function([condition(5, "i < 10u", 3, 0)], dark=[9]))
        self.assertEqual([kind for kind, _ in still_open(judge)], ["branches", "lines"])

    def test_record(self):
        one = record(lines=1)
        judge = judged(function([condition(5, "i < 10u", 3, 0)], dark=[9]), one)
        self.assertEqual(still_open(judge), [])
        self.assertEqual(judge.stale([one]), [])

    def test_other_outcome(self):
        judge = judged(function([condition(5, "i < 10u", 0, 0)]), record())
        self.assertEqual(len(still_open(judge)), 1)

    def test_stale(self):
        """A record whose gap a test has closed, or whose function or text is there no more."""
        one = record()
        self.assertEqual(len(judged(function([condition(5, "i < 10u", 3, 1)]), one).stale([one])), 1)
        self.assertEqual(len(judged(function([condition(5, "i < 9u", 3, 0)]), one).stale([one])), 1)
        self.assertEqual(len(judged(function(), one).stale([one])), 1)

    def test_more_gaps_than_the_record_says(self):
        one = record()
        twice = function([condition(5, "i < 10u", 3, 0), condition(6, "i < 10u", 3, 0)])
        self.assertEqual(len(judged(twice, one).stale([one])), 1)
        one = record(count=2)
        self.assertEqual(judged(twice, one).stale([one]), [])

    def test_more_lines_than_are_never_run(self):
        one = record(lines=2)
        judge = judged(function([condition(5, "i < 10u", 3, 0)], dark=[9]), one)
        self.assertEqual(len(judge.stale([one])), 1)
        self.assertIn("lines", [kind for kind, _ in still_open(judge)])

    def test_form(self):
        self.assertEqual(gaps.check_records([record()]), [])
        for wrong in (record(reason="never"), record(never="often"), record(line=7)):
            self.assertEqual(len(gaps.check_records([wrong])), 1, wrong)
        self.assertIn("at most", gaps.check_records([record()] * (gaps.RECORDS_MAX + 1))[0])

    def test_own_records(self):
        self.assertEqual(gaps.check_records(gaps.read_records()), [])


class Decisions(unittest.TestCase):
    def test_excused_with_its_branch(self):
        """What is never false cannot be shown by itself; the other condition can, and has to be."""
        one = both(condition(7, "i < 10u", 3, 0), condition(7, "more", 2, 1), [False, False])
        judge = judged(one, record())
        self.assertEqual([gap.what for gap in judge.gaps if not gap.excused], ["not shown by itself: more"])

    def test_hidden_by_the_other(self):
        """Behind a condition that is never true nothing can be shown."""
        one = both(condition(7, "i < 10u", 0, 3), condition(7, "more", 0, 0), [False, False])
        judge = judged(one, record(never="true"), record(text="more", never="both"))
        self.assertEqual(still_open(judge), [])

    def test_alone(self):
        one = both(condition(7, "i < 10u", 3, 2), condition(7, "more", 2, 1), [False, True])
        self.assertEqual(len(still_open(judged(one))), 1)
        excuse = record(never="alone")
        judge = judged(one, excuse)
        self.assertEqual(still_open(judge) + judge.stale([excuse]), [])

    def test_ways_through(self):
        runs = gaps.runs_of("c(0) and (c(1) or c(2))", 3, set())
        self.assertEqual(len(runs), 4)
        self.assertTrue(all(gaps.can_be_shown(number, runs) for number in range(3)))
        runs = gaps.runs_of("c(0) and (c(1) or c(2))", 3, {(1, True)})
        self.assertEqual([gaps.can_be_shown(number, runs) for number in range(3)], [True, False, True])


def counted(**kinds):
    return collections.defaultdict(collections.Counter, {"src/base": collections.Counter(kinds)})


class Missing(unittest.TestCase):
    TABLE = {"src/base": {"lines": 0, "branches": 9, "mcdc": 0}}

    def check(self, found, table=None):
        return gaps.check_missing(found, self.TABLE if table is None else table, ["src/base"])

    def test_good(self):
        self.assertEqual(self.check(counted(branches=9)), [])
        self.assertEqual(self.check(counted(branches=9 - gaps.SLACK)), [])

    def test_one_gap_more(self):
        self.assertIn("at most 9", self.check(counted(branches=10))[0])
        self.assertIn("at most 0", self.check(counted(branches=9, lines=1))[0])

    def test_old_table(self):
        self.assertIn("lowers it", self.check(counted(branches=8 - gaps.SLACK))[0])

    def test_rooms(self):
        self.assertIn("not in the table", self.check(counted(), {})[0])
        self.assertIn("no such room", self.check(counted(branches=9), self.TABLE | {"src/new": {}})[0])

    def test_only_lower(self):
        table = gaps.lowered(counted(branches=4, lines=7), self.TABLE, ["src/base"])
        self.assertEqual(table["src/base"], {"lines": 0, "branches": 4, "mcdc": 0})

    def test_written_and_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / gaps.MISSING
            path.parent.mkdir(parents=True)
            path.write_text("# head\n")
            gaps.write_missing(self.TABLE, folder)
            self.assertEqual(gaps.read_missing(folder), self.TABLE)
            self.assertTrue(path.read_text().startswith("# head\n"))

    def test_own_table(self):
        self.assertEqual(set(gaps.read_missing()), set(coverage.all_rooms()))


class Reading(unittest.TestCase):
    def test_rooms(self):
        self.assertEqual(gaps.room_of("src/agent/ledger/ledger.c"), "src/agent/ledger")
        self.assertEqual(gaps.room_of("src/agent/agent.c"), "src/agent")
        self.assertEqual(gaps.room_of("src/host/node/probe.c"), "src/host")
        self.assertEqual(gaps.room_of("boards/trn.c"), "boards")

    def test_lines(self):
        dark, count = gaps.lines_of(f"SF:{ROOT}/src/base/bytes.c\nDA:4,2\nDA:5,0\nDA:6,0\nend_of_record\n")
        self.assertEqual(dict(dark), {FILE: [5, 6]})
        self.assertEqual(count[FILE], 3)

    def test_switch_without_default(self):
        self.assertTrue(gaps.is_default(["    switch (kind) {"], (1, 13, 1, 17)))
        self.assertFalse(gaps.is_default(["    if (kind) {"], (1, 9, 1, 13)))

    def test_folders(self):
        for folder in coverage.FOLDERS:
            self.assertTrue(list((ROOT / folder).glob("*.c")), folder)

    def test_share(self):
        self.assertEqual(coverage.share(1, 100000), "99.99 % 99999/100000")
        self.assertEqual(coverage.share(0, 0), "-")


if __name__ == "__main__":
    unittest.main()
