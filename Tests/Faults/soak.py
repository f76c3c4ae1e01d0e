#!/usr/bin/env python3
"""A script that uses all features without a pause, and its memory: Tests/Faults/soak.py NIGHTJAR [--long]

Takes an hour with --long. Compares the resources at the end with those after a tenth of the time, when pools, caches and the
allocator's arenas have reached their size.
"""

import os
import statistics
import time

from demo import LONG, Demo, Script, check, eventually, finish

SECONDS = 3600 if LONG else 15
HERE = os.path.dirname(os.path.realpath(__file__))


def held(process):
    """Returns the resident memory in MiB, and the numbers of descriptors and threads."""
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        status = dict(line.split(":", 1) for line in file)
    return int(status["VmRSS"].split()[0]) / 1024, len(os.listdir(f"/proc/{process}/fd")), int(status["Threads"])


def soak():
    with Demo() as demo, open(os.path.join(HERE, "soak.lua"), encoding="utf-8") as file:
        script = Script(file.read(), demo.url, str(SECONDS))
        samples = []
        began = time.monotonic()
        while script.process.poll() is None and time.monotonic() - began < SECONDS + 60:
            try:
                samples.append(held(script.process.pid))
            except (FileNotFoundError, ProcessLookupError, KeyError):
                break
            if len(samples) % 300 == 0:
                print(f"        {len(samples)} s: {samples[-1]}, {script.texts()[-1:]}", flush=True)
            time.sleep(1)
        eventually(lambda: script.process.poll() is not None)
        status = script.wait(60)
        check(f"a script under load for {SECONDS} s succeeds", status == 0, status, script.errors, script.texts()[-3:])
        if status != 0:
            return
        lua = [int(line.split()[1]) for line in script.texts() if line.split()[1] != "ended"]
        print(f"        {script.texts()[-1:]}")
        # Lua's memory varies by a factor of two or three between seconds, depending on the workers. Only its minimum
        # shows a leak.
        for name, series, extreme, slack, short in (
            ("resident memory, MiB", [sample[0] for sample in samples], max, 0.1, 0.5),
            ("descriptors", [sample[1] for sample in samples], max, 0.25, 0.5),
            ("threads", [sample[2] for sample in samples], max, 0.25, 0.5),
            ("Lua's memory, KiB", lua, min, 0.1, 1),
        ):
            tenth, half = len(series) // 10, len(series) // 2
            parts = (series[tenth:4 * tenth], series[-3 * tenth:]) if LONG else (series[1:half], series[half:])
            early, late = (extreme(part) for part in parts)
            print(f"        {name}: {extreme.__name__} {early:.1f} early, {late:.1f} late, median {statistics.median(series):.1f}")
            # A few seconds only reveal large leaks.
            check(f"{name} is flat", late <= early * (1 + (slack if LONG else short)) + (0 if LONG else 8), early, late)


soak()
finish()
