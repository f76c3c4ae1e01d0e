-- Signs requests with AWS Signature Version 4:
--
--   AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=... AWS_REGION=us-east-1 \
--     nightjar scripts/examples/lua/sign_aws.lua s3 https://bucket.s3.us-east-1.amazonaws.com/ GET
--
-- https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
local nightjar = require "nightjar"
local hash = nightjar.hash

-- Returns the text with all bytes as %XX, except unreserved ones and those in `kept`, a part of a character class.
local function encoded(text, kept)
  return (text:gsub("[^%w%-._~" .. (kept or "") .. "]", function(byte) return ("%%%02X"):format(byte:byte()) end))
end

local function decoded(text)
  return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- Returns the query items sorted by name and value.
local function canonical_query(query)
  local items = {}
  for item in query:gmatch "[^&]+" do
    local name, value = item:match "^([^=]*)=?(.*)$"
    items[#items + 1] = { encoded(decoded(name)), encoded(decoded(value)) }
  end
  table.sort(items, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
  for place, item in ipairs(items) do items[place] = item[1] .. "=" .. item[2] end
  return table.concat(items, "&")
end

-- Returns a function for on_request. login: key_id, secret, session_token, region, service, and time for tests.
local function signer(login)
  return function(request)
    local is_s3 = login.service == "s3"
    if not request.body and not is_s3 then return false, "a body that is read while it is sent cannot be signed" end
    local time = login.time or os.date "!%Y%m%dT%H%M%SZ"
    local payload = request.body and hash.sha256(request.body) or "UNSIGNED-PAYLOAD"
    local set = { ["x-amz-date"] = time, ["x-amz-security-token"] = login.session_token,
      ["x-amz-content-sha256"] = is_s3 and payload or nil }

    local headers, names, lines = {}, {}, {}
    for name, value in pairs(request.headers) do
      if name == "host" or name == "content-type" or name:find "^x%-amz%-" then headers[name] = value end
    end
    for name, value in pairs(set) do headers[name] = value end
    for name in pairs(headers) do names[#names + 1] = name end
    table.sort(names)
    for place, name in ipairs(names) do lines[place] = name .. ":" .. headers[name] .. "\n" end
    local signed = table.concat(names, ";")

    -- The path is encoded again, except for S3.
    local path, query = request.url:match "^%a+://[^/]+([^?]*)%??(.*)$"
    local canonical = table.concat({ request.method, is_s3 and path or encoded(path, "/"), canonical_query(query),
      table.concat(lines), signed, payload }, "\n")
    local scope = table.concat({ time:sub(1, 8), login.region, login.service, "aws4_request" }, "/")
    local text = table.concat({ "AWS4-HMAC-SHA256", time, scope, hash.sha256(canonical) }, "\n")
    local key = "AWS4" .. login.secret
    for part in scope:gmatch "[^/]+" do key = hash.hmac("sha256", key, part, "bytes") end
    set.authorization = ("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s"):format(
      login.key_id, scope, signed, hash.hmac("sha256", key, text))
    return set
  end
end

-- loadfile(path)("signer") returns the function.
if ... == "signer" then return signer end

local service, url, method, body = table.unpack(arg)
if not url then error("usage: sign_aws.lua SERVICE URL [METHOD [BODY]]", 0) end
local api = nightjar.client { on_request = signer {
  key_id = assert(os.getenv "AWS_ACCESS_KEY_ID", "set AWS_ACCESS_KEY_ID"),
  secret = assert(os.getenv "AWS_SECRET_ACCESS_KEY", "set AWS_SECRET_ACCESS_KEY"),
  region = assert(os.getenv "AWS_REGION", "set AWS_REGION"),
  session_token = os.getenv "AWS_SESSION_TOKEN", service = service,
} }
local res = api:request { method = method or "GET", path = url, body = body }
print(res.status)
print(res.body)
