local env = require "nightjar.env"
print(env.get("NO_SUCH_VARIABLE", "nothing"), env.number("NO_SUCH_VARIABLE", 1.5), env.integer("NO_SUCH_VARIABLE", 3))
print(env.boolean("NO_SUCH_VARIABLE", true), #env.list("PATH", {}, ":") > 0)
print(select(2, pcall(env.require, "NO_SUCH_VARIABLE", "integer")).kind)
-- Prints:
--   nothing	1.5	3
--   true	true
--   invalid_argument
