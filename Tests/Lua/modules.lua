-- The standard modules: how they are found.
local nightjar = require "nightjar"
local check = require "check"
local equal = check.equal

-- Asked for by name or by require it is the same table, loaded once.
local csv = nightjar.csv
equal(type(csv.parse), "function")
equal(require "nightjar.csv", csv)
equal(rawget(nightjar, "csv"), csv)
nightjar.csv = nil
equal(nightjar.csv, csv)
equal(require "nightjar.base64", nightjar.base64)
equal(require "nightjar.json", nightjar.json)

-- What is no module is nil, as in any table.
equal(nightjar.cvs, nil)
equal(nightjar[1], nil)
equal(nightjar["csv\0"], nil)
equal(getmetatable(nightjar), false)
check.fails("string", "module 'nightjar.cvs' not found:", function()
  local ok, why = pcall(require, "nightjar.cvs")
  error(why:match "^[^\n]*", 0)
end)

-- Misuse is told with the script's place, not the module's.
local ok, why = pcall(function() nightjar.csv.parse(1) end)
assert(not ok and why:find "^[^:]*modules.lua:27: csv.parse: a string expected, got number", why)
