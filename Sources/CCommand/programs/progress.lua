-- Progress bars on standard error, for what people wait for at the prompt: nightjar.map, and answers that come in parts. Only on a
-- terminal, only in the foreground, and only for what takes longer than a moment.
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"
local session = require "nightjar.command.session"

local progress = {}

-- Seconds before a bar is drawn, and between two drawings.
local patience, pace = 0.5, 0.1

-- What a bar says: done of total, rate and time left. `total` is nil where it is not known; `unit` is "bytes" or a noun.
function progress.line(done, total, seconds, unit, width)
  local amount = unit == "bytes" and text.bytes or function(count) return tostring(count) end
  local rate = seconds > 0 and done / seconds or 0
  local told = unit == "bytes" and amount(math.floor(rate)) .. "/s" or ("%.1f %s/s"):format(rate, unit)
  if not total or total <= 0 then return ("%s  %s"):format(amount(done), told) end
  local left = rate > 0 and ("%s left"):format(text.seconds((total - done) / rate)) or ""
  local numbers = ("%s of %s  %s  %s"):format(amount(done), amount(total), told, left)
  local room = math.min(width - text.columns(numbers) - 10, 40)
  local part = math.min(done / total, 1)
  local bar = ""
  if room >= 8 then
    local full = math.floor(room * part)
    bar = "[" .. ("#"):rep(full) .. ("."):rep(room - full) .. "] "
  end
  return text.cut(("%s%3d%%  %s"):format(bar, math.floor(part * 100), numbers), width - 1)
end

local bar = {}
bar.__index = bar

function bar:add(count)
  self.done = self.done + count
  local now = terminal.now()
  if now - self.began < patience or now - self.drawn < pace then return end
  self.drawn = now
  self.is_there = true
  terminal.draw("\r" .. progress.line(self.done, self.total, now - self.began, self.unit, terminal.width()) .. "\27[K")
end

function bar:close()
  if self.is_there then terminal.draw "\r\27[K" end
  self.is_there = false
end
bar.__close = bar.close

function progress.start(total, unit)
  local now = terminal.now()
  return setmetatable({ total = total, unit = unit, done = 0, began = now, drawn = now - pace }, bar)
end

-- A function in place of nightjar.map that shows how far it has come.
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

-- From here on res:chunks() shows how far the body has come.
function progress.follow_chunks()
  local meta = debug.getregistry()["nightjar.response"]
  local index = meta.__index
  local function chunks(res)
    local next_part = index(res, "chunks")(res)
    if session.is_background() or not terminal.is_terminal(2) then return next_part end
    local headers = index(res, "headers")
    local total = not headers["content-encoding"] and tonumber(headers["content-length"]) or nil
    local shown = progress.start(total, "bytes")
    -- The bar goes with the loop, however that is left.
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

return progress
