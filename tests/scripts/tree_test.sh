#!/usr/bin/env bash
# The tree's rules (README, "Where things are"): includes point down only, each
# library has one home, a program's main is short.
set -euo pipefail
. "$(dirname "$0")/source_tree.sh"

# An include may go from a folder to itself or to a lower rank.
declare -A rank=(
  [lib/base]=0 [lib/tensor]=1 [lib/text]=1 [lib/metrics]=1 [lib/align]=1
  [lib/ops]=2 [lib/data]=2 [lib/nn]=3 [lib/search]=4 [lib/train]=5
  [formats]=6 [tools]=7
)

folder_of() {
  case "$1" in
    lib/*/*) echo "${1%"${1#lib/*/}"}" | sed 's,/$,,' ;;
    *) echo "${1%%/*}" ;;
  esac
}

# Prints `file:line:header` of every include below the given folders.
includes() {
  grep -rnE '^ *# *include' "$@" --include='*.h' --include='*.cc' |
    sed -nE 's/^([^:]*:[0-9]+):.*[<"]([^>"]*)[>"].*/\1:\2/p'
}

while IFS=: read -r file line header; do
  from=$(folder_of "$file")
  to=$(folder_of "$header")
  case "$header" in lib/* | formats/* | tools/*) ;; *) continue ;; esac
  if [ -z "${rank[$from]-}" ] || [ -z "${rank[$to]-}" ]; then
    fault "$file:$line: $from or $to has no rank in tests/scripts/tree_test.sh"
  elif [ "$from" != "$to" ] && [ "${rank[$to]}" -ge "${rank[$from]}" ]; then
    fault "$file:$line: $from includes $header, which does not point down"
  fi
done < <(includes lib formats tools)

# home PATTERN WHY FOLDER...: a header of PATTERN is included in FOLDER only.
home() {
  local pattern=$1 why=$2
  shift 2
  while IFS=: read -r file line header; do
    local folder
    folder=$(folder_of "$file")
    [[ " $* " == *" $folder "* || " $* " == *" ${folder%%/*} "* ||
      " $* " == *" $(dirname "$file") "* ]] ||
      fault "$file:$line: <$header>: $why"
  done < <(includes lib formats tools | grep -E ":[0-9]+:($pattern)" || true)
}
home '(oneapi/)?dnnl' "oneDNN lives in lib/ops alone" lib/ops
home 'fstream|filesystem' "lib knows no files" formats tools
home 'nlohmann/' "lib knows no JSON" formats tools
home 'cxxopts' "options live in tools" tools
home 'boost/mpi|mpi[.]h' "MPI lives in tools/mpi alone" tools/mpi

while read -r file; do
  lines=$(wc -l < "$file")
  [ "$lines" -lt 60 ] ||
    fault "$file: $lines lines; a program's main file has fewer than 60"
done < <(grep -lE '^int main\(' tools/*.cc 2> /dev/null || true)
finish
