-- Runs a transfer with an id in a process of its own, which the tests may kill:
--
--   nightjar id_transfer.lua ORIGIN KIND PATH FILE OPTIONS [JOURNAL]
--
-- KIND is upload or download, and OPTIONS is a JSON object. Without JOURNAL, the process uses the default journal. Prints a JSON
-- object: the properties of the transfer, or the kind and the message of its error.
local nightjar = require "nightjar"

local origin, kind, path, file, options, journal = table.unpack(arg)
local api = nightjar.client { base_url = origin, timeout = 60, journal = journal }
local ok, result = pcall(api[kind], api, path, file, nightjar.json.decode(options))
local output
if ok then
  output = {
    size = result.size, resumed = result.resumed, attempts = result.attempts,
    has_response = kind == "upload" and result.response ~= nil,
  }
else
  local is_error = type(result) == "userdata"
  output = {
    kind = is_error and result.kind or "error", message = is_error and result.message or tostring(result),
    may_have_been_processed = is_error and result.may_have_been_processed,
  }
end
print(nightjar.json.encode(output))
