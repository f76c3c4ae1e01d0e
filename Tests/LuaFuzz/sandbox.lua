-- Generates random sandbox programs from the global `seed`, and passes them to the function `give`. Most programs never
-- end by themselves: a limit or an interrupt must end them. The text depends only on the seed.
math.randomseed(seed)
local random = math.random

local PRELUDE = [[
local nightjar = require "nightjar"
local depth, kept = 0, {}
local function loop() while true do end end
local function deeper(f, ...) depth = depth + 1 if depth < 60 then f(...) end depth = depth - 1 end
local function closer(f) return setmetatable({}, { __close = f, __call = f, __tostring = f, __name = "closer" }) end
local function liar(n, value)
  return setmetatable({}, { __len = function() return n end, __newindex = rawequal, __index = function() return value end,
    __lt = function() return true end, __concat = function() return value end })
end
local api = nightjar.client()
]]

-- Templates: %F is a function, %B a block, %N a number, %S a string, %P a pattern, %T a table.
local STATEMENTS = {
  "while true do %B end", "for i = 1, %N do %B end", "repeat %B until false", "pcall(%F)", "xpcall(%F, %F)", "xpcall(error, %F)",
  "while true do pcall(%F) end", "while true do xpcall(%F, %F) end", "do local x <close> = closer(%F) %B end",
  "for _ in next, { 1, 2 }, nil, closer(%F) do %B end", "coroutine.wrap(%F)()", "pcall(coroutine.wrap(%F))",
  "kept[#kept % 9 + 1] = coroutine.create(%F)", "for _, co in ipairs(kept) do coroutine.resume(co) end",
  "for _, co in ipairs(kept) do coroutine.close(co) end", "coroutine.yield()", "pcall(coroutine.yield)",
  "nightjar.spawn(%F)", "nightjar.spawn(%F):cancel()", "pcall(nightjar.all, { %F, %F })", "pcall(nightjar.race, { %F, %F })",
  "pcall(nightjar.timeout, 0.001, %F)", "nightjar.try(%F)", "nightjar.sleep(0)", "pcall(nightjar.sleep, 0.001)", "nightjar.sleep(9)",
  "pcall(nightjar.map, { 1, 2, 3 }, %F)", "error(%S)", "error(closer(%F))", "tostring(closer(%F))", "closer(%F)()",
  "pcall(table.sort, %T, %F)", "pcall(table.sort, %T)", "pcall(table.concat, %T)", "pcall(table.insert, %T, 1, 'x')",
  "pcall(table.remove, %T, 1)", "pcall(table.move, %T, 1, %N, %N)", "pcall(table.unpack, %T, 1, %N)", "next(%T)",
  "pcall(string.rep, %S, %N)", "pcall(string.rep, %S, %N, %S)", "pcall(string.find, %S, %P)", "pcall(string.find, %S, %S, 1, true)",
  "pcall(string.match, %S, %P)", "pcall(string.gsub, %S, %P, %F)", "pcall(string.gsub, %S, %P, '%%0')",
  "pcall(function() for _ in (%S):gmatch(%P) do end end)", "pcall(string.format, '%%s%%q', %S, %S)", "(%S):upper()",
  "pcall(utf8.len, %S)", "pcall(function() for _ in utf8.codes(%S, true) do end end)", "pcall(tonumber, %S, 36)", "load(%F)", "load(%S)",
  "pcall(nightjar.json.encode, %T)", "pcall(nightjar.json.decode, %S)", "pcall(nightjar.base64.encode, %S)",
  "pcall(nightjar.hash.sha256, %S)", "pcall(nightjar.csv.parse, %S)", "pcall(setmetatable, {}, { __gc = %F })",
  "local _ = %S .. %S", "local _ = %S == %S", "local _ = pcall(function() return %T < %T end)", "kept[%N] = %S", "kept = {}",
  "pcall(api.get, api, '/a', { on_redirect = %F, timeout = 0.01 })", "pcall(api.post, api, '/a', { body = %F })",
  "pcall(api.post, api, '/a', { json = %T })", "pcall(api.get, api, '/a', { headers = { [%S] = %S } })", "pcall(api.batch, api, { '/a', '/b' })",
  "pcall(function() for item in api:paginate('/a', { style = 'page', items = '' }) do %B end end)", "deeper(%F)",
}
local FUNCTIONS = {
  "loop", "error", "pcall", "xpcall", "next", "rawlen", "tostring", "coroutine.yield", "coroutine.running", "table.unpack", "string.rep",
  "function(...) %B end", "function(...) %B end", "function(...) %B end", "function(...) return %S end", "coroutine.wrap(%F)", "closer(%F)",
  "function(...) deeper(%F, ...) end",
}
local NUMBERS = { "0", "1", "3", "100", "1e5", "1e7", "1 << 31", "1 << 62", "math.maxinteger", "math.mininteger", "-1", "900000" }
local STRINGS = { "''", "'a'", "('a'):rep(30)", "('a'):rep(1e5)", "('ab'):rep(3e6)", "(' '):rep(1e7)", "'\\xff\\x80'", "('('):rep(1e4)", "'x = 1'",
  "'[[[[1]]]]'", "('\\x80'):rep(1e6)" }
local PATTERNS = { "'a'", "('a?'):rep(30) .. ('a'):rep(30)", "('a*'):rep(20) .. 'b'", "'.-.-.-.-b'", "'%%b()'", "'(a*)(.-)%%1%%2b'", "'%%f[%%w]%%w+'",
  "'[' .. ('a-z'):rep(1000) .. ']*b'", "('(.-)'):rep(30) .. 'b'", "'^(.*)*$'" }
local TABLES = { "{}", "{ 3, 1, 2 }", "kept", "liar(1 << 62, 1)", "liar(1e6, 'x')", "liar(-1)", "liar('x')", "_G", "string",
  "(function() local t = {} for i = 1, 1e5 do t[i] = i end return t end)()",
  "(function() local t = {} for i = 1, 40 do t = { t, t } end return t end)()" }

local left = random(5, 60)
local block

local function expand(template, depth)
  return (template:gsub("%%([FBNSPT%%])", function(kind)
    if kind == "%" then return "%" end
    if kind == "N" then return NUMBERS[random(#NUMBERS)] end
    if kind == "S" then return STRINGS[random(#STRINGS)] end
    if kind == "P" then return expand(PATTERNS[random(#PATTERNS)], depth) end
    if kind == "T" then return TABLES[random(#TABLES)] end
    if kind == "B" then return block(depth + 1) end
    if depth > 6 or left <= 0 then return FUNCTIONS[random(6)] end
    return expand(FUNCTIONS[random(#FUNCTIONS)], depth + 1)
  end))
end

function block(depth)
  local lines = {}
  for _ = 1, random(1, 3) do
    left = left - 1
    if left > 0 and depth < 8 then lines[#lines + 1] = "do " .. expand(STATEMENTS[random(#STATEMENTS)], depth) .. " end" end
  end
  return table.concat(lines, "\n")
end

local lines = {}
while left > 0 do lines[#lines + 1] = block(0) end
give(PRELUDE .. table.concat(lines, "\n") .. "\nloop()\n")
