-- What has worked in a session, in order, as a script: .save. What failed is not in it; secrets are looked up in the environment.
local secrets = require "nightjar.command.secrets"
local terminal = require "nightjar.command.terminal"

local keep = {}

-- Chunks that are kept, the oldest are dropped behind that.
local most = 10000
local chunks = {}

-- `is_expression`: its value became `_`.
function keep.add(text, is_expression)
  if is_expression and text:find "^%s*help%f[^%w_]" then return end -- The prompt alone has it.
  if #chunks >= most then table.remove(chunks, 1) end
  chunks[#chunks + 1] = { text = text, is_expression = is_expression }
end

local function statement(chunk, names)
  local text, found = secrets.replace(chunk.text)
  for _, name in ipairs(found) do names[name] = true end
  if chunk.is_expression then return "_ = " .. text:gsub("^%s+", "") end
  -- A local ends with the line that it was typed in.
  if text:find "^%s*local%f[^%w_]" then return "do\n" .. text .. "\nend" end
  return text
end

-- The lines of the script.
function keep.script()
  local names, lines = {}, {}
  for index, chunk in ipairs(chunks) do lines[index] = statement(chunk, names) end
  local head = { "-- Saved at the prompt of nightjar.", 'nightjar = require "nightjar"' }
  local variables = {}
  for name in pairs(names) do variables[#variables + 1] = name end
  table.sort(variables)
  if #variables > 0 then
    table.insert(head, 2, "-- It reads from the environment: " .. table.concat(variables, ", "))
  end
  return table.concat(head, "\n") .. "\n\n" .. table.concat(lines, "\n") .. (#lines > 0 and "\n" or ""), #lines, variables
end

-- Writes the script, for its owner alone.
-- @return what to tell, or nil and why it could not be written
function keep.save(path)
  local script, count, variables = keep.script()
  local ok, message = terminal.write_private(path, script, false)
  if not ok then return nil, message end
  local told = ("%d line%s in %s"):format(count, count == 1 and "" or "s", path)
  if #variables > 0 then told = told .. "; set " .. table.concat(variables, ", ") .. " to run it" end
  return told
end

return keep
