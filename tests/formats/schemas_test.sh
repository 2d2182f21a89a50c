#!/bin/sh
# The system's Python, where Debian's python3-jsonschema is installed.
exec /usr/bin/python3 tests/formats/schemas_test.py formats/schemas \
  tests/formats/data/records.jsonl
