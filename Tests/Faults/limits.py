#!/usr/bin/env python3
"""Rate limits of a server, and limits of the client: Tests/Faults/limits.py NIGHTJAR [--long]

The demo API counts requests in windows, reports the remaining number in one of several formats, and rejects the rest with 429.
"""

import time

from demo import LONG, Demo, Script, check, eventually, finish, lua, side_by_side

WINDOWS = 10 if LONG else 3

# Makes three times as many concurrent calls as the server accepts in a window, without a pause.
LEARNING = """
local nightjar = require "nightjar"
local url, style, limit, per, calls = arg[1], arg[2], math.tointeger(arg[3]), math.tointeger(arg[4]), math.tointeger(arg[5])
local api = nightjar.client { base_url = url, rate_limit = true, retry = false, max_queued = 10000 }
local function call()
  local ok, outcome = pcall(api.get, api, "/v1/limited", {
    query = { limit = limit, per = per, fields = style, retry_after = "seconds" },
  })
  print(ok and "ok" or tostring(outcome.status or outcome.kind))
end
-- The client learns the limit from the first response.
call()
local numbers = {}
for number = 2, calls do numbers[#numbers + 1] = number end
nightjar.map(numbers, call, { concurrency = 3 * limit })
"""


def learned(style, per):
    limit = 20
    calls = limit * WINDOWS + limit // 2
    name = f"a limit of {limit} in {per} s, reported as {style}"
    with Demo() as demo:
        began = time.monotonic()
        lines = lua(LEARNING, demo.url, style, str(limit), str(per), str(calls))
        took = time.monotonic() - began
        stats = demo.stats()
        check(f"{name}: no 429 in {calls} calls", stats["limited"] == 0 and lines.count("ok") == calls,
              stats["limited"], lines.count("ok"), set(lines))
        # The calls use up WINDOWS windows and half of another. Servers and clients round to whole seconds. If the server
        # sends an absolute time (x), both the start and the end are rounded.
        rounding = 2 if style == "x" else 1
        check(f"{name}: the calls are nearly as fast as allowed ({took:.1f} s)",
              took >= per * WINDOWS - 0.1 and took < (per + rounding) * (WINDOWS + 1) + 1, took, stats["per_second"])
        check(f"{name}: each call sends one request", stats["requests"]["GET /v1/limited"] == calls, stats["requests"])


# The first calls fill a window. The next call is rejected, waits, and succeeds. Other calls start meanwhile.
RETRY_AFTER = """
local nightjar = require "nightjar"
local url, form = arg[1], arg[2]
local api = nightjar.client { base_url = url, retry = { attempts = 3, base = 0.01 } }
local function call(name)
  local res = api:get("/v1/limited", { query = { limit = 5, per = 2, fields = "none", retry_after = form } })
  print(name, res.attempts)
end
for number = 1, 5 do call "within" end
local tasks = { nightjar.spawn(call, "refused") }
nightjar.sleep(0.3)
for number = 1, 4 do tasks[#tasks + 1] = nightjar.spawn(call, "later") end
for _, task in ipairs(tasks) do task:join() end
"""


def retry_after(form):
    name = f"a 429 with Retry-After in {form}"
    with Demo() as demo:
        lines = lua(RETRY_AFTER, demo.url, form)
        stats = demo.stats()
        check(f"{name} is respected, never too early", stats["limited"] == 1 and "refused\t2" in lines,
              stats["limited"], lines)
        check(f"{name} delays later calls before they are sent", lines.count("later\t1") == 4
              and stats["requests"]["GET /v1/limited"] == 11, lines, stats["requests"])


LONG_WAIT = """
local nightjar = require "nightjar"
local api = nightjar.client { base_url = arg[1], retry = { attempts = 3, max_wait = 2 } }
local function call()
  local ok, err = pcall(api.get, api, "/v1/limited", {
    query = { limit = 1, per = 600, fields = "none", retry_after = arg[2] },
  })
  print(ok and "ok" or err.kind, ok and 0 or err.retry_after, ok and 0 or err.attempts)
end
call() call() call()
"""


def long_wait(form):
    name = f"a Retry-After in {form} beyond max_wait"
    with Demo() as demo:
        began = time.monotonic()
        lines = [line.split("\t") for line in lua(LONG_WAIT, demo.url, form)]
        took = time.monotonic() - began
        check(f"{name} fails immediately with the delay in the error", took < 2
              and [words[0] for words in lines] == ["ok", "rate_limited", "rate_limited"]
              and all(598 <= float(words[1]) <= 601 for words in lines[1:]), took, lines)
        check(f"{name} is requested once, and no later call is sent", demo.stats()["limited"] == 1, demo.stats()["limited"])


CONCURRENCY = """
local nightjar = require "nightjar"
local api = nightjar.client { base_url = arg[1], concurrency = 7, timeout = 60 }
local numbers = {}
for number = 1, 100 do numbers[number] = number end
nightjar.map(numbers, function() api:get("/v1/slow", { query = { ms = 50 } }) end, { concurrency = 100 })
"""


def concurrency():
    with Demo() as demo:
        lua(CONCURRENCY, demo.url)
        stats = demo.stats()
        check("a concurrency limit of 7: the server sees at most 7 of 100 calls",
              stats["in_progress_max"].get("/v1/slow") == 7 and stats["requests"]["GET /v1/slow"] == 100,
              stats["in_progress_max"])


OWN_RATE = """
local nightjar = require "nightjar"
local api = nightjar.client { base_url = arg[1], rate_limit = { requests = 20, per = 1, burst = 5 } }
io.stdout:setvbuf "line"
local numbers = {}
for number = 1, 10000 do numbers[number] = number end
nightjar.map(numbers, function() api:get "/v1/articles/1" print "." end, { concurrency = 50 })
"""


def own_rate():
    with Demo() as demo:
        script = Script(OWN_RATE, demo.url)
        eventually(lambda: script.lines)
        seconds = WINDOWS + 1
        time.sleep(seconds)
        script.kill()
        stats = demo.stats()
        whole = stats["per_second"][1:-1]
        check("a rate of 20 per second is respected", all(15 <= count <= 25 for count in whole[1:]) and whole, stats["per_second"])
        check("the burst is respected", stats["requests"]["GET /v1/articles/{id}"] <= 5 + 20 * (seconds + 0.5),
              stats["requests"])


WAITING = """
local nightjar = require "nightjar"
local api = nightjar.client { base_url = arg[1], concurrency = 1, max_queued = 3, retry = false }
local numbers = {}
for number = 1, 10 do numbers[number] = number end
nightjar.map(numbers, function()
  local ok, err = pcall(api.get, api, "/v1/slow", { query = { ms = 100 } })
  print(ok and "ok" or err.kind .. ": " .. err.message)
end, { concurrency = 10 })
"""


def waiting():
    with Demo() as demo:
        lines = lua(WAITING, demo.url)
        refused = [line for line in lines if line.startswith("rate_limited: the queue for the limit of")]
        check("one call is sent, three calls wait, and the others are rejected", lines.count("ok") == 4 and len(refused) == 6
              and demo.stats()["requests"]["GET /v1/slow"] == 4, lines)


side_by_side(*(lambda style=style, per=per: learned(style, per)
               for style in ("draft8", "draft7", "x", "x-delta") for per in ((1, 3) if not LONG else (1, 2, 3, 10))))
side_by_side(*(lambda form=form, claim=claim: claim(form)
               for claim in (retry_after, long_wait) for form in ("seconds", "date")),
             concurrency, own_rate, waiting)
finish()
