-- Checks a table of line counts: the row "| [Title](#title) | 20 lines | 31 lines |" has the lines of the Swift programs of the section
-- "Title". Empty lines and comments do not count.
local code_lines = {}

-- Returns the line counts of the Swift programs of each section, by its heading.
local function counts_of(text)
  local counts, current, count = {}, nil, nil
  for line in text:gmatch "([^\n]*)\n" do
    local heading = not count and line:match "^## (.+)$"
    if heading then
      current = {}
      counts[heading] = current
    elseif line == "```swift" then
      count = 0
    elseif line == "```" and count then
      if current then current[#current + 1] = count end
      count = nil
    elseif count and line:find "%S" and not line:find "^%s*//" then
      count = count + 1
    end
  end
  return counts
end

-- Returns one message for each wrong number of a document.
function code_lines.problems(file, text)
  local counts, problems, number = counts_of(text), {}, 0
  for line in text:gmatch "([^\n]*)\n" do
    number = number + 1
    local title, cells = line:match "^| %[(.-)%]%(#[^)]*%) (|.*)$"
    local place = 0
    for stated in (counts[title] and cells or ""):gmatch "| (%d+)" do
      place = place + 1
      local actual = counts[title][place]
      if tonumber(stated) ~= actual then
        problems[#problems + 1] = ("%s:%d: program %d of %q has %s lines of code, not %s"):format(
          file, number, place, title, actual or "no", stated)
      end
    end
  end
  return problems
end

return code_lines
