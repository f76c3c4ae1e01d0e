-- Reads the catalogue of a container registry, which is paginated by Link header, and the tags of each repository.
--
--   nightjar registry.lua URL [USER PASSWORD]
local nightjar = require "nightjar"

local url, user, password = ...
assert(url, "usage: registry.lua URL [USER PASSWORD]")
local api = nightjar.client {
  base_url = url,
  auth = user and { type = "basic", user = user, password = password } or nil,
}

-- The registry returns the path of the next page. It has the same origin, so it is requested with the same credentials.
-- The key prevents repetitions if repositories are pushed meanwhile.
local catalogue = api:paginate("/v2/_catalog", {
  style = "link", items = "/repositories", key = "", size_param = "n", size = 50,
})
local repositories = catalogue:collect()

local function tags(name)
  local list = api:get("/v2/" .. name .. "/tags/list").json
  -- The list of tags is null if all tags of the repository were deleted.
  return { name = list.name, count = list.tags ~= nightjar.null and #list.tags or 0 }
end

local total, largest = 0, { name = "none", count = 0 }
for _, repository in ipairs(nightjar.map(repositories, tags)) do
  total = total + repository.count
  if repository.count > largest.count then largest = repository end
end
print(("%d repositories, %d tags; %s has %d"):format(#repositories, total, largest.name, largest.count))
