local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080" }
local file <close> = require("nightjar.fs").temp_file()
nightjar.fs.write(file.path, ("0123456789"):rep(30000))
-- The demo closes the connection after 100,000 bytes of the second request.
local upload = api:upload("/tus?faults=none,cut@100000", file.path, {
  protocol = "tus", retry_delay = 0.1, attempts = 3, metadata = { filename = "example.bin" }, type = "text/plain",
})
print(upload.size, upload.attempts, upload.url:match "/tus/", upload.response.status)
-- The same in the background, with its progress.
local other <close> = api:start_upload("/resumable", file.path, {
  protocol = "resumable", chunk_size = 200000, max_rate = 10000000, checksum = "sha256", restart = false,
  on_progress = function(progress, this)
    assert(this.progress.sent >= progress.sent)
    if progress.state == "ended" then print(progress.sent, progress.total, progress.rate, progress.time_left) end
  end,
})
other:pause()
other:resume()
print(other:wait(60).progress.state, other:state(), other.resumed)
-- A later process continues with the text of state().
local first = api:start_upload("/tus?faults=none,cut@100000", file.path, { protocol = "tus", attempts = 1 })
print(nightjar.try(first.wait, first) == nil)
local again = api:upload("/tus", file.path, { protocol = "tus", resume = first:state() })
print(again.resumed, again.sent)
first:cancel { keep = false }
-- A function provides the bytes, which the client sends with the creation and in chunks.
local parts = { "one ", "two ", "three" }
local stream = api:upload("/tus", function() return table.remove(parts, 1) end, {
  protocol = "tus", chunk_size = 8, creation_with_upload = true,
})
print(stream.size)
-- Prints:
--   300000	4	/tus/	204
--   300000	300000	nil	nil
--   ended	nil	0
--   true
--   100000	200000
--   13
