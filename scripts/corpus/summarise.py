"""Prints the quickstart's figures from the files it has left.

Usage: summarise.py OUT
"""

import json
import os
import sys


def read_scores(path):
    """Returns metric name -> score of `score --metrics` output."""
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return {record["name"]: record["score"] for record in records}


def num_lines(path):
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def main():
    (out,) = sys.argv[1:]
    path = lambda name: os.path.join(out, name)
    print(
        f"pairs       {num_lines(path('train.tsv'))} to train,"
        f" {num_lines(path('valid.tsv'))} to validate,"
        f" {num_lines(path('test.tsv'))} to test"
    )
    for name, value in read_scores(path("test.scores")).items():
        print(f"{name:<12}{value:.1f}")


main()
