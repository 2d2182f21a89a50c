"""A translation that needs two places of the source for each target word: the
letter in place i becomes the pair of letters in i - 1 and i + 2, so that
`a b c d` becomes `_c ad b_ c_`. Once learned it has no error left.
"""

import random

OFFSETS = (-1, 2)
LETTERS = "abcdefgh"


def make_pairs(count, seed):
    """Yields lines, source TAB target, of 8 to 16 places."""
    chance = random.Random(seed)
    for _ in range(count):
        source = [chance.choice(LETTERS) for _ in range(chance.randint(8, 16))]
        padded = ["_"] * 2 + source + ["_"] * 2
        target = (padded[i + 2 - 1] + padded[i + 2 + 2] for i in range(len(source)))
        yield " ".join(source) + "\t" + " ".join(target)
