-- nightjar transfers: records, lists and changes the transfers that nightjar transferd performs, and waits for them.
local nightjar = require "nightjar"
local items = require "nightjar.command.items"
local json_text = require "nightjar.command.json_text"
local output = require "nightjar.command.output"
local progress = require "nightjar.command.progress"
local subcommand = require "nightjar.command.subcommand"
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"

local transfers = {}

-- Seconds between two reads of the journal while the command waits.
local pause = 0.1

local has_ended = { done = true, failed = true, cancelled = true, in_doubt = true }

-- Returns the functions for the journal of the user, or for that of --journal. With --transferd, they start this program as
-- the worker.
local function open(words)
  if words.journal == "" then items.refuse "--journal: the path is empty; write the path of the journal" end
  return nightjar.transfers.open { journal = words.journal, transferd = words.transferd and "/proc/self/exe" or nil }
end

local function unknown(id)
  return ("there is no background transfer %s; nightjar transfers list shows all transfers"):format(text.safe(nightjar.json.encode(id)))
end

-- Returns a transfer. Raises an error if there is none with this id.
local function get(journal, id) return journal.get(id) or error(unknown(id), 0) end

-- Reports an error on standard error, without the hints of the commands that send requests. Returns the exit status.
local function complain(err)
  io.stdout:flush()
  io.stderr:write("nightjar: ", text.safe(tostring(err)), "\n")
  return 1
end

-- --- Output ---

-- The members of a transfer in the order in which they are written.
local members = {
  "id", "kind", "state", "url", "path", "received", "sent", "total", "rate", "attempts", "error", "upload_url", "created", "updated",
}

local function json_of(transfer) return json_text.object(transfer, members) end

-- Returns the progress in percent, or in bytes if the size is unknown. The bytes of an upload that waits are unknown.
local function progress_of(transfer)
  local count, total = transfer.received or transfer.sent or 0, transfer.total
  if total then return ("%d%%"):format(total > 0 and math.floor(100 * count / total) or 100) end
  if transfer.kind == "upload" and count == 0 then return "-" end
  return text.bytes(count)
end

-- Writes one line for each transfer.
local function write_lines(list)
  local paint, rows, widths = output.painter(), {}, { 0, 0, 0, 0 }
  for place, transfer in ipairs(list) do
    local row = { text.safe(transfer.id), transfer.kind, transfer.state, progress_of(transfer) }
    for column, cell in ipairs(row) do widths[column] = math.max(widths[column], text.columns(cell)) end
    rows[place] = row
  end
  for place, row in ipairs(rows) do
    local transfer = list[place]
    for column, cell in ipairs(row) do
      local cell_text = text.pad(cell, widths[column], column == 4)
      io.stdout:write(column == 1 and paint("head", cell_text) or cell_text, "  ")
    end
    io.stdout:write(text.safe(transfer.path))
    if transfer.error then io.stdout:write("  ", paint("bad", text.safe(transfer.error.message))) end
    io.stdout:write "\n"
  end
end

local actions = {}

function actions.list(words)
  local list, texts = {}, {}
  for transfer in open(words).list() do list[#list + 1] = transfer end
  if not words.json then
    write_lines(list)
    return 0
  end
  for place, transfer in ipairs(list) do texts[place] = json_of(transfer) end
  output.json("[" .. table.concat(texts, ",") .. "]", "json")
  return 0
end

function actions.show(words)
  output.json(json_of(get(open(words), words.id)), "json")
  return 0
end

-- --- log ---

function actions.log(words)
  local journal, chosen = open(words), {}
  for _, id in ipairs(words.id) do chosen[id] = true end
  for entry in journal.log() do
    if not next(chosen) or chosen[entry.id] then
      if words.json then
        io.stdout:write(nightjar.json.encode(entry), "\n")
      else
        local time = entry.time and nightjar.time.format(math.floor(entry.time)) or "-"
        io.stdout:write(time, "  ", text.safe(entry.id), "  ", entry.event)
        if entry.message ~= "" then io.stdout:write("  ", text.safe(entry.message)) end
        io.stdout:write "\n"
      end
    end
  end
  return 0
end

-- --- start ---

-- The options whose values are numbers, true or false, so that name=value and client[name]=value need no JSON.
local literals = {}
for name in ([[allow_body_on_get allow_constrained allow_metered attempts bandwidth_share chunk_size compress connections cookies
  creation_with_upload decompress discretionary expect_continue keep_time max_connections_per_host max_rate max_size
  not_before overwrite priority redirect respect_retry_after restart retry retry_delay time_limit timeout unmetered
  wait_for_connectivity]]):gmatch "[%w_]+" do literals[name] = true end

-- The options of the command that are options of the transfer.
local flags = { "connections", "checksum", "max_rate", "protocol", "not_before", "unmetered", "discretionary", "priority", "bandwidth_share", "time_limit" }

-- Replaces the text of a number, of true or of false by its JSON value.
local function read_literal(field)
  if field.json or not field[2] or not literals[field[1]:gsub("^client%[([%w_]+)%]", "%1"):match "^[%w_]*"] then return end
  local value = nightjar.try(nightjar.json.decode, field[2])
  if type(value) == "number" or type(value) == "boolean" then field[2], field.json = nil, field[2] end
end

-- Takes the items multipart[name]=value and multipart[name]@file from the list. Returns the parts in their order.
local function take_parts(fields)
  local parts, others = {}, {}
  for _, field in ipairs(fields) do
    local name = field[1]:match "^multipart%[([^%]]+)%]$"
    if name then field[1] = name end
    table.insert(name and parts or others, field)
  end
  return #parts > 0 and items.multipart(parts) or nil, others
end

-- Adds the options of items such as attempts=3 and metadata[name]=notes to `options`.
local function add_items(options, read)
  if #read.query > 0 then
    items.refuse("%s==%s: a transfer has no query items; write the query in the URL", text.safe(read.query[1][1]), text.safe(read.query[1][2]))
  end
  local fields
  options.multipart, fields = take_parts(read.fields)
  for _, field in ipairs(fields) do read_literal(field) end
  local added = #fields > 0 and nightjar.json.decode(items.json(fields)) or {}
  for name, value in pairs(added) do
    if options[name] ~= nil then items.refuse("option %s was given twice", text.safe(tostring(name))) end
    options[name] = value
  end
end

-- Adds the headers of -H and of items.
local function add_headers(options, words, of_items)
  local headers, known = {}, {}
  local function add(name, value)
    if known[name:lower()] then items.refuse("header %s was given twice; separate its values by commas", text.safe(name)) end
    known[name:lower()] = true
    headers[name] = value
  end
  for _, header in ipairs(words.header) do
    local name, value = header:match "^([^:%s]+):%s*(.-)%s*$"
    if not name then items.refuse("-H '%s': write a header as 'Name: value'", text.safe(header)) end
    add(name, value)
  end
  for _, header in ipairs(of_items) do
    local name = text.safe(header[1])
    if not header[2] then items.refuse("%s:: a header without a value is written as '%s;'", name, name) end
    add(header[1], header[2])
  end
  if not next(headers) then return end
  if options.headers ~= nil then items.refuse "option headers was given twice" end
  options.headers = headers
end

function actions.start(words)
  local count = (words.download and 1 or 0) + (words.upload and 1 or 0) + (words.data and 1 or 0)
  if count > 1 then items.refuse "only one of -d FILE, -u FILE and --data TEXT can be used" end
  if words.protocol and words.download then items.refuse "--protocol requires an upload" end
  if words.connections and not words.download then items.refuse "--connections requires a download, -d FILE" end
  local options, read = { id = words.id }, items.read(words.item)
  if words.download then
    options.download, options.to = words.url, words.download
  else
    options.upload, options.from, options.body = words.url, words.upload, words.data
  end
  for _, name in ipairs(flags) do options[name] = words[name] or nil end
  add_items(options, read)
  if count == 0 and options.json == nil and not options.form and not options.multipart then
    items.refuse "one of -d FILE (download), -u FILE (upload) and --data TEXT (upload) is required, or an item such as form[name]=value"
  end
  add_headers(options, words, read.headers)
  write_lines { open(words).start(options) }
  return 0
end

-- --- wait ---

-- Returns the named transfers, each once, or all that have not ended.
local function chosen(journal, ids)
  local list, known = {}, {}
  if #ids == 0 then
    for transfer in journal.list() do
      if not has_ended[transfer.state] then list[#list + 1] = transfer end
    end
  end
  for _, id in ipairs(ids) do
    if not known[id] then list[#list + 1] = get(journal, id) end
    known[id] = true
  end
  return list
end

-- Returns the bytes of the transfers that have not failed, and the sum of their sizes: nil if one is unknown.
local function sums(list)
  local count, total = 0, 0
  for _, transfer in ipairs(list) do
    if transfer.state == "done" or not has_ended[transfer.state] then
      count = count + (transfer.received or transfer.sent or 0)
      total = total and transfer.total and total + transfer.total
    end
  end
  return count, total
end

-- Reports the end of a transfer. Returns the exit status.
local function report_end(transfer, id)
  local ok, err = nightjar.try(transfer.wait, transfer)
  if not ok then return complain(err) end
  if terminal.is_terminal(2) then
    io.stderr:write(("%s: %s, %s\n"):format(text.safe(id), text.bytes(transfer.total or 0), text.safe(transfer.path)))
  end
  return 0
end

local function report_pause(id)
  local shown = text.safe(nightjar.json.encode(id))
  io.stderr:write(("nightjar: the transfer %s is paused; nightjar transfers resume continues it\n"):format(shown))
end

-- Removes the bar until its next update.
local function clear_line()
  if terminal.is_terminal(2) then terminal.draw "\r\27[K" end
end

function actions.wait(words)
  local journal = open(words)
  local all = chosen(journal, words.id)
  local limit = words.timeout and words.timeout > 0 and words.timeout or math.huge
  local deadline = nightjar.time.monotonic() + limit
  local bar <close> = terminal.is_terminal(2) and progress.start(nil, "bytes") or nil
  local pending, status, is_noted = {}, 0, {}
  for place, transfer in ipairs(all) do pending[place] = { transfer = transfer, id = transfer.id } end
  if words.transferd and #pending > 0 then journal.wake() end
  while true do
    local rest = {}
    for _, each in ipairs(pending) do
      local transfer = each.transfer
      -- A transfer that was removed cannot be read again. Its error is reported as that of a failed one.
      if has_ended[transfer.state] or not transfer:refresh() or has_ended[transfer.state] then
        clear_line()
        transfer.id = each.id
        status = math.max(status, report_end(transfer, each.id))
      else
        rest[#rest + 1] = each
        if transfer.state == "paused" and not is_noted[each.id] then
          clear_line()
          is_noted[each.id] = true
          report_pause(each.id)
        end
      end
    end
    pending = rest
    if #pending == 0 then return status end
    if nightjar.time.monotonic() >= deadline then break end
    if bar then bar:set(sums(all)) end
    nightjar.sleep(math.min(pause, math.max(deadline - nightjar.time.monotonic(), 0)))
  end
  if bar then bar:close() end
  for _, each in ipairs(pending) do
    complain(("the transfer %s did not end within %g s; it continues in the background"):format(
      text.safe(nightjar.json.encode(each.id)), limit))
  end
  return 1
end

-- --- pause, resume, cancel, retry and rm ---

for command, method in pairs { pause = "pause", resume = "resume", cancel = "cancel", retry = "retry", rm = "remove" } do
  actions[command] = function(words)
    local journal, status = open(words), 0
    for _, id in ipairs(words.id) do
      local ok, err = pcall(function()
        get(journal, id)
        journal[method](id)
      end)
      if not ok then status = complain(err) end
    end
    return status
  end
end

-- @return the exit status
function transfers.run(words) return subcommand.run_part("transfers", words, actions) end

return transfers
