-- Send a form, with and without files
--
-- `form` is encoded like a browser's form. `multipart` has fields and files; files are read while they are sent.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin }

local plain = api:post("/form", { form = { name = "Grüße & more" } }).json
print(plain.type, plain.fields[1][2])

-- A list of pairs keeps its order, and a name may be repeated.
print(api:post("/form", { form = { { "tag", "b" }, { "tag", "a" } } }).json.body)

local path = os.tmpname()
local file = assert(io.open(path, "wb"))
file:write(("x"):rep(5000))
file:close()
local parts = api:post("/form", {
  multipart = {
    { name = "title", value = "A picture" },
    { name = "picture", file = path, filename = "picture.png" },
    { name = "notes", bytes = "one\ntwo\n", filename = "notes.txt" },
  },
}).json.parts
for _, part in ipairs(parts) do
  print(part.name, part.bytes, part.content_type ~= nightjar.null and part.content_type or "text")
end
os.remove(path)
-- Prints:
--   urlencoded	Grüße & more
--   tag=b&tag=a
--   title	9	text
--   picture	5000	image/png
--   notes	8	text/plain...
