-- nightjar.env
local nightjar = require "nightjar"
local check = require "check"
local env, equal = nightjar.env, check.equal

-- What every process has, read as a text.
assert(#env.get "PATH" > 0)
equal(env.get "ZZZ_XXX_QQQ", nil)
equal(env.get("ZZZ_XXX_QQQ", "x"), "x")
equal(env.require "PATH", env.get "PATH")
assert(#env.list("PATH", nil, ":") > 0)
equal(env.number "ZZZ_XXX_QQQ", nil)
equal(env.number("ZZZ_XXX_QQQ", 8080), 8080)
equal(env.boolean("ZZZ_XXX_QQQ", false), false)

-- What is missing, or not what it should be.
check.fails("invalid_argument", "the environment variable ZZZ_XXX_QQQ is not set", env.require, "ZZZ_XXX_QQQ")
check.fails("invalid_argument", "the environment variable PATHS is not set; did you mean PATH, which is set?", env.require, "PATHS")
local err = check.fails("invalid_argument", "the environment variable PATH must be an integer, got \"" .. (#env.get "PATH" > 60 and env.get("PATH"):sub(1, 57) .. "..." or env.get "PATH") .. '"',
  env.integer, "PATH")
equal(err.kind, "invalid_argument")

check.misuse("env.get: a name expected, got no value", function() env.get() end)
check.misuse('env.get: "a=b" is not a valid name of an environment variable', function() env.get "a=b" end)
check.misuse('env.require: unknown kind "int"; did you mean "integer"?', function() env.require("PATH", "int") end)
check.misuse("env.list: the separator must be one byte", function() env.list("PATH", nil, "::") end)
