-- nightjar.url: parsing, building and resolving URLs, percent-encoding, queries. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local url = nightjar.url
local function show(value) return nightjar.json.encode(value) end
local function refused(message, f, ...) fails("decoding", message, f, ...) end

-- --- Components ---

-- Each entry has the section of RFC 3986, the URL and its components as JSON.
local parsed = {
  { "3", "HTTPS://ada:p%40ss@Example.org:8443/a/b%20c;d?q=1&r#top",
    '{"fragment":"top","host":"example.org","password":"p@ss","path":"/a/b%20c;d","port":8443,"query":"q=1&r",'
      .. '"scheme":"https","user":"ada"}' },
  { "3.2.2", "http://[2001:db8::1]:80/", '{"host":"2001:db8::1","path":"/","port":80,"scheme":"http"}' },
  { "1.1.2", "mailto:ada@example.org", '{"path":"ada@example.org","scheme":"mailto"}' },
  { "4.2", "/a?b", '{"path":"/a","query":"b"}' },
  { "4.2", "//host", '{"host":"host","path":""}' },
  { "4.2", "", '{"path":""}' },
  { "6.2.3", "http://h:/?#", '{"fragment":"","host":"h","path":"/","query":"","scheme":"http"}' },
}
for _, row in ipairs(parsed) do
  test(("parse returns the components of %q (RFC 3986 section %s)"):format(row[2], row[1]), function(t)
    t:equal(show(url.parse(row[2])), row[3])
  end)
end

test("build returns the text of a parsed URL", function(t)
  for _, text in ipairs {
    "http://h/", "https://u:p@h:1/a?b#c", "http://[::1]:8080/x", "urn:isbn:1", "a/b?c", "?x", "#y", "", "//h/p",
    "http://h?x",
  } do
    t:equal(url.build(url.parse(text)), text)
  end
end)

-- Each entry has the section of RFC 3986, the components and the URL.
local built = {
  { "2.1", { scheme = "https", host = "example.org", path = "/a b/ü", query = { page = 1, tag = { "x", "y&z" } },
    fragment = "é" }, "https://example.org/a%20b/%C3%BC?page=1&tag=x&tag=y%26z#%C3%A9" },
  { "2.4", { path = "/100%/%41" }, "/100%25/%41" },
  { "4.2", { path = "a:b" }, "./a:b" },
  { "3.2.1", { host = "h", scheme = "http", user = "a@b", password = "c:d" }, "http://a%40b:c%3Ad@h" },
  { "3.4", { path = "/", query = {} }, "/" },
}
for _, row in ipairs(built) do
  test(("build encodes and joins the components of %s (RFC 3986 section %s)"):format(row[3], row[1]), function(t)
    t:equal(url.build(row[2]), row[3])
  end)
end

-- Each entry has the section of RFC 3986, the URL and the message.
local host = "the URL's host or port is invalid; the host must be a name or an address (IPv6 in brackets), "
  .. "the port a number"
local invalid = {
  { "2", "http://h/ x", "the URL has an invalid character at position 10; write it as %20" },
  { "2", "a\nb", "the URL has an invalid character at position 2; write it as %0A" },
  { "3.2.3", "http://h:80x/", host },
  { "3.2.2", "http://::1/", host },
  { "3.2.3", "http://h:65536/", "the URL's port must be between 0 and 65535" },
  { "2.1", "/a%4/",
    "the URL has a % at position 3 that is not followed by two hexadecimal digits; write it as %25" },
  { "3.5", "/#a#b", "the URL has a second #; write it as %23" },
}
for _, row in ipairs(invalid) do
  test(("parse refuses %s (RFC 3986 section %s)"):format(show(row[2]), row[1]), function()
    refused(row[3], url.parse, row[2])
  end)
end

test("parse refuses a URL that is longer than the limit", function()
  refused("the URL is longer than 65536 bytes", url.parse, ("x"):rep(65537))
end)

-- --- References ---

-- Each entry has the section of RFC 3986, the reference and the target for the base http://a/b/c/d;p?q.
local references = {
  { "5.4.1", "g:h", "g:h" },
  { "5.4.1", "g", "http://a/b/c/g" },
  { "5.4.1", "./g", "http://a/b/c/g" },
  { "5.4.1", "g/", "http://a/b/c/g/" },
  { "5.4.1", "/g", "http://a/g" },
  { "5.4.1", "//g", "http://g" },
  { "5.4.1", "?y", "http://a/b/c/d;p?y" },
  { "5.4.1", "g?y", "http://a/b/c/g?y" },
  { "5.4.1", "#s", "http://a/b/c/d;p?q#s" },
  { "5.4.1", "g#s", "http://a/b/c/g#s" },
  { "5.4.1", "g?y#s", "http://a/b/c/g?y#s" },
  { "5.4.1", ";x", "http://a/b/c/;x" },
  { "5.4.1", "g;x", "http://a/b/c/g;x" },
  { "5.4.1", "g;x?y#s", "http://a/b/c/g;x?y#s" },
  { "5.4.1", "", "http://a/b/c/d;p?q" },
  { "5.4.1", ".", "http://a/b/c/" },
  { "5.4.1", "./", "http://a/b/c/" },
  { "5.4.1", "..", "http://a/b/" },
  { "5.4.1", "../", "http://a/b/" },
  { "5.4.1", "../g", "http://a/b/g" },
  { "5.4.1", "../..", "http://a/" },
  { "5.4.1", "../../", "http://a/" },
  { "5.4.1", "../../g", "http://a/g" },
  { "5.4.2", "../../../g", "http://a/g" },
  { "5.4.2", "../../../../g", "http://a/g" },
  { "5.4.2", "/./g", "http://a/g" },
  { "5.4.2", "/../g", "http://a/g" },
  { "5.4.2", "g.", "http://a/b/c/g." },
  { "5.4.2", ".g", "http://a/b/c/.g" },
  { "5.4.2", "g..", "http://a/b/c/g.." },
  { "5.4.2", "..g", "http://a/b/c/..g" },
  { "5.4.2", "./../g", "http://a/b/g" },
  { "5.4.2", "./g/.", "http://a/b/c/g/" },
  { "5.4.2", "g/./h", "http://a/b/c/g/h" },
  { "5.4.2", "g/../h", "http://a/b/c/h" },
  { "5.4.2", "g;x=1/./y", "http://a/b/c/g;x=1/y" },
  { "5.4.2", "g;x=1/../y", "http://a/b/c/y" },
  { "5.4.2", "g?y/./x", "http://a/b/c/g?y/./x" },
  { "5.4.2", "g?y/../x", "http://a/b/c/g?y/../x" },
  { "5.4.2", "g#s/./x", "http://a/b/c/g#s/./x" },
  { "5.4.2", "http:g", "http:g" },
}
for _, row in ipairs(references) do
  test(("resolve returns %s for the reference %q (RFC 3986 section %s)"):format(row[3], row[2], row[1]), function(t)
    t:equal(url.resolve("http://a/b/c/d;p?q", row[2]), row[3])
  end)
end

-- Each entry has the section of RFC 3986, the base, the reference and the target.
local bases = {
  { "5.2.3", "http://a", "b", "http://a/b" },
  { "5.2.2", "urn:x:y", "#z", "urn:x:y#z" },
  -- A path that begins with // never becomes an authority.
  { "3.3", "a:/b/c", "/.//evil", "a:/.//evil" },
  { "3.3", "a:/b/c", "..//evil", "a:/.//evil" },
  { "3.3", "a:b", "a:/.//evil", "a:/.//evil" },
  { "3.3", "http://h/b", "/.//evil", "http://h//evil" },
}
for _, row in ipairs(bases) do
  local name = ("resolve returns %s for the base %s and the reference %s (RFC 3986 section %s)"):format(
    row[4], row[2], row[3], row[1])
  test(name, function(t) t:equal(url.resolve(row[2], row[3]), row[4]) end)
end

test("resolve refuses a base without a scheme (RFC 3986 section 5.1)", function()
  refused("the base is not an absolute URL: it has no scheme", url.resolve, "/a", "b")
end)

-- --- Percent-encoding ---

test("encode keeps only unreserved characters (RFC 3986 section 2.3)", function(t)
  t:equal(url.encode "a b/ü~-._1", "a%20b%2F%C3%BC~-._1")
end)

test("decode accepts digits of either case, and reads + as a space only on request", function(t)
  t:equal(url.decode "a%20b%2f%C3%BC+", "a b/ü+")
  t:equal(url.decode("a+b", { plus = true }), "a b")
  t:equal(url.decode(url.encode "\0\xff%"), "\0\xff%")
end)

test("decode refuses a % that is not followed by two digits (RFC 3986 section 2.1)", function()
  refused("percent-decoding failed: the % at position 4 is not followed by two hexadecimal digits", url.decode, "%41%4")
end)

-- --- Queries ---

test("build_query encodes names and values, in the order of the names or of the list", function(t)
  t:equal(url.build_query { page = 1, tag = { "a b", "c" }, all = true, none = nightjar.null, x = 2.0 },
    "all=true&page=1&tag=a%20b&tag=c&x=2")
  t:equal(url.build_query { { "b", 1 }, { "a", "&=" }, { "b", 2 } }, "b=1&a=%26%3D&b=2")
  t:equal(url.build_query { a = {} }, "")
end)

test("parse_query returns values by name, and the items in order", function(t)
  t:equal(show(url.parse_query "?a=1&b=x+y%26&a=2&c&&=d"), '{"":"d","a":["1","2"],"b":"x y&","c":""}')
  t:equal(show(url.parse_query("a=1", { lists = true })), '{"a":["1"]}')
  t:equal(show(select(2, url.parse_query "b=1&a=2&b=3")), '[["b","1"],["a","2"],["b","3"]]')
  t:equal(show(url.parse_query ""), "{}")
end)

-- --- URLs of the client ---

test("canonical returns an http URL in the form that the client uses", function(t)
  t:equal(url.canonical "HTTP://Example.ORG:80/a b?x=ü", "http://example.org/a%20b?x=%C3%BC")
  fails("invalid_url", "the scheme \"ftp\" is not http or https", url.canonical, "ftp://h/")
end)

test("redact removes credentials", function(t)
  t:equal(url.redact "https://u:p@example.org/a?access_token=hunter2&page=1",
    "https://example.org/a?access_token=***&page=1")
end)

test("invalid arguments raise an error that names the function", function()
  misuse("url.parse: a string expected, got no value", url.parse)
  misuse("url.build: unknown option 'hots'; did you mean 'host'?", url.build, { hots = "h" })
  misuse("url.build: with a host, the path must begin with /", url.build, { host = "h", path = "a" })
  misuse("url.build: without a host, the path must not begin with //", url.build, { path = "//a" })
  misuse("url.build: a port requires a host", url.build, { port = 1 })
  misuse("url.build: the host contains a colon but is not an IPv6 address; set the port in the field 'port'", url.build,
    { host = "h:80" })
  misuse('url.build_query: the value of "a" is a table with names; it must be a list of values', url.build_query,
    { a = { b = 1 } })
  misuse('url.build_query: the value of "a" is a function; it must be a string, a number, a boolean or a list of these',
    url.build_query, { a = print })
  misuse("url.build_query: each item of a list must be {name, value}", url.build_query, { "a" })
end)

assert(testing.run().ok, "a case failed")
