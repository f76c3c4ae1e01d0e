-- Runs the subcommands of nightjar except demo and transferd. Returns a function that takes the name and the words of a
-- subcommand and returns the exit status.
local commands = require "nightjar.command.commands"

return function(name, ...)
  for _, verb in ipairs(commands.verbs) do
    if verb == name then return require("nightjar.command.call").run(name, { ... }) end
  end
  if name == "login" or name == "logout" or name == "profiles" then
    return require("nightjar.command.accounts")[name] { ... }
  end
  return require("nightjar.command." .. name).run { ... }
end
