-- nightjar.args: parses the command line of a script from one specification, which also produces the text of --help.
--
--   local options = nightjar.args.parse {
--     summary = "Copies articles.",
--     { "source", help = "source file" },
--     { "files", many = true, optional = true },
--     { "-o", "--output", "FILE", help = "output file", default = "out.csv" },
--     { "-n", "--count", "N", type = "integer", default = 10 },
--     { "-v", "--verbose", help = "print more" },
--   }
--
-- An item with dashes is an option. If it has a value name, it takes a value; otherwise it is a boolean flag. An item
-- without dashes is a positional argument. The result contains the values by long name, with - replaced by _.
local nightjar, native = ...
local misuse, fail, check_options, got = native.misuse, native.fail, native.options, native.got
local type, tostring, tonumber, pairs, ipairs, tointeger = type, tostring, tonumber, pairs, ipairs, math.tointeger
local find, format, gsub, match, rep, sub, upper =
  string.find, string.format, string.gsub, string.match, string.rep, string.sub, string.upper
local concat, sort, gmatch = table.concat, table.sort, string.gmatch
local arg, error, pcall, exit, stdout, stderr = arg, error, pcall, os.exit, io.stdout, io.stderr

local args = {}

local SPECIFICATION = { name = "string", summary = "string", epilog = "string" }
local ITEM = {
  help = "string", type = "string or function", default = "string or number or boolean or table", required = "boolean",
  optional = "boolean", many = "boolean", choices = "table",
}

-- The terminal width in columns, and the column where the help of an item starts.
local WIDTH, INDENT = 80, 26

-- --- Types ---

local types = {}

function types.string(text) return text end

function types.number(text)
  local number = tonumber(text)
  if number and number == number then return number end
  return nil, "a number"
end

function types.integer(text)
  local number = match(text, "^[+-]?%d+$") and tointeger(tonumber(text))
  if number then return number end
  return nil, "an integer"
end

function types.duration(text)
  local ok, seconds = pcall(nightjar.time.duration, text)
  if ok then return seconds end
  return nil, 'a duration such as "90s" or "1h30m"'
end

local TYPES = { "string", "number", "integer", "duration" }

-- --- The specification ---

local function key_of(name) return (gsub(name, "-", "_")) end

local function read_item(item, place)
  if type(item) ~= "table" then misuse(format("args: item %d must be a table, got %s", place, type(item))) end
  local read, settings = { names = {} }, {}
  for _, word in ipairs(item) do
    if type(word) ~= "string" or word == "" then misuse(format("args: item %d has a name that is empty or not a string", place)) end
    if find(word, "^%-%-[%w][%w.-]*$") then
      read.names[#read.names + 1] = word
      read.key = read.key or key_of(sub(word, 3))
    elseif find(word, "^%-%w$") then
      read.names[#read.names + 1] = word
    elseif sub(word, 1, 1) == "-" then
      misuse(format('args: %q is not an option name; use "-x" or "--long-name"', word))
    elseif read.value then
      misuse(format("args: item %d has two names without dashes, %q and %q", place, read.value, word))
    else
      read.value = word
    end
  end
  for name, value in pairs(item) do
    if type(name) ~= "number" then settings[name] = value end
  end
  check_options("args", settings, ITEM)
  for name, value in pairs(settings) do read[name] = value end
  read.is_option = #read.names > 0
  if not read.is_option and not read.value then misuse(format("args: item %d has no name", place)) end
  if read.is_option then
    read.key = read.key or sub(read.names[1], 2)
    read.is_flag = not read.value
    read.shown = read.names[#read.names]
  else
    read.key = key_of(read.value)
    read.value = upper(read.value)
    read.shown = read.value
    read.required = not read.optional and read.default == nil
  end
  if type(read.type) ~= "function" then
    local reader = types[read.type or "string"]
    if not reader then
      local near = native.nearest(read.type, TYPES)
      misuse(format("args: unknown type %q%s", read.type, near and format("; did you mean %q?", near) or ""))
    end
    read.type = reader
  end
  return read
end

local function read_specification(specification)
  if type(specification) ~= "table" then misuse(format("args: a table expected, got %s", type(specification))) end
  local named = {}
  for name, value in pairs(specification) do
    if type(name) ~= "number" then named[name] = value end
  end
  check_options("args", named, SPECIFICATION)
  local read = {
    name = named.name, summary = named.summary, epilog = named.epilog, options = {}, positionals = {}, by_name = {},
  }
  local keys = {}
  for place, item in ipairs(specification) do
    item = read_item(item, place)
    if keys[item.key] then misuse(format("args: two items have the name %q", item.key)) end
    keys[item.key] = true
    if item.is_option then
      read.options[#read.options + 1] = item
      for _, name in ipairs(item.names) do
        if read.by_name[name] then misuse(format("args: two options have the name %q", name)) end
        read.by_name[name] = item
      end
    else
      local last = read.positionals[#read.positionals]
      if last and last.many then misuse(format("args: no argument can follow %q, which takes all remaining words", last.key)) end
      if last and not last.required and item.required then
        misuse(format("args: the required argument %q follows the optional argument %q", item.key, last.key))
      end
      read.positionals[#read.positionals + 1] = item
    end
  end
  if not read.by_name["--help"] then
    local help = { names = { "--help" }, key = "help", is_flag = true, is_help = true, help = "show this help and exit" }
    if not read.by_name["-h"] then help.names = { "-h", "--help" } end
    for _, name in ipairs(help.names) do read.by_name[name] = help end
    read.options[#read.options + 1] = help
  end
  read.name = read.name or arg and type(arg[0]) == "string" and match(arg[0], "([^/]+)$") or "script"
  return read
end

-- --- Help ---

local function positional_text(item)
  local text = item.many and item.value .. "..." or item.value
  return item.required and text or "[" .. text .. "]"
end

local function default_text(value)
  if type(value) ~= "table" then return tostring(value) end
  local texts = {}
  for place, each in ipairs(value) do texts[place] = tostring(each) end
  return concat(texts, ", ")
end

-- Wraps the text at the width. All lines but the first are indented by `indent` spaces.
local function wrapped(text, indent)
  local lines, line = {}, ""
  for word in gmatch(text, "%S+") do
    if line ~= "" and #line + 1 + #word > WIDTH - indent then
      lines[#lines + 1] = line
      line = word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return concat(lines, "\n" .. rep(" ", indent))
end

local function item_text(left, item)
  local help = item.help or ""
  if item.choices then help = help .. " (" .. default_text(item.choices) .. ")" end
  if item.default ~= nil then help = help .. " (default: " .. default_text(item.default) .. ")" end
  if item.is_option and item.required then help = help .. " (required)" end
  help = gsub(help, "^ ", "")
  if help == "" then return "  " .. left end
  if #left + 4 > INDENT then return "  " .. left .. "\n" .. rep(" ", INDENT) .. wrapped(help, INDENT) end
  return "  " .. left .. rep(" ", INDENT - 2 - #left) .. wrapped(help, INDENT)
end

local function help_text(read)
  local usage = { "Usage: " .. read.name .. " [options]" }
  for _, item in ipairs(read.positionals) do usage[#usage + 1] = positional_text(item) end
  local lines = { concat(usage, " ") }
  if read.summary then lines[#lines + 1] = "\n" .. wrapped(read.summary, 0) end
  if #read.positionals > 0 then
    lines[#lines + 1] = "\nArguments:"
    for _, item in ipairs(read.positionals) do lines[#lines + 1] = item_text(item.value, item) end
  end
  lines[#lines + 1] = "\nOptions:"
  for _, item in ipairs(read.options) do
    local left = concat(item.names, ", ")
    if #item.names == 1 and #left > 2 then left = "    " .. left end
    lines[#lines + 1] = item_text(item.value and left .. " " .. item.value or left, item)
  end
  if read.epilog then lines[#lines + 1] = "\n" .. read.epilog end
  return concat(lines, "\n") .. "\n"
end

-- args.help(specification) -> the text of --help
function args.help(specification) return help_text(read_specification(specification)) end

-- --- Parsing ---

local function quoted(text)
  if #text > 60 then text = sub(text, 1, 57) .. "..." end
  return "'" .. gsub(text, "%c", "?") .. "'"
end

local function refuse(what) fail("invalid_argument", what) end

local function value_of(item, text)
  local called = item.is_option and "option " .. item.shown or "argument " .. item.shown
  local value, expected = item.type(text)
  if value == nil then refuse(format("%s must be %s, got %s", called, expected or "valid", quoted(text))) end
  if item.choices then
    for _, choice in ipairs(item.choices) do
      if choice == value then return value end
    end
    local names = {}
    for place, choice in ipairs(item.choices) do names[place] = tostring(choice) end
    local near = native.nearest(text, names)
    refuse(format("%s must be one of %s, got %s%s", called, concat(names, ", "), quoted(text),
      near and format("; did you mean '%s'?", near) or ""))
  end
  return value
end

local function unknown_option(read, name)
  local names = {}
  for known in pairs(read.by_name) do
    if #known > 2 then names[#names + 1] = known end
  end
  sort(names)
  local near = #name > 2 and native.nearest(name, names)
  refuse(format("unknown option %s%s", name, near and format("; did you mean %s?", near) or ""))
end

local function set(result, item, value)
  if item.many then
    if item.is_flag then
      result[item.key] = (result[item.key] or 0) + 1
    else
      local list = result[item.key] or {}
      list[#list + 1] = value
      result[item.key] = list
    end
  elseif result[item.key] ~= nil and not item.is_flag then
    refuse(format("option %s was given twice", item.shown))
  else
    result[item.key] = value
  end
end

-- Returns the values by key without defaults, the positional words, and whether help was requested.
local function read_words(read, words)
  local result, rest = {}, {}
  local place, only_positionals = 1, false
  local function next_word(item, name)
    place = place + 1
    local word = words[place]
    if word == nil then refuse(format("option %s requires a value: %s %s", name, name, item.value)) end
    return word
  end
  local function take(item, name, attached)
    if item.is_flag then
      if attached then refuse(format("option %s takes no value", name)) end
      set(result, item, true)
    else
      set(result, item, value_of(item, attached or next_word(item, name)))
    end
    return item.is_help
  end
  while place <= #words do
    local word = words[place]
    if type(word) ~= "string" then misuse(format("args: the words must be strings, got %s", type(word))) end
    if only_positionals or word == "-" or sub(word, 1, 1) ~= "-" then
      rest[#rest + 1] = word
    elseif word == "--" then
      only_positionals = true
    elseif sub(word, 1, 2) == "--" then
      local name, attached = match(word, "^([^=]+)=(.*)$")
      name = name or word
      local item = read.by_name[name] or unknown_option(read, quoted(name):sub(2, -2))
      if take(item, name, attached) then return result, rest, true end
    elseif find(word, "^%-%.?%d") and not read.by_name[sub(word, 1, 2)] then -- a negative number
      rest[#rest + 1] = word
    else
      local letters = sub(word, 2)
      while letters ~= "" do
        local name = "-" .. sub(letters, 1, 1)
        local item = read.by_name[name] or unknown_option(read, quoted(name):sub(2, -2))
        letters = sub(letters, 2)
        local attached
        if not item.is_flag and letters ~= "" then
          attached, letters = gsub(letters, "^=", ""), ""
        end
        if take(item, name, attached) then return result, rest, true end
      end
    end
    place = place + 1
  end
  return result, rest, false
end

local function read_all(read, words)
  local result, rest, wants_help = read_words(read, words)
  if wants_help then return nil end
  local place = 1
  for _, item in ipairs(read.positionals) do
    if item.many then
      while place <= #rest do
        set(result, item, value_of(item, rest[place]))
        place = place + 1
      end
    elseif place <= #rest then
      result[item.key] = value_of(item, rest[place])
      place = place + 1
    end
    if item.required and result[item.key] == nil then refuse(format("argument %s is missing", item.shown)) end
  end
  if place <= #rest then refuse(format("unexpected argument %s", quoted(rest[place]))) end
  for _, item in ipairs(read.options) do
    if item.required and result[item.key] == nil then
      refuse(format("option %s is missing: %s %s", item.shown, item.shown, item.value or ""))
    end
  end
  for _, items in ipairs { read.positionals, read.options } do
    for _, item in ipairs(items) do
      if result[item.key] == nil and not item.is_help then
        if item.default ~= nil then
          result[item.key] = item.default
        elseif item.is_flag then
          result[item.key] = item.many and 0 or false
        elseif item.many then
          result[item.key] = {}
        end
      end
    end
  end
  return result
end

local function words_of(words)
  if words == nil then words = arg end
  if type(words) ~= "table" then misuse(format("args: a list of words expected, got %s", got(words))) end
  return words
end

-- args.read(specification, words) -> the values, or nil if help was requested. Raises an error if the words are
-- invalid. The default words are the command line.
function args.read(specification, words) return read_all(read_specification(specification), words_of(words)) end

-- args.parse(specification, words) -> the values. If the words are invalid, writes the error to standard error and
-- exits with status 2. If help was requested, prints the help text and exits with status 0.
function args.parse(specification, words)
  local read = read_specification(specification)
  words = words_of(words)
  local result, err = nightjar.try(read_all, read, words)
  if result then return result end
  if err == nil then
    stdout:write(help_text(read))
    stdout:flush()
    exit(0)
  end
  if type(err) ~= "userdata" then error(err, 0) end
  stderr:write(read.name, ": ", err.message, "\nTry '", read.name, " --help'.\n")
  exit(2)
end

return args
