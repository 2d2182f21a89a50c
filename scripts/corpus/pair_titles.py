"""Makes a parallel corpus of the files fetch_titles has left.

Usage: pair_titles.py LANGUAGE FETCHED OUT

Package titles pair by the MD5 of the English description. Pairs that teach
nothing are left out: untranslated, over-long or lopsided ones, and those whose
English differs from another only in digits. Order and split follow a hash of
the English title alone, so that they are the same on every machine and a title
stays in its part when the archive grows.

Writes into OUT: train.tsv, valid.tsv, test.tsv (English TAB translation) and
untranslated.en, titles which have no translation yet.
"""

import hashlib
import os
import re
import sys

NUM_HELD_OUT = 500
NUM_UNTRANSLATED = 20
MIN_PAIRS = 1500
MAX_WORDS = 25
MAX_CHARACTERS = 150
MAX_LENGTH_RATIO = 3
# Japanese and Chinese need far fewer characters than English.
DENSE_LANGUAGES = ("ja", "ko", "zh")


def read_titles(path, language):
    """Returns MD5 of the English description -> title in `language`."""
    titles = {}
    key = None
    prefix = f"Description-{language}: "
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        for line in file:
            if line.startswith("Description-md5: "):
                key = line.split(": ", 1)[1].strip()
            elif line.startswith(prefix) and key:
                titles.setdefault(key, " ".join(line[len(prefix):].split()))
    return titles


def is_clean(text):
    return (
        2 <= len(text) <= MAX_CHARACTERS
        and 2 <= len(text.split()) <= MAX_WORDS
        and text.isprintable()
        and "\ufffd" not in text
        and "<trans>" not in text
    )


def is_pair(source, target, language):
    if language.split("_")[0] in DENSE_LANGUAGES:
        is_balanced = 1 < len(target) <= len(source)
        is_good = target.isprintable() and "<trans>" not in target
    else:
        longer, shorter = max(source, target, key=len), min(source, target, key=len)
        is_balanced = len(longer) <= MAX_LENGTH_RATIO * len(shorter)
        is_good = is_clean(target)
    is_translated = source.casefold() != target.casefold()
    return is_clean(source) and is_good and is_balanced and is_translated


def hash_of(text):
    return hashlib.md5(text.encode("utf-8")).hexdigest()


def without_digits(text):
    return re.sub(r"[0-9]+", "0", text.casefold())


def choose(titles):
    """One title of those alike but for digits, in the order of their hashes."""
    chosen = {}
    for title in sorted(titles, key=hash_of):
        chosen.setdefault(without_digits(title), title)
    return list(chosen.values())


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


def main():
    language, fetched, out = sys.argv[1:]
    english = read_titles(os.path.join(fetched, "en.txt"), "en")
    foreign = read_titles(os.path.join(fetched, language + ".txt"), language)

    translations = {}
    for key in sorted(english.keys() & foreign.keys()):
        if is_pair(english[key], foreign[key], language):
            translations.setdefault(english[key], foreign[key])
    chosen = choose(translations)
    if len(chosen) < MIN_PAIRS:
        sys.exit(
            f"pair_titles: only {len(chosen)} usable titles in '{language}',"
            f" at least {MIN_PAIRS} are needed; take a language with more,"
            " such as it, fr or de"
        )
    pairs = [f"{source}\t{translations[source]}" for source in chosen]
    write_lines(os.path.join(out, "test.tsv"), pairs[:NUM_HELD_OUT])
    write_lines(
        os.path.join(out, "valid.tsv"), pairs[NUM_HELD_OUT : 2 * NUM_HELD_OUT]
    )
    write_lines(os.path.join(out, "train.tsv"), pairs[2 * NUM_HELD_OUT :])

    known = {without_digits(source) for source in translations}
    new = [
        title
        for key, title in english.items()
        if key not in foreign
        and is_clean(title)
        and without_digits(title) not in known
    ]
    write_lines(os.path.join(out, "untranslated.en"), choose(new)[:NUM_UNTRANSLATED])


main()
