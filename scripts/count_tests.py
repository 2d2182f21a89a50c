"""Counts the test cases of one `bazel test` run for scripts/test.

Usage: count_tests.py EVENTS CONFIG STATUS

EVENTS is the file Bazel wrote for --build_event_json_file, STATUS its exit
code. Cases come from each target's XML (GoogleTest's own, or the one Bazel
writes for a shell test). A target that did not build, timed out or crashed
counts as one failure. Prints failures, each with the command that repeats it,
then `N passed, N failed`; exits 0 only if something ran and nothing failed.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree

NO_TESTS_FOUND = "4"
MAX_LOG_LINES = 200
BAZEL_LOG_START = 'exec ${PAGER:-/usr/bin/less} "$0" || exit 1'


class Target:
    """What the events say about one test target."""

    def __init__(self):
        self.status = "NOT BUILT"
        self.xml_files = []
        self.logs = []


def read_targets(events_path):
    """Returns label -> Target, in the order Bazel configured them."""
    targets = {}
    with open(events_path, encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            kind, key = next(iter(event["id"].items()))
            if kind == "targetConfigured":
                rule = event.get("configured", {}).get("targetKind", "")
                if rule.endswith("_test rule"):
                    targets.setdefault(key["label"], Target())
            elif kind == "testSummary" and "testSummary" in event:
                target = targets.setdefault(key["label"], Target())
                target.status = event["testSummary"]["overallStatus"]
            elif kind == "testResult" and "testResult" in event:
                target = targets.setdefault(key["label"], Target())
                for output in event["testResult"].get("testActionOutput", []):
                    path = urllib.parse.urlparse(output["uri"]).path
                    if output["name"] == "test.xml":
                        target.xml_files.append(urllib.parse.unquote(path))
                    elif output["name"] == "test.log":
                        target.logs.append(urllib.parse.unquote(path))
    return targets


def read_cases(xml_path):
    """Returns (passed, failed) of one XML file; `failed` has GoogleTest's name
    of each failed case, or None for a target that has no cases of its own."""
    passed, failed = 0, []
    try:
        root = ElementTree.parse(xml_path).getroot()
    except (OSError, ElementTree.ParseError):
        return passed, failed
    for case in root.iter("testcase"):
        outcome = {child.tag for child in case}
        if outcome & {"failure", "error"}:
            group = case.get("classname") or ""
            failed.append(f"{group}.{case.get('name')}" if group else None)
        elif "skipped" not in outcome and case.get("status") != "notrun":
            passed += 1
    return passed, failed


def count(targets):
    """Returns (passed, [(label, status, failed case or None)])."""
    passed, failures = 0, []
    for label, target in targets.items():
        names = []
        for xml_path in target.xml_files:
            case_passed, case_failed = read_cases(xml_path)
            passed += case_passed
            names += case_failed
        if not names and target.status not in ("PASSED", "FLAKY"):
            names = [None]
        failures += [(label, target.status, name) for name in names]
    return passed, failures


def repeat_command(label, config, case):
    command = f"bazel test --config={config} {label}"
    return command + (f" --test_filter={case}" if case else "")


def print_log(target):
    """Prints the end of a failed target's own output."""
    for log_path in target.logs:
        with open(log_path, encoding="utf-8", errors="replace") as log:
            lines = log.read().splitlines()
        # Bazel puts three lines of its own first.
        lines = lines[3:] if lines[:1] == [BAZEL_LOG_START] else lines
        if len(lines) > MAX_LOG_LINES:
            print(f"[… the whole of it: {log_path}]")
        print("\n".join(lines[-MAX_LOG_LINES:]))


def main():
    events_path, config, bazel_status = sys.argv[1:]
    targets = read_targets(events_path)
    passed, failures = count(targets)
    for label in dict.fromkeys(label for label, _, _ in failures):
        print(f"==== {label}")
        print_log(targets[label])
    for label, status, case in failures:
        print(f"{status}: {label}" + (f" {case}" if case else ""))
        print(f"    {repeat_command(label, config, case)}")
    failed = len(failures)
    if bazel_status not in ("0", NO_TESTS_FOUND) and not failures:
        print(f"FAILED: bazel itself ended with exit code {bazel_status}")
        print(f"    bazel test --config={config} //...")
        failed = 1
    if passed + failed == 0:
        print("test: no test ran")
    print(f"{passed} passed, {failed} failed")
    sys.exit(0 if passed and not failed else 1)


main()
