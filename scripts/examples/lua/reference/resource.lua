local nightjar = require "nightjar"
local mock = nightjar.mock {
  { path = "/settings", method = "GET", responses = { { json = { theme = "light" } }, { json = { theme = "dark" } } } },
  { path = "/settings", method = "PUT", response = 204 },
  { path = "/other", response = { json = { theme = "none" } } },
}
local api = nightjar.client { base_url = "http://api.test", mock = mock }
local settings <close> = api:resource("/settings")
print(settings.snapshot.phase, settings:get().theme)
print(settings:mutate({ json = { theme = "dark" }, optimistic = { theme = "dark" } }).status)
print(settings.snapshot.data.theme, settings:reload().theme)
for snapshot in settings:changes() do
  if snapshot.phase == "loaded" then
    print(snapshot.data.theme)
    break
  end
end
settings:set_path("/other")
print(settings:get().theme)
settings:close()
-- Prints:
--   idle	light
--   204
--   dark	dark
--   dark
--   none
