#!/bin/bash
# Runs the cases of one tool: run_cases.sh TOOL runs each folder cases/TOOL-*.
#
# A case is a folder with these files:
#   cmd      the shell command, with the programs on PATH
#   input    its standard input (without it: nothing)
#   stdout   what it must write, byte for byte (without it: nothing)
#   status   its exit code (without it: 0)
#   stderr   extended regular expressions, one a line: each must match some
#            line of standard error (without it: standard error is empty)
# Other files of the folder are there in the scratch directory the command runs
# in, and $DATA names the folder of the data shared by all cases.
set -u
shopt -s nullglob
export LC_ALL=C
tool=$1
root=$PWD/tests/tools
export DATA=$root/data
export PATH=$PWD/tools:$PWD/tests/tools/support:$PATH
scratch=${TEST_TMPDIR:-$(mktemp -d)}/cases
passed=0
failed=0
xml=

# What is wrong with the outcome of the case in $1, run in $2; nothing if it
# is right.
compare() {
  local case=$1 got=$2 expression
  local status=0
  [ -f "$case/status" ] && status=$(<"$case/status")
  [ "$(<"$got.status")" = "$status" ] ||
    echo "exit code $(<"$got.status"), not $status"
  if [ -f "$case/stdout" ]; then
    diff -a "$case/stdout" "$got.stdout" | head -n 20
  elif [ -s "$got.stdout" ]; then
    echo "unexpected standard output:"
    head -c 1000 "$got.stdout"
  fi
  if [ -f "$case/stderr" ]; then
    while IFS= read -r expression; do
      grep -aEq -- "$expression" "$got.stderr" ||
        echo "standard error does not match: $expression"
    done <"$case/stderr"
  elif [ -s "$got.stderr" ]; then
    echo "unexpected standard error:"
  fi
}

for case in "$root/cases/$tool"-*/; do
  case=${case%/}
  name=${case##*/}
  mkdir -p "$scratch/$name"
  cp -RL "$case/." "$scratch/$name"
  input=/dev/null
  [ -f "$case/input" ] && input=$case/input
  got=$scratch/$name.got
  (cd "$scratch/$name" && bash ./cmd) <"$input" >"$got.stdout" 2>"$got.stderr"
  echo $? >"$got.status"
  wrong=$(compare "$case" "$got" | tr -d '\0')
  if [ -z "$wrong" ]; then
    passed=$((passed + 1))
    xml+="<testcase name=\"$name\" classname=\"$tool\"/>"
    continue
  fi
  failed=$((failed + 1))
  xml+="<testcase name=\"$name\" classname=\"$tool\"><failure/></testcase>"
  echo "FAILED $name: $wrong"
  head -c 1000 "$got.stderr"
  echo "Repeat it: cd tests/tools/cases/$name &&" \
    "DATA=../../data bash ./cmd <$([ -f "$case/input" ] && echo input ||
      echo /dev/null)"
done

if [ -n "${XML_OUTPUT_FILE:-}" ]; then
  echo "<?xml version=\"1.0\"?><testsuites>" \
    "<testsuite name=\"$tool\" tests=\"$((passed + failed))\"" \
    "failures=\"$failed\">$xml</testsuite></testsuites>" >"$XML_OUTPUT_FILE"
fi
echo "$tool: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
