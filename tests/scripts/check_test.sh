#!/usr/bin/env bash
# scripts/check: the short form of each passes, and says FAILED, with exit code
# 1, of a `train` that does not keep its promise.
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
