#!/usr/bin/env bash
# scripts/count_tests.py: the closing line and exit code of scripts/test.
set -euo pipefail
. "$(dirname "$0")/source_tree.sh"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

configured() {
  echo '{"id":{"targetConfigured":{"label":"'"$1"'"}},' \
    '"configured":{"targetKind":"'"$2"' rule"}}'
}
# ended LABEL STATUS XML: events of a test that ran.
ended() {
  echo "$3" > "$tmp/$2.xml"
  echo '{"id":{"testResult":{"label":"'"$1"'"}},"testResult":' \
    '{"testActionOutput":[{"name":"test.xml","uri":"file://'"$tmp/$2.xml"'"}]}}'
  echo '{"id":{"testSummary":{"label":"'"$1"'"}},"testSummary":' \
    '{"overallStatus":"'"$2"'"}}'
}
# expect NAME BAZEL_STATUS WANTED_EXIT_CODE WANTED_LAST_LINE [WANTED_TEXT]
expect() {
  local status=0
  python3 scripts/count_tests.py "$tmp/events" opt "$2" > "$tmp/out" || status=$?
  [ "$status" -eq "$3" ] || fault "$1: exit code $status, not $3"
  [ "$(tail -n 1 "$tmp/out")" = "$4" ] || fault "$1: $(cat "$tmp/out")"
  grep -qF -- "${5-}" "$tmp/out" || fault "$1: no '$5' in $(cat "$tmp/out")"
}

one='<testcase classname="A" name="B"/>'
bad='<testcase classname="A" name="C"><failure message="x"/></testcase>'
skipped='<testcase classname="A" name="D"><skipped/></testcase>'
shell='<testcase name="t/s"/>'
broken='<testcase name="t/s"><error message="exited with 3"/></testcase>'

: > "$tmp/events"
expect "nothing ran" 4 1 "0 passed, 0 failed"
{
  configured //l:l cc_library
  configured //t:a cc_test
  ended //t:a PASSED "<testsuites><testsuite>$one$one$skipped</testsuite></testsuites>"
} > "$tmp/events"
expect "all passed" 0 0 "2 passed, 0 failed"
expect "a package did not load" 1 1 "2 passed, 1 failed" "exit code 1"
{
  configured //t:a cc_test
  ended //t:a FAILED "<testsuites><testsuite>$one$bad</testsuite></testsuites>"
} > "$tmp/events"
expect "one case failed" 3 1 "1 passed, 1 failed" \
  "bazel test --config=opt //t:a --test_filter=A.C"
{
  configured //t:a cc_test
  ended //t:a FAILED "<testsuites><testsuite>$one</testsuite></testsuites>"
} > "$tmp/events"
expect "crashed after its last case" 3 1 "1 passed, 1 failed" "FAILED: //t:a"
{
  configured //t:a cc_test
  configured //t:s sh_test
  ended //t:s FAILED "<testsuites><testsuite>$broken</testsuite></testsuites>"
} > "$tmp/events"
expect "not built, and a shell test" 1 1 "0 passed, 2 failed" "NOT BUILT: //t:a"
{
  configured //t:s sh_test
  ended //t:s PASSED "<testsuites><testsuite>$shell</testsuite></testsuites>"
  configured //t:a cc_test
  ended //t:a TIMEOUT ""
} > "$tmp/events"
expect "out of time, without XML" 3 1 "1 passed, 1 failed" "TIMEOUT: //t:a"
finish
