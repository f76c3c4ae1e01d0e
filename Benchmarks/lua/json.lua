-- Decodes a document of 1 MB repeatedly. Arguments: nightjar|cjson FILE. Prints milliseconds per decode.
local decode = arg[1] == "cjson" and require("cjson").decode or require("nightjar").json.decode
local file = assert(io.open(arg[2], "rb"))
local text = file:read "a"
file:close()

local rounds = 40
for _ = 1, 5 do decode(text) end
collectgarbage()
local before = os.clock()
for _ = 1, rounds do decode(text) end
print(('{"ms": %.4f}'):format((os.clock() - before) * 1e3 / rounds))
