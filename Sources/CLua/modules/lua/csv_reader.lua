-- Splits CSV text into rows, for nightjar.csv. The C function `row` reads complete and valid rows. This code reads all
-- other rows, such as invalid rows and rows that are divided between two pieces of the text.
local native = ...
local misuse, fail, read_row = native.misuse, native.fail, native.row
local byte, find, format, gsub, sub = string.byte, string.find, string.format, string.gsub, string.sub
local concat = table.concat

-- The default maximum length of a row in bytes. Without a limit, an unclosed quote would consume the rest of the input.
local LONGEST_ROW = 1024 * 1024

local function character(name, options, default)
  local separator = options.separator or ","
  local value = options[name] or default
  if #value ~= 1 or find(value, "[\r\n]") then
    misuse(format("%s must be a single byte other than a line end", name))
  end
  if name == "quote" and value == separator then misuse "separator and quote must not be the same" end
  return value
end

local function escaped(text) return (gsub(text, "%W", "%%%0")) end

-- Returns a function that returns the next row as a list of strings and the line number of its start; nil at the end.
local function row_reader(next_piece, options)
  local separator, quote = character("separator", options, ","), character("quote", options, '"')
  local separator_byte, quote_byte = byte(separator), byte(quote)
  local ends_plain = "[\r\n" .. escaped(separator) .. escaped(quote) .. "]"
  local most, lenient = options.max_row or LONGEST_ROW, options.lenient
  local text, at, line = "", 1, 1
  local is_first, skips_newline = true, false
  local expected = 0 -- number of fields of the last row read by the C function

  -- Reads further pieces until there is a byte at the position. Returns false at the end.
  local function fill()
    while at > #text do
      local piece = next_piece()
      if not piece then return false end
      text, at = piece, 1
      if is_first and #text > 0 then
        while #text < 3 and sub("\xEF\xBB\xBF", 1, #text) == text do -- the byte order mark may be split
          local more = next_piece()
          if not more then break end
          text = text .. more
        end
        if sub(text, 1, 3) == "\xEF\xBB\xBF" then at = 4 end
        is_first = false
      end
    end
    return true
  end

  local function refuse(where, what, hint)
    fail("decoding", format("CSV parsing failed: %s at line %d%s", what, where, hint or ""))
  end

  -- Reads the next row with the C function. Returns nil if the row is incomplete or invalid.
  local function take_whole()
    if not fill() then return nil end
    if skips_newline then -- the \n of a \r\n
      skips_newline = false
      if byte(text, at) == 10 then
        at = at + 1
        if not fill() then return nil end
      end
    end
    local whole, behind, lines, ends_in_cr = read_row(text, at, separator, quote, most, expected)
    if not whole then return nil end
    local began = line
    at, line, skips_newline, expected = behind, line + lines, ends_in_cr, #whole
    return whole, began
  end

  return function()
    local whole, whole_began = take_whole()
    if whole then return whole, whole_began end
    local fields, count, size = {}, 0, 0
    local began, field_began = line, line
    local parts, part_count = {}, 0
    local state = "start"

    local function take(last)
      if last >= at then
        part_count = part_count + 1
        parts[part_count] = sub(text, at, last)
        size = size + last - at + 1
        if size > most then
          fail("decoding", format("CSV parsing failed: the row at line %d is longer than %d bytes%s", began, most,
            state == "quoted" and format("; perhaps the quote at line %d is not closed", field_began) or ""))
        end
      end
    end

    local function end_field()
      count = count + 1
      fields[count] = part_count == 1 and parts[1] or concat(parts, "", 1, part_count)
      part_count = 0
    end

    while true do
      if not fill() then
        if state == "quoted" then refuse(field_began, "an opening quote is not closed") end
        if state == "start" and count == 0 then return nil end
        end_field()
        return fields, began
      end
      if state == "start" then
        field_began = line
        if byte(text, at) == quote_byte then
          state, at = "quoted", at + 1
          goto continue
        end
        state = "plain"
      end

      if state == "quoted" then
        local stop = find(text, quote, at, true)
        local last = stop and stop - 1 or #text
        take(last)
        local newline = find(text, "\n", at, true)
        while newline and newline <= last do
          line = line + 1
          newline = find(text, "\n", newline + 1, true)
        end
        at = last + 1
        if stop then state, at = "behind", stop + 1 end
      elseif state == "behind" and byte(text, at) == quote_byte then -- a doubled quote is part of the field
        take(at)
        state, at = "quoted", at + 1
      else
        local stop = find(text, ends_plain, at)
        if state == "behind" and stop ~= at then
          if not lenient then refuse(line, format("%q follows a closing quote", sub(text, at, at))) end
          state = "plain"
        end
        take(stop and stop - 1 or #text)
        if not stop then
          at = #text + 1
        else
          local b = byte(text, stop)
          at = stop + 1
          if b == separator_byte then
            end_field()
            state = "start"
          elseif b == quote_byte then
            if not lenient then
              refuse(line, "unexpected quote in an unquoted field", "; set lenient = true to accept it")
            end
            at = stop
            take(stop)
            at = stop + 1
          else
            line = line + 1
            skips_newline = b == 13
            if state == "plain" and count == 0 and part_count == 0 then -- an empty line
              whole, whole_began = take_whole()
              if whole then return whole, whole_began end
              began, state = line, "start"
            else
              end_field()
              return fields, began
            end
          end
        end
      end
      ::continue::
    end
  end
end

return { rows = row_reader, character = character, escaped = escaped }
