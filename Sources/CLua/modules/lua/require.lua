-- The require of Lua 5.4, in Lua so that a module can wait while it is loaded. If another task is already loading the
-- module, require waits until the module is loaded. Circular requires raise an error.
local native = ...
local loaded, package, gate, task_at, spawned = native.loaded, native.package, native.gate, native.task, native.spawned
local type, error, rawget, setmetatable, ipairs, select = type, error, rawget, setmetatable, ipairs, select
local format, huge = string.format, math.huge
local concat, insert = table.concat, table.insert

-- `loading` contains the modules being loaded, by name. `innermost` contains the innermost module that each task loads.
local loading, innermost = {}, {}

local Loading = {
  __close = function(self)
    loading[self.name] = nil
    innermost[self.task] = self.outer
    for _, waiter in ipairs(self.waiters) do waiter:open() end
  end,
}

-- Returns the circle of modules as text if the running task would wait for itself by waiting for this record. Returns
-- nil otherwise.
local function circle(record)
  local mine, inward = {}, {}
  local level, below = 0, huge
  local task, number = task_at(0)
  while task do
    local at = innermost[task]
    while at do
      -- Loading depends on the task below only if that task was spawned after the loading began.
      if below > at.since then
        mine[at] = true
        insert(inward, 1, at)
      end
      at = at.outer
    end
    level, below = level + 1, number
    task, number = task_at(level)
  end
  local onward, seen = {}, {}
  local at = record
  while at and not mine[at] and not seen[at] do
    seen[at] = true
    onward[#onward + 1] = at.name
    local inner = innermost[at.task] or at
    at = inner.waits_for
  end
  if not at or not mine[at] then return nil end
  local names, is_inside = {}, false
  for _, outer in ipairs(inward) do
    is_inside = is_inside or outer == at
    if is_inside then names[#names + 1] = outer.name end
  end
  for _, name in ipairs(onward) do names[#names + 1] = name end
  names[#names + 1] = at.name
  return concat(names, " -> ")
end

local function find_loader(name)
  local searchers = package.searchers
  if type(searchers) ~= "table" then error("'package.searchers' must be a table", 3) end
  local reported = {}
  local place = 1
  while true do
    local searcher = rawget(searchers, place)
    if searcher == nil then error(format("module '%s' not found:%s", name, concat(reported)), 3) end
    local loader, data = searcher(name)
    if type(loader) == "function" then return loader, data end
    if type(loader) == "string" or type(loader) == "number" then reported[#reported + 1] = "\n\t" .. loader end
    place = place + 1
  end
end

return function(...)
  local name = ...
  if type(name) == "number" then name = name .. "" end
  if type(name) ~= "string" then
    local got = select("#", ...) == 0 and "no value" or type(name)
    error(format("bad argument #1 to 'require' (string expected, got %s)", got), 2)
  end
  local task = task_at(0)
  while true do
    local value = loaded[name]
    if value then return value end
    local other = loading[name]
    if not other then break end
    local way = circle(other)
    if way then error(format("circular require of module '%s': %s", name, way), 2) end
    local inner = innermost[task]
    if inner then inner.waits_for = other end
    local waiter = gate()
    insert(other.waiters, waiter)
    waiter:wait()
    if inner then inner.waits_for = nil end
  end
  local record <close> = setmetatable({ name = name, task = task, outer = innermost[task], since = spawned(), waiters = {} },
    Loading)
  loading[name] = record
  innermost[task] = record
  local loader, data = find_loader(name)
  local value = loader(name, data)
  if value ~= nil then loaded[name] = value end
  if loaded[name] == nil then loaded[name] = true end
  return loaded[name], data
end
