local json = require "nightjar.json"
local value = json.decode '{"items": [{"name": "lamp", "id": 9007199254740993, "note": null}]}'
print(value.items[1].id, value.items[1].note == require("nightjar").null)
print(json.pointer(value, "/items/0/name"))
print(json.encode({ b = 1, a = { 1, 2 } }, { sorted = true }))
print(json.encode({ a = 1 }, { pretty = true, indent = 4 }))
-- Prints:
--   9007199254740993	true
--   lamp
--   {"a":[1,2],"b":1}
--   {
--       "a": 1
--   }
