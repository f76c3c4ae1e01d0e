-- Transfers with an id, whose state and result are in the journal. Needs the demo API:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/ids.lua NIGHTJAR [RUNS [SEED]]
--
-- NIGHTJAR is the nightjar executable, which runs id_transfer.lua. RUNS is the number of transfers of each kind that are killed at
-- random moments until they are complete, 1 by default.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local files = require "files"
local sources = require "sources"
local cases = require "id_cases"
local fs, process, test = nightjar.fs, nightjar.process, testing.test
local plan, run, start, copy, new_client = cases.plan, cases.run, cases.start, cases.copy, cases.new_client
local traffic, created, describe, check_content = cases.traffic, cases.created, cases.describe, cases.check_content
local fails, fails_unsent, wait_for_bytes, wait_until = cases.fails, cases.fails_unsent, cases.wait_for_bytes, cases.wait_until
local run_elsewhere, kill_during, slow = cases.run_elsewhere, cases.kill_during, cases.slow

local runs, seed = tonumber(arg[2]) or 1, tonumber(arg[3]) or os.time()
math.randomseed(seed)
print("seed " .. seed)

local api, folder, file, journal
testing.before(function() api, folder, file, journal = cases.api, cases.folder, cases.file, cases.journal end)

-- --- Results ---

for _, kind in ipairs(cases.kinds) do
  test(kind .. ": a transfer that has succeeded returns its result without a request", function(t)
    local planned = plan(kind)
    local first = run(planned)
    local requests = traffic(planned)
    t:truthy(requests > 0)
    check_content(t, planned, 1)
    local other <close> = new_client()
    for _, client in ipairs { api, other } do
      local again = run(planned, client)
      t:equal({ again.size, again.resumed, again.attempts }, { planned.size, 0, first.attempts })
      t:equal({ again.progress.state, again.progress.total }, { "ended", planned.size })
      if planned.method == "download" then
        t:equal({ again.path, again.received, again.progress.received }, { file, first.received, planned.size })
      else
        t:truthy(first.response)
        t:equal(again.response, nil)
        t:equal({ again.sent, again.url, again.progress.sent }, { first.sent, first.url, planned.size })
      end
      t:equal(again:state(), nil)
      t:equal(again:wait(), again)
    end
    local elsewhere = run_elsewhere(planned)
    t:equal({ elsewhere.size, elsewhere.has_response }, { planned.size, false }, elsewhere.message)
    t:equal(traffic(planned), requests, describe(planned))
  end)
end

for _, kind in ipairs { "put", "post", "tus", "resumable", "download" } do
  test(kind .. ": a transfer that was removed starts again", function(t)
    local planned = plan(kind)
    run(planned)
    local requests = traffic(planned)
    t:equal(select("#", api:remove_transfer "report"), 0)
    t:equal(run(planned).resumed, 0)
    t:equal(traffic(planned), 2 * requests, describe(planned))
    check_content(t, planned, 2)
  end)
end

test("an upload whose file was removed after its end returns its result", function(t)
  local planned = cases.plan "tus"
  local first = cases.run(planned)
  os.remove(planned.file)
  t:equal(cases.run(planned).url, first.url)
  t:equal(#sources.log(planned.run), 1)
  planned.file = planned.file .. ".other"
  t:raises("invalid_request", cases.run, planned)
end)

test("the removal of an unknown id has no effect", function(t)
  t:equal(select("#", api:remove_transfer "unknown"), 0)
  local planned = plan "put"
  run(planned)
  t:equal(select("#", api:remove_transfer "unknown"), 0)
  run(planned)
  t:equal(traffic(planned), 1)
end)

test("a download to a folder returns the name of its first file", function(t)
  fs.mkdir(folder .. "/downloads")
  local planned = plan("download", { file = folder .. "/downloads/" })
  t:equal(run(planned).path, folder .. "/downloads/file")
  t:equal(run(planned).path, folder .. "/downloads/file")
  t:equal(files.names(folder .. "/downloads"), "file")
  t:equal(traffic(planned), 1)
end)

test("a stored result is reported to on_progress", function(t)
  local planned = plan "tus"
  run(planned)
  local last
  planned.options.on_progress = function(progress) last = progress end
  run(planned)
  t:equal({ last.state, last.sent, last.total }, { "ended", planned.size, planned.size })
end)

test("transfers without an id do not use the journal", function(t)
  local planned = plan "put"
  planned.options.id = nil
  run(planned)
  run(planned)
  t:equal(traffic(planned), 2)
  t:equal(fs.exists(journal), false)
end)

-- --- Continuing ---

-- The kinds that continue after the bytes of an earlier transfer, and their faults.
local continued = {
  { "tus", "none,cut@90000" }, { "tus in chunks", "none,cut@90000" }, { "resumable", "cut@90000" },
  { "resumable in chunks", "none,cut@90000" }, { "resumable with PUT", "cut@90000" }, { "download", "cut@90000" },
}
for _, row in ipairs(continued) do
  local kind, faults = table.unpack(row)

  test(kind .. ": a transfer that has failed continues", function(t)
    local planned = plan(kind, { query = { faults = faults }, options = { attempts = 1 } })
    t:raises("connection_lost", run, planned)
    local other <close> = new_client()
    local result = run(planned, other)
    t:truthy(result.resumed >= 90000 and result.resumed < planned.size, result.resumed)
    check_content(t, planned, 1)
    local _, bytes = traffic(planned)
    t:equal(bytes, planned.size, describe(planned))
    t:equal(run(planned).resumed, result.resumed)
  end)

  test(kind .. ": a cancelled transfer continues in another process", function(t)
    local planned = plan(kind)
    local started <close> = start(planned, slow)
    wait_for_bytes(planned)
    started:cancel()
    t:raises("cancelled", started.wait, started)
    local result = run_elsewhere(planned)
    t:equal(result.message, nil)
    t:truthy(result.resumed > 0 and result.resumed < planned.size, result.resumed)
    check_content(t, planned, 1)
  end)

  test(kind .. ": the transfer of a killed process continues at once", function(t)
    local planned = plan(kind)
    kill_during(planned)
    local begin = nightjar.time.monotonic()
    local result = run(planned)
    t:truthy(nightjar.time.monotonic() - begin < 10)
    t:truthy(result.resumed > 0 and result.resumed < planned.size, result.resumed)
    check_content(t, planned, 1)
    if planned.method == "upload" then t:truthy(select(2, traffic(planned)) <= 1.05 * planned.size, describe(planned)) end
  end)

  test(kind .. ": cancel { keep = false } removes the transfer", function(t)
    local planned = plan(kind)
    local started <close> = start(planned, slow)
    wait_for_bytes(planned)
    started:cancel { keep = false }
    t:raises("cancelled", started.wait, started)
    -- The id can be used for another transfer.
    local second = plan(kind, { file = file .. ".2" })
    t:equal(run(second).resumed, 0)
    check_content(t, second, 1)
    if planned.method == "download" then t:equal(files.names(folder), "file.bin.2 state") end
  end)
end

for _, kind in ipairs { "put", "tus", "resumable", "download" } do
  test(kind .. ": a transfer that is cancelled at once can be started again at once", function(t)
    local planned = plan(kind)
    planned.options.idempotency_key = planned.method == "upload" or nil
    for _ = 1, 10 do
      local started <close> = start(planned, slow)
      started:cancel()
      t:raises("cancelled", started.wait, started)
    end
    run(planned)
    t:truthy(cases.has_content(planned), describe(planned))
  end)

  test(kind .. ": a transfer that is cancelled at once with keep = false is removed", function(t)
    for number = 1, 10 do
      local started <close> = start(plan(kind, { file = file .. number }), slow)
      started:cancel { keep = false }
      t:raises("cancelled", started.wait, started)
    end
    local planned = plan(kind)
    run(planned)
    check_content(t, planned, 1)
  end)
end

test("the end of a variable keeps the transfer", function(t)
  local planned = plan "tus"
  do
    local started <close> = start(planned, slow)
    wait_for_bytes(planned)
  end
  -- The cancelled transfer ends in the background.
  local result
  wait_until(function()
    local ok, found = pcall(run, planned)
    t:truthy(ok or found.kind == "storage", tostring(found))
    result = ok and found
    return ok
  end, "the cancelled transfer does not end")
  t:truthy(result.resumed > 0, result.resumed)
  check_content(t, planned, 1)
end)

test("the end of the client keeps the transfer", function(t)
  local planned = plan "tus"
  local other = new_client()
  local started = start(planned, slow, other)
  wait_for_bytes(planned)
  other:close()
  t:raises("cancelled", started.wait, started)
  t:truthy(run(planned).resumed > 0)
  check_content(t, planned, 1)
end)

test("an error that is permanent keeps the transfer", function(t)
  local planned = plan("tus", { query = { faults = "none,status@403" } })
  t:raises("forbidden", run, planned)
  run(planned)
  check_content(t, planned, 1)
end)

test("an upload that the server has removed starts again", function(t)
  local planned = plan "tus"
  local started <close> = start(planned, slow)
  wait_for_bytes(planned)
  started:cancel()
  t:raises("cancelled", started.wait, started)
  api:delete(sources.log(planned.run)[1].path, { headers = { ["Tus-Resumable"] = "1.0.0" } })
  t:equal(run(planned).resumed, 0)
  check_content(t, planned, 2)
end)

-- --- Other transfers with the same id ---

-- Changes that make a transfer another one.
local changes = {
  function(planned) planned.path = planned.path .. "/other" end,
  function(planned) planned.options.query.version = 2 end,
  function(planned)
    planned.file = planned.file .. ".copy"
    if planned.method == "upload" then sources.write(planned.file, planned.size) end
  end,
}
local upload_changes = {
  function(planned) planned.options.method, planned.options.protocol = "PATCH", "resumable" end,
  function(planned) planned.options.protocol = planned.options.protocol == "post" and "put" or "post" end,
}
-- Changes of the file, after which the first transfer cannot continue.
local file_changes = {
  function(planned) sources.write(file, planned.size) end,
  function() fs.append(file, "x") end,
  function(planned) sources.write(file, planned.size - 1) end,
}
for _, kind in ipairs { "put", "post", "tus", "resumable", "download" } do
  for _, phase in ipairs { "was cancelled", "has succeeded" } do
    test(("%s: a transfer that %s is not continued with another URL, method, file or protocol"):format(kind, phase), function(t)
      local planned = plan(kind)
      if phase == "was cancelled" then
        local started <close> = start(planned, slow)
        wait_for_bytes(planned)
        started:cancel()
        t:raises("cancelled", started.wait, started)
      else
        run(planned)
      end
      local function check(list)
        for _, change in ipairs(list) do
          local other = copy(planned)
          change(other)
          t:matches(fails_unsent(t, "invalid_argument", "another", other).message, "report")
        end
      end
      check(changes)
      if planned.method == "upload" then check(upload_changes) end
      if phase == "has succeeded" then t:equal(run(planned).size, planned.size) end
      if planned.method == "upload" then
        nightjar.sleep(0.01)
        check(file_changes)
      end
      -- After the removal, the id can be used for another transfer.
      api:remove_transfer "report"
      local second = plan(kind, { file = file .. ".2" })
      run(second)
      check_content(t, second, 1)
    end)
  end
end

test("a download with another checksum is another transfer", function(t)
  local planned = plan "download"
  run(planned)
  planned.options.checksum = "sha256:" .. files.digest(planned.options.query)
  fails_unsent(t, "invalid_argument", "another", planned)
end)

test("a download and an upload do not share an id", function(t)
  run(plan "put")
  fails_unsent(t, "invalid_argument", "another", plan("download", { file = file .. ".2" }))
end)

test("each id is a transfer of its own", function(t)
  local planned = plan "put"
  local ids = { "a", "A", "a ", " ", "ä", "a\u{308}", "'; DROP TABLE entries; --", "a\n", "%", ("x"):rep(255), ("x"):rep(256) }
  for round = 1, 2 do
    for _, id in ipairs(ids) do
      planned.options.id = id
      t:equal(run(planned).response == nil, round == 2, id)
    end
  end
  t:equal(traffic(planned), #ids)
  for _, id in ipairs(ids) do api:remove_transfer(id) end
end)

-- --- Transfers in progress ---

for _, kind in ipairs(cases.kinds) do
  test(kind .. ": a transfer in progress is not started again", function(t)
    local planned = plan(kind, { size = 1000000 })
    local started <close> = start(planned, slow)
    wait_for_bytes(planned)
    local requests = traffic(planned)
    local other <close> = new_client()
    for _, client in ipairs { api, other } do
      fails(t, "storage", "in progress", run, planned, client)
      fails(t, "storage", "in progress", client.remove_transfer, client, "report")
    end
    local elsewhere = run_elsewhere(planned)
    t:equal(elsewhere.kind, "storage")
    t:matches(elsewhere.message, "in progress")
    t:equal(started.progress.state ~= "ended", true)
    -- The transfer itself requests one chunk after the other.
    if not planned.options.chunk_size and not planned.options.connections then
      t:equal(traffic(planned), requests, describe(planned))
    end
  end)
end

for _, kind in ipairs { "tus", "download" } do
  test(kind .. ": a transfer in progress is not disturbed", function(t)
    local planned = plan(kind)
    local started <close> = start(planned, 2 * planned.size)
    wait_for_bytes(planned)
    for _ = 1, 3 do fails(t, "storage", "in progress", run, planned) end
    started:wait()
    check_content(t, planned, 1)
    local _, bytes = traffic(planned)
    t:equal(bytes, planned.size, describe(planned))
    t:equal(run(planned).size, planned.size)
  end)
end

test("a paused transfer is in progress", function(t)
  local planned = plan "tus"
  local started <close> = start(planned, 1000000)
  wait_for_bytes(planned)
  started:pause()
  nightjar.sleep(0.05)
  fails_unsent(t, "storage", "in progress", planned)
  started:resume()
  started:wait()
  check_content(t, planned, 1)
end)

test("the transfer of another process is in progress, also while the process is stopped", function(t)
  local planned = plan("tus", { size = 600000 })
  local child <close> = cases.spawn(planned, 1000000)
  wait_for_bytes(planned)
  child:kill "STOP"
  fails(t, "storage", "in progress", run, planned)
  fails(t, "storage", "in progress", api.remove_transfer, api, "report")
  child:kill "CONT"
  t:equal(cases.result_of(child).size, planned.size)
  check_content(t, planned, 1)
  t:equal(run(planned).response, nil)
  api:remove_transfer "report"
end)

test("the transfer of a killed process can be removed", function(t)
  local planned = plan "tus"
  kill_during(planned)
  api:remove_transfer "report"
  t:equal(run(planned).resumed, 0)
  check_content(t, planned, 2)
end)

test("processes that start the same transfer concurrently create one upload", function(t)
  for _, kind in ipairs { "tus", "post", "put" } do
    local planned = plan(kind, { options = { id = kind } })
    local results = nightjar.map({ 1, 2, 3, 4 }, function() return run_elsewhere(planned) end, { concurrency = 4 })
    local complete = 0
    for _, result in ipairs(results) do
      if result.size then complete = complete + 1 else t:equal(result.kind, "storage", result.message) end
    end
    t:truthy(complete > 0)
    check_content(t, planned, 1)
    local _, bytes = traffic(planned)
    t:equal(bytes, planned.size, describe(planned))
  end
end)

test("many transfers share a journal", function(t)
  local names, list = { "put", "tus", "resumable", "download" }, {}
  for number = 1, 20 do
    list[number] = plan(names[number % 4 + 1], { file = file .. number, options = { id = "transfer " .. number } })
  end
  for _ = 1, 2 do
    nightjar.map(list, function(planned) return run(planned) end, { concurrency = 20 })
    for _, planned in ipairs(list) do check_content(t, planned, 1) end
  end
end)

-- --- Requests that must not be repeated ---

-- Checks that the transfer may be complete, and that nothing is sent.
local function check_in_doubt(t, planned)
  local other <close> = new_client()
  for _, client in ipairs { api, other, api } do
    local err = fails_unsent(t, "content_changed", "may be complete", planned, client)
    t:equal(err.may_have_been_processed, true)
    t:matches(err.message, "report")
  end
  local elsewhere = run_elsewhere(planned)
  t:equal({ elsewhere.kind, elsewhere.may_have_been_processed }, { "content_changed", true }, elsewhere.message)
  t:equal(created(planned), 1, describe(planned))
end

for _, kind in ipairs { "post", "resumable" } do
  -- The server does not send the URL of the upload before the end.
  local interim = { interim = 0 }

  test(kind .. ": a request of a killed process is not repeated before the transfer is removed", function(t)
    local planned = plan(kind, { query = interim })
    kill_during(planned)
    check_in_doubt(t, planned)
    api:remove_transfer "report"
    t:truthy(run(planned).response)
    check_content(t, planned, 2)
  end)

  test(kind .. ": a request whose response was lost is not repeated before the transfer is removed", function(t)
    local planned = plan(kind, { query = { interim = 0, faults = "lost" } })
    t:equal(t:raises("connection_lost", run, planned).may_have_been_processed, true)
    check_in_doubt(t, planned)
    api:remove_transfer "report"
    t:raises("connection_lost", run, planned)
    t:equal(created(planned), 2)
  end)

  test(kind .. ": a cancelled request is not repeated before the transfer is removed", function(t)
    local planned = plan(kind, { query = interim })
    local started <close> = start(planned, slow)
    wait_for_bytes(planned)
    started:cancel()
    t:raises("cancelled", started.wait, started)
    check_in_doubt(t, planned)
  end)

  test(kind .. ": cancel { keep = false } removes the transfer after its request was sent", function(t)
    local planned = plan(kind, { query = interim })
    local started <close> = start(planned, slow)
    wait_for_bytes(planned)
    started:cancel { keep = false }
    t:raises("cancelled", started.wait, started)
    t:truthy(run(planned).response)
    check_content(t, planned, 2)
  end)

  test(kind .. ": a request that the server has rejected is repeated", function(t)
    local planned = plan(kind, { query = { interim = 0, faults = "status@400" } })
    for number = 1, 2 do
      t:raises("client", run, planned)
      t:equal(created(planned), number)
    end
  end)

  test(kind .. ": a request that was not sent is repeated", function(t)
    local other <close> = new_client { base_url = "http://127.0.0.1:1" }
    local planned = plan(kind, { options = { attempts = 1 } })
    local first = t:raises(nil, run, planned, other).kind
    t:truthy(first ~= "content_changed", first)
    t:equal(t:raises(nil, run, planned, other).kind, first)
  end)
end

test("put: a request whose response was lost is repeated", function(t)
  local planned = plan("put", { query = { faults = "lost" }, options = { attempts = 1 } })
  for number = 1, 2 do
    t:raises("connection_lost", run, planned)
    t:equal(created(planned), number)
  end
end)

-- Returns the idempotency keys of the requests of a transfer, from the log of the last 100 requests.
local function keys(planned)
  local found = {}
  for _, request in ipairs(api:get("/__stats").json.log) do
    if (request.target .. "&"):find("run=" .. planned.run .. "&", 1, true) then
      for _, field in ipairs(request.headers) do
        if field[1]:lower() == "idempotency-key" then found[#found + 1] = field[2] end
      end
    end
  end
  return found
end

for _, row in ipairs { { "post with a key", true }, { "post with a key", "report-7" }, { "resumable with a key", true } } do
  local kind, key = table.unpack(row)
  test(("%s: a request of a killed process is repeated with the same key: %s"):format(kind, key), function(t)
    local planned = plan(kind, { query = { interim = 0 }, options = { idempotency_key = key } })
    kill_during(planned)
    do -- The second process is also killed.
      local child <close> = cases.spawn(planned, slow)
      wait_until(function() return created(planned) == 2 end, "the second process sends nothing")
      child:kill "KILL"
      child:wait()
    end
    local result = run_elsewhere(planned)
    t:equal(result.size, planned.size, result.message)
    check_content(t, planned, 3)
    local found = keys(planned)
    t:equal(found, { found[1], found[1], found[1] })
    -- The key belongs to the transfer.
    api:remove_transfer "report"
    run(planned)
    found = keys(planned)
    t:equal(#found, 4)
    if key == true then t:truthy(found[4] ~= found[1]) else t:equal({ found[1], found[4] }, { key, key }) end
  end)
end

for _, kind in ipairs { "post with a key", "resumable with a key" } do
  test(kind .. ": a request whose response was lost is repeated with the same key", function(t)
    local planned = plan(kind, { query = { interim = 0, faults = "lost" }, options = { attempts = 1 } })
    for _ = 1, 2 do t:raises("connection_lost", run, planned) end
    local found = keys(planned)
    t:equal(found, { found[1], found[1] })
  end)
end

-- --- Invalid arguments ---

test("invalid ids are errors", function(t)
  for _, kind in ipairs { "put", "tus", "download" } do
    local planned = plan(kind)
    for _, id in ipairs { "\255", 7, true } do
      planned.options.id = id
      local ok, err = pcall(run, planned)
      t:equal(ok, false)
      t:matches(tostring(err), "id", tostring(err))
    end
    for _, id in ipairs { "", "a\0b", "\0", ("x"):rep(257) } do
      planned.options.id = id
      fails_unsent(t, "invalid_argument", "id", planned)
      fails(t, "invalid_argument", "id", api.remove_transfer, api, id)
    end
    t:equal(traffic(planned), 0)
  end
  t:equal(pcall(api.remove_transfer, api), false)
  t:equal(pcall(api.remove_transfer, api, 7), false)
  t:equal(fs.exists(journal), false)
end)

test("transfers that cannot have an id are errors", function(t)
  local planned = plan("tus", { query = { faults = "none,cut@1000" }, options = { attempts = 1 } })
  planned.options.id = nil
  local started <close> = start(planned)
  t:raises("connection_lost", started.wait, started)
  planned.options.id, planned.options.resume = "report", started:state()
  fails_unsent(t, "invalid_argument", "id", planned)

  for _, kind in ipairs { "put", "post", "tus", "resumable" } do
    local stream = plan(kind)
    stream.file = function() return nil end
    fails_unsent(t, "invalid_argument", "stream", stream)
  end

  local download = plan "download"
  download.options.method = "POST"
  fails_unsent(t, "invalid_argument", "GET", download)
  download.options.method, download.options.resume = nil, "text"
  fails_unsent(t, "invalid_argument", "id", download)
end)

test("an ephemeral client has no journal", function(t)
  t:raises("invalid_argument", new_client, { ephemeral = true })
  local client <close> = nightjar.client { base_url = files.origin, ephemeral = true }
  for _, kind in ipairs(cases.kinds) do fails_unsent(t, "invalid_argument", "ephemeral", plan(kind), client) end
  fails(t, "invalid_argument", "ephemeral", client.remove_transfer, client, "report")
  local planned = plan "put"
  planned.options.id = nil
  run(planned, client)
  check_content(t, planned, 1)
end)

-- --- The file of the journal ---

test("only the owner can read the journal", function(t)
  run(plan "put")
  t:equal(fs.stat(journal).mode & 511, tonumber("600", 8))
  t:equal(fs.stat(folder .. "/state").mode & 511, tonumber("700", 8))
end)

test("the journal has neither the headers nor the query of the request", function(t)
  for _, kind in ipairs { "put", "tus", "download" } do
    local planned = plan(kind, {
      file = file .. kind, query = { token = "secret-1" }, options = { id = kind, headers = { Authorization = "Bearer secret-2" } },
    })
    run(planned)
  end
  api:close()
  t:falsy(fs.read(journal):find("secret-", 1, true))
end)

-- The environment of a process, and the path of its journal in the folder of the test. False: the process has no journal.
local homes = {
  { "XDG_STATE_HOME", { XDG_STATE_HOME = "/state home" }, "/state home/nightjar/journal.db" },
  { "HOME", { HOME = "/home" }, "/home/.local/state/nightjar/journal.db" },
  { "neither XDG_STATE_HOME nor HOME", {}, false },
}
for _, row in ipairs(homes) do
  local name, variables, path = table.unpack(row)
  test("the default path of the journal: " .. name, function(t)
    local env = { HOME = false, XDG_STATE_HOME = false }
    for variable, value in pairs(variables) do env[variable] = folder .. value end
    local planned = plan "tus"
    local first = run_elsewhere(planned, env, false)
    if not path then
      t:equal(first.kind, "invalid_argument")
      t:matches(first.message, "journal")
      t:equal(created(planned), 0)
      return
    end
    t:equal({ first.size, first.has_response }, { planned.size, true }, first.message)
    t:truthy(fs.exists(folder .. path), files.names(folder))
    local again = run_elsewhere(planned, env, false)
    t:equal({ again.size, again.has_response }, { planned.size, false }, again.message)
    check_content(t, planned, 1)
    -- Another journal does not have the transfer.
    t:equal(run_elsewhere(planned).has_response, true)
    check_content(t, planned, 2)
  end)
end

-- Ways to damage a journal that is not open.
local damages = {
  { "has another content", function() fs.write(journal, "This is not a database.\n") end },
  { "has a damaged header", function()
    local damaged <close> = assert(io.open(journal, "r+b"))
    damaged:write(("damage"):rep(50))
  end },
  { "is truncated", function() fs.write(journal, fs.read(journal):sub(1, 9000)) end },
}
for _, row in ipairs(damages) do
  local name, damage = table.unpack(row)
  test(("a journal that %s is moved aside, and the transfer starts again"):format(name), function(t)
    local planned = plan("tus", { query = { faults = "none,cut@90000" }, options = { attempts = 1 } })
    t:raises("connection_lost", run, planned)
    api:close()
    damage()
    planned.options.attempts = 3
    local lines = {}
    local other <close> = new_client { log = function(_, line) lines[#lines + 1] = line end }
    t:equal(run(planned, other).resumed, 0)
    check_content(t, planned, 2)
    t:matches(files.names(folder .. "/state"), "damaged")
    t:matches(table.concat(lines, "\n"), "moved to")
    t:equal(run(planned, other).response, nil)
  end)
end

test("a journal that cannot be written is an error before the first request", function(t)
  sources.write(file, 300000)
  local paths = { folder, file .. "/journal.db", "/proc/nightjar/journal.db", "/dev/full" }
  -- The superuser can write to all folders.
  local closed = folder .. "/closed"
  fs.mkdir(closed)
  process.run { "chmod", "500", closed }
  if not pcall(fs.write, closed .. "/test", "") then paths[#paths + 1] = closed .. "/journal.db" end
  for _, path in ipairs(paths) do
    local other <close> = new_client { journal = path }
    for _, kind in ipairs { "put", "post", "tus", "resumable", "download" } do
      fails_unsent(t, "storage", "journal", plan(kind), other)
    end
    fails(t, "storage", "journal", other.remove_transfer, other, "report")
  end
  t:equal(fs.stat(file).size, 300000)
end)

-- --- Processes that are killed at random moments ---

-- Checks the traffic of a complete transfer whose processes were killed. `repeated` is the number of processes that were killed
-- after their download had its name.
local function check_traffic(planned, kills, removals, repeated)
  local size, connections = planned.size, planned.options.connections
  if planned.method == "download" then
    -- A killed process loses the bytes that it has not read from its connections, not written (up to 1 MiB) or, with several
    -- connections, not recorded.
    local lost = (connections or 1) * 600000 + (1 << 20) * (connections and 2 or 1)
    local _, bytes = traffic(planned)
    return assert(bytes <= 1.05 * size + kills * lost + repeated * size, describe(planned))
  end
  local log = sources.log(planned.run)
  assert(#log <= kills + removals + 1, describe(planned))
  for index, upload in ipairs(log) do
    -- The journal has the URL of an upload of tus before its content is sent.
    assert(index == #log or planned.options.protocol ~= "tus" or upload.body_bytes == 0, describe(planned))
  end
  assert(log[#log].body_bytes <= 1.05 * size, describe(planned))
end

-- Kills processes at random moments until the transfer is complete. Returns the number of kills.
local function kill_at_random(kind, number)
  local name = ("%s %d"):format(kind, number)
  local row = { file = folder .. "/" .. name, size = 2000000, query = { rate = 10000000 }, options = { id = name } }
  local planned = plan(kind, row)
  local must_not_repeat = kind == "post"
  local kills, removals, repeated = 0, 0, 0
  while true do
    assert(kills < 200, "the transfer does not end")
    local result = cases.run_with_kill(planned, 2500000)
    if must_not_repeat then assert(created(planned) <= removals + 1, describe(planned)) end
    if result and result.kind == "content_changed" then
      assert(must_not_repeat or kind == "resumable" or kind == "resumable in chunks", result.message)
      assert(result.may_have_been_processed and result.message:find "may be complete", result.message)
      assert(created(planned) <= kills + removals, describe(planned))
      assert(run_elsewhere(planned).kind == "content_changed")
      removals = removals + 1
      api:remove_transfer(name)
    elseif result then
      assert(result.size == planned.size, result.message)
      break
    else
      kills = kills + 1
      if planned.method == "download" and fs.exists(planned.file) then
        assert(cases.has_content(planned), "a killed process left a wrong file")
        repeated = repeated + 1
      end
    end
  end
  assert(cases.has_content(planned), describe(planned))
  check_traffic(planned, kills, removals, repeated)
  -- The result is in the journal.
  local requests = traffic(planned)
  local stored = run_elsewhere(planned)
  assert(stored.size == planned.size and not stored.has_response, stored.message)
  assert(traffic(planned) == requests, describe(planned))
  return kills
end

test("transfers whose processes are killed at random moments are complete", { timeout = 60 * runs }, function()
  local list, kills = {}, 0
  for number = 1, runs do
    for _, kind in ipairs(cases.kinds) do list[#list + 1] = { kind, number } end
  end
  local function kill(row) return kill_at_random(table.unpack(row)) end
  for _, count in ipairs(nightjar.map(list, kill, { concurrency = 4 })) do kills = kills + count end
  print(("%d transfers were killed %d times at random moments; all of them are complete"):format(#list, kills))
end)

assert(testing.run().ok, "a case failed")
