-- The streamed output of a language model, in the two common forms: OpenAI's, whose stream ends with [DONE], and
-- Anthropic's, whose events have types. The mock stands in for both APIs.
--
--   nightjar scripts/examples/lua/llm.lua
local nightjar = require "nightjar"

local function stream_of(events)
  return { headers = { ["content-type"] = "text/event-stream" }, body = table.concat(events, "\n\n") .. "\n\n" }
end

local api = nightjar.client {
  base_url = "http://models.example",
  mock = nightjar.mock {
    { path = "/v1/chat/completions", method = "POST", response = stream_of {
      'data: {"choices":[{"delta":{"content":"Good "}}]}', 'data: {"choices":[{"delta":{"content":"night."}}]}', "data: [DONE]",
    } },
    { path = "/v1/messages", method = "POST", response = stream_of {
      'event: message_start\ndata: {"type":"message_start"}',
      'event: content_block_delta\ndata: {"delta":{"text":"Good "}}',
      'event: content_block_delta\ndata: {"delta":{"text":"night."}}',
      'event: message_stop\ndata: {"type":"message_stop"}',
    } },
  },
}
local question = { stream = true, messages = { { role = "user", content = "Say good night." } } }

-- A POST is not sent again without an idempotency key, and its stream ends with the response.
for event in api:events("/v1/chat/completions", { method = "POST", json = question }) do
  if event.data == "[DONE]" then break end
  io.write(event.json.choices[1].delta.content)
end
print()

for event in api:events("/v1/messages", { method = "POST", json = question }) do
  if event.type == "content_block_delta" then io.write(event.json.delta.text) end
  if event.type == "message_stop" then break end
end
print()
