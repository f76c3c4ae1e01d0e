local url = require "nightjar.url"
local parts = url.parse "https://ada:secret@api.example:8443/v1/a%20b?page=2#top"
print(parts.host, parts.port, parts.path, parts.query)
print(url.build { scheme = "https", host = "api.example", path = "/v1", query = { page = 2 } })
print(url.resolve("http://h/a/b", "../c"), url.canonical "HTTP://H:80/%7Ea")
print(url.encode "a b/c", url.decode("a+b%2Fc", { plus = true }))
print(url.parse_query "a=1&b=2&b=3".b[2], url.build_query { { "b", "2" }, { "a", "1" } })
print(url.redact "https://ada:secret@api.example/?token=abc")
-- Prints:
--   api.example	8443	/v1/a%20b	page=2
--   https://api.example/v1?page=2
--   http://h/c	...
--   a%20b%2Fc	a b/c
--   3	b=2&a=1
--   https://...api.example/?token=***
