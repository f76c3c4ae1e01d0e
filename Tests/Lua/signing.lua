-- scripts/examples/lua/sign_aws.lua: the published test vectors of AWS Signature Version 4.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"

local root = debug.getinfo(1, "S").source:match "^@(.-)Tests/Lua/[^/]*$" or "../../"
local path = root .. "scripts/examples/lua/sign_aws.lua"
local login = {
  key_id = "AKIDEXAMPLE", secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region = "us-east-1", service = "service",
  time = "20150830T123600Z",
}
local unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
local vectors = {
  { "get-vanilla", "GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
  { "get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1",
    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
  { "get-vanilla-query-unreserved", "GET", "/?" .. unreserved .. "=" .. unreserved,
    "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197" },
  { "get-vanilla-empty-query-key", "GET", "/?Param1=value1",
    "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb" },
  { "post-vanilla", "POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
  { "post-vanilla-query", "POST", "/?Param1=value1", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11" },
  { "post-x-www-form-urlencoded", "POST", "/", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    headers = { ["Content-Type"] = "application/x-www-form-urlencoded" }, body = "Param1=value1",
    signed = "content-type;host;x-amz-date" },
}

local signer = assert(loadfile(path))("signer")
local mock = nightjar.mock { { response = 200 } }
local api = nightjar.client { base_url = "https://example.amazonaws.com", mock = mock, on_request = signer(login) }

for _, vector in ipairs(vectors) do
  testing.test(vector[1], function(t)
    local name, method, target, signature = table.unpack(vector, 1, 4)
    api:request { method = method, path = target, headers = vector.headers, body = vector.body }
    local calls = mock:calls()
    t:equal(calls[#calls].headers.authorization,
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="
      .. (vector.signed or "host;x-amz-date") .. ", Signature=" .. signature, name)
  end)
end

assert(testing.run().ok, "a case failed")
