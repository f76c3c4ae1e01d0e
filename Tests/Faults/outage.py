#!/usr/bin/env python3
"""A server that fails for a while under steady load: Tests/Faults/outage.py NIGHTJAR [--long]

Each of fifty callers makes one call per second, regardless of earlier results. The demo API counts the requests.
"""

import time

from demo import LONG, Demo, Script, check, eventually, finish, side_by_side

LENGTH = 60 if LONG else 6
RATE = 50

SCRIPT = """
local nightjar = require "nightjar"
local breaker = ({ none = false, standard = true, short = { window = 1, open_duration = 1 } })[arg[2]]
io.stdout:setvbuf "line"
local api = nightjar.client { base_url = arg[1], circuit_breaker = breaker, timeout = 5 }
local function call()
  local ok, outcome = pcall(api.get, api, "/v1/articles/1")
  if ok then print "ok" else print("failed " .. outcome.kind .. " " .. outcome.attempts) end
end
for caller = 1, 50 do
  nightjar.spawn(function()
    nightjar.sleep(caller / 50)
    while true do
      nightjar.spawn(call)
      nightjar.sleep(1)
    end
  end)
end
nightjar.sleep(1e6)
"""


class Run:
    """The load on the server, and the rate of the requests that the server receives."""

    def __init__(self, demo, breaker):
        self.demo = demo
        self.script = Script(SCRIPT, demo.url, breaker)
        eventually(lambda: len(self.script.lines) > RATE)

    def requests(self):
        return sum(count for name, count in self.demo.stats()["requests"].items() if "/v1/" in name)

    def rate(self, seconds):
        """Returns the requests per second that the server receives during the next `seconds`."""
        first, began = self.requests(), time.monotonic()
        time.sleep(seconds)
        return (self.requests() - first) / (time.monotonic() - began)

    def outcomes(self, since, until=1e18):
        return [(moment, text) for moment, text in list(self.script.lines) if since <= moment < until]


def outage(mode, breaker, rest):
    name = f"{LENGTH} s of {'503' if mode == '503' else 'dropped connections'}, {'no' if breaker == 'none' else 'a'} breaker"
    with Demo() as demo:
        run = Run(demo, breaker)
        normal = run.rate(3)
        quiet = run.outcomes(0)
        demo.control(outage=mode)
        during = run.rate(LENGTH)
        per_second = demo.stats()["per_second"][-LENGTH:]
        demo.control(outage="none")
        over = time.monotonic()
        after = run.rate(rest + 4)
        end = time.monotonic()
        late = run.rate(1)
        run.script.kill()

        check(f"{name}: before the outage all calls succeed at the configured rate",
              all(text == "ok" for _, text in quiet) and abs(normal - RATE) < RATE * 0.1, normal, quiet[-3:])
        if breaker == "none":
            check(f"{name}: at most 1.1 times the normal rate ({during:.1f} of {normal:.1f} a second)",
                  during <= 1.1 * normal, per_second)
        else:
            check(f"{name}: a fraction of the normal rate ({during:.1f} of {normal:.1f} a second)",
                  during <= 0.25 * normal, per_second)
        failures = [moment for moment, text in run.outcomes(over) if text != "ok"]
        successes = [moment for moment, text in run.outcomes(over) if text == "ok"]
        first = successes[0] - over if successes else None
        check(f"{name}: the probe is sent in time", first is not None and first <= rest + 0.5, first, rest)
        # A call that started during the outage may still fail with its last retry.
        last = failures[-1] - over if failures else 0
        bound = (first or 0) + 1
        check(f"{name}: within a second all calls succeed again (last failure after {last:.2f} s)",
              last <= bound, last, first, [text for _, text in run.outcomes(over) if text != "ok"][-3:])
        settled = [text for _, text in run.outcomes(over + bound, end)]
        expected = (end - over - bound) * RATE
        check(f"{name}: the rate is the same as before", settled.count("ok") == len(settled) and len(settled) > 0.85 * expected
              and abs(late - RATE) < RATE * 0.15, len(settled), expected, late)
        check(f"{name}: the script reports no other error", not run.script.errors, run.script.errors)


side_by_side(*(
    lambda mode=mode, breaker=breaker, rest=rest: outage(mode, breaker, rest)
    for mode in ("503", "drop")
    for breaker, rest in (("none", 0), (("standard", 5) if LONG else ("short", 1)))))
finish()
