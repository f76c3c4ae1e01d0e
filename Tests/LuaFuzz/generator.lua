-- Generates random Lua programs. The text of a program depends only on the seed.
--
-- A program is a chunk that is called with the table `R` of runtime.lua. Each statement is a call of a function of R, which
-- catches errors and takes objects from the pools of R by number.
local generator = {}

local concat, format = table.concat, string.format

-- The statements and their weights. Those in BODIES contain functions.
local BODIES = {
  spawn = 8, create = 6, all = 3, race = 2, map = 5, timeout = 3, closer = 5, finalizer = 7, hostile = 5, sort = 2, gsub = 2,
  wrap = 3, try = 2, debounce = 2, throttle = 2, after = 1, hook = 1, client = 2, route = 2, iterator = 1, close_loop = 1,
  steal = 8, steal_group = 4,
}
local PLAIN = {
  join = 7, cancel = 4, running = 6, resume = 8, close_thread = 6, yield = 3, sleep = 6, collect = 5, stress = 2, mutate = 6,
  encode = 4, decode = 2, send = 3, receive = 3, close_channel = 1, select = 1, call_limited = 3, flush_limited = 2, get = 5,
  post = 4, batch = 2, page = 3, take = 3, close_list = 2, resume_list = 1, chunks = 2, close_client = 1, options = 4,
  hash = 2, pipe_write = 2, pipe_read = 3, pipe_close = 1, describe = 2, meddle = 5, error = 2, stash = 3, cookies = 1,
  login = 2, file = 1, build_query = 1, csv = 1, lines = 1,
}

local function names_of(weights)
  local names = {}
  for name in pairs(weights) do names[#names + 1] = name end
  table.sort(names)
  local list = {}
  for _, name in ipairs(names) do
    for _ = 1, weights[name] do list[#list + 1] = name end
  end
  return list
end

local bodies, plain = names_of(BODIES), names_of(PLAIN)

-- Returns the text of the program for a seed.
function generator.program(seed)
  math.randomseed(seed)
  local random = math.random
  local lines, left = {}, random(20, 120)
  local block

  local function statement(depth)
    left = left - 1
    local indent = ("  "):rep(depth)
    if depth < 6 and random() < 0.45 then
      local name = bodies[random(#bodies)]
      lines[#lines + 1] = format("%sR.%s(%d, function(...)", indent, name, random(0, 999))
      block(depth + 1)
      lines[#lines + 1] = indent .. "end)"
    else
      lines[#lines + 1] = format("%sR.%s(%d, %d)", indent, plain[random(#plain)], random(0, 999), random(0, 999))
    end
  end

  function block(depth)
    local indent = ("  "):rep(depth)
    if random() < 0.15 then
      lines[#lines + 1] = indent .. format("local closed <close> = R.to_close(%d, function(...)", random(0, 999))
      if left > 0 then statement(depth + 1) end
      lines[#lines + 1] = indent .. "end)"
    end
    for _ = 1, random(1, 4) do
      if left > 0 then statement(depth) end
    end
    if random() < 0.4 then lines[#lines + 1] = indent .. format("do return R.results(%d) end", random(0, 999)) end
  end

  lines[#lines + 1] = "local R = ..."
  if random() < 0.4 then lines[#lines + 1] = "R.stress(0, 0)" end -- finalizers run at any allocation
  while left > 0 do statement(0) end
  return concat(lines, "\n") .. "\n"
end

return generator
