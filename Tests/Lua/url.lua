-- nightjar.url
local nightjar = require "nightjar"
local check = require "check"
local url, equal = nightjar.url, check.equal
local function show(value) return nightjar.json.encode(value) end

-- Parts, there and back.
equal(show(url.parse "HTTPS://ada:p%40ss@Example.org:8443/a/b%20c;d?q=1&r#top"),
  '{"fragment":"top","host":"example.org","password":"p@ss","path":"/a/b%20c;d","port":8443,"query":"q=1&r","scheme":"https","user":"ada"}')
equal(show(url.parse "http://[2001:db8::1]:80/"), '{"host":"2001:db8::1","path":"/","port":80,"scheme":"http"}')
equal(show(url.parse "mailto:ada@example.org"), '{"path":"ada@example.org","scheme":"mailto"}')
equal(show(url.parse "/a?b"), '{"path":"/a","query":"b"}')
equal(show(url.parse "//host"), '{"host":"host","path":""}')
equal(show(url.parse ""), '{"path":""}')
equal(show(url.parse "http://h:/?#"), '{"fragment":"","host":"h","path":"/","query":"","scheme":"http"}')
for _, text in ipairs { "http://h/", "https://u:p@h:1/a?b#c", "http://[::1]:8080/x", "urn:isbn:1", "a/b?c", "?x", "#y", "", "//h/p", "http://h?x" } do
  equal(url.build(url.parse(text)), text)
end
equal(url.build { scheme = "https", host = "example.org", path = "/a b/ü", query = { page = 1, tag = { "x", "y&z" } }, fragment = "é" },
  "https://example.org/a%20b/%C3%BC?page=1&tag=x&tag=y%26z#%C3%A9")
equal(url.build { path = "/100%/%41" }, "/100%25/%41")
equal(url.build { path = "a:b" }, "./a:b")
equal(url.build { host = "h", scheme = "http", user = "a@b", password = "c:d" }, "http://a%40b:c%3Ad@h")
equal(url.build { path = "/", query = {} }, "/")

local function broken(message, f, ...) check.fails("decoding", message, f, ...) end
broken("the URL has an invalid character at position 10; write it as %20", url.parse, "http://h/ x")
broken("the URL has an invalid character at position 2; write it as %0A", url.parse, "a\nb")
broken("the URL's host or port is invalid; the host must be a name or an address (IPv6 in brackets), the port a number", url.parse, "http://h:80x/")
broken("the URL's host or port is invalid; the host must be a name or an address (IPv6 in brackets), the port a number", url.parse, "http://::1/")
broken("the URL's port must be between 0 and 65535", url.parse, "http://h:65536/")
broken("the URL has a % at position 3 that is not followed by two hexadecimal digits; write it as %25", url.parse, "/a%4/")
broken("the URL has a second #; write it as %23", url.parse, "/#a#b")
broken("the URL is longer than 65536 bytes", url.parse, ("x"):rep(65537))

-- RFC 3986 section 5.4.
for reference, target in pairs {
  ["g:h"] = "g:h", g = "http://a/b/c/g", ["./g"] = "http://a/b/c/g", ["g/"] = "http://a/b/c/g/", ["/g"] = "http://a/g", ["//g"] = "http://g",
  ["?y"] = "http://a/b/c/d;p?y", ["g?y"] = "http://a/b/c/g?y", ["#s"] = "http://a/b/c/d;p?q#s", ["g#s"] = "http://a/b/c/g#s",
  ["g?y#s"] = "http://a/b/c/g?y#s", [";x"] = "http://a/b/c/;x", ["g;x"] = "http://a/b/c/g;x", ["g;x?y#s"] = "http://a/b/c/g;x?y#s",
  [""] = "http://a/b/c/d;p?q", ["."] = "http://a/b/c/", ["./"] = "http://a/b/c/", [".."] = "http://a/b/", ["../"] = "http://a/b/",
  ["../g"] = "http://a/b/g", ["../.."] = "http://a/", ["../../"] = "http://a/", ["../../g"] = "http://a/g", ["../../../g"] = "http://a/g",
  ["../../../../g"] = "http://a/g", ["/./g"] = "http://a/g", ["/../g"] = "http://a/g", ["g."] = "http://a/b/c/g.", [".g"] = "http://a/b/c/.g",
  ["g.."] = "http://a/b/c/g..", ["..g"] = "http://a/b/c/..g", ["./../g"] = "http://a/b/g", ["./g/."] = "http://a/b/c/g/", ["g/./h"] = "http://a/b/c/g/h",
  ["g/../h"] = "http://a/b/c/h", ["g;x=1/./y"] = "http://a/b/c/g;x=1/y", ["g;x=1/../y"] = "http://a/b/c/y", ["g?y/./x"] = "http://a/b/c/g?y/./x",
  ["g?y/../x"] = "http://a/b/c/g?y/../x", ["g#s/./x"] = "http://a/b/c/g#s/./x", ["http:g"] = "http:g",
} do
  equal(url.resolve("http://a/b/c/d;p?q", reference), target)
end
equal(url.resolve("http://a", "b"), "http://a/b")
equal(url.resolve("urn:x:y", "#z"), "urn:x:y#z")
broken("the base is not an absolute URL: it has no scheme", url.resolve, "/a", "b")

-- Escapes.
equal(url.encode "a b/ü~-._1", "a%20b%2F%C3%BC~-._1")
equal(url.decode "a%20b%2f%C3%BC+", "a b/ü+")
equal(url.decode("a+b", { plus = true }), "a b")
equal(url.decode(url.encode "\0\xff%"), "\0\xff%")
broken("percent-decoding failed: the % at position 4 is not followed by two hexadecimal digits", url.decode, "%41%4")

-- Queries.
equal(url.build_query { page = 1, tag = { "a b", "c" }, all = true, none = nightjar.null, x = 2.0 }, "all=true&page=1&tag=a%20b&tag=c&x=2")
equal(url.build_query { { "b", 1 }, { "a", "&=" }, { "b", 2 } }, "b=1&a=%26%3D&b=2")
equal(show(url.parse_query "?a=1&b=x+y%26&a=2&c&&=d"), '{"":"d","a":["1","2"],"b":"x y&","c":""}')
equal(show(url.parse_query("a=1", { lists = true })), '{"a":["1"]}')
equal(show(select(2, url.parse_query "b=1&a=2&b=3")), '[["b","1"],["a","2"],["b","3"]]')
equal(show(url.parse_query ""), "{}")

-- What is http, as the client has it.
equal(url.canonical "HTTP://Example.ORG:80/a b?x=ü", "http://example.org/a%20b?x=%C3%BC")
equal(url.redact "https://u:p@example.org/a?access_token=hunter2&page=1", "https://example.org/a?access_token=***&page=1")
check.fails("invalid_url", "the scheme \"ftp\" is not http or https", url.canonical, "ftp://h/")

-- A path that begins with // never becomes an authority.
equal(url.resolve("a:/b/c", "/.//evil"), "a:/.//evil")
equal(url.resolve("a:/b/c", "..//evil"), "a:/.//evil")
equal(url.resolve("a:b", "a:/.//evil"), "a:/.//evil")
equal(url.resolve("http://h/b", "/.//evil"), "http://h//evil")
check.misuse('url.build_query: the value of "a" is a table with names; it must be a list of values', url.build_query, { a = { b = 1 } })
equal(url.build_query { a = {} }, "")

-- Misuse.
check.misuse("url.parse: a string expected, got no value", url.parse)
check.misuse("url.build: unknown option 'hots'; did you mean 'host'?", url.build, { hots = "h" })
check.misuse("url.build: with a host, the path must begin with /", url.build, { host = "h", path = "a" })
check.misuse("url.build: without a host, the path must not begin with //", url.build, { path = "//a" })
check.misuse("url.build: a port requires a host", url.build, { port = 1 })
check.misuse("url.build: the host contains a colon but is not an IPv6 address; set the port with port", url.build, { host = "h:80" })
check.misuse('url.build_query: the value of "a" is a function; it must be a string, a number, a boolean or a list of these', url.build_query, { a = print })
check.misuse("url.build_query: each item of a list must be {name, value}", url.build_query, { "a" })
