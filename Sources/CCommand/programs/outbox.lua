-- nightjar outbox: records, lists, sends and changes the entries of an outbox. Only the command run sends them.
local nightjar = require "nightjar"
local call_request = require "nightjar.command.call_request"
local items = require "nightjar.command.items"
local json_text = require "nightjar.command.json_text"
local output = require "nightjar.command.output"
local profiles = require "nightjar.command.profiles"
local show = require "nightjar.command.outbox_show"
local subcommand = require "nightjar.command.subcommand"
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"

local command = {}

-- Seconds without a change after which the command run checks whether entries can still be sent.
local pause = 0.25

local held = { conflict = true, parked = true, in_doubt = true }

-- --- The outbox ---

-- Returns the options of the profile that open its journal. Neither its login nor its variables are used.
local function journal_of(words)
  local ok, options = pcall(profiles.options, words.profile)
  if ok then return { journal = options and options.journal } end
  if not (profiles.is_problem(options) and options.is_variable) then error(options, 0) end
  local config = profiles.read()
  local journal = config.profiles[words.profile or config.default_profile].journal
  return { journal = type(journal) == "string" and journal or nil }
end

-- Opens an outbox.
-- @param client_options nil: those of the journal
local function open(words, sends, client_options)
  if words.journal == "" then items.refuse "--journal: the path is empty; write the path of the journal" end
  client_options = client_options or journal_of(words)
  if words.journal then client_options.journal = words.journal end
  return nightjar.client(client_options):outbox { name = words.name, send = sends }
end

local function unknown(id)
  return ("there is no outbox entry %s; nightjar outbox list shows all entries"):format(text.safe(nightjar.json.encode(id)))
end

-- Returns an entry. Raises an error if there is none with this id.
local function get(outbox, id) return outbox:get(id) or error(unknown(id), 0) end

-- Reports an error on standard error. Returns the exit status.
local function complain(err)
  io.stdout:flush()
  io.stderr:write("nightjar: ", text.safe(tostring(err)), "\n")
  return 1
end

-- Calls a function for each id. Errors are reported, and do not prevent the calls for later ids.
local function for_each(outbox, ids, f)
  local status = 0
  for _, id in ipairs(ids) do
    local ok, err = pcall(function() f(get(outbox, id)) end)
    if not ok and items.is_usage(err) then error(err, 0) end
    if not ok then status = complain(err) end
  end
  return status
end

local actions = {}

-- --- list, show and count ---

function actions.list(words)
  local outbox <close>, list = open(words, false), {}
  for entry in outbox:list { state = words.state } do list[#list + 1] = entry end
  if not words.json then
    show.lines(list)
    return 0
  end
  for place, entry in ipairs(list) do list[place] = show.json(entry) end
  output.json("[" .. table.concat(list, ",") .. "]", "json")
  return 0
end

function actions.show(words)
  local outbox <close> = open(words, false)
  local entry = get(outbox, words.id)
  if words.json then output.json(show.json(entry), "json") else show.entry(entry) end
  return 0
end

function actions.count(words)
  local outbox <close> = open(words, false)
  io.stdout:write(outbox:count(), "\n")
  return 0
end

-- --- post, put, patch and delete ---

-- Returns a list of pairs as a table. The values of a repeated name become a list, or an error if `is_single`.
local function table_of(pairs_list, is_single)
  local made = {}
  for _, pair in ipairs(pairs_list or {}) do
    local name, value = pair[1], pair[2]
    local former = made[name]
    if former ~= nil and is_single then items.refuse("%s was given twice", text.safe(name)) end
    if type(former) == "table" then former[#former + 1] = value else made[name] = former ~= nil and { former, value } or value end
  end
  return made
end

for _, verb in ipairs { "post", "put", "patch", "delete" } do
  actions[verb] = function(words)
    local client_options, request = call_request.build(verb, words)
    local outbox <close> = open(words, false, client_options)
    local write = {
      id = words.id, key = words.key, if_match = words.if_match, query = table_of(request.query),
      headers = table_of(request.headers, true), body = request.body, multipart = request.multipart,
      form = request.form and table_of(request.form),
    }
    if words.no_idempotency_key then write.idempotency_key = false end
    -- A large body of standard input is read while it is sent.
    if write.body and type(write.body) ~= "string" then items.refuse "the body of a write must have at most 1 MiB" end
    show.lines { outbox[verb](outbox, request.path, write) }
    return 0
  end
end

-- --- run ---

-- Returns the number of entries that can still be sent, the number of held entries, and that of entries that wait for them.
local function census(outbox)
  local keys, waiting, active, held_count, blocked = {}, {}, 0, 0, 0
  for entry in outbox:list() do
    if held[entry.state] then
      keys[entry.key], held_count = true, held_count + 1
    elseif entry.state ~= "done" then
      waiting[#waiting + 1] = entry.key
    end
  end
  for _, key in ipairs(waiting) do
    if keys[key] then blocked = blocked + 1 else active = active + 1 end
  end
  return active, held_count, blocked
end

local function counted(count, one, many) return ("%d %s"):format(count, count == 1 and one or many) end

-- Reports the entries that are not done. Returns the exit status.
local function report(active, held_count, blocked)
  if active > 0 then
    complain(("%s not sent within the timeout; nightjar outbox run continues"):format(counted(active, "entry was", "entries were")))
  end
  if held_count > 0 then
    local after = blocked > 0 and (", and %s for %s"):format(counted(blocked, "entry waits", "entries wait"), held_count == 1 and "it" or "them") or ""
    complain(("%s for a decision%s; nightjar outbox show, retry, resolve and remove"):format(
      counted(held_count, "entry waits", "entries wait"), after))
  end
  return active + held_count > 0 and 1 or 0
end

-- Reports an entry whose attempt has ended: the failure of a pending one goes to standard error.
local function write_change(entry, words)
  -- The next attempt may have started before the end of the last one was read.
  if entry.state == "sending" then return end
  if words.json then
    io.stdout:write(show.json(entry), "\n")
  elseif entry.state ~= "pending" then
    show.lines { entry }
  elseif entry.error then
    complain(("%s: %s; the entry is sent again"):format(entry.id, entry.error.message))
  end
  io.stdout:flush()
end

-- Ends the waits of the entries for their next attempts.
local function end_waits(words, client_options)
  local outbox <close> = open(words, false, { journal = client_options.journal })
  for entry in outbox:list { state = "pending" } do
    -- Another process may have sent the entry meanwhile.
    if entry.error then pcall(outbox.retry, outbox, entry.id) end
  end
end

function actions.run(words)
  local client_options = profiles.options(words.profile) or {}
  local limit = words.timeout and words.timeout > 0 and words.timeout or math.huge
  local deadline = nightjar.time.monotonic() + limit
  end_waits(words, client_options)
  local outbox <close> = open(words, true, client_options)
  while true do
    local left = math.max(deadline - nightjar.time.monotonic(), 0)
    for entry in outbox:changes { timeout = math.min(pause, left) } do
      write_change(entry, words)
      if nightjar.time.monotonic() >= deadline then break end
    end
    local active, held_count, blocked = census(outbox)
    if active == 0 or nightjar.time.monotonic() >= deadline then
      -- An outcome is stored before it is reported.
      for entry in outbox:changes { timeout = 0.05 } do write_change(entry, words) end
      return report(active, held_count, blocked)
    end
  end
end

-- --- wait and retry ---

function actions.wait(words)
  local outbox <close> = open(words, false)
  local limit = words.timeout and words.timeout > 0 and words.timeout or math.huge
  local deadline = nightjar.time.monotonic() + limit
  return for_each(outbox, words.id, function(entry)
    local left = limit < math.huge and math.max(deadline - nightjar.time.monotonic(), 0) or nil
    local id = entry.id
    local _, err = nightjar.try(entry.wait, entry, { timeout = left })
    if err ~= nil then error(("%s: %s"):format(id, tostring(err)), 0) end
  end)
end

function actions.retry(words)
  local outbox <close> = open(words, false)
  return for_each(outbox, words.id, function(entry) entry:retry() end)
end

-- --- remove and resolve ---

-- Asks whether the write of an entry is removed. Returns true immediately after --yes.
local function confirms(entry, words)
  if words.yes then return true end
  if not terminal.is_terminal(0) then
    items.refuse("the entry %s is not done, and removing it loses the write; use --yes", text.safe(nightjar.json.encode(entry.id)))
  end
  io.stderr:write(("remove the write %s, %s %s, which is not done? [y/N] "):format(
    text.safe(nightjar.json.encode(entry.id)), entry.method, text.safe(entry.url)))
  local reply = (io.stdin:read "l" or ""):lower()
  return reply == "y" or reply == "yes"
end

function actions.remove(words)
  local outbox <close>, is_whole = open(words, false), true
  local status = for_each(outbox, words.id, function(entry)
    if entry.state == "done" or confirms(entry, words) then entry:remove() else is_whole = false end
  end)
  return is_whole and status or 1
end

-- Returns the merged body of --raw, of the items, or of standard input; nil if there is none.
local function merged_body(words)
  local read = items.read(words.item)
  if #read.query > 0 or #read.headers > 0 then items.refuse "an item must be a field of the body, name=text or name:=json" end
  if words.raw and #read.fields > 0 then items.refuse "--raw is the whole body and cannot be combined with fields" end
  if words.raw then return words.raw end
  if #read.fields > 0 then return items.json(read.fields) end
  if words.mine or words.theirs or words.ignore_stdin or terminal.is_terminal(0) then return nil end
  local content = io.stdin:read "a"
  return content ~= "" and content or nil
end

function actions.resolve(words)
  local body = merged_body(words)
  if (body and 1 or 0) + (words.mine and 1 or 0) + (words.theirs and 1 or 0) ~= 1 then
    items.refuse "one of --mine, --theirs and a merged body is required: name=value items, --raw TEXT, or standard input"
  end
  if words.theirs and words.if_match then items.refuse "--if-match cannot be combined with --theirs, which sends nothing" end
  local outbox <close> = open(words, false)
  local entry = get(outbox, words.id)
  if words.theirs then
    if entry.state ~= "conflict" then
      error(("the entry %s is no conflict: it is %s; nightjar outbox remove discards a write"):format(
        text.safe(nightjar.json.encode(entry.id)), entry.state), 0)
    end
    if not confirms(entry, words) then return 1 end
    entry:remove()
  else
    entry:resolve { body = body, if_match = words.if_match }
  end
  return 0
end

-- @return the exit status
function command.run(words) return subcommand.run_part("outbox", words, actions) end

return command
