#!/usr/bin/env bash
# scripts/check/large-corpus with few pairs: a bound is stated and kept, and one
# that is too low is noticed.
set -euo pipefail
export TOOLS=$PWD/tools PYTHON=/usr/bin/python3
. "$(dirname "$0")/source_tree.sh"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# A sanitizer keeps memory of its own, many times the program's.
pack=64 train=128
[ -z "${ASAN_OPTIONS-}" ] || pack=640 train=2560
sed "s/^pack_limit=.*/pack_limit=$pack/; s/^train_limit=.*/train_limit=$train/" \
  scripts/check/large-corpus > "$tmp/check"
bash "$tmp/check" 20000 "$tmp" > "$tmp/out" || fault "fails: $(cat "$tmp/out")"
for pattern in "^tokenize +own +[0-9.]+ MiB, limit $pack MiB" \
  "^train +own +[0-9.]+ MiB, limit $train MiB" '^20000 pairs, 4 MiB of ids'; do
  grep -Eq "$pattern" "$tmp/out" || fault "no '$pattern': $(cat "$tmp/out")"
done
sed 's/^pack_limit=.*/pack_limit=1/' scripts/check/large-corpus > "$tmp/low"
bash "$tmp/low" 100 "$tmp" > "$tmp/out" 2>&1 && fault "1 MiB is enough"
grep -q 'tokenize: needs more than 1 MiB' "$tmp/out" ||
  fault "the limit is not named: $(cat "$tmp/out")"
finish
