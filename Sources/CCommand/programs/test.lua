-- nightjar test: runs the tests of files and folders with nightjar.testing.
local nightjar = require "nightjar"
local commands = require "nightjar.command.commands"

local test = {}

-- The maximum nesting depth of folders, and the maximum number of files.
local deepest, most_files = 50, 10000

local function is_test(name) return name:find "_test%.lua$" ~= nil or name:find "^test_.*%.lua$" ~= nil end

-- Adds the tests of a folder, sorted by name. Folders whose names begin with a dot are skipped.
local function add_folder(folder, files, depth)
  if depth > deepest then error(("%s: folders are nested more than %d levels deep"):format(folder, deepest), 0) end
  local names, kinds = nightjar.fs.list(folder)
  for _, name in ipairs(names) do
    local path = folder:gsub("/+$", "") .. "/" .. name
    if kinds[name] == "folder" and name:sub(1, 1) ~= "." then
      add_folder(path, files, depth + 1)
    elseif kinds[name] == "file" and is_test(name) then
      if #files >= most_files then error(("%s: more than %d test files, the maximum of one run; name fewer folders"):format(folder, most_files), 0) end
      files[#files + 1] = path
    end
  end
end

local function find(paths)
  local files = {}
  for _, path in ipairs(paths) do
    local kind = nightjar.fs.exists(path)
    if not kind then error(path .. ": No such file or directory", 0) end
    if kind == "folder" then
      local count = #files
      add_folder(path, files, 1)
      if #files == count then error(path .. ": contains no tests; test files must be named NAME_test.lua or test_NAME.lua", 0) end
    else
      files[#files + 1] = path
    end
  end
  return files
end

function test.run(words)
  local options = nightjar.args.parse(commands.test, words)
  local ok, files = pcall(find, options.path)
  if not ok then
    io.stderr:write("nightjar: ", tostring(files), "\n")
    return 1
  end
  local summary = require("nightjar.testing").run {
    files = files, filter = options.filter, format = options.tap and "tap" or "readable", fail_fast = options.fail_fast or nil,
    timeout = options.timeout,
  }
  io.stdout:flush()
  return summary.exit
end

return test
