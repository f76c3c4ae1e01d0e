-- What has worked in a session, in order, as a script: .save. What failed is not in it; secrets are looked up in the environment.
local lexer = require "nightjar.command.lexer"
local nightjar = require "nightjar"
local secrets = require "nightjar.command.secrets"
local terminal = require "nightjar.command.terminal"

local keep = {}

-- How the first line of each saved file begins.
local mark = "-- Saved at the prompt of nightjar"

-- Chunks that are kept, the oldest are dropped behind that.
local most = 10000
local chunks = {}

-- A chunk has `text`; `step`, under which the session has recorded what it did; `is_expression`: its value became `_`, unless it
-- `is_nil`; `returns`: it is no expression and has returned something; `expected`, what came of it; `file`, where it ran one;
-- `failed`: it did not work, and is kept for what it may have given values to.
function keep.add(chunk)
  if chunk.is_expression and chunk.text:find "^%s*help%f[^%w_]" then return end -- The prompt alone has it.
  if #chunks >= most then table.remove(chunks, 1) end
  chunks[#chunks + 1] = chunk
end

function keep.chunks() return chunks end

-- What would not end with its line, or end more than that.
local bound = { ["local"] = true, ["return"] = true, ["goto"] = true, ["::"] = true }

local function is_bound(text)
  for _, token in ipairs(lexer.tokens(text)) do
    if token.kind ~= "string" and token.kind ~= "comment" then
      local word = text:sub(token.first, token.last)
      if bound[word] or word == ":" and text:sub(token.first, token.first + 1) == "::" then return true end
    end
  end
  return false
end

-- The chunk as a statement among others: `text` is its own, changed.
function keep.statement(chunk, text)
  text = text:gsub("^%s+", "")
  if chunk.is_expression then
    if not chunk.is_nil then return "_ = " .. text .. (chunk.is_response and "\nres = _" or "") end
    -- A call stands by itself, unless it could be taken for one of what is before it.
    if text:find "^[%a_]" and load(text, "=stdin", "t") then return text end
    return "do local _ = " .. text .. (text:find("--", 1, true) and "\nend" or " end")
  end
  if chunk.returns then return "_ = (function()\n" .. text .. "\nend)()" end
  return is_bound(text) and "do\n" .. text .. "\nend" or text
end

-- The lines of the script.
function keep.script()
  local names, lines = {}, {}
  for _, chunk in ipairs(chunks) do
    if not chunk.failed then
      local text, found = secrets.replace(chunk.text)
      for _, name in ipairs(found) do names[name] = true end
      lines[#lines + 1] = keep.statement(chunk, text)
    end
  end
  local head = { mark .. ".", 'nightjar = require "nightjar"' }
  local variables = {}
  for name in pairs(names) do variables[#variables + 1] = name end
  table.sort(variables)
  if #variables > 0 then
    table.insert(head, 2, "-- It reads from the environment: " .. table.concat(variables, ", "))
  end
  return table.concat(head, "\n") .. "\n\n" .. table.concat(lines, "\n") .. (#lines > 0 and "\n" or ""), #lines, variables
end

-- Whether the file is there and .save has not written it.
function keep.is_foreign(path)
  local file = io.open(path, "rb")
  if not file then return nightjar.fs.exists(path) end
  local first = file:read(#mark)
  file:close()
  return first ~= mark
end

-- Writes the script, for its owner alone.
-- @param force whether a file that .save has not written is overwritten too
-- @return what to tell, or nil and why it could not be written
function keep.save(path, force)
  if not force and keep.is_foreign(path) then
    return nil, path .. " is there, and .save has not written it; .save! overwrites it"
  end
  local script, count, variables = keep.script()
  local overwritten = nightjar.fs.exists(path)
  local ok, message = terminal.write_private(path, script, false)
  if not ok then return nil, message end
  local told = ("%d line%s in %s"):format(count, count == 1 and "" or "s", path)
  if overwritten then told = told .. ", in the place of what was there" end
  if #variables > 0 then told = told .. "; set " .. table.concat(variables, ", ") .. " to run it" end
  return told
end

return keep
