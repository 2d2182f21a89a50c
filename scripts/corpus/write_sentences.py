"""Writes a small English-Italian corpus out of a grammar, for machines that
cannot fetch real text: sentences such as "the old dogs see a red boat today".

Usage: write_sentences.py OUT

Writes into OUT the files pair_titles.py writes: train.tsv, valid.tsv and
test.tsv (English TAB Italian) and untranslated.en. No sentence occurs twice.
The Italian agrees in gender and number and elides as it should, so that there
is something to learn: the form of an article depends on the words around it.
"""

import os
import random
import sys

NUM_TRAIN = 8000
NUM_HELD_OUT = 500
NUM_UNTRANSLATED = 20
SEED = 1

# English singular and plural, Italian singular and plural, gender.
ANIMATE = """
dog dogs cane cani m; cat cats gatto gatti m; horse horses cavallo cavalli m;
student students studente studenti m; friend friends amico amici m;
scientist scientists scienziato scienziati m; boy boys ragazzo ragazzi m;
girl girls ragazza ragazze f; woman women donna donne f; nurse nurses infermiera
infermiere f; teacher teachers maestra maestre f; child children bambino bambini
m; uncle uncles zio zii m; painter painters pittrice pittrici f; bee bees ape
api f; sailor sailors marinaio marinai m
"""
THINGS = """
house houses casa case f; boat boats barca barche f; tree trees albero alberi m;
island islands isola isole f; book books libro libri m; letter letters lettera
lettere f; mirror mirrors specchio specchi m; backpack backpacks zaino zaini m;
key keys chiave chiavi f; star stars stella stelle f; apple apples mela mele f;
umbrella umbrellas ombrello ombrelli m; bridge bridges ponte ponti m; garden
gardens giardino giardini m; orange oranges arancia arance f; table tables
tavolo tavoli m; hammer hammers martello martelli m; song songs canzone canzoni f
"""
# English, Italian masculine singular and plural, feminine singular and plural.
ADJECTIVES = """
red rosso rossi rossa rosse; old vecchio vecchi vecchia vecchie; new nuovo nuovi
nuova nuove; green verde verdi verde verdi; quiet tranquillo tranquilli
tranquilla tranquille; strange strano strani strana strane; happy felice felici
felice felici; yellow giallo gialli gialla gialle; heavy pesante pesanti pesante
pesanti; Italian italiano italiani italiana italiane; empty vuoto vuoti vuota
vuote; elegant elegante eleganti elegante eleganti
"""
# English singular and plural, Italian singular and plural; _ is a blank.
VERBS = """
sees see vede vedono; follows follow segue seguono; finds find trova trovano;
draws draw disegna disegnano; waits_for wait_for aspetta aspettano; buys buy
compra comprano; remembers remember ricorda ricordano; looks_for look_for cerca
cercano; does_not_see do_not_see non_vede non_vedono; paints paint dipinge
dipingono; dreams_of dream_of sogna sognano; washes wash lava lavano
"""
# English, Italian; a final + melts with the article that follows.
PREPOSITIONS = "on su+; near vicino_a+; in_front_of davanti_a+; with con; \
behind dietro; under sotto"
ADVERBS = "today oggi; often spesso; slowly lentamente; in_the_evening \
di_sera; without_a_reason senza_motivo; every_day ogni_giorno"
NUMERALS = "two due; three tre; four quattro; many molt"

MELTED = {"il": "l ", "lo": "llo ", "l'": "ll'", "la": "lla ", "i": "i ",
          "gli": "gli ", "le": "lle "}


def table(text):
    rows = [row.split() for row in text.split(";")]
    return [[cell.replace("_", " ") for cell in row] for row in rows]


def needs_lo(noun):
    """Before s and a consonant, and before z, the masculine article is lo."""
    return noun[0] == "z" or (noun[0] == "s" and noun[1] not in "aeiou")


def italian_the(noun, feminine, plural):
    vowel = noun[0] in "aeiou"
    if plural:
        return "le" if feminine else "gli" if vowel or needs_lo(noun) else "i"
    if vowel:
        return "l'"
    return "la" if feminine else "lo" if needs_lo(noun) else "il"


def italian_a(noun, feminine):
    if feminine:
        return "un'" if noun[0] in "aeiou" else "una"
    return "uno" if needs_lo(noun) else "un"


def italian_this(noun, feminine, plural):
    if plural:
        return "queste" if feminine else "questi"
    return "quest'" if noun[0] in "aeiou" else "questa" if feminine else "questo"


def join(article, noun):
    return article + noun if article.endswith("'") else f"{article} {noun}"


class Grammar:
    """Draws sentences; the same seed draws the same ones."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.animate = table(ANIMATE)
        self.nouns = self.animate + table(THINGS)
        self.adjectives = table(ADJECTIVES)
        self.verbs = table(VERBS)
        self.prepositions = table(PREPOSITIONS)
        self.adverbs = table(ADVERBS)
        self.numerals = table(NUMERALS)

    def pick(self, items):
        return items[int(self.random.random() * len(items))]

    def chance(self, probability):
        return self.random.random() < probability

    def noun_phrase(self, nouns):
        """Returns (English, Italian article, Italian rest, is it plural)."""
        row = self.pick(nouns)
        plural, feminine = self.chance(0.4), row[4] == "f"
        noun, nome = row[plural], row[2 + plural]
        adjective = self.pick(self.adjectives) if self.chance(0.5) else None
        kind = self.pick(["the", "the", "this", "number" if plural else "a"])
        english = f"{adjective[0]} {noun}" if adjective else noun
        rest = nome
        if adjective:
            rest += " " + adjective[1 + plural + 2 * feminine]
        if kind == "the":
            article = italian_the(nome, feminine, plural)
        elif kind == "this":
            kind = "these" if plural else "this"
            article = italian_this(nome, feminine, plural)
        elif kind == "a":
            kind = "an" if english[0].lower() in "aeiou" else "a"
            article = italian_a(nome, feminine)
        else:
            kind, article = self.pick(self.numerals)
            article += ("e" if feminine else "i") if kind == "many" else ""
        return f"{kind} {english}", article, rest, plural

    def place(self):
        english, article, rest, _ = self.noun_phrase(self.nouns)
        before, prima = self.pick(self.prepositions)
        if not prima.endswith("+"):
            italian = f"{prima} {join(article, rest)}"
        elif article in MELTED:
            italian = prima[:-1] + MELTED[article] + rest
        else:
            italian = f"{prima[:-1]} {join(article, rest)}"
        return f" {before} {english}", f" {italian}"

    def sentence(self):
        subject, article, rest, plural = self.noun_phrase(self.animate)
        verb = self.pick(self.verbs)
        thing, its_article, its_rest, _ = self.noun_phrase(self.nouns)
        english = f"{subject} {verb[plural]} {thing}"
        italian = (
            f"{join(article, rest)} {verb[2 + plural]} {join(its_article, its_rest)}"
        )
        if self.chance(0.4):
            where, dove = self.place()
            english, italian = english + where, italian + dove
        if self.chance(0.3):
            when, quando = self.pick(self.adverbs)
            english, italian = f"{english} {when}", f"{italian} {quando}"
        return english, italian


def main():
    (out,) = sys.argv[1:]
    grammar = Grammar(SEED)
    pairs = {}
    while len(pairs) < NUM_TRAIN + 2 * NUM_HELD_OUT + NUM_UNTRANSLATED:
        english, italian = grammar.sentence()
        pairs.setdefault(english, f"{english}\t{italian}\n")
    lines = list(pairs.values())
    for name, size in [
        ("test.tsv", NUM_HELD_OUT),
        ("valid.tsv", NUM_HELD_OUT),
        ("train.tsv", NUM_TRAIN),
        ("untranslated.en", NUM_UNTRANSLATED),
    ]:
        part, lines = lines[:size], lines[size:]
        if name == "untranslated.en":
            part = [line.split("\t")[0] + "\n" for line in part]
        path = os.path.join(out, name)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(part)


main()
