local base64 = require "nightjar.base64"
print(base64.encode "\xfb\xff", base64.encode("\xfb\xff", { url = true }))
print(base64.decode "bW9vbg==", base64.decode("bW9v\nbg==", { spaces = true }))
-- Prints:
--   +/8=	-_8
--   moon	moon
