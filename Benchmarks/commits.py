"""Compares two builds of Nightjar on the same benchmarks. Called by scripts/bench --against.

The builds run alternately, and each round has its own ratio, so that a change of the machine's speed affects both equally.
callgrind counts the instructions of two runs with different numbers of requests. The difference excludes the start of the
program. The counts cover user space and all threads, and repeat within about 1 %.
"""

import json
import os
import re
import statistics
import subprocess
import sys

HTTP, HTTPS, HTTP2, ECHO = (os.environ[f"NIGHTJAR_{name}_URL"] for name in ("HTTP", "HTTPS", "HTTP2", "ECHO"))


class Benchmark:
    """One workload. `command` returns a command line for a number of requests; its last line of output is JSON with `key`."""

    def __init__(self, key, unit, count, counted, command):
        self.key, self.unit, self.count, self.counted, self.command = key, unit, count, counted, command

    def measure(self, prefix):
        result = subprocess.run(self.command(prefix, self.count), stdout=subprocess.PIPE, check=True, text=True)
        return json.loads(result.stdout.strip().splitlines()[-1])[self.key]

    def instructions(self, prefix):
        """Returns the number of instructions per request."""
        short, long = self.counted, self.counted * 3
        difference = self.collected(prefix, long) - self.collected(prefix, short)
        return round(difference / (long - short))

    def collected(self, prefix, count):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *self.command(prefix, count)]
        result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, text=True)
        return int(re.search(r"Collected : (\d+)", result.stderr).group(1))


def program(mode, url):
    return lambda prefix, count: [f"{prefix}/nightjar-side", mode, url, str(count)]


def script(name):
    return lambda prefix, count: [f"{prefix}/bin/nightjar", f"{prefix}/benchmarks/lua/{name}", HTTP, str(count)]


BENCHMARKS = {
    "http1": Benchmark("cpu_us", "cpu_us_per_request", 50_000, 2_000, program("many", f"{HTTP}/1k")),
    "http1-policies": Benchmark("cpu_us", "cpu_us_per_request", 50_000, 2_000, program("policies", f"{HTTP}/1k")),
    "http1-cache": Benchmark("cpu_us", "cpu_us_per_request", 50_000, 2_000, program("uncached", f"{HTTP}/uncached")),
    "cache-hit": Benchmark("wall_us", "wall_us_per_call", 300_000, 5_000, program("cached", f"{HTTP}/cached")),
    "blocking": Benchmark("wall_us", "wall_us_per_request", 10_000, 1_000, program("blocking", f"{HTTP}/1k")),
    "http1-tls": Benchmark("cpu_us", "cpu_us_per_request", 30_000, 1_000, program("many", f"{HTTPS}/1k")),
    "http2": Benchmark("cpu_us", "cpu_us_per_request", 100_000, 2_000, program("http2", f"{HTTP2}/1k")),
    "handshake": Benchmark("cpu_us", "cpu_us_per_connection", 300, 20, program("handshake", f"{HTTPS}/close")),
    "lua": Benchmark("cpu_us", "cpu_us_per_request", 30_000, 1_000, script("nightjar.lua")),
    "websocket": Benchmark(
        "cpu_us", "cpu_us_per_message", 100_000, 2_000,
        lambda prefix, count: [f"{prefix}/websocket-side", "messages", ECHO, str(count)]),
}


def compare(name, prefix, other, rounds):
    benchmark = BENCHMARKS[name]
    if not os.path.exists(benchmark.command(other, 1)[0]):
        return print(f"bench: the other commit has no benchmark {name}", file=sys.stderr)
    mine, others = [], []
    for turn in range(rounds):
        # The order alternates, because the first run of a round may have colder caches.
        for side, values in [(prefix, mine), (other, others)][:: 1 if turn % 2 == 0 else -1]:
            values.append(benchmark.measure(side))
    instructions, before = benchmark.instructions(prefix), benchmark.instructions(other)
    line = {
        "bench": name, "now": round(statistics.median(mine), 3), "before": round(statistics.median(others), 3),
        "unit": benchmark.unit, "ratio": round(statistics.median(a / b for a, b in zip(mine, others)), 3),
        "instructions": instructions, "instructions_before": before, "instructions_ratio": round(instructions / before, 3),
    }
    print(json.dumps(line), flush=True)


def main():
    prefix, other, rounds, *names = sys.argv[1:]
    names = list(BENCHMARKS) if names == ["all"] else names
    for name in names:
        if name not in BENCHMARKS:
            sys.exit(f"bench: {name} cannot be compared with another commit; choose from {', '.join(BENCHMARKS)}")
    for name in names:
        compare(name, prefix, other, int(rounds))


main()
