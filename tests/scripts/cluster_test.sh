#!/usr/bin/env bash
# What runs programs on several machines: scripts/bench/mpi-train on this
# machine; scripts/recipes/slurm-train and scripts/translate-corpus with Slurm
# and ssh played by stand-ins.
set -euo pipefail
programs=$PWD/tools
. "$(dirname "$0")/source_tree.sh"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# MPI itself leaves memory behind; train-mpi looks for our leaks.
export ASAN_OPTIONS=detect_leaks=0
scripts/bench/mpi-train --programs "$programs" --mini-batch-words 128 --updates 10 \
  --rounds 1 --to jsonl > "$tmp/record" || fault "mpi-train fails"
jq -e '.ratio > 0 and .tokens_per_second > 0 and .sum_share >= 0 and .sum_share <= 1 and
       .largest_difference < 0.01 and .last_loss < .first_loss' "$tmp/record" > /dev/null ||
  fault "mpi-train: $(cat "$tmp/record")"

play() { printf '#!/bin/bash\n%s\n' "$2" > "$tmp/$1" && chmod +x "$tmp/$1"; }
slurm() {
  status=0
  PATH=$tmp:$PATH SLURM_JOB_ID=7 SLURM_CPUS_PER_TASK=3 scripts/recipes/slurm-train "$@" \
    > "$tmp/out" 2>&1 || status=$?
}
# expect STATUS LAST_LINE
expect() {
  [ "$status" -eq "$1" ] && [ "$(tail -n 1 "$tmp/out")" = "$2" ] ||
    fault "slurm-train: exit code $status: $(cat "$tmp/out")"
}
command='srun --mpi=pmix --kill-on-bad-exit=1 --cpus-per-task=3 train --threads 3 --model a b.safetensors'
play scontrol 'echo "scontrol $*"'
play srun 'echo "srun $*"'
slurm --model "a b.safetensors"
expect 0 "$command"
play srun 'echo "srun $*"; exit 65'
slurm --model "a b.safetensors"
expect 65 "$command"
for killed in 137 143; do
  play srun "exit $killed"
  slurm --model m
  expect "$killed" "scontrol requeue 7"
done
# Memory that is too small is not tried for ever, a crash not at all.
play srun 'exit 137'
SLURM_RESTART_COUNT=5 slurm --model m
expect 137 "slurm-train: a process was killed again, after 5 restarts; if it ran out of memory, ask for more with --mem"
for crashed in 134 139; do
  play srun "exit $crashed"
  slurm --model m
  expect "$crashed" ""
done
slurm
expect 64 "saves, and the job queues itself again; so it does where a machine was lost."
scripts/recipes/slurm-train --model m 2> /dev/null && fault "runs without Slurm"

# A corpus of 7 lines in parts of 2, in order, the last line without its LF.
# What decode would write; of the third part only when it is asked again.
corpus() {
  status=0
  HOME=$tmp PATH=$tmp:$PATH PROGRAMS=$tmp/programs scripts/translate-corpus "$@" > "$tmp/out" 2>&1 ||
    status=$?
}
mkdir "$tmp/programs"
play programs/decode '
options="$*"
lines=$(sed "s/.*/[&] $options/")
if [[ $lines = *"[5]"* && -e '"$tmp"'/fails ]]; then rm '"$tmp"'/fails; exit 74; fi
echo "$lines"'
play ssh 'while [[ $1 == -* ]]; do shift; done; shift; [ "$1" != -- ] || shift; SHELL=/bin/bash exec bash -c "$*"'
play sbatch '
for option; do case $option in --array=0-*) last=${option#--array=0-} ;; esac; done
for ((task = 0; task <= last; ++task)); do
  SLURM_ARRAY_TASK_ID=$task bash -c "${@: -1}" || exit 1
done'
printf '1/:\n2/far\n' > "$tmp/hosts"
seq 7 | head -c 13 > "$tmp/corpus.in"
for place in "--jobs 2" "--hosts $tmp/hosts" "--slurm 3"; do
  touch "$tmp/fails"
  rm -f "$tmp/corpus out"
  corpus $place --lines 2 "$tmp/corpus.in" "$tmp/corpus out" -- --quiet --model "a b"
  [ "$status" = 74 ] && [ ! -e "$tmp/corpus out" ] ||
    fault "translate-corpus $place: exit code $status of a part that fails: $(cat "$tmp/out")"
  corpus $place --lines 2 "$tmp/corpus.in" "$tmp/corpus out" -- --quiet --model "another"
  [ "$status" = 65 ] || fault "translate-corpus $place goes on with other options"
  corpus $place --lines 2 "$tmp/corpus.in" "$tmp/corpus out" -- --quiet --model "a b"
  [ "$status" = 0 ] || fault "translate-corpus $place: exit code $status: $(cat "$tmp/out")"
  seq -f '[%g] --quiet --quiet --model a b' 7 | cmp - "$tmp/corpus out" ||
    fault "translate-corpus $place: $(cat "$tmp/corpus out")"
  [ ! -e "$tmp/corpus out.parts" ] || fault "translate-corpus leaves its parts"
done
corpus --jobs 2 "$tmp/nowhere" "$tmp/x" -- --model m
[ "$status" = 66 ] || fault "translate-corpus without input: $status"
corpus "$tmp/corpus.in" "$tmp/x" -- --model m
[ "$status" = 64 ] || fault "translate-corpus without a place: $status"
finish
