-- Orders that are accepted without a network, and sent later, each exactly once.
--
--   nightjar outbox.lua JOURNAL order ITEM...     records an order for each item; needs no network
--   nightjar outbox.lua JOURNAL sync              sends the orders that are not sent yet
--
-- Both can be killed at any time, and can run concurrently.
local nightjar = require "nightjar"
local url = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local journal, command = arg[1], arg[2]

local api <close> = nightjar.client { base_url = url, journal = journal }
local outbox <close> = api:outbox { name = "orders" }

if command == "order" then
  for place = 3, #arg do outbox:post("/v1/orders", { json = { item = arg[place] }, key = arg[place] }) end
elseif command == "sync" then
  local sent = 0
  while outbox:count() > 0 do
    for entry in outbox:changes { timeout = 0.2 } do
      -- The program decides about the orders that the server does not accept.
      if entry.error and entry.state ~= "pending" then
        print("not accepted: " .. entry.error.message)
        entry:remove()
      end
    end
  end
  for entry in outbox:list { state = "done" } do
    print(("order %d: %s"):format(entry.response.json.id, entry.response.json.order.item))
    entry:remove() -- the response was processed
    sent = sent + 1
  end
  print(sent .. " orders were sent")
else
  error "usage: nightjar outbox.lua JOURNAL order ITEM... | sync"
end
