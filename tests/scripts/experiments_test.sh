#!/usr/bin/env bash
# scripts/experiments: the quick form of each prints its table, writes records
# as the schema says and a plot with labelled axes; a conclusion follows from
# the figures, for the claim or against it.
set -euo pipefail
programs=$PWD
. "$(dirname "$0")/source_tree.sh"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# run NAME OPTION...: runs the experiment; leaves its exit code in $status.
run() {
  status=0
  "scripts/experiments/$1" --output "$tmp/$1" "${@:2}" \
    > "$tmp/out" 2> "$tmp/messages" || status=$?
}

# expect NAME STATUS PATTERN...: lines of the last run's output that must be.
expect() {
  [ "$status" -eq "$2" ] ||
    fault "$1: exit code $status, not $2: $(cat "$tmp/messages")"
  for pattern in "${@:3}"; do
    grep -Eq -- "$pattern" "$tmp/out" ||
      fault "$1: no line fits '$pattern': $(cat "$tmp/out")"
  done
}

# check_files NAME: the records fit the schema, the plot is an SVG with axes.
check_files() {
  /usr/bin/python3 - "$1" "$tmp/$1" << 'PYTHON' || fault "$1: bad records or plot"
import json, sys, xml.etree.ElementTree as tree
import jsonschema
name, folder = sys.argv[1:]
with open("scripts/experiments/record.schema.json") as file:
    check = jsonschema.Draft202012Validator(json.load(file)).validate
with open(f"{folder}/{name}.jsonl") as file:
    records = [json.loads(line) for line in file]
assert records and {record["experiment"] for record in records} == {name}
for record in records:
    check(record)
svg = tree.parse(f"{folder}/{name}.svg").getroot()
assert svg.tag == "{http://www.w3.org/2000/svg}svg", svg.tag
# A title and at least two labels beside the numbers of the axes.
words = {"".join(t.itertext()).strip() for t in svg.iter("{http://www.w3.org/2000/svg}text")}
assert sum(any(c.isalpha() for c in word) for word in words) >= 4, words
PYTHON
}

quick() {
  run "$1" --quick --programs "$programs"
  expect "$1" 0 "${@:2}" '^A quick run'
  check_files "$1"
}
quick scaling '^d_k +entropy sqrt' '^16 +3\.[0-9]+ ' '^128 +[0-9.]+ +[0-9.]+$'
quick long-range '^distance +full +window-16' '^32( +[01]\.[0-9]+){5}$'
quick cost '^n +d +attention ms' '^512 +128( +[0-9.]+){3}$' '^attention: .*n\^'
quick heads '^heads +parameters' '^8 +7 +[0-9.]+ +-?[0-9.]+ +[0-9.]+$'
quick masking '^updates +training causal' '^none +[0-9.]+ +[0-9.]+'
quick positions '^positions +5-10' '^alibi( +[01]\.[0-9]+){4}$'

# Every experiment is there, and says what it is for.
for file in scripts/experiments/*; do
  [ -x "$file" ] || continue
  "$file" --help > "$tmp/out" || fault "$file --help fails"
  grep -q 'Attention Is All You Need' "$tmp/out" || fault "$file: whose claim?"
  [ -d "$tmp/$(basename "$file")" ] || fault "$file: this test does not run it"
done

# machine ATTENTION LAYER BYTES: plays a machine whose costs follow these laws.
machine() {
  mkdir -p "$tmp/machine/tests/bench"
  cat > "$tmp/machine/tests/bench/attention_cost" << PROGRAM
#!/usr/bin/env python3
for d in (64, 128, 256, 512):
    for n in (128, 256, 512, 1024, 2048):
        print('{"n": %d, "d": %d, "attention_seconds": %g, "layer_seconds": %g, '
              '"layer_bytes": %d}' % (n, d, $1, $2, $3))
PROGRAM
  chmod +x "$tmp/machine/tests/bench/attention_cost"
  run cost --programs "$tmp/machine"
}
machine '3e-11*n**2*d' '1e-10*n**2*d + 2e-10*n*d**2' '8*n**2*d/64 + 4*n**2 + 50*n*d'
expect "the paper's machine" 0 'n\^2\.00  d\^1\.00 +1\.0000$' \
  '1e-10 s n\^2 d \+ 2e-10 s n d\^2 +1\.0000$' \
  '8\.0 n\^2 heads \+ 4\.0 n\^2 \+ 50\.0 n d bytes +1\.0000$' 'from n = 2\.0 d on'
check_files cost
machine '3e-9*n*d' '1e-10*n**2*d + 2e-10*n*d**2' '8*n**2*d/64 + 4*n**2 + 50*n*d'
expect "a linear machine" 1 'n\^1\.00  d\^1\.00' '^NOT SUPPORTED'

run cost --programs "$tmp/nowhere"
expect "no programs" 66
grep -q 'no such program; run: bazel build' "$tmp/messages" ||
  fault "no programs: $(cat "$tmp/messages")"
finish
