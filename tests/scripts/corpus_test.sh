#!/usr/bin/env bash
# The quickstart's corpora: right pairs, no held-out title among those trained
# with, the same files each time, and commands that bash can read.
set -euo pipefail
. "$(dirname "$0")/source_tree.sh"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# expect NAME WANTED FOUND
expect() { [ "$2" = "$3" ] || fault "$1: '$3', not '$2'"; }
num_lines() { wc -l < "$1" | tr -d ' '; }

# check_parts FOLDER: sizes, two fields a line, no source twice.
check_parts() {
  expect "$1: test lines" 500 "$(num_lines "$1/test.tsv")"
  expect "$1: validation lines" 500 "$(num_lines "$1/valid.tsv")"
  expect "$1: untranslated lines" 20 "$(num_lines "$1/untranslated.en")"
  expect "$1: lines without two fields" 0 \
    "$(cat "$1"/*.tsv | awk -F '\t' 'NF != 2 || $1 == "" || $2 == ""' | wc -l)"
  expect "$1: sources that occur twice" "" \
    "$(cat "$1"/*.tsv "$1/untranslated.en" | cut -f 1 | sort | uniq -d)"
}

# The self-made corpus.
mkdir "$tmp/a" "$tmp/b"
python3 scripts/corpus/write_sentences.py "$tmp/a"
python3 scripts/corpus/write_sentences.py "$tmp/b"
check_parts "$tmp/a"
expect "training lines" 8000 "$(num_lines "$tmp/a/train.tsv")"
diff -r "$tmp/a" "$tmp/b" > /dev/null ||
  fault "write_sentences.py wrote two different corpora"

# Titles, as fetch_titles would leave them: 1,800 pairs, then odd ones.
# stanzas LANGUAGE FIRST LAST BEFORE AFTER: titles that differ in letters.
stanzas() {
  awk -v language="$1" -v i="$2" -v last="$3" -v before="$4" -v after="$5" '
    BEGIN {
      for (; i <= last; ++i) {
        word = i
        for (d = 0; d <= 9; ++d) gsub(d, substr("abcdefghij", d + 1, 1), word)
        printf "Package: p\nDescription-md5: %s\n", i
        printf "Description-%s: %s %s %s\n text\n\n", language, before, word, after
      }
    }'
}
stanza() {
  printf 'Package: p\nDescription-md5: %s\nDescription-%s: %s\n text\n\n' "$@"
}
mkdir "$tmp/fetched" "$tmp/out"
{
  stanzas en 1 1800 library "for all"
  stanza 9001 en "library version 1 twice"
  stanza 9002 en "library version 22 twice"
  stanza 9003 en "left as it is"
  stanza 9004 en "no translation marked"
  stanzas en 9100 9140 game "is new"
} > "$tmp/fetched/en.txt"
{
  stanzas it 1 1800 libreria "per tutti"
  stanza 9001 it "libreria versione 1 doppia"
  stanza 9002 it "libreria versione 22 doppia"
  stanza 9003 it "left as it is"
  stanza 9004 it "<trans> ancora"
  stanza 9999 it "nessun originale"
} > "$tmp/fetched/it.txt"
python3 scripts/corpus/pair_titles.py it "$tmp/fetched" "$tmp/out"
check_parts "$tmp/out"
expect "pairs of titles" 1801 "$(cat "$tmp"/out/*.tsv | wc -l)"
expect "pairs that do not match" 1 \
  "$(cat "$tmp"/out/*.tsv | awk -F '[ \t]' '$2 != $6' | wc -l)"
expect "untranslated titles that are new" 20 \
  "$(grep -c '^game [a-j]* is new$' "$tmp/out/untranslated.en")"

head -n 400 "$tmp/fetched/it.txt" > "$tmp/fetched/es.txt"
sed -i 's/-it:/-es:/' "$tmp/fetched/es.txt"
if python3 scripts/corpus/pair_titles.py es "$tmp/fetched" "$tmp/out" \
  2> "$tmp/message"; then
  fault "eighty titles were enough"
fi
grep -q "only 80 usable titles in 'es'" "$tmp/message" ||
  fault "too few titles: $(cat "$tmp/message")"

for language in it ja zh_CN; do
  scripts/corpus/write_commands "$language" 4000 240s | bash -n ||
    fault "write_commands $language: not bash"
done
finish
