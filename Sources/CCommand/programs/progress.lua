-- Progress bars on standard error: for --download, and at the prompt for nightjar.map, streamed responses, and calls
-- that take long (one line for all calls in flight). Bars are shown only on a terminal, in the foreground, and after a
-- delay.
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"
local session = require "nightjar.command.session"

local progress = {}

-- The delay before a bar is drawn, and the time between updates, in seconds.
local show_delay, pace = 0.5, 0.1
-- The number of columns that stay free at the end of the line. The terminal may write ^C there; a wrapped line could not
-- be overwritten completely.
local margin = 4

-- Returns the text of a bar: done of total, rate and remaining time.
-- @param total nil if the total is unknown
-- @param unit "bytes" or a noun
-- @param note a text to append, or nil
-- @param skipped the part of `done` that does not count for the rate; default: 0
function progress.line(done, total, seconds, unit, width, note, skipped)
  local amount = unit == "bytes" and text.bytes or function(count) return tostring(count) end
  local rate = seconds > 0 and (done - (skipped or 0)) / seconds or 0
  local reported = unit == "bytes" and amount(math.floor(rate)) .. "/s" or ("%.1f %s/s"):format(rate, unit)
  note = note and "  " .. note or ""
  if not total or total <= 0 then return text.cut(("%s  %s%s"):format(amount(done), reported, note), width - margin) end
  local left = rate > 0 and ("%s left"):format(text.seconds((total - done) / rate)) or ""
  local numbers = ("%s of %s  %s  %s%s"):format(amount(done), amount(total), reported, left, note)
  local room = math.min(width - text.columns(numbers) - 9 - margin, 40)
  local part = math.min(done / total, 1)
  local bar = ""
  if room >= 8 then
    local full = math.floor(room * part)
    bar = "[" .. ("#"):rep(full) .. ("."):rep(room - full) .. "] "
  end
  return text.cut(("%s%3d%%  %s"):format(bar, math.floor(part * 100), numbers), width - margin)
end

-- The number of open bars. The line for calls in flight is hidden while a bar is open.
local open = 0

local bar = {}
bar.__index = bar

function bar:add(count)
  self.done = self.done + count
  local now = terminal.now()
  if now - self.began < show_delay or now - self.drawn < pace then return end
  self.drawn = now
  self.is_there = true
  local line = progress.line(self.done, self.total, now - self.began, self.unit, terminal.width(), nil, self.skipped)
  terminal.draw("\r" .. line .. "\27[K")
end

-- Sets the numbers of a transfer. The rate does not count the bytes of the first call, which an earlier transfer has
-- received.
function bar:set(done, total)
  self.total, self.skipped = total, self.skipped or done
  self.done = done
  self:add(0)
end

function bar:close()
  if self.is_there then terminal.draw "\r\27[K" end
  self.is_there = false
  if self.is_open then open = open - 1 end
  self.is_open = false
end
bar.__close = bar.close

function progress.start(total, unit)
  local now = terminal.now()
  open = open + 1
  return setmetatable({ total = total, unit = unit, done = 0, began = now, drawn = now - pace, is_open = true }, bar)
end

-- Returns a replacement for nightjar.map that shows its progress.
function progress.map(map)
  return function(list, f, ...)
    local is_list = type(list) == "table" and type(f) == "function"
    if not is_list or session.is_background() or not terminal.is_terminal(2) then return map(list, f, ...) end
    local shown <close> = progress.start(#list, "items")
    local function step(...)
      shown:add(1)
      return ...
    end
    return map(list, function(...) return step(f(...)) end, ...)
  end
end

-- Makes res:chunks() show the progress of the body.
function progress.follow_chunks()
  local meta = debug.getregistry()["nightjar.response"]
  local index = meta.__index
  local function chunks(res)
    local next_part = index(res, "chunks")(res)
    if session.is_background() or not terminal.is_terminal(2) then return next_part end
    local headers = index(res, "headers")
    local total = not headers["content-encoding"] and tonumber(headers["content-length"]) or nil
    local shown = progress.start(total, "bytes")
    -- The for loop closes the bar, even if a break ends the loop.
    return function()
      local part = next_part()
      if part then shown:add(#part) else shown:close() end
      return part
    end, nil, nil, shown
  end
  meta.__index = function(res, name)
    if name == "chunks" then return chunks end
    return index(res, name)
  end
end

-- The state of the line for the calls in flight: whether it is shown, the time of the last update, the time of the
-- first response byte, and the number of calls.
local is_shown, drawn, responded, in_flight = false, 0, nil, 0

local function hide()
  if is_shown then terminal.draw "\r\27[K" end
  is_shown = false
end

-- Removes the line of the calls in flight.
function progress.clear()
  hide()
  responded, in_flight = nil, 0
end

local function show_calls(state)
  if state.calls == 0 or open > 0 then return progress.clear() end
  local now = terminal.now()
  local has_ended = state.calls < in_flight
  in_flight = state.calls
  if has_ended then -- The code that waited for the call may now print something.
    drawn = now
    return hide()
  end
  if state.received > 0 and not responded then responded = now - 0.1 end
  if state.seconds < show_delay or now - drawn < pace then return end
  local notes = {}
  local done, total, seconds = state.received, state.received_total, responded and now - responded or 0
  if done == 0 then
    if state.sent == 0 then return end
    done, total, seconds = state.sent, state.sent_total, state.seconds
    notes[1] = "sent"
  end
  if state.calls > 1 then notes[#notes + 1] = ("%d calls"):format(state.calls) end
  drawn, is_shown = now, true
  local note = #notes > 0 and table.concat(notes, ", ") or nil
  terminal.draw("\r" .. progress.line(done, total, seconds, "bytes", terminal.width(), note) .. "\27[K")
end

-- Makes calls of the foreground show the progress of their bodies.
function progress.follow_calls()
  if terminal.is_terminal(2) then session.follow(show_calls) end
end

return progress
