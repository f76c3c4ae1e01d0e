-- nightjar.base64: encoding and decoding. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local encode, decode = nightjar.base64.encode, nightjar.base64.decode

testing.test("encodes and decodes the test vectors of RFC 4648 section 10", function(t)
  local vectors = {
    [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foob = "Zm9vYg==", fooba = "Zm9vYmE=", foobar = "Zm9vYmFy",
  }
  for bytes, text in pairs(vectors) do
    t:equal(encode(bytes), text)
    t:equal(decode(text), bytes)
    t:equal(decode((text:gsub("=", ""))), bytes)
  end
end)

testing.test("decoding returns the encoded bytes, for all bytes and lengths", function(t)
  local all = {}
  for byte = 0, 255 do all[#all + 1] = string.char(byte) end
  for length = 0, 256 do
    local bytes = table.concat(all, "", 1, length)
    t:equal(decode(encode(bytes)), bytes)
    t:equal(decode(encode(bytes, { url = true }), { url = true }), bytes)
  end
end)

testing.test("the URL alphabet has no padding by default", function(t)
  t:equal(encode("\xfb\xff", { url = true }), "-_8")
  t:equal(encode("\xfb\xff", { url = true, padding = true }), "-_8=")
  t:equal(encode("\xfb\xff"), "+/8=")
  t:equal(encode("\xfb\xff", { padding = false }), "+/8")
end)

testing.test("white space can be ignored", function(t)
  t:equal(decode("Zm 9v\r\nYg\t==\n", { spaces = true }), "foob")
end)

testing.test("malformed text is refused with the position of the fault", function()
  local function broken(message, text, options)
    check.fails("decoding", "base64 decoding failed: " .. message, decode, text, options)
  end
  broken("invalid character '-' at position 1; it belongs to the URL-safe alphabet: set url = true", "-_8")
  broken("invalid character '+' at position 1; it belongs to the standard alphabet: remove url = true",
    "+/8", { url = true })
  broken("invalid byte 0x0a at position 5; set spaces = true to ignore white space", "Zm9v\nYg==")
  broken("invalid byte 0x00 at position 2", "Z\0")
  broken("invalid character '!' at position 3", "Zm!v")
  broken("data after the padding", "Zg==Zg==")
  broken("the text is truncated or its padding is wrong", "Zg=")
  broken("the text is truncated or its padding is wrong", "Zm9vY")
  broken("the text is truncated or its padding is wrong", "=")
  broken("the text is truncated or its padding is wrong", "Zm9v====")
  broken("the unused bits of the last character are not zero", "Zh==")
  broken("the unused bits of the last character are not zero", "Zm9=")
end)

testing.test("invalid arguments are reported", function()
  check.misuse("bad argument #1 to 'encode' (string expected, got no value)", function() encode() end)
  check.misuse("bad argument #1 to 'decode' (string expected, got number)", function() decode(1) end)
  check.misuse("base64.encode: unknown option 'urls'; did you mean 'url'?", function() encode("", { urls = true }) end)
  check.misuse("base64.encode: option 'url' must be of type boolean, got number",
    function() encode("", { url = 1 }) end)
end)

assert(testing.run().ok, "a case failed")
