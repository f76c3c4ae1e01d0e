-- Access to the standard modules.
local nightjar = require "nightjar"
local check = require "check"
local equal = check.equal

-- A module is loaded once. Access by name and with require returns the same table.
local csv = nightjar.csv
equal(type(csv.parse), "function")
equal(require "nightjar.csv", csv)
equal(rawget(nightjar, "csv"), csv)
nightjar.csv = nil
equal(nightjar.csv, csv)
equal(require "nightjar.base64", nightjar.base64)
equal(require "nightjar.json", nightjar.json)

-- An unknown module is nil, as in any table.
equal(nightjar.cvs, nil)
equal(nightjar[1], nil)
equal(nightjar["csv\0"], nil)
equal(getmetatable(nightjar), false)
check.fails("string", "module 'nightjar.cvs' not found:", function()
  local ok, why = pcall(require, "nightjar.cvs")
  error(why:match "^[^\n]*", 0)
end)

-- Errors of invalid use have the location in the script, not in the module.
local ok, why = pcall(function() nightjar.csv.parse(1) end)
assert(not ok and why:find "^[^:]*modules.lua:27: csv.parse: a string expected, got number", why)
