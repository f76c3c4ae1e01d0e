local hash = require "nightjar.hash"
print(hash.sha256 "abc":sub(1, 8), #hash.sha384("abc", "bytes"), #hash.sha512 "abc", hash.sha1 "abc":sub(1, 8), hash.md5 "abc":sub(1, 8))
print(hash.hmac("sha256", "key", "message", "base64url"):sub(1, 8))
print(hash.new("sha256"):update "a":update "bc":finish() == hash.sha256 "abc")
print(hash.equal("secret", "secret"), hash.hex "moon", hash.unhex "6d6f6f6e")
-- Prints:
--   ba7816bf	48	128	a9993e36	90015098
--   bp7ym3X_
--   true
--   true	6d6f6f6e	moon
