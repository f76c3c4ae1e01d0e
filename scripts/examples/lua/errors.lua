-- Causes each kind of error, and shows what a script receives and can do about it.
--
--   nightjar demo --port 8080                           in one terminal
--   nightjar scripts/examples/lua/errors.lua [origin]   in another
--
-- The origin may also be set in NIGHTJAR_DEMO_URL. Scripts do not encounter the kinds of the host program (forked,
-- reentrant, script) and those that need a TLS server (pin_mismatch). Transient failures are retried by default, which is
-- disabled here to save time.
local nightjar = require "nightjar"

local origin = ... or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin, timeout = { connect = 2, total = 10 }, retry = false }

-- How to cause each kind. A failure raises an error; nightjar.try returns nil and the error.
local causes = {
  -- Nothing was sent: the program must be corrected.
  { "invalid_argument", function() nightjar.client { base_url = origin, timeout = { conect = 2 } } end },
  { "invalid_url", function() api:get "ftp://example.com/file" end },
  { "invalid_request", function() api:get("/echo", { headers = { ["X-Note"] = "two\r\nlines" } }) end },
  { "closed", function()
    local other = nightjar.client { base_url = origin }
    other:close()
    other:get "/echo"
  end },

  { "storage", function() nightjar.client { base_url = origin, cookies = { file = "/no-such-folder/cookies.db" } } end },

  { "cache_miss", function()
    nightjar.client({ base_url = origin, cache = true }):get("/v1/articles/1", { cache = "cache_only" })
  end },

  -- The connection failed. Nothing was sent, so the call may be repeated.
  { "offline", function() api:get "http://224.0.0.1/" end }, -- no route to this address
  { "dns", function() api:get "http://no-such-host.invalid/" end },
  { "connect", function() api:get "http://127.0.0.1:1/" end },
  { "tls", function() api:get((origin:gsub("^http:", "https:")) .. "/") end }, -- the port does not support TLS

  -- The response is incomplete. err.may_have_been_processed is true if the server may have processed the request.
  { "timeout", function() api:get("/delay/5", { timeout = { idle = 0.2 } }) end },
  { "cancelled", function()
    local task = nightjar.spawn(function() api:get "/delay/5" end)
    nightjar.sleep(0.1)
    task:cancel()
    task:join()
  end },
  { "connection_lost", function() api:get "/cut-short" end },
  { "protocol", function() api:get "/redirect-loop" end },
  { "too_large", function() api:get("/bytes/100000", { max_body = 1000 }) end },

  -- An unexpected status; err.response is the response, err.details the server's error body.
  { "unauthorized", function() api:get "/status/401" end },
  { "forbidden", function() api:get "/status/403" end },
  { "not_found", function() api:get "/v1/articles/0" end },
  { "rate_limited", function() api:get "/status/429" end },
  { "client", function() api:post("/v1/articles", { json = { title = "" } }) end },
  { "server", function() api:get "/status/503" end },

  -- A download that must not start over, or whose file has another digest.
  { "content_changed", function()
    local file <close> = require("nightjar.fs").temp_file()
    local path = "/cache/film?length=3000&etag=strong&cut=1000"
    local first = api:start_download(path, file.path, { attempts = 1 })
    nightjar.try(first.wait, first)
    -- Another content with another ETag.
    api:download("/cache/film?length=4000&etag=strong", file.path, { resume = first:state(), restart = false })
  end },
  { "checksum_mismatch", function()
    local file <close> = require("nightjar.fs").temp_file()
    api:download("/bytes/100", file.path, { checksum = "sha256:" .. ("0"):rep(64) })
  end },

  -- The response is invalid, or not what the program expects.
  { "decoding", function() return api:get("/bytes/100").json end },
  { "graphql", function() api:post("/graphql", { graphql = { query = "{ article { title } }" } }) end },
}

local wrong = 0
for _, cause in ipairs(causes) do
  local kind, provoke = cause[1], cause[2]
  local _, err = nightjar.try(provoke)
  if type(err) ~= "userdata" or err.kind ~= kind then
    print(("%-18s EXPECTED, but: %s"):format(kind, tostring(err)))
    wrong = wrong + 1
  else
    print(("%-18s %s"):format(err.kind, err.message))
    local facts = { err.retryable and "may be repeated" or "must not be repeated unchanged" }
    if err.phase then facts[#facts + 1] = "phase " .. err.phase end
    if err.status then facts[#facts + 1] = "status " .. err.status end
    if err.retry_after then facts[#facts + 1] = ("in %g s"):format(err.retry_after) end
    if err.code then facts[#facts + 1] = "system error " .. err.code end
    if err.may_have_been_processed then facts[#facts + 1] = "the server may have processed the request" end
    print(("%18s %s"):format("", table.concat(facts, ", ")))
    if err.user_message then print(("%18s for the user: %s"):format("", err.user_message)) end
    if err:curl() then print(("%18s %s"):format("", err:curl())) end
  end
end
print(("%d of %d kinds as expected"):format(#causes - wrong, #causes))
os.exit(wrong == 0, true)
