-- Bodies that are files and forms.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse = check.equal, check.misuse

local api = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL" }

local made = {}
local function file(ending, content)
  local path = os.tmpname() .. ending
  made[#made + 1] = path
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

-- A file as the body.
local path = file(".csv", large)
local res = api:post("/upload", { file = path })
equal(res.json.bytes, #large)
equal(header(api:put("/echo", { file = file(".json", "[1]") }), "content-type"), "application/json")
equal(header(api:put("/echo", { file = path, headers = { ["Content-Type"] = "text/x" } }), "content-type"), "text/x")
equal(header(api:put("/echo", { file = path }), "content-length"), tostring(#large))

-- A form as a list, in its order.
local form = api:post("/form", {
  multipart = {
    { name = "título", value = "Hé & 100%" },
    { name = "n", value = 7 },
    { name = 'qu"ote', bytes = "\0\1\2", filename = "größe.bin" },
    { name = "doc", file = path },
    { name = "doc", file = path, filename = "other.png", content_type = "image/webp" },
  },
}).json
equal(form.type, "multipart")
equal(#form.parts, 5)
equal(form.parts[1].name, "título")
equal(form.parts[1].preview, "Hé & 100%")
equal(form.parts[1].filename, nightjar.null)
equal(form.parts[2].preview, "7")
equal(form.parts[3].name, "qu%22ote") -- encoded like in browsers; the server does not decode it
equal(form.parts[3].bytes, 3)
equal(form.parts[3].filename, "größe.bin")
equal(form.parts[4].content_type, "text/csv")
equal(form.parts[4].filename, path:match "[^/]+$")
equal(form.parts[4].bytes, #large)
equal(form.parts[5].filename, "other.png")
equal(form.parts[5].content_type, "image/webp")

-- A form as a table, in the order of the names.
local short = api:post("/form", { multipart = { b = "text", c = { file = path }, a = { bytes = "x" }, d = true } }).json
equal(#short.parts, 4)
equal(short.parts[1].name .. short.parts[2].name .. short.parts[3].name .. short.parts[4].name, "abcd")
equal(short.parts[3].bytes, #large)
equal(short.parts[4].preview, "true")
equal(#api:post("/form", { multipart = {} }).json.parts, 0)

-- An avatar.
local png = "\137PNG\r\n\26\n" .. string.rep("p", 1000)
local avatar = api:put("/v1/users/1/avatar", { multipart = { avatar = { file = file(".png", png) } } })
equal(avatar.json.content_type, "image/png")
equal(avatar.json.bytes, #png)
equal(api:get("/v1/users/1/avatar").body, png)

-- Compressed on demand.
res = api:post("/echo", { body = large, compress = true })
equal(header(res, "content-encoding"), "gzip")
assert(res.json.body_bytes < #large / 10)
equal(header(api:post("/echo", { body = "short", compress = true }), "content-encoding"), nil)
equal(header(api:post("/echo", { file = path, compress = true }), "transfer-encoding"), "chunked")

-- Expect: 100-continue.
equal(api:post("/expect", { body = "x", expect_continue = true }).json.expected, true)
equal(api:post("/expect", { body = "x" }).json.expected, false)
equal(api:post("/expect", { body = string.rep("x", 1 << 20) }).json.expected, true)
equal(api:post("/expect", { body = string.rep("x", 1 << 20), expect_continue = false }).json.expected, false)
equal(api:post("/expect?response=417", { body = "x", expect_continue = true, expect = 417 }).status, 417)
local _, err = nightjar.try(api.post, api, "/expect?response=403", { body = "x", expect_continue = true })
equal(err.status, 403)

-- A body on GET.
check.fails("invalid_request", "GET has a body, which servers and caches may ignore (RFC 9110 section 9.3.1); " ..
  "use POST, use the query, or set allow_body_on_get",
  api.get, api, "/echo", { body = "q" })
equal(api:get("/echo", { body = "q", allow_body_on_get = true }).json.body, "q")
equal(api:delete("/echo", { body = "q" }).json.body, "q")

-- Bodies that cannot be sent.
check.fails("invalid_request", 'the file "/none/at/all" to send cannot be opened: No such file or directory',
  api.post, api, "/upload", { file = "/none/at/all" })
check.fails("invalid_request", '"/dev" cannot be sent: it is a directory; send its files one by one',
  api.post, api, "/form", { multipart = { { name = "f", file = "/dev" } } })
check.fails("invalid_request", 'part 1 of the form, "": it has no name; set one',
  api.post, api, "/form", { multipart = { { name = "", value = "" } } })

local function post(options) return function() api:post("/form", options) end end
misuse("post: file must be a file path, got number", post { file = 1 })
misuse("post: multipart must be a table, got string", post { multipart = "x" })
misuse("post: multipart must be a list of tables, got string", post { multipart = { "x" } })
misuse("post: a multipart part has no name", post { multipart = { { value = "x" } } })
misuse("post: multipart part 'f' must have exactly one of value, bytes and file", post { multipart = { { name = "f" } } })
misuse("post: multipart part 'f' must have exactly one of value, bytes and file", post { multipart = { f = { value = 1, bytes = "" } } })
misuse("post: multipart 'name' must be a string, a number or a boolean, got table",
  post { multipart = { { name = {}, value = "" } } })
misuse("post: unknown option 'multipart.flie'; did you mean 'multipart.file'?", post { multipart = { f = { flie = "x" } } })
misuse("post: only one of json, form, multipart, file and body may be set", post { file = "x", body = "" })

for _, name in ipairs(made) do
  os.remove(name)
  os.remove((name:gsub("%.%w+$", "")))
end
