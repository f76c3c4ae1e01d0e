-- Sends files: as a body, in a form, compressed, and several concurrently. The files are not read into memory.
--
--   nightjar scripts/examples/lua/upload.lua [file...]
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin }

-- Without an argument, a file of random bytes.
local files = { ... }
local made = #files == 0 and os.tmpname() or nil
if made then
  local noise <close> = assert(io.open(made, "wb"))
  noise:write "\137PNG\r\n\26\n"
  for _ = 1, 20000 do noise:write(string.char(math.random(0, 255))) end
  files[1] = made
end

for _, path in ipairs(files) do
  -- The file is the whole body. Its length and its type, derived from its name, are sent.
  local res = api:post("/upload", { file = path })
  print(("%s: %d bytes, CRC %s"):format(path, res.json.bytes, res.json.crc32))

  -- A part of a form, next to other parts.
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

  -- Compressed while it is sent, for a server that supports it.
  local sent = api:post("/upload", { file = path, compress = true }).json.bytes
  print(("  as gzip: %d bytes"):format(sent))
end

-- A file and a file name are sufficient.
local avatar = api:put("/v1/users/1/avatar", {
  multipart = { avatar = { file = files[1], filename = "me.png" } }, expect = { 200, 201, 422 },
})
print(("\nAvatar: %d %s"):format(avatar.status, avatar.json.url or avatar.json.detail))

-- A file that cannot be sent is reported before anything is sent.
local _, err = nightjar.try(api.post, api, "/upload", { file = "/no/such/file" })
print(("%s: %s"):format(err.kind, err.message))

if made then os.remove(made) end
