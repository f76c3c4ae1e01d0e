-- nightjar.env: environment variables. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local env = nightjar.env

testing.test("returns variables as text, and defaults for variables that are not set", function(t)
  t:truthy(#env.get "PATH" > 0)
  t:equal(env.get "ZZZ_XXX_QQQ", nil)
  t:equal(env.get("ZZZ_XXX_QQQ", "x"), "x")
  t:equal(env.require "PATH", env.get "PATH")
  t:truthy(#env.list("PATH", nil, ":") > 0)
  t:equal(env.number "ZZZ_XXX_QQQ", nil)
  t:equal(env.number("ZZZ_XXX_QQQ", 8080), 8080)
  t:equal(env.boolean("ZZZ_XXX_QQQ", false), false)
end)

testing.test("missing and invalid variables are reported with their name", function(t)
  check.fails("invalid_argument", "the environment variable ZZZ_XXX_QQQ is not set", env.require, "ZZZ_XXX_QQQ")
  check.fails("invalid_argument", "the environment variable PATHS is not set; did you mean PATH, which is set?",
    env.require, "PATHS")
  local shown = #env.get "PATH" > 60 and env.get("PATH"):sub(1, 57) .. "..." or env.get "PATH"
  local err = check.fails("invalid_argument",
    ("the environment variable PATH must be an integer, got \"%s\""):format(shown), env.integer, "PATH")
  t:equal(err.kind, "invalid_argument")
end)

testing.test("invalid arguments are reported", function()
  check.misuse("env.get: a name expected, got no value", function() env.get() end)
  check.misuse('env.get: "a=b" is not a valid name of an environment variable', function() env.get "a=b" end)
  check.misuse('env.require: unknown kind "int"; did you mean "integer"?', function() env.require("PATH", "int") end)
  check.misuse("env.list: the separator must be one byte", function() env.list("PATH", nil, "::") end)
end)

assert(testing.run().ok, "a case failed")
