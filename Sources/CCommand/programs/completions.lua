-- nightjar completions: generates completion scripts for bash, zsh and fish from the items of the subcommands.
local nightjar = require "nightjar"
local commands = require "nightjar.command.commands"

local completions = {}

-- Returns the options of some items: a list of { names, value, choices, help }.
local function options_of(items)
  local options = {}
  for _, item in ipairs(items) do
    local option = { names = {}, choices = item.choices, help = item.help or "" }
    for _, word in ipairs(item) do
      if word:sub(1, 1) == "-" then option.names[#option.names + 1] = word else option.value = word end
    end
    if #option.names > 0 then options[#options + 1] = option end
  end
  if items.summary then options[#options + 1] = { names = { "-h", "--help" }, help = "show help" } end
  return options
end

-- The commands that are not programs of this folder.
local others = {
  { name = "demo", summary = "Serves the demo API.", options = { { names = { "--port" }, value = "N", help = "port; 0: any free port" } } },
  { name = "transferd", summary = "Performs the background transfers of a journal.", options = {
    { names = { "--journal" }, value = "FILE", help = "the journal" },
    { names = { "--idle" }, value = "SECONDS", help = "time without work after which the worker ends" },
    { names = { "--concurrency" }, value = "N", help = "maximum number of transfers that run at the same time" },
    { names = { "--max-rate" }, value = "BYTES", help = "maximum sum of the rates of all transfers, per second" },
    { names = { "--detach" }, help = "start the worker in the background" },
    { names = { "--log" }, help = "write warnings and the ends of transfers to standard error" },
  } },
}

-- Returns the options of a subcommand, and of its commands if it has several.
local function all_options(name)
  local options, known = options_of(commands[name]), {}
  local function add(more)
    for _, option in ipairs(more) do
      local last = option.names[#option.names]
      if not known[last] and options ~= more then options[#options + 1] = option end
      known[last] = true
    end
  end
  add(options)
  for _, part in ipairs(commands.parts[name] or {}) do add(options_of(commands[name .. " " .. part])) end
  return options
end

-- Returns the kind of an option's value: "file", "profile", a list of words, or nil.
local function kind_of(option) return option.choices or commands.values[option.value] end

-- Returns the kind of the arguments of a subcommand.
local function argument_kind(name)
  for _, item in ipairs(commands[name]) do
    if item[1]:sub(1, 1) ~= "-" then return item.choices or commands.values[item[1]:upper()] end
  end
end

local function all_names()
  local names = {}
  for _, other in ipairs(others) do names[#names + 1] = other.name end
  for _, name in ipairs(commands.list) do names[#names + 1] = name end
  return names
end

local function words_of(options)
  local words = {}
  for _, option in ipairs(options) do
    for _, name in ipairs(option.names) do words[#words + 1] = name end
  end
  return table.concat(words, " ")
end

-- --- bash ---

local shells = {}

local function bash_values(options, out)
  for _, option in ipairs(options) do
    local kind = option.value and (kind_of(option) or "none")
    if kind then
      local action = kind == "file" and "_nightjar_files"
        or kind == "profile" and '_nightjar_words "$(nightjar profiles --names 2>/dev/null)"'
        or kind == "none" and ":" or ('_nightjar_words "%s"'):format(table.concat(kind, " "))
      out[#out + 1] = ("    %s) %s; return ;;"):format(table.concat(option.names, "|"), action)
    end
  end
end

function shells.bash()
  local out = { [[
# bash completion of nightjar
_nightjar_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
_nightjar_files() { COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null; }
_nightjar() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} name= word place
  COMPREPLY=()
  for ((place = 1; place < COMP_CWORD; place++)); do
    word=${COMP_WORDS[place]}
    case $word in
      --profile|--har|-e|-l) place=$((place + 1)) ;;
      -*) ;;
      *) name=$word; break ;;
    esac
  done
  case $name in]] }
  local function add(pattern, options, argument)
    out[#out + 1] = "  " .. pattern .. ")"
    out[#out + 1] = "    case $prev in"
    bash_values(options, out)
    out[#out + 1] = "    esac"
    out[#out + 1] = ('    if [[ $cur == -* ]]; then _nightjar_words "%s"; return; fi'):format(words_of(options))
    if argument then out[#out + 1] = "    " .. argument end
    out[#out + 1] = "    ;;"
  end
  add('""', options_of(commands.words), ('_nightjar_files; COMPREPLY+=($(compgen -W "%s" -- "$cur"))'):format(table.concat(all_names(), " ")))
  add(table.concat(commands.verbs, "|"), options_of(commands.get))
  for place = #commands.verbs + 1, #commands.list do
    local name = commands.list[place]
    local kind = argument_kind(name)
    add(name, all_options(name), kind == "file" and "_nightjar_files" or type(kind) == "table"
      and ('_nightjar_words "%s"'):format(table.concat(kind, " ")) or nil)
  end
  for _, other in ipairs(others) do add(other.name, other.options) end
  out[#out + 1] = "  *) _nightjar_files ;;"
  out[#out + 1] = "  esac\n}\ncomplete -F _nightjar nightjar\n"
  return table.concat(out, "\n")
end

-- --- zsh ---

local function zsh_quote(text) return (text:gsub("'", "'\\''")) end
local function zsh_help(text) return (zsh_quote(text):gsub("[%[%]]", "\\%0")) end

local function zsh_action(option)
  local kind = kind_of(option)
  if kind == "file" then return "_files" end
  if kind == "profile" then return "_nightjar_profiles" end
  return type(kind) == "table" and "(" .. table.concat(kind, " ") .. ")" or " "
end

local function zsh_options(options, out, indent)
  for _, option in ipairs(options) do
    local value = option.value and (":%s:%s"):format(option.value:lower(), zsh_action(option)) or ""
    for _, name in ipairs(option.names) do
      out[#out + 1] = ("%s'*%s[%s]%s' \\"):format(indent, name, zsh_help(option.help), value)
    end
  end
end

function shells.zsh()
  local out = { [[
#compdef nightjar
_nightjar_profiles() {
  local -a names
  names=(${(f)"$(nightjar profiles --names 2>/dev/null)"})
  compadd -a names
}
_nightjar() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C \]] }
  zsh_options(options_of(commands.words), out, "    ")
  out[#out + 1] = "    '1:command or script:->first' \\\n    '*::arguments:->rest'"
  out[#out + 1] = "  case $state in\n  first)\n    local -a names\n    names=("
  for _, name in ipairs(commands.list) do
    out[#out + 1] = ("      '%s:%s'"):format(name, zsh_quote(commands[name].summary))
  end
  for _, other in ipairs(others) do out[#out + 1] = ("      '%s:%s'"):format(other.name, zsh_quote(other.summary)) end
  out[#out + 1] = "    )\n    _describe command names\n    _files -g '*.lua'\n    ;;"
  out[#out + 1] = "  rest)\n    case $line[1] in"
  local function add(pattern, options, argument)
    out[#out + 1] = "    " .. pattern .. ")\n      _arguments \\"
    zsh_options(options, out, "        ")
    out[#out + 1] = ("        '*: :%s'\n      ;;"):format(argument)
  end
  add(table.concat(commands.verbs, "|"), options_of(commands.get), " ")
  for place = #commands.verbs + 1, #commands.list do
    local name = commands.list[place]
    local kind = argument_kind(name)
    add(name, all_options(name), kind == "file" and "_files" or type(kind) == "table"
      and "(" .. table.concat(kind, " ") .. ")" or " ")
  end
  for _, other in ipairs(others) do add(other.name, other.options, " ") end
  out[#out + 1] = "    *) _files ;;\n    esac\n    ;;\n  esac\n}\n"
  out[#out + 1] = 'if [ "$funcstack[1]" = _nightjar ]; then _nightjar "$@"; else compdef _nightjar nightjar; fi\n'
  return table.concat(out, "\n")
end

-- --- fish ---

local function fish_quote(text) return "'" .. text:gsub("[\\']", "\\%0") .. "'" end

local function fish_options(options, condition, out)
  for _, option in ipairs(options) do
    local line = { "complete -c nightjar -n " .. fish_quote(condition) }
    for _, name in ipairs(option.names) do
      line[#line + 1] = name:sub(1, 2) == "--" and "-l " .. name:sub(3) or "-s " .. name:sub(2)
    end
    local kind = option.value and kind_of(option)
    if option.value then
      line[#line + 1] = kind == "file" and "-r -F" or kind == "profile" and "-x -a '(nightjar profiles --names 2>/dev/null)'"
        or type(kind) == "table" and "-x -a " .. fish_quote(table.concat(kind, " ")) or "-x"
    end
    if option.help ~= "" then line[#line + 1] = "-d " .. fish_quote(option.help) end
    out[#out + 1] = table.concat(line, " ")
  end
end

function shells.fish()
  local out = { "# fish completion of nightjar" }
  local first = "__fish_use_subcommand"
  for _, name in ipairs(commands.list) do
    out[#out + 1] = ("complete -c nightjar -n %s -a %s -d %s"):format(first, name, fish_quote(commands[name].summary))
  end
  for _, other in ipairs(others) do
    out[#out + 1] = ("complete -c nightjar -n %s -a %s -d %s"):format(first, other.name, fish_quote(other.summary))
  end
  fish_options(options_of(commands.words), first, out)
  fish_options(options_of(commands.get), "__fish_seen_subcommand_from " .. table.concat(commands.verbs, " "), out)
  out[#out + 1] = ("complete -c nightjar -f -n '__fish_seen_subcommand_from %s'"):format(table.concat(commands.verbs, " "))
  for place = #commands.verbs + 1, #commands.list do
    local name = commands.list[place]
    local condition, kind = "__fish_seen_subcommand_from " .. name, argument_kind(name)
    fish_options(all_options(name), condition, out)
    if kind ~= "file" then
      out[#out + 1] = ("complete -c nightjar -f -n '%s'%s"):format(condition,
        type(kind) == "table" and " -a " .. fish_quote(table.concat(kind, " ")) or "")
    end
  end
  for _, other in ipairs(others) do
    local condition = "__fish_seen_subcommand_from " .. other.name
    fish_options(other.options, condition, out)
    out[#out + 1] = ("complete -c nightjar -f -n '%s'"):format(condition)
  end
  out[#out + 1] = ""
  return table.concat(out, "\n")
end

function completions.run(words)
  local options = nightjar.args.parse(commands.completions, words)
  io.stdout:write(shells[options.shell]())
  return 0
end

return completions
