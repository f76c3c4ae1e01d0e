-- Values in the messages of nightjar.testing: how they are displayed, and how two values differ.
local native = ...
local null = native.null
local type, tostring, pairs, ipairs, rawequal = type, tostring, pairs, ipairs, rawequal
local find, format, gsub, sub = string.find, string.format, string.gsub, string.sub
local concat, sort = table.concat, table.sort

-- The maximum number of differences shown for a failure, and the maximum length in bytes of a value in the message.
local MOST_DIFFERENCES, LONGEST_VALUE = 10, 200
-- The maximum depth to which tables are compared.
local DEEPEST = 200

local function show(value)
  local text
  if type(value) == "string" then
    text = gsub(format("%q", value), "\\\n", "\\n")
  elseif type(value) == "table" then
    local parts, count = {}, 0
    for _ in pairs(value) do count = count + 1 end
    if count == 0 then return "{}" end
    if count == #value then return format("a list of %d", count) end
    for key in pairs(value) do parts[#parts + 1] = tostring(key) end
    sort(parts)
    text = "a table with " .. concat(parts, ", ")
  elseif rawequal(value, null) then
    return "null"
  else
    text = tostring(value)
  end
  return #text > LONGEST_VALUE and sub(text, 1, LONGEST_VALUE) .. "..." or text
end

local function place(path, key)
  if type(key) == "string" and find(key, "^[%a_][%w_]*$") then return path .. "." .. key end
  return path .. "[" .. show(key) .. "]"
end

-- Adds the differences between two values to the list. `seen` contains the pairs of tables that are being compared at
-- outer levels.
local function compare(got, expected, path, differences, seen, depth)
  if rawequal(got, expected) or got == expected or got ~= got and expected ~= expected then return end
  if #differences > MOST_DIFFERENCES then return end
  if type(got) ~= "table" or type(expected) ~= "table" then
    differences[#differences + 1] = { path, show(got), show(expected) }
    return
  end
  if depth > DEEPEST or seen[got] == expected then return end
  seen[got] = expected
  local keys = {}
  for key in pairs(expected) do keys[#keys + 1] = key end
  for key in pairs(got) do
    if expected[key] == nil then keys[#keys + 1] = key end
  end
  sort(keys, function(a, b)
    if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
    return tostring(a) < tostring(b)
  end)
  for _, key in ipairs(keys) do
    local here = place(path, key)
    if got[key] == nil then
      differences[#differences + 1] = { here, "nothing", show(expected[key]) }
    elseif expected[key] == nil then
      differences[#differences + 1] = { here, show(got[key]), "nothing" }
    else
      compare(got[key], expected[key], here, differences, seen, depth + 1)
    end
    if #differences > MOST_DIFFERENCES then break end
  end
  seen[got] = nil
end

-- Returns the differences, one to a line; nil if there are none.
local function differences_of(got, expected)
  local differences = {}
  compare(got, expected, "", differences, {}, 0)
  if #differences == 0 then return nil end
  local lines = {}
  for index, difference in ipairs(differences) do
    if index > MOST_DIFFERENCES then
      lines[index] = "and more"
      break
    end
    local path, was, wanted = difference[1], difference[2], difference[3]
    lines[index] = format("%sgot %s, expected %s", path == "" and "" or "at " .. path .. ": ", was, wanted)
  end
  return concat(lines, "\n")
end

return { show = show, differences = differences_of }
