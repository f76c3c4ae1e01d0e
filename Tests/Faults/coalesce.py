#!/usr/bin/env python3
"""Many identical concurrent calls: Tests/Faults/coalesce.py NIGHTJAR [--long]"""

import time

from demo import LONG, Demo, Script, check, eventually, finish, lua

COUNT = 10_000 if LONG else 2000
# The delay of the response in milliseconds. Even on a slow machine, all calls have joined by then.
RESPONSE = COUNT // 2 + 1000

OPEN = """
local nightjar = require "nightjar"
local url, count, wanted = arg[1], math.tointeger(arg[2]), math.tointeger(arg[3])
local api = nightjar.client { base_url = url, coalesce = true, timeout = 60, retry = false }
local kinds = {}
local function get(key, ms)
  return function()
    local ok, outcome = pcall(api.get, api, "/v1/slow", { query = { key = key, ms = ms } })
    local kind = ok and outcome.status .. " " .. outcome.json.key .. " " .. outcome.source or outcome.kind
    kinds[kind] = (kinds[kind] or 0) + 1
    return ok
  end
end
local function print_kinds()
  for kind, times in pairs(kinds) do print(kind, times) end
end
"""


def outcomes(lines):
    return {kind: int(times) for kind, times in (line.split("\t") for line in lines if "\t" in line)}


def shared(demo):
    lines = lua(OPEN + """
        local tasks = {}
        for number = 1, count do tasks[number] = nightjar.spawn(get("all", wanted)) end
        for _, task in ipairs(tasks) do task:join() end
        print_kinds()
        """, demo.url, str(COUNT), str(RESPONSE))
    stats = demo.stats()
    seen = outcomes(lines)
    check(f"{COUNT} identical calls: one request", stats["requests"]["GET /v1/slow"] == 1, stats["requests"])
    check("each call gets the response and reports its source", seen == {"200 all network": 1, "200 all coalesced": COUNT - 1}, seen)


def all_but_one_leave(demo):
    """The first call, which started the exchange, is among the cancelled calls."""
    lines = lua(OPEN + """
        local tasks = {}
        for number = 1, count do tasks[number] = nightjar.spawn(get("one", wanted)) end
        nightjar.sleep(0.2)
        local last = table.remove(tasks, count // 2)
        for _, task in ipairs(tasks) do task:cancel() end
        print("stays\t" .. (last:join() and 1 or 0))
        print_kinds()
        """, demo.url, str(COUNT), str(RESPONSE))
    stats = demo.stats()
    seen = outcomes(lines)
    check(f"{COUNT - 1} of {COUNT} cancelled: the last gets the response of the same request",
          seen.get("stays") == 1 and sum(times for kind, times in seen.items() if kind.startswith("200 one")) == 1
          and stats["requests"]["GET /v1/slow"] == 1 and not stats["abandoned"], seen, stats["requests"], stats["abandoned"])


def all_leave(demo):
    script = Script(OPEN + """
        local tasks = {}
        for number = 1, count do tasks[number] = nightjar.spawn(get("none", 30000)) end
        nightjar.sleep(0.2)
        for _, task in ipairs(tasks) do task:cancel() end
        print "cancelled"
        nightjar.sleep(2)
        -- No call joins an abandoned exchange.
        get("none", 1)()
        print_kinds()
        """, demo.url, str(COUNT), str(RESPONSE))
    abandoned = eventually(lambda: demo.stats()["abandoned"] == {"/v1/slow?key=none": 1}, 20)
    moment = time.monotonic()
    script.wait()
    cancelled = next((moment for moment, text in script.lines if text == "cancelled"), moment)
    stats = demo.stats()
    check(f"all {COUNT} cancelled: the server sees the abandoned request", abandoned and moment - cancelled < 2, stats["abandoned"],
          moment - cancelled)
    seen = outcomes(script.texts())
    check("a later call sends a new request", seen.get("200 none network") == 1
          and stats["requests"]["GET /v1/slow"] == 2, seen, stats["requests"], script.errors)


def others(demo):
    """Different requests and writes do not share an exchange."""
    lua(OPEN + """
        local tasks = {}
        for number = 1, 10 do
          tasks[#tasks + 1] = nightjar.spawn(get("a", 500))
          tasks[#tasks + 1] = nightjar.spawn(get("b", 500))
          tasks[#tasks + 1] = nightjar.spawn(function()
            api:get("/v1/slow", { query = { key = "a", ms = 500 }, headers = { Accept = "text/plain" } })
          end)
        end
        -- The writes come last, because calls do not join an exchange that started before a write.
        for number = 1, 10 do
          tasks[#tasks + 1] = nightjar.spawn(function() api:post("/v1/orders", { json = { a = 1 } }) end)
        end
        for _, task in ipairs(tasks) do task:join() end
        """, demo.url, str(COUNT), str(RESPONSE))
    requests = demo.stats()["requests"]
    check("other queries, headers and writes are not shared", requests == {"GET /v1/slow": 3, "POST /v1/orders": 10}, requests)


for claim in (shared, all_but_one_leave, all_leave, others):
    with Demo() as demo:
        claim(demo)
finish()
