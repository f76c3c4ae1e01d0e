-- Sends files: alone, in a form, compressed, many at once. None is read into memory.
--
--   nightjar scripts/examples/lua/upload.lua [file...]
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin }

-- Without an argument, a picture of noise.
local files = { ... }
local made = #files == 0 and os.tmpname() or nil
if made then
  local noise <close> = assert(io.open(made, "wb"))
  noise:write "\137PNG\r\n\26\n"
  for _ = 1, 20000 do noise:write(string.char(math.random(0, 255))) end
  files[1] = made
end

for _, path in ipairs(files) do
  -- The whole body is the file; its length is announced, its type told by its name.
  local res = api:post("/upload", { file = path })
  print(("%s: %d bytes, CRC %s"):format(path, res.json.bytes, res.json.crc32))

  -- A part of a form, beside others.
  local form = api:post("/form", {
    multipart = {
      { name = "title", value = "Grüße & more" },
      { name = "picture", file = path, filename = "picture.png" },
      { name = "notes", bytes = "line one\nline two\n", filename = "notes.txt" },
    },
  }).json
  for _, part in ipairs(form.parts) do
    print(("  %-8s %-12s %-26s %8d bytes"):format(
      part.name, part.filename == nightjar.null and "" or part.filename,
      part.content_type == nightjar.null and "text" or part.content_type, part.bytes))
  end

  -- Compressed on its way, for a server that is known to understand it.
  local sent = api:post("/upload", { file = path, compress = true }).json.bytes
  print(("  as gzip: %d bytes"):format(sent))
end

-- A name and its content are enough where there is no more to say.
local avatar = api:put("/v1/users/1/avatar", {
  multipart = { avatar = { file = files[1], filename = "me.png" } }, expect = { 200, 201, 422 },
})
print(("\nAvatar: %d %s"):format(avatar.status, avatar.json.url or avatar.json.detail))

-- What cannot be sent is told before anything is.
local _, err = nightjar.try(api.post, api, "/upload", { file = "/no/such/file" })
print(("%s: %s"):format(err.kind, err.message))

if made then os.remove(made) end
