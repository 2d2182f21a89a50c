#!/usr/bin/env bash
# scripts/plot-training: a picture of one log and of several, of a log that is
# still being written, and of one whose training was resumed; and what it says
# where there is nothing to draw.
set -euo pipefail
. "$(dirname "$0")/source_tree.sh"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# plot STATUS ARGUMENT...
plot() {
  local status=0
  COLUMNS=80 scripts/plot-training "${@:2}" > "$tmp/out" 2> "$tmp/messages" < /dev/null || status=$?
  [ "$status" -eq "$1" ] ||
    fault "plot-training ${*:2}: exit code $status, not $1: $(cat "$tmp/messages")"
}
says() { grep -qF -- "$2" "$tmp/$1" || fault "no '$2' in: $(cat "$tmp/$1")"; }

# records FIRST LAST LOSS: progress at every step, a validation at every tenth.
records() {
  local step
  for ((step = $1; step <= $2; ++step)); do
    echo '{"time":"2024-05-01T10:00:00Z","tool":"train","step":'$step',"loss":'$3',"learning_rate":0.001}'
    [ $((step % 10)) -ne 0 ] ||
      echo '{"step":'$step',"loss":'$3',"validation":{"cross_entropy":2.5,"perplexity":12.2,"bleu":20.5,"best":20.5,"stalled":0}}'
  done
}
# points FILE.svg: how many points are drawn.
points() { grep -o "xlink:href='#gp" "$1" | wc -l; }

# The first run was killed after update 40, the second resumed after update 30.
{
  echo '{"event":"begin","step":0}'
  echo '{"event":"warning","message":"t.tsv:3: no TAB"}'
  records 1 40 5
  echo '{"event":"begin","step":30}'
  records 31 50 4
} > "$tmp/a.log"
records 1 50 3 > "$tmp/b.log"

plot 0 "$tmp/a.log"
for word in loss 'validation loss' bleu 'learning rate' updates; do says out "$word"; done
! grep -qE 'perplexity|stalled|best' "$tmp/out" || fault "draws what is no curve"
[ "$(awk 'length > 80' "$tmp/out" | wc -l)" -eq 0 ] || fault "wider than the terminal"

plot 0 "$tmp/a.log" -o "$tmp/a.svg"
[ ! -s "$tmp/out" ] && [ ! -s "$tmp/messages" ] || fault "-o is not silent"
python3 - "$tmp/a.svg" << 'PYTHON' || fault "a.svg is no SVG with its labels"
import sys, xml.etree.ElementTree as tree
name = "{http://www.w3.org/2000/svg}"
svg = tree.parse(sys.argv[1]).getroot()
words = {"".join(t.itertext()).strip() for t in svg.iter(name + "text")}
assert svg.tag == name + "svg" and {"loss", "validation loss", "bleu", "learning rate", "updates"} <= words, words
PYTHON
# Steps that were done again count once: as many points as without the kill.
plot 0 "$tmp/b.log" -o "$tmp/b.svg"
[ "$(points "$tmp/a.svg")" -gt 100 ] && [ "$(points "$tmp/a.svg")" -eq "$(points "$tmp/b.svg")" ] ||
  fault "$(points "$tmp/a.svg") points, not $(points "$tmp/b.svg")"

plot 0 "$tmp/a.log" "$tmp/b.log" -o "$tmp/two.svg"
[ "$(points "$tmp/two.svg")" -gt "$(points "$tmp/a.svg")" ] || fault "the second log is not drawn"
for name in a.log b.log; do
  grep -q "$name" "$tmp/two.svg" || fault "$name has no name in the key"
done

# A running training: its last line is not complete. Any other bad line is told.
head -c -20 "$tmp/a.log" > "$tmp/cut.log"
plot 0 "$tmp/cut.log"
printf '\n{"step":1,"loss":5}\n' >> "$tmp/cut.log"
plot 65 "$tmp/cut.log"
says messages "cut.log:$(($(wc -l < "$tmp/cut.log") - 1)): is no JSON object"

: > "$tmp/empty.log"
plot 65 "$tmp/empty.log"
says messages "empty.log: holds no step of a training (yet)"
echo '{"event":"begin","step":0}' > "$tmp/empty.log"
plot 65 "$tmp/a.log" "$tmp/empty.log"
says messages "empty.log: holds no step"
printf '{"step":1,"loss":5}\n' > "$tmp/one.log"
plot 0 "$tmp/one.log"
plot 66 "$tmp/none.log"
says messages "none.log: No such file"
plot 64 "$tmp/a.log" "$tmp/a.log"
plot 64
plot 73 "$tmp/a.log" -o "$tmp/none/a.svg"
says messages "none: no such folder"
[ -z "$(find "$tmp" -name '*.unfinished')" ] || fault "leaves a part of a file"
plot 0 --help
says out LOG
finish
