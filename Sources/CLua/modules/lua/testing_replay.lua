-- The options of a client that replays a cassette in a test of nightjar.testing.
local type, next = type, next

-- Returns the auth options without a credential store. A login with a store or in the browser gets placeholder tokens,
-- so that it needs neither.
local function replayed_auth(auth)
  if type(auth) ~= "table" then return auth end
  local copy = {}
  for key, value in next, auth do copy[key] = value end
  if type(copy.schemes) == "table" then
    local schemes = {}
    for name, scheme in next, copy.schemes do schemes[name] = replayed_auth(scheme) end
    copy.schemes = schemes
  end
  if copy.store ~= nil or copy.grant == "authorization_code" then
    copy.store = nil
    if (copy.type == "oauth2" or copy.type == "login") and copy.access_token == nil then
      copy.access_token = "scrubbed-0"
      if copy.grant ~= "client_credentials" and copy.refresh_token == nil then copy.refresh_token = "scrubbed-0" end
    end
  end
  return copy
end

-- Returns the options for a client that replays the file, sends nothing to the network and leaves nothing on disk.
local function replayed(options, file)
  local copy = {}
  for key, value in next, options do copy[key] = value end
  copy.cassette = { file = file, mode = "replay" }
  copy.auth = replayed_auth(copy.auth)
  copy.tls, copy.proxy = nil, nil
  if type(copy.cookies) == "table" then
    copy.cookies = { policy = copy.cookies.policy, keep_session = copy.cookies.keep_session }
    if next(copy.cookies) == nil then copy.cookies = true end
  end
  if type(copy.cache) == "table" then
    copy.cache = { memory = copy.cache.memory, policy = copy.cache.policy }
    if next(copy.cache) == nil then copy.cache = true end
  end
  return copy
end

return replayed
