-- Builds the Swift programs of the documents as one executable.
local system, expected_output = require "system", require "expected_output"
local swift = {}

-- Declarations in the first column become fileprivate; the other lines become the body of a function.
local declares = { struct = true, enum = true, class = true, final = true, actor = true, extension = true, protocol = true,
  func = true, typealias = true }

local function swift_source(program)
  local imports, declarations, body, is_open, number, into = {}, {}, {}, false, program.line, nil
  local function add(list, line)
    -- Makes the compiler report positions in the document.
    if into ~= list then list[#list + 1] = ('#sourceLocation(file: "%s", line: %d)'):format(program.file, number) end
    list[#list + 1], into = line, list
  end
  for line in program.code:gmatch "([^\n]*)\n" do
    number = number + 1
    line = line:gsub("http://127%.0%.0%.1:8080", line:find('#"', 1, true) and "\\#(demoURL)" or "\\(demoURL)")
    local keyword = line:match "^(%a+)"
    if is_open then
      add(declarations, line)
      is_open = not line:find "^}"
    elseif keyword == "import" then
      add(imports, line)
    elseif declares[keyword] then
      add(declarations, "fileprivate " .. line)
      is_open = line:find "{" and not line:find "}%s*$"
    else
      add(body, line)
    end
  end
  return ("%s\n%s\n#sourceLocation()\nfunc %s() async throws {\n%s\n#sourceLocation()\n}\n"):format(
    table.concat(imports, "\n"), table.concat(declarations, "\n"), program.name, table.concat(body, "\n"))
end

-- Writes the sources to `folder`, and sets the name of each program.
function swift.write(folder, programs)
  local cases = {}
  for number, program in ipairs(programs) do
    program.name = ("example%d"):format(number)
    system.write_file(("%s/%s.swift"):format(folder, program.name), swift_source(program))
    cases[#cases + 1] = ('case "%s": try await %s()  // %s:%d'):format(program.name, program.name, program.file, program.line)
  end
  system.write_file(folder .. "/demo.swift", 'import Glibc\n\nlet demoURL = String(cString: getenv("NIGHTJAR_DEMO_URL"))\n')
  system.write_file(folder .. "/main.swift", "switch CommandLine.arguments[1] {\n" .. table.concat(cases, "\n") .. "\ndefault: break\n}\n")
end

-- Returns the compiler's arguments to import the modules of .build/debug, as one text; or nil and the reason why there are none.
function swift.import_arguments(root)
  local manifest = io.open(root .. "/.build/debug.yaml")
  if not manifest then return nil, "there is no .build/debug: run swift build" end
  local words = manifest:read "a":match '"C%.NightjarCommand[^"]*%.module":.-\n    args: %[(.-)%]\n'
  manifest:close()
  if not words then return nil, "there is no plan for the command in .build/debug.yaml" end
  local arguments, all, index = {}, {}, 1
  for word in words:gmatch '"([^"]*)"' do all[#all + 1] = word end
  while all[index] do
    local word, after = all[index], all[index + 1] or ""
    if word == "-Xcc" then
      arguments[#arguments + 1] = "-Xcc " .. system.quoted(after)
      index = index + 1
    elseif word == "-I" then
      arguments[#arguments + 1] = "-I " .. system.quoted(after)
      index = index + 1
    elseif word:find "^%-I." then
      arguments[#arguments + 1] = system.quoted(word)
    end
    index = index + 1
  end
  return table.concat(arguments, " ")
end

-- Compiles the sources in `folder` to `binary` with the modules and objects of .build/debug.
--
-- Returns true; false and the errors; or nil and the reason why nothing was compiled.
function swift.compile(root, folder, binary)
  local imports, reason = swift.import_arguments(root)
  if not imports then return nil, reason end
  local link = system.read_file(root .. "/.build/debug.yaml"):match '"C%.nightjar%-link%-[^"]*%.exe":.-\n    args: %[(.-)%]\n' or ""
  local arguments = { imports }
  for word in link:gmatch '"(%-l[^"]*)"' do arguments[#arguments + 1] = word end
  local objects = {}
  for path in system.read_file(root .. "/.build/debug/nightjar-link.product/Objects.LinkFileList"):gmatch "[^\n]+" do
    if not path:find "/NightjarLink%.build/" then objects[#objects + 1] = path end
  end
  local list = folder .. "/objects"
  system.write_file(list, table.concat(objects, "\n") .. "\n")
  local command = "cd %s && swiftc -swift-version 6 -Onone -o %s %s %s/*.swift @%s .build/debug/NightjarFoundation.build/*.o 2>&1"
  local output, status = system.shell(command:format(system.quoted(root), system.quoted(binary), table.concat(arguments, " "),
    system.quoted(folder), system.quoted(list)))
  if status == 0 then return true end
  local lines = expected_output.lines(output)
  return false, table.concat(lines, "\n", 1, math.min(#lines, 40))
end

return swift
