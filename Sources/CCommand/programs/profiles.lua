-- Reads the profiles, which are named sets of client options, from the config file $XDG_CONFIG_HOME/nightjar/config.
-- The file is JSON and not Lua, because JSON runs no code and other programs can read and write it.
--
--   { "default_profile": "work",
--     "profiles": { "work": { "base_url": "https://api.example.com/v1", "headers": { "X-Team": "blue" },
--       "auth": { "type": "bearer", "token": { "env": "WORK_TOKEN" } }, "timeout": 20 } } }
--
-- { "env": "NAME" } is replaced by the environment variable. Literal secrets are rejected, because config files are
-- often shared and backed up.
local nightjar = require "nightjar"
local hints = require "nightjar.command.hints"
local terminal = require "nightjar.command.terminal"

local profiles = {}

-- The maximum size of the config file in bytes.
local most_bytes = 1024 * 1024

local Problem = { __tostring = function(problem) return problem.message end }

local function fail(message, ...) error(setmetatable({ message = message:format(...) }, Problem), 0) end

function profiles.is_problem(err) return getmetatable(err) == Problem end

local function folder(variable, default)
  local path = os.getenv(variable)
  if path and path:sub(1, 1) == "/" then return path end -- the XDG specification requires relative paths to be ignored
  return (os.getenv "HOME" or "") .. default
end

function profiles.path() return folder("XDG_CONFIG_HOME", "/.config") .. "/nightjar/config" end

-- --- Reading ---

local function is_object(value) return type(value) == "table" and value ~= nightjar.null and #value == 0 end

local function check_names(where, object, known)
  for name in pairs(object) do
    local is_known = false
    for _, each in ipairs(known) do is_known = is_known or each == name end
    if not is_known then
      local near = hints.nearest(name, known)
      fail("%s: unknown field \"%s\"%s", where, name, near and ("; did you mean \"%s\"?"):format(near) or "")
    end
  end
end

-- Returns the sorted names of the profiles.
function profiles.names(config)
  local names = {}
  for name in pairs(config.profiles) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- Returns the content of the file: { profiles, default_profile }. Without a file, `profiles` is empty. Raises an error if
-- the file is invalid.
function profiles.read()
  local path = profiles.path()
  local file, message, code = io.open(path, "rb")
  if not file then
    if code == 2 or code == 20 then return { profiles = {} } end -- ENOENT, ENOTDIR
    fail("%s", message)
  end
  local content = file:read(most_bytes + 1) or ""
  file:close()
  if #content > most_bytes then fail("%s: the config file is larger than %d bytes", path, most_bytes) end
  local config, err = nightjar.try(nightjar.json.decode, content)
  if config == nil and err then fail("%s: %s", path, tostring(err):match "^[^\n]*") end
  if not is_object(config) then fail("%s: must be an object with profiles", path) end
  check_names(path, config, { "profiles", "default_profile" })
  config.profiles = config.profiles or {}
  if not is_object(config.profiles) then fail("%s: profiles must be an object of profiles by name", path) end
  for name, profile in pairs(config.profiles) do
    if not is_object(profile) then fail("%s: profile \"%s\" must be an object", path, name) end
  end
  local default = config.default_profile
  if default ~= nil and not (type(default) == "string" and config.profiles[default]) then
    fail("%s: default_profile must be the name of a profile", path)
  end
  return config
end

-- --- Secrets ---

local secret_words = {
  "password", "passwd", "pwd", "passphrase", "secret", "token", "credential", "api_key", "apikey", "authorization", "cookie",
  "private_key", "session", "key_pem", "pkcs12_base64",
}
-- The members of auth whose values are not secrets.
local public = {}
for name in ([[token_url device_url authorize_url type grant scope issuer store url method header query prefix access_token_pointer refresh_token_pointer
  lifetime lifetime_unit expiry token_type refresh client_auth client_id user skew refresh_timeout refresh_limit expires_in key_file
  key_env]]):gmatch "[%w_]+" do public[name] = true end

local function is_secret(name, place)
  local lower = name:lower():gsub("-", "_")
  if public[lower] then return false end
  if place == "auth" and lower == "key" then return true end
  for _, word in ipairs(secret_words) do
    if lower:find(word, 1, true) then return true end
  end
  return false
end

-- Returns whether values with this name are secrets.
function profiles.is_secret(name) return is_secret(name, nil) end

-- Replaces references by the values of environment variables. Raises an error for a literal secret.
-- @param place "auth", "headers" or nil
-- @param is_guarded whether the name of an enclosing value denotes a secret
local function resolve(name, where, value, place, is_guarded)
  if type(value) == "string" then
    -- The text of a client certificate may contain its key.
    if value:find "PRIVATE KEY%-%-%-%-%-" or is_guarded and not (place == "headers" and value == "") then
      fail("profile \"%s\": %s is a secret and must not be in the config file: use { \"env\": \"NAME\" } and set NAME, "
        .. "or log in with a token store (\"store\": \"keyring:nightjar\") and nightjar login --profile %s", name, where, name)
    end
    if value:find "://[^/@%s]*:[^/@%s]*@" then
      fail("profile \"%s\": %s has a password in its URL, which must not be in the config file: use auth = { \"type\": \"basic\", "
        .. "\"user\": ..., \"password\": { \"env\": \"NAME\" } }", name, where)
    end
    return value
  end
  if type(value) ~= "table" or value == nightjar.null then return value end
  if type(value.env) == "string" and next(value, (next(value))) == nil then
    local found = os.getenv(value.env)
    if not found or found == "" then
      local message = ("profile \"%s\": %s is read from the environment variable %s, which is not set; set it, or change %s"):format(
        name, where, value.env, profiles.path())
      error(setmetatable({ message = message, is_variable = true }, Problem), 0)
    end
    return found
  end
  local resolved = {}
  for key, each in pairs(value) do
    local is_name = type(key) == "string"
    local inner = is_name and where .. "." .. key or ("%s[%d]"):format(where, key)
    resolved[key] = resolve(name, inner, each, place or is_name and (key == "auth" or key == "headers") and key or nil,
      is_guarded or is_name and is_secret(key, place))
  end
  return #value > 0 and nightjar.array(resolved) or resolved
end

-- --- A profile ---

-- Returns the default store for the login of a profile.
function profiles.default_store(name)
  return "file:" .. folder("XDG_STATE_HOME", "/.local/state") .. "/nightjar/login-" .. name:gsub("[^%w._-]", "_")
end

local function option_names()
  for _, class in ipairs(require "nightjar.command.reference") do
    if class.name == "nightjar.client_options" then
      local names = {}
      for _, member in ipairs(class.members) do names[#names + 1] = member[1] end
      return names
    end
  end
end

-- Returns the client options and the name of a profile. Returns nil if `name` is nil and there is no default profile.
-- @param name nil: the default profile
function profiles.options(name)
  local config = profiles.read()
  name = name or config.default_profile
  if not name then return nil end
  local profile = config.profiles[name]
  if not profile then
    local names = profiles.names(config)
    if #names == 0 then fail("unknown profile \"%s\": %s has no profiles", name, profiles.path()) end
    local near = hints.nearest(name, names)
    fail("unknown profile \"%s\"%s", name, near and ("; did you mean \"%s\"?"):format(near)
      or "; profiles: " .. table.concat(names, ", "))
  end
  check_names(("profile \"%s\""):format(name), profile, option_names())
  local options = {}
  for key, value in pairs(profile) do
    -- The option cookies contains the path of a file, not cookies.
    local is_secret_name = key ~= "cookies" and is_secret(key, nil)
    local ok, resolved = pcall(resolve, name, key, value, (key == "auth" or key == "headers") and key or nil, is_secret_name)
    if not ok then
      if profiles.is_problem(resolved) then resolved.base_url = type(profile.base_url) == "string" and profile.base_url or nil end
      error(resolved, 0)
    end
    options[key] = resolved
  end
  local auth = options.auth
  if type(auth) == "table" and (auth.type == "oauth2" or auth.type == "login") and auth.store == nil then
    auth.store = profiles.default_store(name)
    terminal.make_folders(auth.store:sub(6))
  end
  return options, name
end

return profiles
