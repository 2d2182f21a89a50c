#!/usr/bin/env bash
# The quickstart's commands, with 150 updates of training on its self-made
# corpus, and then every block of the README's tour, in order.
set -euo pipefail
programs=$PWD/tools
. "$(dirname "$0")/source_tree.sh"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# The layout they expect: quickstart.out/ beside bazel-bin/tools/ and scripts/.
out=$tmp/quickstart.out
mkdir "$out" "$tmp/bazel-bin"
ln -s "$programs" "$tmp/bazel-bin/tools"
ln -s "$PWD/scripts" "$tmp/scripts"

python3 scripts/corpus/write_sentences.py "$out"
scripts/corpus/write_commands it 300 150u > "$out/commands.sh"
bash "$out/commands.sh" > "$tmp/log" 2>&1 || {
  cat "$tmp/log"
  fault "quickstart.out/commands.sh failed"
  finish
}

# expect_lines NAME COUNT: a file of COUNT lines, not all of them blank.
expect_lines() {
  [ "$(wc -l < "$out/$1")" -eq "$2" ] && grep -q . "$out/$1" ||
    fault "$1: $(wc -l < "$out/$1") lines, not $2, or all blank"
}
expect_lines test.translation 500
expect_lines untranslated.translation 20
[ -s "$out/attention.txt" ] || fault "attention.txt is empty"
python3 scripts/corpus/summarise.py "$out" > "$tmp/summary" ||
  fault "no summary"
for figure in pairs training perplexity BLEU chrF2; do
  grep -Eq "^$figure +[0-9]" "$tmp/summary" ||
    fault "no $figure in the summary: $(cat "$tmp/summary")"
done

# A program may end by SIGPIPE (141) where a block's `head` has seen enough.
cat > "$tmp/tour.sh" << 'TOUR'
check() {
  for status in "$@"; do
    [ "$status" -eq 0 ] || [ "$status" -eq 141 ] || {
      echo "exit codes $*, before: $BASH_COMMAND"
      exit 1
    }
  done
}
trap 'check "${PIPESTATUS[@]}"' DEBUG
TOUR
awk '/^```$/ { on = 0 } on { print } /^```bash$/ { on = 1 }' README.md \
  >> "$tmp/tour.sh"
echo : >> "$tmp/tour.sh" # so that the last block is checked too
(cd "$tmp" && bash "$tmp/tour.sh") > "$tmp/log" 2>&1 || {
  cat "$tmp/log"
  fault "a block of README.md failed"
}
finish
