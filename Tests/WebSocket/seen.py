#!/usr/bin/env python3
"""Waits until a server of peers.py has recorded connections, and checks the last one.

    seen.py RECORDS ID [connections=N] EXPECTATION...

An expectation is FIELD=VALUE or FIELD~PATTERN, a regular expression for the whole value. The exit status is 1 if a value
differs, or if the connections were not recorded within 10 seconds.
"""

import json
import re
import sys
import time

LIMIT = 10


def read(path, name):
    with open(path, encoding="utf-8") as file:
        # The last line may be incomplete.
        lines = [line for line in file if line.endswith("\n")]
    return [record for record in map(json.loads, lines) if record["id"] == name]


def main(path, name, expectations):
    count = 1
    if expectations and expectations[0].startswith("connections="):
        count = int(expectations.pop(0).partition("=")[2])
    deadline = time.monotonic() + LIMIT
    while len(found := read(path, name)) < count:
        if time.monotonic() > deadline:
            return [f"the server has recorded {len(found)} connections within {LIMIT} seconds, expected {count}"]
        time.sleep(0.01)
    failures = []
    for expectation in expectations:
        field, operator, value = re.fullmatch(r"([\w:-]+)([=~])(.*)", expectation, re.DOTALL).groups()
        actual = str(found[-1].get(field, "(none)"))
        if not (actual == value if operator == "=" else re.fullmatch(value, actual)):
            failures.append(f"the server has recorded the {field} {actual!r}, expected {value!r}")
    if len(found) > count:
        failures.append(f"the server has recorded {len(found)} connections, expected {count}")
    return failures + ([f"record: {found[-1]}"] if failures else [])


if __name__ == "__main__":
    problems = main(sys.argv[1], sys.argv[2], sys.argv[3:])
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)
