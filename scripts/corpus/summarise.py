"""Prints the quickstart's figures from the files it has left.

Usage: summarise.py OUT
"""

import os
import re
import sys


def read_scores(path):
    """Returns [(metric, score)] of what `score --to text` has written."""
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^ *([^|]+)[|][^=]*= ([0-9.]+)", file.read(), re.M)


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
    for name, value in read_scores(path("test.scores")):
        print(f"{name:<12}{value}")


main()
