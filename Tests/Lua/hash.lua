-- nightjar.hash: digests, HMAC and hexadecimal text. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local hash = nightjar.hash

-- The digests of "abc".
local digests = {
  { "md5", "RFC 1321 A.5", "900150983cd24fb0d6963f7d28e17f72" },
  { "sha1", "FIPS 180-4 6.1", "a9993e364706816aba3e25717850c26c9cd0d89d" },
  { "sha256", "FIPS 180-4 6.2", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
  { "sha384", "FIPS 180-4 6.5",
    "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7" },
  { "sha512", "FIPS 180-4 6.4",
    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
      .. "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f" },
}
for _, row in ipairs(digests) do
  local name, section, digest = row[1], row[2], row[3]
  test(("%s of \"abc\", whole and in parts (%s)"):format(name, section), function(t)
    t:equal(hash[name] "abc", digest)
    t:equal(hash[name]("abc", "bytes"), hash.unhex(digest))
    local running = hash.new(name)
    for letter in ("abc"):gmatch "." do running:update(letter):update "" end
    t:equal(running:finish(), digest)
  end)
end

test("the digest of the empty string", function(t)
  t:equal(hash.sha256 "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
end)

test("a digest is also returned in Base64", function(t)
  t:equal(hash.sha256("abc", "base64"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
  t:equal(hash.sha256("abc", "base64url"), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0")
end)

local authenticated = {
  { "RFC 4231 4.3 (case 2)", "sha256", "Jefe", "what do ya want for nothing?",
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
  { "RFC 2202 3 (case 2)", "sha1", "Jefe", "what do ya want for nothing?", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79" },
  { "RFC 4231 4.7 (case 6), a key longer than a block", "sha256", ("\xaa"):rep(131),
    "Test Using Larger Than Block-Size Key - Hash Key First",
    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
  { "an empty key and an empty text", "sha256", "", "",
    "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad" },
}
for _, row in ipairs(authenticated) do
  local section, name, key, text, digest = row[1], row[2], row[3], row[4], row[5]
  test(("hmac: %s"):format(section), function(t) t:equal(hash.hmac(name, key, text), digest) end)
end

test("the HMAC of the parts of a text equals the HMAC of the whole text", function(t)
  t:equal(hash.new("sha256", "Jefe"):update("what do ya want "):update("for nothing?"):finish(),
    hash.hmac("sha256", "Jefe", "what do ya want for nothing?"))
end)

test("equal compares strings of any length", function(t)
  t:equal(hash.equal("abc", "abc"), true)
  t:equal(hash.equal("abc", "abd"), false)
  t:equal(hash.equal("abc", "abcd"), false)
  t:equal(hash.equal("", ""), true)
end)

test("hex and unhex convert any bytes, and digits of either case", function(t)
  t:equal(hash.hex "\0\xffA", "00ff41")
  t:equal(hash.unhex "00FF41", "\0\xffA")
end)

test("unhex reports an invalid digit and an odd number of digits", function()
  fails("decoding", "hexadecimal decoding failed: invalid digit at position 3", hash.unhex, "00g0")
  fails("decoding", "hexadecimal decoding failed: odd number of digits", hash.unhex, "000")
end)

test("invalid arguments raise an error that names the function and the argument", function()
  misuse("bad argument #1 to 'sha256' (string expected, got no value)", function() hash.sha256() end)
  misuse("bad argument #2 to 'sha256' (invalid option 'hx')", function() hash.sha256("", "hx") end)
  misuse("bad argument #1 to 'hmac' (invalid option 'sha3')", function() hash.hmac("sha3", "", "") end)
  misuse("bad argument #1 to 'new' (invalid option 'crc')", function() hash.new "crc" end)
end)

test("a finished hash cannot be updated", function()
  local running = hash.new "md5"
  running:finish()
  misuse("calling 'update' on bad self (the hash is finished)", function() running:update "" end)
  misuse("a hash has no field 'digest'", function() return running.digest end)
end)

assert(testing.run().ok, "a case failed")
