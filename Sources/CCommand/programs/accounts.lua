-- nightjar profiles, login and logout.
local nightjar = require "nightjar"
local commands = require "nightjar.command.commands"
local output = require "nightjar.command.output"
local profiles = require "nightjar.command.profiles"
local show = require "nightjar.command.show"
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"

local accounts = {}

local function complain(err)
  local shown = terminal.is_terminal(2) and show.kind(err) == "nightjar.error" and show.error(err, text.painter(text.has_colors(2)), true)
  io.stderr:write("nightjar: ", shown or tostring(err), "\n")
  return 1
end

-- Returns the result of f. If f raises an error, reports the error and returns 1.
local function attempt(f)
  local ok, status = pcall(f)
  return ok and status or complain(status)
end

function accounts.profiles(words)
  local options = nightjar.args.parse(commands.profiles, words)
  output.show_all()
  return attempt(function()
    local config = profiles.read()
    local list = {}
    for _, name in ipairs(profiles.names(config)) do
      local profile = config.profiles[name]
      local auth = type(profile.auth) == "table" and type(profile.auth.type) == "string" and profile.auth.type
      list[#list + 1] = ('{"name":%s,"default":%s,"base_url":%s,"auth":%s}'):format(nightjar.json.encode(name),
        tostring(config.default_profile == name),
        type(profile.base_url) == "string" and nightjar.json.encode(profile.base_url) or "null",
        auth and nightjar.json.encode(auth) or "null")
    end
    if options.names then
      for _, name in ipairs(profiles.names(config)) do io.stdout:write(name, "\n") end
    elseif #list > 0 or options.output then
      output.json("[" .. table.concat(list, ",") .. "]", options.output or "table")
    else
      io.stderr:write(("nightjar: no profiles are configured; add them to %s\n"):format(profiles.path()))
    end
    return 0
  end)
end

-- Returns a client of the profile, the profile's name, and the options of log_out.
local function client_of(words, specification)
  local options = nightjar.args.parse(specification, words)
  local settings, name = profiles.options(options.profile)
  if not settings then error("no profile selected; use --profile NAME, or set default_profile in " .. profiles.path(), 0) end
  local auth = settings.auth
  if type(auth) ~= "table" or auth.type ~= "oauth2" and auth.type ~= "login" then
    error(("profile \"%s\" has no login; its auth must have type oauth2 or login"):format(name), 0)
  end
  return nightjar.client(settings), name, { clear_cookies = options.clear_cookies }
end

-- Returns a subcommand that calls the method `change` of the profile's client and reports success as `done`.
local function changing(specification, change, done)
  return function(words)
    return attempt(function()
      local api <close>, name, logout = client_of(words, specification)
      api[change](api, change == "log_out" and logout or nil)
      io.stderr:write(("%s: profile \"%s\"\n"):format(done, name))
      return 0
    end)
  end
end

accounts.login = changing(commands.login, "log_in", "logged in")
accounts.logout = changing(commands.logout, "log_out", "logged out")

return accounts
