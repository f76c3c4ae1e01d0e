-- .save: saves the successful statements of a session as a script, in order. Secrets are replaced by reads from the
-- environment.
local lexer = require "nightjar.command.lexer"
local nightjar = require "nightjar"
local secrets = require "nightjar.command.secrets"
local terminal = require "nightjar.command.terminal"

local keep = {}

-- The beginning of the first line of each saved file.
local mark = "-- Saved at the prompt of nightjar"

-- The maximum number of chunks; the oldest are dropped.
local most = 10000
local chunks = {}

-- Adds a chunk with these fields:
--
--   text           the text of the chunk
--   step           the number under which the session recorded the chunk's exchanges
--   is_expression  whether the chunk is an expression; `_` is its value unless `is_nil` is true
--   returns        whether a statement returned values
--   expected       the expected results
--   file           the file that the chunk ran
--   failed         whether the chunk raised an error; the chunk is kept because it may have set variables
function keep.add(chunk)
  if chunk.is_expression and chunk.text:find "^%s*help%f[^%w_]" then return end -- Help is only available at the prompt.
  if #chunks >= most then table.remove(chunks, 1) end
  chunks[#chunks + 1] = chunk
end

function keep.chunks() return chunks end

-- The first tokens of statements that affect only their own line at the prompt, and of statements that would end the
-- script.
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

-- Returns the chunk as a statement of a script. `text` is the chunk's text after replacements.
function keep.statement(chunk, text)
  text = text:gsub("^%s+", "")
  if chunk.is_expression then
    if not chunk.is_nil then return "_ = " .. text .. (chunk.is_response and "\nres = _" or "") end
    -- A call is a statement, unless Lua could parse it as a continuation of the previous line.
    if text:find "^[%a_]" and load(text, "=stdin", "t") then return text end
    return "do local _ = " .. text .. (text:find("--", 1, true) and "\nend" or " end")
  end
  if chunk.returns then return "_ = (function()\n" .. text .. "\nend)()" end
  return is_bound(text) and "do\n" .. text .. "\nend" or text
end

-- Returns the script, the number of statements, and the environment variables that the script reads.
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
    table.insert(head, 2, "-- Environment variables: " .. table.concat(variables, ", "))
  end
  return table.concat(head, "\n") .. "\n\n" .. table.concat(lines, "\n") .. (#lines > 0 and "\n" or ""), #lines, variables
end

-- Returns whether the file exists and was not written by .save.
function keep.is_foreign(path)
  local file = io.open(path, "rb")
  if not file then return nightjar.fs.exists(path) end
  local first = file:read(#mark)
  file:close()
  return first ~= mark
end

-- Writes the script, accessible only to the user.
-- @param force whether to overwrite a file that .save did not write
-- @return a message, or nil and the reason why the script was not written
function keep.save(path, force)
  if not force and keep.is_foreign(path) then
    return nil, path .. " exists and was not written by .save; use .save! to overwrite it"
  end
  local script, count, variables = keep.script()
  local overwritten = nightjar.fs.exists(path)
  local ok, message = terminal.write_private(path, script, false)
  if not ok then return nil, message end
  local reported = ("%d line%s in %s"):format(count, count == 1 and "" or "s", path)
  if overwritten then reported = reported .. ", overwriting the previous file" end
  if #variables > 0 then reported = reported .. "; set " .. table.concat(variables, ", ") .. " to run it" end
  return reported
end

return keep
