#!/usr/bin/env python3
"""Prints the table of docs/results from the files of several runs of the benchmarks.

    table.py RUN.json…      each written by accel-bench --json

Ours, theirs and ratio are medians over the runs; then the least and greatest ratio, and in how many runs the bar
was met. A row that a run left out counts in the others.
"""
import json
import statistics
import sys


def figure(value):
    """Three digits, without an exponent."""
    if value is None:
        return "–"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def line(rows):
    first = rows[0]
    middle = {key: statistics.median([row[key] for row in rows if row[key] is not None] or [None])
              for key in ("ours", "theirs", "ratio")}
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    span = f"{figure(min(ratios))} – {figure(max(ratios))}" if ratios else "–"
    met = sum(1 for row in rows if row["met"] is True)
    judged = sum(1 for row in rows if row["met"] is not None)
    return [first["name"], first["unit"], figure(middle["ours"]), first["opponent"] or "–",
            figure(middle["theirs"]), figure(middle["ratio"]), span, first["bar"] or "–",
            f"{met} of {judged}" if judged else first["note"] or "–"]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows = {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
        for row in run["rows"] if isinstance(run, dict) else run:
            rows.setdefault((row["name"], row["opponent"]), []).append(row)
    print("| row | unit | ours | opponent | theirs | ratio | least – greatest | bar | met in |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for same in rows.values():
        print("| " + " | ".join(line(same)) + " |")


if __name__ == "__main__":
    main()
