-- Access to the standard modules. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, fails = testing.test, check.fails
local same = check.equal -- identity; t:equal compares tables by content

test("a module is loaded once: access by name and with require returns the same table", function(t)
  local csv = nightjar.csv
  t:equal(type(csv.parse), "function")
  same(require "nightjar.csv", csv)
  same(rawget(nightjar, "csv"), csv)
  nightjar.csv = nil
  same(nightjar.csv, csv)
  same(require "nightjar.base64", nightjar.base64)
  same(require "nightjar.json", nightjar.json)
end)

test("an unknown module is nil, as in any table, and cannot be required", function(t)
  t:equal(nightjar.cvs, nil)
  t:equal(nightjar[1], nil)
  t:equal(nightjar["csv\0"], nil)
  fails("string", "module 'nightjar.cvs' not found:", function()
    local _, why = pcall(require, "nightjar.cvs")
    error(why:match "^[^\n]*", 0)
  end)
end)

test("the metatable of nightjar cannot be accessed", function(t) t:equal(getmetatable(nightjar), false) end)

test("errors of invalid use have the location in the script, not in the module", function(t)
  local line = debug.getinfo(1, "l").currentline + 1
  local ok, why = pcall(function() nightjar.csv.parse(1) end)
  t:equal(ok, false)
  t:matches(why, ("^[^:]*modules.lua:%d: csv.parse: a string expected, got number"):format(line))
end)

assert(testing.run().ok, "a case failed")
