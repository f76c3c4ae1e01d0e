-- Builds the request of nightjar get, post and so on from the arguments of the command.
local nightjar = require "nightjar"
local items = require "nightjar.command.items"
local network_options = require "nightjar.command.network_options"
local profiles = require "nightjar.command.profiles"
local terminal = require "nightjar.command.terminal"

local call_request = {}

-- The maximum number of bytes of standard input that are read before the call. A larger file is sent with its length,
-- and more input from a pipe is sent in chunks.
local most_input = 16 * 1024 * 1024
local piece = 64 * 1024

-- Expands a URL argument: :8080/path becomes http://localhost:8080/path. With a base URL, any other argument is
-- returned unchanged, and the client joins it to the base URL. Without a base URL, host/path becomes http://host/path.
local function url_of(word, base_url)
  if word:find "^%a[%w+.-]*://" then return word end
  if word:find "^:%d*$" or word:find "^:%d*[/?]" then
    local port, rest = word:match "^:(%d*)(.*)$"
    return "http://localhost" .. (port ~= "" and ":" .. port or "") .. rest
  end
  if base_url then return word end
  if word:find "^[/?]" then items.refuse("%s: a path requires the base URL of a profile; use --profile NAME", word) end
  return "http://" .. word
end

local function check_pointer(option, pointer)
  if pointer ~= "" and pointer:sub(1, 1) ~= "/" then
    items.refuse("%s %s: a JSON Pointer must begin with /, as in /%s", option, pointer, (pointer:gsub("[.]", "/")))
  end
end

-- Returns standard input as a body; nil if standard input is empty. Pipes and small files are read before the call, up
-- to `most_input` bytes.
local function input_body()
  local start = io.stdin:seek()
  local length = start and io.stdin:seek "end" - start
  if start then io.stdin:seek("set", start) end
  if length and length > most_input then
    -- A retry reads the file from the same position again.
    local function each()
      io.stdin:seek("set", start)
      return function() return io.stdin:read(piece) end
    end
    return { each = each, length = length }
  end
  local content = io.stdin:read(most_input)
  if not content then return nil end
  local more = io.stdin:read(piece)
  if not more then return content end
  local parts = { content, more }
  return function()
    if #parts > 0 then return table.remove(parts, 1) end
    return io.stdin:read(piece)
  end
end

local takes_input = { post = true, put = true, patch = true }
local has_no_body = { get = true, head = true, options = true }

local function add_body(verb, options, read, request, types)
  local fields = read.fields
  local kinds = (options.form and 1 or 0) + (options.multipart and 1 or 0) + (options.json and 1 or 0)
  if kinds > 1 then items.refuse "only one of --json, --form and --multipart can be used" end
  if options.raw and #fields > 0 then items.refuse "--raw is the whole body and cannot be combined with fields" end
  if has_no_body[verb] and (#fields > 0 or options.raw) then
    items.refuse("a %s request has no body; use %s==text for a query item", verb:upper(), fields[1] and fields[1][1] or "name")
  end
  if options.raw then
    request.body = options.raw
    types.content = options.form and "application/x-www-form-urlencoded" or "application/json"
  elseif #fields > 0 then
    local has_file = false
    for _, field in ipairs(fields) do has_file = has_file or field.file ~= nil end
    if options.multipart or options.form and has_file then
      request.multipart = items.multipart(fields)
    elseif options.form then
      request.form = items.form(fields)
    else
      request.body = items.json(fields)
      types.content = "application/json"
    end
  elseif takes_input[verb] and not options.ignore_stdin and not terminal.is_terminal(0) then
    request.body = input_body()
    if request.body then types.content = options.form and "application/x-www-form-urlencoded" or "application/json" end
  end
end

-- The body of a list is sent again for each page.
local function check_page_body(request)
  if request.multipart then items.refuse "--paginate cannot be combined with a multipart form" end
  if request.body and type(request.body) ~= "string" then
    items.refuse("--paginate requires a body of at most %d MiB", most_input // (1024 * 1024))
  end
end

-- Functions that remove the headers that the client adds by default.
local own_headers = {
  ["user-agent"] = function(client) client.user_agent = false end,
  ["accept-encoding"] = function(client) client.decompress = false end,
}

local function add_headers(read, client, request, types, accepted)
  local headers, given, removed = {}, {}, {}
  for _, header in ipairs(read.headers) do
    local lower = header[1]:lower()
    given[lower] = true
    if header[2] then headers[#headers + 1] = header else removed[lower] = header[1] end
  end
  if type(client.headers) == "table" then
    local kept = {}
    for name, value in pairs(client.headers) do
      given[name:lower()] = true
      if not removed[name:lower()] then kept[name] = value end
    end
    client.headers = kept
  end
  for lower in pairs(removed) do
    if own_headers[lower] then own_headers[lower](client) end
    if lower == "authorization" then request.auth = false end
  end
  if types.content and not given["content-type"] then headers[#headers + 1] = { "Content-Type", types.content } end
  if not given.accept then headers[#headers + 1] = { "Accept", accepted or "application/json, */*;q=0.5" } end
  if #headers > 0 then request.headers = headers end
end

-- Rejects a file name that looks like data, because curl's option -d sends data.
local function check_download(name)
  if not name:find "^[%[{@]" and not name:find "^[^/]*[=&]" then return end
  items.refuse("-d %s: -d writes the response to a file; to send data use fields (name=text) or --raw '%s'; to write to a file of this "
    .. "name use ./%s", name, name, name)
end

-- Returns whether the URL has another origin than `base_url`.
local function is_elsewhere(url, base_url)
  local target = url_of(url, base_url)
  if not target:find "^%a[%w+.-]*://" then return false end
  local function origin(text) return (text:match "^(%a[%w+.-]*://[^/?#]*)" or ""):lower() end
  return origin(target) ~= origin(base_url or "")
end

-- Returns the options of the selected profile, or of the default profile. A call to another server ignores a default
-- profile whose environment variables are not set.
local function profile_options(options)
  if options.profile then return profiles.options(options.profile) or {} end
  local ok, found = pcall(profiles.options)
  if ok then return found or {} end
  if not profiles.is_problem(found) or not found.is_variable or not is_elsewhere(options.url, found.base_url) then error(found, 0) end
  io.stderr:write("nightjar: the default profile is not used: ", tostring(found), "\n")
  return {}
end

-- Checks the options that select parts of the response and pages.
local function check_selection(verb, options)
  for _, pointer in ipairs(options.pick or {}) do check_pointer("-f", pointer) end
  if options.lines and (options.download or options.paginate) then items.refuse "--lines cannot be combined with --download or --paginate" end
  for _, name in ipairs { "at", "next", "body_param" } do
    if options[name] then check_pointer("--" .. name:gsub("_", "-"), options[name]) end
  end
  if options.paginate and verb ~= "get" and verb ~= "post" then
    items.refuse("--paginate can only be used with get and post, not with %s", verb)
  end
  for _, name in ipairs { "max_items", "at", "style", "next", "body_param", "next_header" } do
    if options[name] and not options.paginate then
      items.refuse("--%s requires --paginate", (name:gsub("_", "-")))
    end
  end
  if options.max_items and options.max_items < 1 then items.refuse("--max-items %d: must be at least 1", options.max_items) end
  if options.continue and not options.download then items.refuse "--continue requires --download" end
  if options.paginate and options.download then items.refuse "only one of --paginate and --download can be used" end
end

local http_options = { ["http1.1"] = { "1.1" }, http2 = { "1.1", "2" }, http2_prior_knowledge = { "2" } }

-- Sets the versions of HTTP.
local function add_versions(client, options)
  local chosen
  for name, versions in pairs(http_options) do
    if options[name] then
      if chosen then items.refuse "only one of --http1.1, --http2 and --http2-prior-knowledge can be used" end
      chosen = versions
    end
  end
  if chosen then client.http = { versions = chosen } end
end

-- Sets the options of TLS. The other options of the profile's table remain. A certificate is sent only to the called host.
local function add_tls(client, request, options)
  local function copy(table)
    local result = {}
    for name, value in pairs(table or {}) do result[name] = value end
    return result
  end
  local tls = copy(client.tls)
  if options.ca_file then tls.ca_file, tls.ca = options.ca_file, nil end
  tls.key_log_file = options.key_log or tls.key_log_file
  if options.cert_key and not options.cert then items.refuse "--cert-key requires --cert" end
  if options.cert then
    local certificate = { password = os.getenv "NIGHTJAR_CERT_PASSWORD" }
    local extension = options.cert:lower():match "%.(%w+)$"
    certificate[(extension == "p12" or extension == "pfx") and "pkcs12" or "file"] = options.cert
    certificate.key = options.cert_key
    local parts = request.path:find "^https://" and nightjar.url.parse(request.path)
    if parts then
      tls.hosts = copy(tls.hosts)
      tls.hosts[parts.host] = copy(tls.hosts[parts.host])
      tls.hosts[parts.host].client_certificate = certificate
    elseif client.base_url then
      tls.client_certificate = certificate
    else
      items.refuse("--cert %s: the URL must begin with https://", options.cert)
    end
  end
  if next(tls) then client.tls = tls end
end

-- Returns the options of the client and of the request. `options.accept` is the default of the header Accept, and
-- `options.read` has the items if the subcommand has read them.
function call_request.build(verb, options)
  local client = profile_options(options)
  if options.download then check_download(options.download) end
  local read = options.read or items.read(options.item)
  local request, types = { method = verb:upper(), path = url_of(options.url, client.base_url) }, {}
  if #read.query > 0 then request.query = read.query end
  add_body(verb, options, read, request, types)
  if options.paginate then check_page_body(request) end
  add_headers(read, client, request, types, options.accept)
  if options.timeout then client.timeout = options.timeout end
  if options.retry then
    if options.retry < 0 or options.retry > 99 then items.refuse("--retry %d: must be between 0 and 99", options.retry) end
    client.retry = options.retry > 0 and { attempts = options.retry + 1 } or false
  end
  if options.follow and options.no_follow then items.refuse "only one of --follow and --no-follow can be used" end
  if options.no_follow then request.redirect = false end
  add_versions(client, options)
  network_options.add(client, options)
  add_tls(client, request, options)
  check_selection(verb, options)
  return client, request
end

return call_request
