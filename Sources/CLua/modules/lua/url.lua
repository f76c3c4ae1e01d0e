-- nightjar.url: parses and builds URLs, RFC 3986. Queries use the form encoding (application/x-www-form-urlencoded): +
-- is read as a space, and a space is written as %20, which all parsers accept.
local nightjar, native = ...
local misuse, fail, check_options, got = native.misuse, native.fail, native.options, native.got
local null = nightjar.null
local type, tostring, tonumber, pairs, ipairs, tointeger = type, tostring, tonumber, pairs, ipairs, math.tointeger
local byte, char, find, format, gmatch, gsub, lower, match, sub =
  string.byte, string.char, string.find, string.format, string.gmatch, string.gsub, string.lower, string.match, string.sub
local concat, sort = table.concat, table.sort

local url = {}

-- The client's limit for URLs, in bytes.
local LONGEST = 64 * 1024

url.canonical, url.redact = native.canonical, native.redact

local function check_text(value, name)
  if type(value) ~= "string" then misuse(format("%s: a string expected, got %s", name, got(value))) end
  return value
end

-- --- Escapes ---

local function escape(letter) return format("%%%02X", byte(letter)) end

-- url.encode(text) -> the text with all but the unreserved characters as %XX
function url.encode(text)
  if type(text) == "number" then text = tostring(text) end
  return (gsub(check_text(text, "url.encode"), "[^%w%-._~]", escape))
end

-- Returns the position of the first % that is not followed by two hexadecimal digits, or nil.
local function broken_escape(text) return find(gsub(text, "%%%x%x", "..."), "%", 1, true) end

-- url.decode(text, {plus = false}) -> the text with escapes decoded; with plus, + becomes a space
function url.decode(text, options)
  check_text(text, "url.decode")
  options = check_options("url.decode", options, { plus = "boolean" })
  if options.plus then text = gsub(text, "%+", " ") end
  local broken = broken_escape(text)
  if broken then
    fail("decoding", format(
      "percent-decoding failed: the %% at position %d is not followed by two hexadecimal digits", broken))
  end
  return (gsub(text, "%%(%x%x)", function(digits) return char(tonumber(digits, 16)) end))
end

-- --- Queries ---

local function value_text(value, name)
  if type(value) == "string" then return value end
  if type(value) == "number" then
    local whole = tointeger(value)
    return whole and value < 2 ^ 53 and value > -2 ^ 53 and tostring(whole) or tostring(value)
  end
  if type(value) == "boolean" then return tostring(value) end
  misuse(format("url.build_query: the value of %q is a %s; it must be a string, a number, a boolean or a list of these", name,
    type(value)))
end

-- url.build_query {name = value or list of values, ...}, sorted by name; or {{name, value}, ...}, in the given order
function url.build_query(query)
  if type(query) ~= "table" then misuse("url.build_query: a table expected, got " .. got(query)) end
  local items = {}
  local function put(name, value)
    if value == nil or value == null then return end
    if type(value) == "table" then
      for key in pairs(value) do
        if type(key) ~= "number" then
          misuse(format("url.build_query: the value of %q is a table with names; it must be a list of values", name))
        end
      end
      for _, each in ipairs(value) do put(name, each) end
    else
      items[#items + 1] = url.encode(name) .. "=" .. url.encode(value_text(value, name))
    end
  end
  local names = {}
  for name, value in pairs(query) do
    if type(name) == "number" then
      if type(value) ~= "table" or type(value[1]) ~= "string" then
        misuse "url.build_query: each item of a list must be {name, value}"
      end
    elseif type(name) ~= "string" then
      misuse(format("url.build_query: a name must be a string, got %s", type(name)))
    else
      names[#names + 1] = name
    end
  end
  for _, item in ipairs(query) do put(item[1], item[2]) end
  sort(names)
  for _, name in ipairs(names) do put(name, query[name]) end
  return concat(items, "&")
end

-- url.parse_query(text, {lists = false}) -> {name = value}, with a list of values for a repeated name, or with `lists`
-- for every name; and the items in order as {{name, value}, ...}
function url.parse_query(text, options)
  check_text(text, "url.parse_query")
  options = check_options("url.parse_query", options, { lists = "boolean" })
  local query, items = {}, {}
  for item in gmatch(gsub(text, "^%?", ""), "[^&]+") do
    local name, value = match(item, "^([^=]*)=?(.*)$")
    name, value = url.decode(name, { plus = true }), url.decode(value, { plus = true })
    items[#items + 1] = { name, value }
    local known = query[name]
    if known == nil then
      query[name] = options.lists and { value } or value
    elseif type(known) == "table" then
      known[#known + 1] = value
    else
      query[name] = { known, value }
    end
  end
  return query, items
end

-- --- Parts ---

-- Splits a reference into its five components, undecoded; missing components are nil, except the path. RFC 3986 appendix B.
local function split(text)
  local parts, rest = {}, text
  rest = gsub(rest, "#(.*)$", function(fragment) parts.fragment = fragment return "" end, 1)
  rest = gsub(rest, "%?(.*)$", function(query) parts.query = query return "" end, 1)
  local scheme, behind = match(rest, "^(%a[%w+.-]*):(.*)$")
  if scheme then parts.scheme, rest = scheme, behind end
  local authority, path = match(rest, "^//([^/]*)(.*)$")
  if authority then parts.authority, rest = authority, path end
  parts.path = rest
  return parts
end

-- Joins the components. Without an authority, a path that begins with // would be parsed as an authority, so /. is
-- inserted. RFC 3986 section 4.2; WHATWG URL, serializing.
local function join(parts)
  local text = {}
  if parts.scheme then text[1] = parts.scheme .. ":" end
  if parts.authority then text[#text + 1] = "//" .. parts.authority end
  if not parts.authority and sub(parts.path, 1, 2) == "//" then text[#text + 1] = "/." end
  text[#text + 1] = parts.path
  if parts.query then text[#text + 1] = "?" .. parts.query end
  if parts.fragment then text[#text + 1] = "#" .. parts.fragment end
  return concat(text)
end

-- Raises an error if the text contains a character that is not allowed in URLs. The message contains only that
-- character, not possible secrets.
local function check_url(text, name)
  check_text(text, name)
  if #text > LONGEST then fail("decoding", format("the URL is longer than %d bytes", LONGEST)) end
  local place = find(text, "[^%w%-._~:/?#%[%]@!$&'()*+,;=%%\x80-\xFF]")
  if place then
    fail("decoding", format("the URL has an invalid character at position %d; write it as %%%02X", place,
      byte(text, place)))
  end
  place = broken_escape(text)
  if place then fail("decoding", format("the URL has a %% at position %d that is not followed by two hexadecimal digits; write it as %%25", place)) end
  place = find(text, "#.*#")
  if place then fail("decoding", "the URL has a second #; write it as %23") end
  return text
end

local function user_of(authority)
  local login, host = match(authority, "^(.*)@([^@]*)$")
  if not login then return nil, nil, authority end
  local user, password = match(login, "^([^:]*):(.*)$")
  if not user then return url.decode(login), nil, host end
  return url.decode(user), url.decode(password), host
end

-- url.parse(text) -> {scheme, user, password, host, port, path, query, fragment}. User, password and host are
-- decoded. Path, query and fragment are not decoded, because their separators are significant. Missing parts are nil,
-- except that the path is always present.
function url.parse(text)
  local parts = split(check_url(text, "url.parse"))
  local result = { path = parts.path, query = parts.query, fragment = parts.fragment }
  result.scheme = parts.scheme and lower(parts.scheme)
  if parts.authority then
    local rest
    result.user, result.password, rest = user_of(parts.authority)
    local host, port = match(rest, "^%[([%x:.]+)%]:?(%d*)$")
    if not host then host, port = match(rest, "^([^:%[%]]*):?(%d*)$") end
    if not host then
      fail("decoding", "the URL's host or port is invalid; the host must be a name or an address (IPv6 in brackets), the port a number")
    end
    result.host = lower(url.decode(host))
    if port ~= "" then
      result.port = #port <= 5 and tointeger(tonumber(port)) or 65536
      if result.port > 65535 then fail("decoding", "the URL's port must be between 0 and 65535") end
    end
  end
  return result
end

local BUILT = {
  scheme = "string", user = "string", password = "string", host = "string", port = "integer", path = "string",
  query = "string or table", fragment = "string",
}

-- Encodes characters that are not allowed in the component. Existing escapes are kept.
local function encode_part(text, allowed)
  text = gsub(text, "[^%w%-._~!$&'()*+,;=:@%%" .. allowed .. "]", escape)
  return (gsub(text, "%%(%x?%x?)", function(digits) return #digits < 2 and "%25" .. digits or nil end))
end

-- url.build {scheme =, user =, password =, host =, port =, path =, query = text or table, fragment =} -> text
function url.build(parts)
  if type(parts) ~= "table" then misuse("url.build: a table expected, got " .. got(parts)) end
  check_options("url.build", parts, BUILT)
  local path = encode_part(parts.path or "", "/")
  local built = { path = path, fragment = parts.fragment and encode_part(parts.fragment, "/?") }
  if parts.scheme then
    if not find(parts.scheme, "^%a[%w+.-]*$") then misuse(format("url.build: %q is not a valid scheme", parts.scheme)) end
    built.scheme = lower(parts.scheme)
  end
  if parts.host then
    local host = parts.host
    if find(host, ":", 1, true) then
      if not find(host, "^[%x:.]+$") then
        misuse "url.build: the host contains a colon but is not an IPv6 address; set the port in the field 'port'"
      end
      host = "[" .. host .. "]"
    else
      host = gsub(host, "[^%w%-._~!$&'()*+,;=\x80-\xFF]", escape)
    end
    local password = parts.password and ":" .. url.encode(parts.password) or ""
    local login = parts.user and url.encode(parts.user) .. password .. "@" or ""
    if parts.port and (parts.port < 0 or parts.port > 65535) then misuse "url.build: the port must be between 0 and 65535" end
    built.authority = login .. host .. (parts.port and ":" .. tostring(parts.port) or "")
    if path ~= "" and sub(path, 1, 1) ~= "/" then misuse "url.build: with a host, the path must begin with /" end
  else
    for _, name in ipairs { "user", "password", "port" } do
      if parts[name] ~= nil then misuse(format("url.build: a %s requires a host", name)) end
    end
    if sub(path, 1, 2) == "//" then misuse "url.build: without a host, the path must not begin with //" end
    -- Without ./, the text before the colon would be parsed as a scheme.
    if not parts.scheme and find(path, "^[^/]*:") then built.path = "./" .. path end
  end
  if type(parts.query) == "table" then
    built.query = url.build_query(parts.query)
    if built.query == "" then built.query = nil end
  elseif parts.query then
    built.query = encode_part(parts.query, "/?")
  end
  return join(built)
end

-- Removes the segments . and .. from a path. RFC 3986 section 5.2.4.
local function without_dots(path)
  local kept, count = {}, 0
  local is_absolute = sub(path, 1, 1) == "/"
  local ends_in_folder = false
  for segment in gmatch(is_absolute and path or "/" .. path, "/([^/]*)") do
    ends_in_folder = segment == "." or segment == ".."
    if segment == ".." then
      if count > 0 then count = count - 1 end
    elseif segment ~= "." then
      count = count + 1
      kept[count] = segment
    end
  end
  if ends_in_folder then
    count = count + 1
    kept[count] = ""
  end
  local text = concat(kept, "/", 1, count)
  return is_absolute and "/" .. text or text
end

-- url.resolve(base, reference) -> the absolute URL of the reference relative to the base. RFC 3986 section 5.2.2.
function url.resolve(base, reference)
  local from, to = split(check_url(base, "url.resolve")), split(check_url(reference, "url.resolve"))
  if not from.scheme then fail("decoding", "the base is not an absolute URL: it has no scheme") end
  local result = { fragment = to.fragment, query = to.query }
  if to.scheme or to.authority then
    result.scheme, result.authority, result.path = to.scheme or from.scheme, to.authority, without_dots(to.path)
    return join(result)
  end
  result.scheme, result.authority = from.scheme, from.authority
  if to.path == "" then
    result.path = from.path
    if not to.query then result.query = from.query end
  elseif sub(to.path, 1, 1) == "/" then
    result.path = without_dots(to.path)
  elseif from.authority and from.path == "" then
    result.path = without_dots("/" .. to.path)
  else
    result.path = without_dots(gsub(from.path, "[^/]*$", "") .. to.path)
  end
  return join(result)
end

return url
