-- nightjar tls: shows the TLS connection to a server, its certificates and their pins, and the reason why a client would
-- refuse the connection.
local nightjar = require "nightjar"
local call_response = require "nightjar.command.call_response"
local commands = require "nightjar.command.commands"
local items = require "nightjar.command.items"
local network_options = require "nightjar.command.network_options"
local profiles = require "nightjar.command.profiles"
local text = require "nightjar.command.text"

local tls = {}

local weak_algorithms = { "cbc", "rsa_key_exchange", "sha1", "rsa_1024" }

-- Pins that no key has. A client with these pins reports the pins of each verified chain.
local no_pins = { "sha256/" .. ("A"):rep(43) .. "=", "sha256/" .. ("A"):rep(42) .. "E=" }

-- The options of a profile that determine the connection.
local used = {
  "tls", "proxy", "unix_socket", "timeout", "resolve", "ip_family", "local_address", "interface", "address_filter",
}

local function url_of(word)
  if word:find "^%a[%w+.-]*://" then
    if not word:lower():find "^https://" then items.refuse("%s: an https URL is required", word) end
    return word
  end
  local port, rest = word:match "^:(%d*)(.*)$"
  if port then return "https://localhost" .. (port ~= "" and ":" .. port or "") .. rest end
  return "https://" .. word
end

-- Returns the host of an https URL as a host pattern.
local function host_of(url)
  local authority = url:match "^%a+://([^/?#]*)":gsub("^.*@", "")
  return authority:match "^%[(.-)%]" or authority:gsub(":%d*$", "")
end

local function copy(options)
  local copied = {}
  for name, value in pairs(options or {}) do copied[name] = value end
  return copied
end

-- The seconds that the server may take to respond. The handshake is complete then, so a response is not required.
local response_timeout = 1

-- Sends a GET request with only these options, without retries and redirects, and reads no body. Returns the TLS
-- connection, if the handshake was completed, and the error, if any. The server need not support HTTP.
local function connect(url, options, tls_options, mode)
  local client_options = copy(options)
  client_options.tls, client_options.retry, client_options.redirect = tls_options, false, false
  local api <close> = nightjar.client(client_options)
  if mode then api:set_pinning(mode) end
  local res, err = nightjar.try(api.get, api, url, { stream = true, timeout = { idle = response_timeout } })
  if type(err) ~= "userdata" then return res and res.tls, err end
  return err.tls, err
end

-- Returns whether the error is the reason why the client refuses the connection.
local function is_refusal(err) return type(err) == "userdata" and (err.kind == "tls" or err.kind == "pin_mismatch") end

-- Connects a client with the options of the user. Returns the TLS connection; the pins of the verified chain, unless the
-- options contain pins or turn off verification; the error of a refused connection; and any other error.
local function inspect(url, options)
  local strict = copy(options.tls)
  local verified
  if strict.pins == nil and strict.verify ~= false then
    strict.pins = { [host_of(url)] = no_pins }
    strict.on_pin_mismatch = function(report) verified = report.served end
    local connection, err = connect(url, options, strict, "report")
    if not is_refusal(err) then return connection, verified, nil, err end
    return nil, nil, err
  end
  local connection, err = connect(url, options, strict)
  if not is_refusal(err) then return connection, nil, nil, err end
  return nil, nil, err
end

-- Returns the connection of a client that accepts every certificate and all weak algorithms.
local function connect_anyway(url, options)
  local loose = copy(options.tls)
  loose.pins, loose.verify, loose.allow_weak = nil, false, weak_algorithms
  return connect(url, options, loose)
end

-- Returns a list of weak algorithms with which the client accepts the connection and all of which are needed. Returns nil
-- if the client refuses the connection even with all weak algorithms, or accepts it without any.
local function needed_algorithms(url, options)
  local function accepts(names)
    local weaker = copy(options.tls)
    weaker.allow_weak = names
    local connection, err = connect(url, options, weaker)
    return connection ~= nil and not is_refusal(err)
  end
  if not accepts(weak_algorithms) then return nil end
  local needed = { table.unpack(weak_algorithms) }
  for place = #needed, 1, -1 do
    local name = table.remove(needed, place)
    if not accepts(needed) then table.insert(needed, place, name) end
  end
  return #needed > 0 and needed or nil
end

local function day(seconds) return os.date("!%Y-%m-%d", seconds) end

local function validity(certificate)
  local now = os.time()
  local days = (certificate.not_after - now) // 86400
  local state = days == 1 and "1 day left" or ("%d days left"):format(days)
  if now > certificate.not_after then state = "expired" end
  if now < certificate.not_before then state = "not valid yet" end
  return ("%s to %s, %s"):format(day(certificate.not_before), day(certificate.not_after), state)
end

local function write_certificate(number, certificate, paint)
  local function line(name, value) io.stdout:write("   ", paint("dim", ("%-8s"):format(name)), text.safe(value), "\n") end
  io.stdout:write(("%-3d"):format(number), paint("head", text.safe(certificate.subject)), "\n")
  line("issuer", certificate.issuer)
  if #certificate.names > 0 then line("names", table.concat(certificate.names, ", ")) end
  line("valid", validity(certificate))
  line("key", certificate.key)
  line("pin", certificate.pin)
end

-- Returns the pins of the verified chain whose certificates the server has not sent, such as the trusted authority's.
local function unsent(connection, verified)
  local sent, rest = {}, {}
  for _, certificate in ipairs(connection.chain) do sent[certificate.pin] = true end
  for _, pin in ipairs(verified or {}) do
    if not sent[pin] then rest[#rest + 1] = pin end
  end
  return rest
end

local function write(url, connection, verified)
  local paint = text.painter(text.has_colors(1))
  local parts = { "TLS " .. connection.version, connection.cipher }
  for _, part in ipairs { connection.group, connection.alpn or "" } do
    if part ~= "" then parts[#parts + 1] = part end
  end
  io.stdout:write(paint("head", text.safe(url)), "\n", text.safe(table.concat(parts, ", ")), "\n\n")
  for place, certificate in ipairs(connection.chain) do write_certificate(place, certificate, paint) end
  for _, pin in ipairs(unsent(connection, verified)) do
    io.stdout:write("-  ", paint("head", "the trusted authority, which the server does not send"), "\n   ",
      paint("dim", ("%-8s"):format "pin"), pin, "\n")
  end
end

local function write_pins(connection, verified)
  for _, certificate in ipairs(connection.chain) do io.stdout:write(certificate.pin, "\n") end
  for _, pin in ipairs(unsent(connection, verified)) do io.stdout:write(pin, "\n") end
end

local function show(words)
  local url = url_of(words.url)
  local profile, options = profiles.options(words.profile) or {}, {}
  for _, name in ipairs(used) do options[name] = profile[name] end
  options.tls = copy(options.tls)
  network_options.add(options, words)
  if words.ca_file then options.tls.ca_file, options.tls.ca = words.ca_file, nil end
  options.tls.key_log_file = words.key_log or options.tls.key_log_file
  -- The certificate of a profile is sent only to the origin of its base URL.
  if options.tls.client_certificate then options.base_url = profile.base_url end
  local connection, verified, refusal, failure = inspect(url, options)
  if not connection and not refusal then
    call_response.complain(failure)
    return 1
  end
  local shown = connection
  if refusal then shown = connect_anyway(url, options) end
  if shown and words.pins then
    write_pins(shown, verified)
  elseif shown then
    write(url, shown, verified)
  end
  if not refusal then
    local how = options.tls.verify == false and " without verification, because tls.verify is false" or ""
    if not words.pins then io.stdout:write("\naccepted", how, "\n") end
    return 0
  end
  if shown and not words.pins then io.stdout:write "\n" end
  io.stdout:flush()
  local needed = refusal.kind == "tls" and needed_algorithms(url, options)
  io.stderr:write("nightjar: refused: ", text.safe(refusal.message), "\n")
  if needed then
    io.stderr:write('nightjar: the connection is accepted with tls.allow_weak = { "', table.concat(needed, '", "'), '" }\n')
  end
  return 1
end

-- @return the exit status
function tls.run(words)
  local options = nightjar.args.parse(commands.tls, words)
  local ok, status = pcall(show, options)
  if ok then
    io.stdout:flush()
    return status
  end
  return call_response.fail("tls", status)
end

return tls
