-- help(x), and the completeness of the reference: nightjar Tests/Command/Lua/help.lua
local nightjar = require "nightjar"
local help = require "nightjar.command.help"
local reference = require "nightjar.command.reference"
local check = require "check"
local equal = check.equal

local function about(value) return help.about(value, { width = 80 }) end

assert(about(nightjar.sleep):find "^nightjar.sleep%(seconds: number%)\n  Suspends ", about(nightjar.sleep))
assert(about(nightjar.map):find "concurrency: integer\n      The number of items that are processed at a time%.\n      Default: 6", about(nightjar.map))
assert(about "api:get":find "^api:get%(path: string, options%?: nightjar.call_options%)", about "api:get")
assert(about "retry_options":find "^Retries, and the waits before them%.")
assert(about(nil):find "Ctrl%-R")
equal(about "nosuch", 'no help for "nosuch"; help() shows an overview')
equal(about(print):match "^a C function", "a C function")
assert(about(function(a, b, ...) return a, b, ... end):find "^function%(a, b, %.%.%.%), from ")

-- A method of an unused client.
do
  local other <close> = nightjar.client {}
  assert(about(other.get):find "^api:get%(", about(other.get))
end

local api = nightjar.client { base_url = "http://127.0.0.1:1", cookies = true, cache = true,
  endpoints = { article = { path = "/articles/{id}", parameters = { id = "integer" } } } }
assert(about(api):find "api:paginate%(")
assert(about(api.get):find "^api:get%(", about(api.get))
equal(about(api.endpoints.article), tostring(api.endpoints.article))
equal(help.name_of(nightjar.sleep), "nightjar.sleep")

-- Each member of the reference has a unique name, a type and a text.
for _, class in ipairs(reference) do
  local seen = {}
  assert(class.name and class.text and class.kind, class.name)
  for _, member in ipairs(class.members) do
    assert(#member == 3 and #member[3] > 0 and not seen[member[1]], class.name .. "." .. tostring(member[1]))
    seen[member[1]] = true
  end
end

-- The reference contains exactly the members of nightjar.
local function has(class, name) return help.member(help.class(class), name) ~= nil end
for name, value in pairs(nightjar) do
  if type(value) == "function" then assert(has("nightjar", name), "the reference lacks nightjar." .. name) end
end
for _, member in ipairs(help.class("nightjar").members) do
  assert(nightjar[member[1]] ~= nil, "there is no nightjar." .. member[1])
end
for _, class in ipairs(reference) do
  local module = class.kind == "module" and class.name:match "^nightjar%.(.+)"
  for name, value in pairs(module and nightjar[module] or {}) do
    if type(value) == "function" then assert(has(class.name, name), "the reference lacks " .. class.name .. "." .. name) end
  end
  for _, member in ipairs(module and class.members or {}) do
    assert(nightjar[module][member[1]], "there is no " .. class.name .. "." .. member[1])
  end
end
for _, object in ipairs { { "nightjar.client", api }, { "nightjar.cookies", api.cookies }, { "nightjar.cache", api.cache } } do
  for _, member in ipairs(help.class(object[1]).members) do
    local ok, value = pcall(function() return object[2][member[1]] end)
    assert(ok and (value ~= nil or member[2]:find "?$"), "there is no " .. object[1] .. "." .. member[1])
  end
end
-- Each option of the reference is accepted as a known option.
for _, member in ipairs(help.class("nightjar.client_options").members) do
  local ok, message = pcall(nightjar.client, { [member[1]] = true })
  assert(ok or not tostring(message.message or message):find "unknown option", member[1] .. ": " .. tostring(message))
end
for _, class in ipairs { "call_options", "page_options" } do
  for _, member in ipairs(help.class("nightjar." .. class).members) do
    local call = class == "page_options" and api.paginate or api.request
    local options = { [member[1]] = true }
    local arguments = class == "page_options" and { api, "/", options } or { api, options }
    local ok, message = pcall(call, table.unpack(arguments))
    assert(ok or not tostring(message.message or message):find "unknown option", member[1] .. ": " .. tostring(message))
  end
end
