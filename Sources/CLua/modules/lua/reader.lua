-- Readers: read input by line, by length, or completely. The reader keeps unread input, including input that arrived
-- before the reading task was cancelled.
local native = ...
local raise, misuse = native.raise, native.misuse
local type, tostring, setmetatable, find, sub, format = type, tostring, setmetatable, string.find, string.sub, string.format
local concat, math_type = table.concat, math.type

-- Bytes per read.
local CHUNK = 64 * 1024
-- The default limits in bytes of a line and of one read. Without these limits, input that never ends a line, such as
-- /dev/zero, would use all memory.
local LONGEST_LINE = 16 * 1024 * 1024
local MOST = 256 * 1024 * 1024

local Reader = {}

local function length_of(self) return self.length + #self.text - self.place + 1 end

-- Moves the unread rest of the text to the pieces.
local function put_aside(self, has_no_line_end)
  if self.place <= #self.text then
    local piece = self.place == 1 and self.text or sub(self.text, self.place)
    self.pieces[#self.pieces + 1] = piece
    self.length = self.length + #piece
    self.has_no_line_end = has_no_line_end and (#self.pieces == 1 or self.has_no_line_end)
  end
  self.text, self.place = "", 1
end

-- Joins the pieces and the text into one text.
local function gather(self)
  if #self.pieces == 0 then return end
  put_aside(self)
  self.text, self.place = concat(self.pieces), 1
  self.pieces, self.length = {}, 0
end

-- Reads the next part. Returns false at the end.
local function fill(self, has_no_line_end)
  local part = self.source:read(CHUNK)
  if part == nil then return false end
  put_aside(self, has_no_line_end)
  self.text = part
  return true
end

local function limit_of(value, default, what)
  if value == nil then return default end
  if math_type(value) ~= "integer" or value < 1 then
    misuse(format("%s: the limit must be a positive integer", what))
  end
  return value
end

local function refuse_longer(self, what, limit)
  raise("too_large", format("%s of %s is longer than the limit of %d bytes", what, self.name, limit))
end

-- reader:line(limit) -> the next line without its line end; nil at the end
function Reader:line(limit)
  limit = limit_of(limit, LONGEST_LINE, "line")
  if #self.pieces > 0 and not self.has_no_line_end then gather(self) end
  while true do
    local stop = find(self.text, "\n", self.place, true)
    if stop then
      local line = sub(self.text, self.place, stop - 1)
      if self.length + #line > limit then refuse_longer(self, "a line", limit) end
      self.place = stop + 1
      if #self.pieces > 0 then
        line = concat(self.pieces) .. line
        self.pieces, self.length = {}, 0
      end
      return line
    end
    if length_of(self) > limit then refuse_longer(self, "a line", limit) end
    if not fill(self, true) then
      gather(self)
      if self.place > #self.text then return nil end
      local line = sub(self.text, self.place)
      self.text, self.place = "", 1
      return line
    end
  end
end

-- reader:lines(limit) -> an iterator of the lines
function Reader:lines(limit)
  limit = limit_of(limit, LONGEST_LINE, "lines")
  return function() return Reader.line(self, limit) end
end

-- reader:read(count) -> `count` bytes, fewer before the end, nil at the end; without a count, the next available bytes
function Reader:read(count)
  if count == nil then
    gather(self)
    if self.place > #self.text and not fill(self) then return nil end
    local text = sub(self.text, self.place)
    self.text, self.place = "", 1
    return text
  end
  if math_type(count) ~= "integer" or count < 0 then misuse "read: count must be a non-negative integer" end
  if count > MOST then misuse(format("read: the number of bytes must be at most %d", MOST)) end
  while length_of(self) < count do
    if not fill(self) then break end
  end
  gather(self)
  if self.place > #self.text and count > 0 then return nil end
  local text = sub(self.text, self.place, self.place + count - 1)
  self.place = self.place + #text
  return text
end

-- reader:read_all(limit) -> all remaining input; the empty string at the end
function Reader:read_all(limit)
  limit = limit_of(limit, MOST, "read_all")
  repeat
    if length_of(self) > limit then refuse_longer(self, "the rest", limit) end
  until not fill(self)
  gather(self)
  local text = sub(self.text, self.place)
  self.text, self.place = "", 1
  return text
end

local names = { "line", "lines", "read", "read_all" }
local Meta = {
  __metatable = false,
  __name = "nightjar.reader",
  __index = function(_, name)
    if Reader[name] then return Reader[name] end
    local near = type(name) == "string" and native.nearest(name, names)
    misuse(format("a reader has no field '%s'%s", tostring(name), near and format("; did you mean '%s'?", near) or ""))
  end,
}

return function(source, name)
  return setmetatable({
    source = source, name = name, text = "", place = 1, pieces = {}, length = 0, has_no_line_end = false,
  }, Meta)
end
