-- Request bodies: files, forms and strings. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse, fails = check.misuse, check.fails

local api = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL" }

-- Returns the path of a file that exists until the end of the test.
local function file(t, ending, content)
  local name = os.tmpname()
  local path = name .. ending
  t:cleanup(function()
    os.remove(path)
    os.remove(name)
  end)
  local handle <close> = assert(io.open(path, "wb"))
  handle:write(content)
  return path
end

local function header(res, name)
  for _, field in ipairs(res.json.headers) do
    if field[1]:lower() == name then return field[2] end
  end
end

local large = string.rep("0123456789abcdef", 40000)

testing.test("a file is sent with its length and its media type", function(t)
  local path = file(t, ".csv", large)
  local res = api:post("/upload", { file = path })
  t:equal(res.json.bytes, #large)
  t:equal(header(api:put("/echo", { file = file(t, ".json", "[1]") }), "content-type"), "application/json")
  t:equal(header(api:put("/echo", { file = path, headers = { ["Content-Type"] = "text/x" } }), "content-type"),
    "text/x")
  t:equal(header(api:put("/echo", { file = path }), "content-length"), tostring(#large))
end)

testing.test("a part of a file is sent", function(t)
  local path = file(t, ".txt", "0123456789")
  local function body(options)
    options.path = path
    return api:put("/echo", { file = options })
  end
  local res = body { offset = 2, length = 5 }
  t:equal(res.json.body, "23456")
  t:equal(header(res, "content-length"), "5")
  t:equal(header(res, "content-type"), "text/plain")
  t:equal(body {}.json.body, "0123456789")
  t:equal(body { offset = 7 }.json.body, "789")
  t:equal(body { length = 3 }.json.body, "012")
  t:equal(body { offset = 3, length = 0 }.json.body_bytes, 0)
  t:equal(body { offset = 10 }.json.body_bytes, 0)
  local big = file(t, ".csv", large)
  t:equal(api:post("/upload", { file = { path = big, offset = 100000, length = 300001 } }).json.bytes, 300001)
end)

testing.test("a part of a file is sent again by retries and redirects", function(t)
  local path = file(t, ".txt", "0123456789")
  local part = { path = path, offset = 2, length = 5 }
  local again = api:post("/v1/flaky", {
    query = { key = path, times = 2 }, file = part, idempotency_key = true, retry = { attempts = 5, base = 0.001 },
  })
  t:equal(again.attempts, 3)
  t:equal(api:post("/redirect-to", { query = { url = "/echo", status = 307 }, file = part }).json.body, "23456")
end)

testing.test("a part that is not within its file is reported", function(t)
  local path = file(t, ".txt", "0123456789")
  fails("invalid_request", 'the file "' .. path .. '" has 10 bytes, so the range from 6 to 11 is out of bounds',
    api.post, api, "/upload", { file = { path = path, offset = 6, length = 5 } })
  fails("invalid_request", 'the file "' .. path .. '" has 10 bytes, so the range from 11 is out of bounds',
    api.post, api, "/upload", { file = { path = path, offset = 11 } })
end)

testing.test("a form as a list is sent in its order", function(t)
  local path = file(t, ".csv", large)
  local form = api:post("/form", {
    multipart = {
      { name = "título", value = "Hé & 100%" },
      { name = "n", value = 7 },
      { name = 'qu"ote', bytes = "\0\1\2", filename = "größe.bin" },
      { name = "doc", file = path },
      { name = "doc", file = path, filename = "other.png", content_type = "image/webp" },
    },
  }).json
  t:equal(form.type, "multipart")
  t:equal(#form.parts, 5)
  t:equal(form.parts[1].name, "título")
  t:equal(form.parts[1].preview, "Hé & 100%")
  t:equal(form.parts[1].filename, nightjar.null)
  t:equal(form.parts[2].preview, "7")
  t:equal(form.parts[3].name, "qu%22ote") -- encoded like in browsers; the server does not decode it
  t:equal(form.parts[3].bytes, 3)
  t:equal(form.parts[3].filename, "größe.bin")
  t:equal(form.parts[4].content_type, "text/csv")
  t:equal(form.parts[4].filename, path:match "[^/]+$")
  t:equal(form.parts[4].bytes, #large)
  t:equal(form.parts[5].filename, "other.png")
  t:equal(form.parts[5].content_type, "image/webp")
end)

testing.test("a form as a table is sent in the order of its names", function(t)
  local path = file(t, ".csv", large)
  local short = api:post("/form", {
    multipart = { b = "text", c = { file = path }, a = { bytes = "x" }, d = true },
  }).json
  t:equal(#short.parts, 4)
  t:equal(short.parts[1].name .. short.parts[2].name .. short.parts[3].name .. short.parts[4].name, "abcd")
  t:equal(short.parts[3].bytes, #large)
  t:equal(short.parts[4].preview, "true")
  t:equal(#api:post("/form", { multipart = {} }).json.parts, 0)
end)

testing.test("an uploaded image is returned unchanged", function(t)
  local png = "\137PNG\r\n\26\n" .. string.rep("p", 1000)
  local avatar = api:put("/v1/users/1/avatar", { multipart = { avatar = { file = file(t, ".png", png) } } })
  t:equal(avatar.json.content_type, "image/png")
  t:equal(avatar.json.bytes, #png)
  t:equal(api:get("/v1/users/1/avatar").body, png)
end)

testing.test("a body is compressed on request, if it is long enough", function(t)
  local res = api:post("/echo", { body = large, compress = true })
  t:equal(header(res, "content-encoding"), "gzip")
  t:truthy(res.json.body_bytes < #large / 10)
  t:equal(header(api:post("/echo", { body = "short", compress = true }), "content-encoding"), nil)
  local sent = api:post("/echo", { file = file(t, ".csv", large), compress = true })
  t:equal(header(sent, "content-encoding"), "gzip")
  t:equal(header(sent, "content-length"), nil)
  -- HTTP/2 has no chunked transfer coding (RFC 9113 section 8.1).
  t:equal(header(sent, "transfer-encoding"), check.http_version == "1.1" and "chunked" or nil)
end)

testing.test("Expect: 100-continue is sent on request and with large bodies", function(t)
  t:equal(api:post("/expect", { body = "x", expect_continue = true }).json.expected, true)
  t:equal(api:post("/expect", { body = "x" }).json.expected, false)
  t:equal(api:post("/expect", { body = string.rep("x", 1 << 20) }).json.expected, true)
  t:equal(api:post("/expect", { body = string.rep("x", 1 << 20), expect_continue = false }).json.expected, false)
  t:equal(api:post("/expect?response=417", { body = "x", expect_continue = true, expect = 417 }).status, 417)
  local _, err = nightjar.try(api.post, api, "/expect?response=403", { body = "x", expect_continue = true })
  t:equal(err.status, 403)
end)

testing.test("a body on GET is refused unless it is allowed", function(t)
  fails("invalid_request", "GET has a body, which servers and caches may ignore (RFC 9110 section 9.3.1); "
    .. "use POST, use the query, or set allow_body_on_get",
    api.get, api, "/echo", { body = "q" })
  t:equal(api:get("/echo", { body = "q", allow_body_on_get = true }).json.body, "q")
  t:equal(api:delete("/echo", { body = "q" }).json.body, "q")
end)

testing.test("files and forms that cannot be sent are reported", function()
  fails("invalid_request", 'the file "/none/at/all" to send cannot be opened: No such file or directory',
    api.post, api, "/upload", { file = "/none/at/all" })
  fails("invalid_request", '"/dev" cannot be sent: it is a directory; send its files one by one',
    api.post, api, "/form", { multipart = { { name = "f", file = "/dev" } } })
  fails("invalid_request", 'part 1 of the form, "": it has no name; set one',
    api.post, api, "/form", { multipart = { { name = "", value = "" } } })
end)

testing.test("invalid options are reported", function()
  local function post(options) return function() api:post("/form", options) end end
  misuse("post: file must be a file path, got number", post { file = 1 })
  misuse("post: file.path must be a file path, got boolean", post { file = { path = true } })
  misuse("post: file.path is missing", post { file = { offset = 1 } })
  misuse("post: file.offset must be a non-negative integer, got -1", post { file = { path = "x", offset = -1 } })
  misuse("post: file.length must be a non-negative integer, got 1.5", post { file = { path = "x", length = 1.5 } })
  misuse("post: unknown option 'file.ofset'; did you mean 'file.offset'?", post { file = { path = "x", ofset = 1 } })
  misuse("post: multipart must be a table, got string", post { multipart = "x" })
  misuse("post: multipart must be a list of tables, got string", post { multipart = { "x" } })
  misuse("post: a multipart part has no name", post { multipart = { { value = "x" } } })
  misuse("post: multipart part 'f' must have exactly one of value, bytes and file",
    post { multipart = { { name = "f" } } })
  misuse("post: multipart part 'f' must have exactly one of value, bytes and file",
    post { multipart = { f = { value = 1, bytes = "" } } })
  misuse("post: multipart 'name' must be a string, a number or a boolean, got table",
    post { multipart = { { name = {}, value = "" } } })
  misuse("post: unknown option 'multipart.flie'; did you mean 'multipart.file'?",
    post { multipart = { f = { flie = "x" } } })
  misuse("post: only one of json, form, multipart, file and body may be set", post { file = "x", body = "" })
end)

assert(testing.run().ok, "a case failed")
