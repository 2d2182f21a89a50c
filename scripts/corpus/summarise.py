"""Prints the quickstart's figures from the files it has left.

Usage: summarise.py OUT
"""

import json
import os
import re
import sys


def read_scores(path):
    """Returns [(metric, score)] of what `score --to text` has written."""
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^ *([^|]+)[|][^=]*= ([0-9.]+)", file.read(), re.M)


def read_training(path):
    """Returns (updates, epochs, seconds, mean tokens a second) of train's log."""
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    last = [record for record in records if "step" in record][-1]
    rates = [r["tokens_per_second"] for r in records if "tokens_per_second" in r]
    mean = sum(rates) / len(rates) if rates else 0
    return last["step"], last["epoch"], last["seconds"], mean


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
    updates, epochs, seconds, rate = read_training(path("train.log"))
    print(
        f"training    {updates} updates, {epochs:.1f} epochs, {seconds:.0f} s,"
        f" {rate / 1000:.1f}k tokens a second"
    )
    with open(path("test.perplexity"), encoding="utf-8") as file:
        print(f"perplexity  {json.load(file)['perplexity']:.1f}")
    for name, value in read_scores(path("test.scores")):
        print(f"{name:<12}{value}")


main()
