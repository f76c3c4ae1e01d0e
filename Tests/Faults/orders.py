#!/usr/bin/env python3
"""Writes to a server that drops connections at random points: Tests/Faults/orders.py NIGHTJAR [--long]

With idempotency keys each order is created exactly once. Without them, each order is created at most once, and each call whose
outcome is unknown reports it.
"""

from demo import LONG, Demo, check, finish, lua

COUNT = 10_000 if LONG else 1000
# The maximum number of orders that the demo API keeps.
BATCH = 1000

SCRIPT = """
local nightjar = require "nightjar"
local url, with_keys, seed, first, count = arg[1], arg[2] == "keys", arg[3], math.tointeger(arg[4]), math.tointeger(arg[5])
local api = nightjar.client {
  base_url = url, retry = { attempts = 30, base = 0.005, cap = 0.02, budget = { reserve = 1000 } },
}
local numbers = {}
for number = first, first + count - 1 do numbers[#numbers + 1] = number end
nightjar.map(numbers, function(number)
  local ok, outcome = pcall(api.post, api, "/v1/orders", {
    query = { drop = 0.3, seed = seed }, json = { number = number }, idempotency_key = with_keys or nil,
  })
  if ok then
    -- The response belongs to this order, not to another call.
    print(number, outcome.status == 201 and outcome.json.order.number == number and "created" or "odd", outcome.attempts)
  else
    local may = outcome.may_have_been_processed
    print(number, may == true and "unknown" or may == false and "not processed" or "odd", outcome.attempts, outcome.kind)
  end
end, { concurrency = 50 })
"""


def batch(demo, keys, number):
    """Returns the output of each call, the server's counts, and the numbers of the created orders."""
    demo.ask("DELETE", "/v1/orders")
    lines = lua(SCRIPT, demo.url, keys, str(number + 1), str(number * BATCH + 1), str(BATCH))
    said = {int(words[0]): words[1:] for words in (line.split("\t") for line in lines)}
    count = demo.ask("GET", "/v1/orders/count")
    documents = demo.read_all([f"/v1/orders/{id + 1}" for id in range(min(count["created"], BATCH))])
    return said, count, [document["order"]["number"] for document in documents]


def with_keys(demo):
    totals = {"created": 0, "requests": 0, "keys": 0, "repeated_bodies": 0}
    said, created = {}, []
    for number in range(COUNT // BATCH):
        words, count, orders = batch(demo, "keys", number)
        said |= words
        created += orders
        totals = {name: totals[name] + count[name] for name in totals}
    others = {number: words for number, words in said.items() if words[0] != "created"}
    dropped = demo.stats()["orders"]
    check(f"{COUNT} orders with keys: every call succeeds", len(said) == COUNT and not others, len(said), others)
    check(f"{COUNT} orders with keys: exactly {COUNT} are created",
          totals["created"] == COUNT and totals["keys"] == COUNT and totals["repeated_bodies"] == 0
          and sorted(created) == list(range(1, COUNT + 1)), totals)
    check("the server dropped a third of the requests, and returned the existing order for repeated keys",
          dropped["dropped"] > COUNT * 0.25 and dropped["replayed"] > COUNT * 0.1 and dropped["conflicts"] == 0, dropped)
    print(f"--      {totals['requests']} requests for {COUNT} orders, {dropped['dropped']} dropped")


def without_keys(demo):
    repeated, requests, several, wrong, sums, odd = 0, 0, 0, [], [], []
    counts = {"created": 0, "unknown": 0, "not processed": 0}
    for number in range(COUNT // BATCH):
        said, count, orders = batch(demo, "none", number)
        repeated += count["repeated_bodies"]
        requests += count["requests"]
        created = set(orders)
        several += len(orders) - len(created)
        successes = {order for order, words in said.items() if words[0] == "created"}
        unknown = {order for order, words in said.items() if words[0] == "unknown"}
        for order, words in said.items():
            counts[words[0]] = counts.get(words[0], 0) + 1
            if words[0] == "odd" or (words[0] == "not processed" and order in created):
                wrong.append((order, words))
            if words[0] == "unknown" and words[2] not in ("connection_lost", "timeout"):
                odd.append((order, words))
        if not successes <= created or count["created"] != len(successes) + len(unknown & created):
            sums.append((count, len(successes), len(unknown & created)))
        # Some of the unknown orders must have been created, and others not.
        if not unknown & created or not unknown - created:
            sums.append(("unknown", len(unknown), len(unknown & created)))
    dropped = demo.stats()["orders"]
    check(f"{COUNT} orders without keys: none is created twice", repeated == 0 and several == 0, repeated, several)
    check("the created orders are the successful ones and some of the unknown ones", not sums, sums)
    check("no call reports an unprocessed request for a created order", not wrong, wrong[:5], len(wrong))
    check("each dropped call has an unknown outcome or was provably not sent",
          counts["unknown"] + counts["not processed"] == COUNT - counts["created"] and counts["unknown"] > COUNT * 0.25
          and not odd, counts, odd[:5])
    print(f"--      {counts}, {requests} requests, {dropped['dropped']} dropped")


with Demo() as demo:
    with_keys(demo)
with Demo() as demo:
    without_keys(demo)
    url = demo.url
lines = lua(SCRIPT, url, "none", "1", "1", "20")
check("without a server no order can be created, and the calls report that",
      len(lines) == 20 and all("\tnot processed\t" in line for line in lines), lines)
finish()
