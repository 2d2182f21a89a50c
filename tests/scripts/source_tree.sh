# Sourced by the tests of this folder: goes to the top of the source tree that
# the test's own symlink leads to, and counts what is wrong there.
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1

faults=0
fault() {
  printf '%s\n' "$*"
  faults=$((faults + 1))
}

finish() {
  [ "$faults" -eq 0 ] || {
    echo "$faults faults"
    exit 1
  }
}
