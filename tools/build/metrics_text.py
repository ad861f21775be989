#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds a metrics text (Prometheus exposition format 0.0.4) to what Prometheus and its conventions ask for.

  tools/build/metrics_text.py [FILE]     standard input without FILE; exit code 1 and one line for each finding

The text is read by the parser of the Prometheus client library; what the parser lets pass is looked at here: TYPE
and HELP once and before the samples of a family, one series once, one set of labels for a family, histograms whose
buckets grow up to their count.
"""

import collections
import math
import pathlib
import re
import sys

from prometheus_client.parser import text_string_to_metric_families

PREFIX = "neuron_dra_"
# What promtool's linter asks of names, and of units.
NAME = re.compile(r"[a-z][a-z0-9_]*[a-z0-9]")
UNITS = re.compile(r"_(milliseconds|minutes|hours|kilobytes|megabytes)(_|$)")
SUFFIXES = ("_bucket", "_sum", "_count")


def check_lines(text):
    """The order of comments and samples, which the parser mends in silence."""
    if not text.endswith("\n"):
        yield "the text does not end with its last line"
    said = collections.defaultdict(set)
    current = None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(" ", 3)
        if line.startswith("# "):
            if len(words) < 4 or words[1] not in ("HELP", "TYPE") or not words[3]:
                yield f"line {number}: no HELP or TYPE: {line}"
                continue
            if words[1] in said[words[2]]:
                yield f"line {number}: {words[1]} of {words[2]} for the second time"
            if words[1] == "TYPE" and words[3] == "counter" and not words[2].endswith("_total"):
                yield f"line {number}: {words[2]}: a counter ends in _total"
            said[words[2]].add(words[1])
            current = words[2]
        else:
            name = re.match(r"[^{ ]*", line)[0]
            known = name == current or any(name == f"{current}{suffix}" for suffix in SUFFIXES)
            if not known or said[current] != {"HELP", "TYPE"}:
                yield f"line {number}: {name} does not stand below its own HELP and TYPE"


def check_family(family):
    """Names, labels and values of one family."""
    if not family.name.startswith(PREFIX) or not NAME.fullmatch(family.name) or UNITS.search(family.name):
        yield f"{family.name}: not a name for a metric of this program"
    if family.type not in ("gauge", "counter", "histogram"):
        yield f"{family.name}: type {family.type}"
    keys = {frozenset(sample.labels) - {"le"} for sample in family.samples}
    if len(keys) > 1:
        yield f"{family.name}: series with different labels: {sorted(map(sorted, keys))}"
    for sample in family.samples:
        good = math.isfinite(sample.value) and (family.type == "gauge" or sample.value >= 0)
        if not good:
            yield f"{sample.name}{sample.labels}: value {sample.value}"
        if family.type == "histogram" and not sample.name.endswith(SUFFIXES):
            yield f"{sample.name}: no sample of a histogram"


def check_histogram(family):
    """Buckets grow with their bounds, the last one is the count, and there is a sum."""
    series = collections.defaultdict(lambda: {"buckets": []})
    for sample in family.samples:
        labels = dict(sample.labels)
        bound = labels.pop("le", None)
        one = series[tuple(sorted(labels.items()))]
        if bound is not None:
            one["buckets"].append((float(bound), sample.value))
        else:
            one[sample.name.rsplit("_", 1)[1]] = sample.value
    bounds = set()
    for labels, one in series.items():
        name = f"{family.name}{dict(labels)}"
        buckets = one["buckets"]
        bounds.add(tuple(bound for bound, _ in buckets))
        if buckets != sorted(buckets) or len({bound for bound, _ in buckets}) != len(buckets):
            yield f"{name}: buckets do not grow: {buckets}"
        if any(before[1] > after[1] for before, after in zip(buckets, buckets[1:])):
            yield f"{name}: counts of buckets fall: {buckets}"
        if not buckets or buckets[-1][0] != math.inf or buckets[-1][1] != one.get("count"):
            yield f"{name}: the last bucket is not the count"
        if "sum" not in one:
            yield f"{name}: no sum"
        elif one["sum"] > 0 and not one.get("count"):
            yield f"{name}: a sum of nothing"
    if len(bounds) > 1:
        yield f"{family.name}: series with different buckets"


def check(text):
    """All findings."""
    try:
        families = list(text_string_to_metric_families(text))
    except ValueError as error:
        yield f"the parser of the Prometheus client refuses the text: {error}"
        return
    if not families:
        yield "no metric"
    yield from check_lines(text)
    seen = collections.Counter()
    for family in families:
        yield from check_family(family)
        if family.type == "histogram":
            yield from check_histogram(family)
        seen.update((sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples)
    for (name, labels), times in seen.items():
        if times > 1:
            yield f"{name}{dict(labels)}: {times} times"
    for name, times in collections.Counter(family.name for family in families).items():
        if times > 1:
            yield f"{name}: a family in {times} places"


def main():
    text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8") if len(sys.argv) > 1 else sys.stdin.read()
    findings = list(check(text))
    print("\n".join(findings[:20] or [f"{len(text.splitlines())} lines are good"]))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
