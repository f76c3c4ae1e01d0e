-- The reports of nightjar.testing: readable, TAP and none. Each report is a function that takes `write` and returns the
-- functions `result` and `finish`.
local format, gsub = string.format, string.gsub

local reports = {}

local function milliseconds(seconds) return format("%.0f ms", (seconds or 0) * 1000) end

local function indented(text, by) return by .. gsub(text, "\n", "\n" .. by) end

local function full_name(result) return result.file and result.file .. ": " .. result.name or result.name end

function reports.readable(write)
  local words = { passed = "ok   ", failed = "FAIL ", skipped = "skip " }
  return {
    result = function(result)
      local reason = result.reason and " (" .. result.reason .. ")" or ""
      write(format("%s %s%s  %s\n", words[result.status], full_name(result), reason, milliseconds(result.duration)))
      if result.message then write(indented(result.message, "      ") .. "\n") end
      if result.traceback then write(indented(result.traceback, "      ") .. "\n") end
    end,
    finish = function(summary)
      if #summary.tests == 0 then write "no tests were run\n" end
      write(format("%d passed, %d failed, %d skipped  %s\n", summary.passed, summary.failed, summary.skipped,
        milliseconds(summary.duration)))
    end,
  }
end

-- Reports in the Test Anything Protocol, version 14.
function reports.tap(write)
  local number = 0
  write "TAP version 14\n"
  return {
    result = function(result)
      number = number + 1
      local name = gsub(gsub(full_name(result), "[\\#]", "\\%0"), "\n", " ")
      local directive = result.status == "skipped" and " # SKIP " .. (result.reason or "") or ""
      write(format("%s %d - %s%s\n", result.status == "failed" and "not ok" or "ok", number, name, directive))
      if result.status == "failed" then
        write("  ---\n  message: |\n" .. indented(result.message or "", "    ") .. "\n")
        if result.traceback then write("  traceback: |\n" .. indented(result.traceback, "    ") .. "\n") end
        write "  ...\n"
      end
    end,
    finish = function() write(format("1..%d\n", number)) end,
  }
end

function reports.none() return { result = function() end, finish = function() end } end

return reports
