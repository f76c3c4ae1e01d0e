local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080" }
local folder <close> = require("nightjar.fs").temp_dir()
-- The demo closes the connection after 100,000 bytes of each response.
local path, query = "/cache/film", { length = 300000, etag = "strong", cut = 100000 }
local file = api:download(path, folder.path .. "/film", { query = query, connections = 1 })
print(file.size, file.received, file.resumed, file.attempts, file.path:match "[^/]+$")
-- The same in the background, with its progress.
local download <close> = api:start_download(path, folder.path .. "/", {
  query = query, retry_delay = 0.1, attempts = 10, max_rate = 10000000, max_size = 1000000, mode = "600",
  keep_time = true, overwrite = true, restart = false,
  on_head = function(response, this) assert(response.headers.etag and this.progress.received < 300000) end,
  on_progress = function(progress, this)
    assert(this.progress.received >= progress.received)
    if progress.state == "ended" then print(progress.received, progress.total, progress.rate, progress.time_left) end
  end,
})
download:pause()
download:resume()
print(download:wait(60).progress.state, download:state())
-- A later process continues with the text of state().
local first = api:start_download(path, folder.path .. "/again", { query = query, attempts = 1 })
print(nightjar.try(first.wait, first) == nil)
local again = api:download(path, folder.path .. "/again", { query = query, resume = first:state() })
print(again.resumed, again.received)
first:cancel { keep = false }
-- Prints:
--   300000	300000	0	3	film
--   300000	300000	nil	nil
--   ended	nil
--   true
--   100000	200000
