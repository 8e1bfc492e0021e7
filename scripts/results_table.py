#!/usr/bin/env python3
"""Writes the tables of README.md from the results under bench/results/.

A table stands between the lines

    <!-- table:NAME -->
    <!-- /table:NAME -->

where NAME is DEVICE/BENCH ("nvidia-h200/dense"), for all rows, or DEVICE/BENCH:GROUP, for a table
of geometric means by GROUP: "m", "model", "type", "format", "role". BENCH may be a pattern
("tune-*"): the rows of all files that match. What `gemwright tune --json` has written will do too.

    scripts/results_table.py            rewrites the tables
    scripts/results_table.py --check    only says whether they are up to date (exit status 1: not)
"""

import argparse
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = re.compile(r"(<!-- table:(\S+) -->\n).*?(<!-- /table:\2 -->)", re.DOTALL)
GROUPS = ("m", "model", "type", "format", "role")
# Times of the row itself; every other name is a peer.
OWN_TIMES = ("chosen", "own", "vendor_first", "vendor_best", "floor")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--readme", type=pathlib.Path, default=ROOT / "README.md")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    options = parser.parse_args()

    if not options.readme.exists():
        print(f"{options.readme}: no such file", file=sys.stderr)
        return 1
    old = options.readme.read_text(encoding="utf-8")
    try:
        new = rewritten(old, options.results)
    except ValueError as error:
        print(f"{options.readme}: {error}", file=sys.stderr)
        return 1
    if old == new:
        return 0
    if options.check:
        print(f"{options.readme}: tables are out of date; run scripts/results_table.py",
              file=sys.stderr)
        return 1
    options.readme.write_text(new, encoding="utf-8")
    return 0


def rewritten(text, results):
    """The text with every marked region made anew. Raises ValueError naming the table."""
    opened = re.findall(r"<!-- table:(\S+) -->", text)
    closed = [match.group(2) for match in MARK.finditer(text)]
    if opened != closed:
        raise ValueError(f"tables without end: {', '.join(sorted(set(opened) - set(closed)))}")
    return MARK.sub(lambda match: match[1] + table(match[2], results) + match[3], text)


def table(name, results):
    path, _, group = name.partition(":")
    if group and group not in GROUPS:
        raise ValueError(f"table {name}: group {group}; allowed: {', '.join(GROUPS)}")
    files = sorted(results.glob(f"{path}.json"))
    if not files:
        raise ValueError(f"table {name}: there is no {results / path}.json")
    rows = []
    try:
        for file in files:
            report = json.loads(file.read_text(encoding="utf-8"))
            rows += [row_of(row) for row in report["rows"] if "failure" not in row]
        head = caption(report)
        body = grouped(rows, group) if group else one_by_one(rows)
    except OSError as error:
        raise ValueError(f"table {name}: {error}") from error
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"table {name}: {file} is not a bench's results ({error!r})") from error
    return head + body


def row_of(row):
    """A row as benches write it; one of `gemwright tune` has a time for each key."""
    if isinstance(row["us"], dict):
        return row
    us = {"chosen": row["us"]}
    us |= {name: row[f"{name}_us"] for name in ("vendor_first", "vendor_best", "floor")}
    return row | {"us": us}


def caption(report):
    clock = report.get("clock_mhz") or {}
    parts = [report["device"], report["driver"], report["date"][:10]]
    if clock.get("median"):
        parts.append(f"{clock['median']:.0f} MHz")
    if report.get("commit"):
        parts.append(f"commit {report['commit'][:10]}")
    return ", ".join(part for part in parts if part) + "\n\n"


def one_by_one(rows):
    peers = peer_names(rows)
    heading = ["model", "role", "M", "N", "K", "type", "kernel", "µs", "of floor",
               "× vendor first", "× vendor best", "own × vendor best"]
    heading += [f"× {peer}" for peer in peers]
    lines = []
    for row in rows:
        us = row["us"]
        kind = row["type"] + (f" × {row['format']}" if row.get("format") else "")
        lines.append([row["model"], row["role"], row["m"], row["n"], row["k"], kind,
                      f"`{row['kernel']}`", number(us.get("chosen")),
                      percent(us.get("floor"), us.get("chosen")),
                      ratio(us.get("vendor_first"), us.get("chosen")),
                      ratio(us.get("vendor_best"), us.get("chosen")),
                      ratio(us.get("vendor_best"), us.get("own"))]
                     + [ratio(us.get(peer), us.get("chosen")) for peer in peers])
    return markdown(heading, lines, text_columns=(0, 1, 5, 6))


def grouped(rows, group):
    """Geometric means over the rows of each value of `group`, in order of appearance."""
    peers = peer_names(rows)
    values = list(dict.fromkeys(row[group] for row in rows))
    heading = [group if group != "m" else "M", "problems", "of floor", "× vendor first",
               "× vendor best", "own × vendor best"] + [f"× {peer}" for peer in peers]
    lines = []
    for value in values:
        members = [row["us"] for row in rows if row[group] == value]
        means = [mean(members, "vendor_first", "chosen"), mean(members, "vendor_best", "chosen"),
                 mean(members, "vendor_best", "own")]
        means += [mean(members, peer, "chosen") for peer in peers]
        floor = mean(members, "floor", "chosen")
        lines.append([value if value is not None else "dense", len(members),
                      f"{100 * floor:.0f} %" if floor else ""]
                     + [f"{value:.2f}" if value else "" for value in means])
    return markdown(heading, lines, text_columns=(0,))


def peer_names(rows):
    names = dict.fromkeys(name for row in rows for name in row["us"])
    return [name for name in names if name not in OWN_TIMES]


def mean(members, numerator, denominator):
    """Geometric mean of the ratio over the members that have both; None when there is none."""
    logs = [math.log(us[numerator] / us[denominator]) for us in members
            if us.get(numerator) and us.get(denominator)]
    return math.exp(sum(logs) / len(logs)) if logs else None


def number(us):
    return f"{us:.4g}" if us else ""


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if part and whole else ""


def ratio(numerator, denominator):
    return f"{numerator / denominator:.2f}" if numerator and denominator else ""


def markdown(heading, lines, text_columns):
    """A Markdown table; columns without any value are left out."""
    kept = [i for i in range(len(heading)) if any(line[i] not in ("", None) for line in lines)]
    rules = ["---" if i in text_columns else "--:" for i in kept]
    rows = [[heading[i] for i in kept], rules]
    rows += [[str(line[i] if line[i] is not None else "") for i in kept] for line in lines]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
