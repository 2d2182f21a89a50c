#!/usr/bin/env bash
# Every C++ file is as clang-format writes it. Versions differ in detail;
# Debian 12's decides, any other only tells.
set -euo pipefail
. "$(dirname "$0")/source_tree.sh"

mapfile -t files < <(find lib formats tools tests -name '*.h' -o -name '*.cc')
[ ${#files[@]} -gt 0 ] || fault "no C++ file found under $PWD"
version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
if ! clang-format --dry-run -Werror "${files[@]}"; then
  if [ "$version" = 14 ]; then
    fault "to repair: clang-format -i the files named above"
  else
    echo "clang-format $version would write these differently; 14 decides"
  fi
fi
finish
