-- nightjar.hash
local nightjar = require "nightjar"
local check = require "check"
local hash, equal = nightjar.hash, check.equal

-- FIPS 180-4's and RFC 1321's examples.
for name, digest in pairs {
  md5 = "900150983cd24fb0d6963f7d28e17f72",
  sha1 = "a9993e364706816aba3e25717850c26c9cd0d89d",
  sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  sha384 = "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
  sha512 = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
} do
  equal(hash[name] "abc", digest)
  equal(hash[name]("abc", "bytes"), hash.unhex(digest))
  local running = hash.new(name)
  for letter in ("abc"):gmatch "." do running:update(letter):update "" end
  equal(running:finish(), digest)
end
equal(hash.sha256 "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
equal(hash.sha256("abc", "base64"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
equal(hash.sha256("abc", "base64url"), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0")

-- RFC 4231 case 2, RFC 2202 case 2, and a key longer than a block (RFC 4231 case 6).
equal(hash.hmac("sha256", "Jefe", "what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
equal(hash.hmac("sha1", "Jefe", "what do ya want for nothing?"), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
equal(hash.hmac("sha256", ("\xaa"):rep(131), "Test Using Larger Than Block-Size Key - Hash Key First"), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
equal(hash.new("sha256", "Jefe"):update("what do ya want "):update("for nothing?"):finish(), hash.hmac("sha256", "Jefe", "what do ya want for nothing?"))
equal(hash.hmac("sha256", "", ""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")

equal(hash.equal("abc", "abc"), true)
equal(hash.equal("abc", "abd"), false)
equal(hash.equal("abc", "abcd"), false)
equal(hash.equal("", ""), true)
equal(hash.hex "\0\xffA", "00ff41")
equal(hash.unhex "00FF41", "\0\xffA")
check.fails("decoding", "hexadecimal decoding failed: invalid digit at position 3", hash.unhex, "00g0")
check.fails("decoding", "hexadecimal decoding failed: odd number of digits", hash.unhex, "000")

check.misuse("bad argument #1 to 'sha256' (string expected, got no value)", function() hash.sha256() end)
check.misuse("bad argument #2 to 'sha256' (invalid option 'hx')", function() hash.sha256("", "hx") end)
check.misuse("bad argument #1 to 'hmac' (invalid option 'sha3')", function() hash.hmac("sha3", "", "") end)
check.misuse("bad argument #1 to 'new' (invalid option 'crc')", function() hash.new "crc" end)
do
  local running = hash.new "md5"
  running:finish()
  check.misuse("calling 'update' on bad self (the hash is finished)", function() running:update "" end)
  check.misuse("a hash has no field 'digest'", function() return running.digest end)
end
