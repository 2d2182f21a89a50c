#!/usr/bin/env bash
# scripts/setup: its list is complete and sorted out, it changes nothing when
# nothing is missing, and says what is needed where it cannot help.
set -euo pipefail
. "$(dirname "$0")/source_tree.sh"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# A PATH that holds only what is linked here, so that apt and sudo can be
# played by stand-ins.
link() {
  for program in "$@"; do
    ln -s "$(command -v "$program")" "$tmp/$program"
  done
}
play() { printf '#!/bin/sh\n%s\n' "$2" > "$tmp/$1" && chmod +x "$tmp/$1"; }
run_setup() {
  status=0
  PATH=$tmp bash scripts/setup > "$tmp/out" 2>&1 < /dev/null || status=$?
}
expect() {
  local name=$1 wanted_status=$2 wanted_text=$3
  [ "$status" -eq "$wanted_status" ] ||
    fault "$name: exit code $status, not $wanted_status: $(cat "$tmp/out")"
  grep -qF -- "$wanted_text" "$tmp/out" ||
    fault "$name: does not say '$wanted_text': $(cat "$tmp/out")"
}
link bash env mktemp rm tail

run_setup
expect "not Debian" 1 "this is not Debian"
expect "not Debian" 1 "libsentencepiece-dev"

play dpkg-query 'echo installed'
play apt-get 'echo "apt-get must not be called: $*"; exit 9'
play id 'echo 1000'
run_setup
expect "all there" 0 "nothing to do"

play dpkg-query '[ "$4" != zstd ] || exit 1; echo installed'
run_setup
expect "neither root nor sudo" 1 "As root, run"
expect "neither root nor sudo" 1 "apt-get install --no-install-recommends zstd"

play sudo '[ "$1" = -n ] && shift && exec "$@"'
play apt-get 'echo "CALLED $*"; case "$*" in *update*) exit 100 ;; esac'
run_setup
expect "by sudo" 0 "1 of "
expect "by sudo" 0 "are missing: zstd"
expect "by sudo" 0 "installed 1 packages"

play apt-get 'exit 100'
run_setup
expect "cannot install" 1 "could not install: zstd"
finish
