#!/bin/sh
# The system's Python, where Debian's python3-numpy is installed.
set -e
tests/formats/write_samples "$TEST_TMPDIR"
exec /usr/bin/python3 tests/formats/numpy_test.py "$TEST_TMPDIR"
