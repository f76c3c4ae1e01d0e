-- Compares a program's output with the expected output in a document. "..." in an expected line matches any text; "..."
-- as a line matches any lines.
local output = {}

local function line_pattern(line)
  local pieces, from = {}, 1
  while true do
    local first, last = line:find("...", from, true)
    pieces[#pieces + 1] = line:sub(from, (first or 0) - 1):gsub("%W", "%%%0")
    if not first then break end
    pieces[#pieces + 1] = ".*"
    from = last + 1
  end
  return "^" .. table.concat(pieces) .. "$"
end

-- Returns the lines of a text without trailing white space, and without empty lines at the end.
function output.lines(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = (line:gsub("%s+$", "")) end
  while lines[#lines] == "" do lines[#lines] = nil end
  return lines
end

-- Returns nil if the output matches. Otherwise returns the index of the first expected line without a match, and the
-- actual line.
function output.difference(actual, expected)
  local furthest, instead = 1, actual[1]
  local function matches(i, j)
    if j > furthest then furthest, instead = j, actual[i] end
    if j > #expected then return i > #actual end
    if expected[j] == "..." then
      for next = i, #actual + 1 do
        if matches(next, j + 1) then return true end
      end
      return false
    end
    return i <= #actual and actual[i]:find(line_pattern(expected[j])) ~= nil and matches(i + 1, j + 1)
  end
  if matches(1, 1) then return nil end
  return furthest, instead
end

return output
