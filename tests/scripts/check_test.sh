#!/usr/bin/env bash
# scripts/check: the short form of each passes, and says FAILED, with exit code
# 1, of a program that does not keep its promise.
set -euo pipefail
programs=$PWD
. "$(dirname "$0")/source_tree.sh"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

passes() {
  scripts/check/"$@" > "$tmp/out" 2>&1 && grep -q '^passed: ' "$tmp/out" ||
    fault "$1: $(cat "$tmp/out")"
}
passes kill-train --programs "$programs" --updates 150 --kills 6 --seed 5
for kind in sampled packed processes; do
  passes kill-train --programs "$programs" --kind $kind --updates 60 --kills 3 --seed 5
done
passes full-disk --programs "$programs" --updates 60 --quick --seed 5

export DATA=$PWD/tests/tools/data
. "$DATA/tiny_model"
mkdir "$tmp/model"
(cd "$tmp/model" && PATH=$programs/tools:$PATH && make_tiny_model)
model=$tmp/model/m.safetensors
passes one-answer --programs "$programs/tools" --lines 30 "$model" "$tmp/model/train.txt"
passes long-stream --programs "$programs/tools" --lines 20000 "$model" "$tmp/model/train.txt" \
  --beam-size 1 --max-length-factor 1 --threads 2

# A translator whose answer depends on the batch, and one that loses a line.
mkdir "$tmp/liars"
printf '#!/bin/bash\nsed "s/$/ $*/"\n' > "$tmp/liars/decode"
chmod +x "$tmp/liars/decode"
scripts/check/one-answer --programs "$tmp/liars" --lines 5 m "$tmp/model/train.txt" > "$tmp/out" 2>&1 &&
  fault "one-answer did not notice: $(cat "$tmp/out")"
grep -q '^FAILED: ' "$tmp/out" || fault "one-answer: $(cat "$tmp/out")"
printf '#!/bin/bash\nsed 400d\n' > "$tmp/liars/decode"
scripts/check/long-stream --programs "$tmp/liars" --lines 1000 m "$tmp/model/train.txt" > "$tmp/out" 2>&1 &&
  fault "long-stream did not notice: $(cat "$tmp/out")"
grep -q '^FAILED: 999 lines for 1000' "$tmp/out" || fault "long-stream: $(cat "$tmp/out")"

# A training whose outcome depends on whether it was interrupted: this one
# starts over by another seed, and makes a whole model, which is another one.
mkdir -p "$tmp/tools"
ln -s "$programs"/tools/* "$tmp/tools"
rm "$tmp/tools/train"
cat > "$tmp/tools/train" << EOF
#!/usr/bin/env bash
[ ! -e model.safetensors.state ] || set -- "\$@" --restart --seed 2
exec "$programs/tools/train" "\$@"
EOF
chmod +x "$tmp/tools/train"
for check in kill-train full-disk; do
  status=0
  scripts/check/$check --programs "$tmp" --updates 30 --seed 5 > "$tmp/out" 2>&1 || status=$?
  [ "$status" -eq 1 ] && grep -q '^FAILED: ' "$tmp/out" ||
    fault "$check did not notice, exit code $status: $(cat "$tmp/out")"
done
finish
