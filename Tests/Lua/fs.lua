-- nightjar.fs: files and folders. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local fs = nightjar.fs

-- Each case has its own folder, and in it the path of a file that does not exist yet.
local folder, root, path
testing.before(function()
  folder = fs.temp_dir { prefix = "fs-", suffix = ".test" }
  root, path = folder.path, folder.path .. "/a.txt"
end)
testing.after(function() folder:remove() end)

local every_byte = {}
for byte = 0, 255 do every_byte[#every_byte + 1] = string.char(byte) end
local binary = table.concat(every_byte):rep(8192)
local many_lines = ("0123456789\n"):rep(200000)

test("a temporary folder has the given prefix and suffix, and is private", function(t)
  t:matches(root, "/fs%-[a-z0-9]+%.test$")
  t:equal(tostring(folder), root)
  t:equal(fs.stat(root).kind, "folder")
  t:equal(fs.stat(root).mode, 7 * 64)
end)

test("read returns what write and append have written", function(t)
  fs.write(path, "hello\n")
  t:equal(fs.read(path), "hello\n")
  fs.append(path, "world\n")
  fs.append(path, 7)
  t:equal(fs.read(path), "hello\nworld\n7")
  fs.write(path, "")
  t:equal(fs.read(path), "")
end)

test("files contain any bytes", function(t)
  fs.write(path, binary)
  t:equal(fs.read(path), binary)
  t:equal(fs.stat(path).size, #binary)
  t:truthy(math.abs(fs.stat(path).modified - os.time()) < 100)
end)

test("read is limited by max_bytes", function(t)
  fs.write(path, binary)
  fails("too_large", ("%q is larger than the limit of 100 bytes"):format(path), fs.read, path, { max_bytes = 100 })
  t:equal(#fs.read(path, { max_bytes = #binary }), #binary)
end)

test("read returns the content of a file whose size is reported as 0", function(t)
  t:matches(fs.read "/proc/self/status", "Name:")
end)

test("write replaces the file: an open handle still reads the old one, and no temporary file remains", function(t)
  fs.write(path, binary)
  local old = assert(io.open(path))
  fs.write(path, "new")
  t:equal(old:read(4), binary:sub(1, 4))
  old:close()
  t:equal(fs.read(path), "new")
  t:equal(#fs.list(root), 1)
end)

test("write keeps the permissions, or sets the given mode", function(t)
  fs.write(path, "new")
  fs.write(path, "x", { mode = 6 * 64 })
  t:equal(fs.stat(path).mode, 6 * 64)
  fs.write(path, "y")
  t:equal(fs.stat(path).mode, 6 * 64)
end)

test("write through a link replaces its target, and the link remains", function(t)
  fs.write(path, "y")
  os.execute(("ln -s a.txt %s/link"):format(root))
  fs.write(root .. "/link", "through the link")
  t:equal(fs.read(path), "through the link")
  t:equal(fs.stat(root .. "/link", { follow = false }).kind, "link")
  t:equal(fs.stat(root .. "/link").kind, "file")
end)

test("write reports the path and the reason of a failure", function()
  fails("storage", ('cannot write %q: No such file or directory'):format(root .. "/no/file"),
    fs.write, root .. "/no/file", "x")
end)

test("write writes to a device, and with atomic = false to the existing file", function(t)
  fs.write("/dev/null", "a device is not replaced")
  fs.write(path, "before")
  fs.write(path, "in place", { atomic = false })
  t:equal(fs.read(path), "in place")
end)

test("exists and stat return the kind of a path, or false and nil", function(t)
  fs.write(path, "")
  t:equal(fs.exists(path), "file")
  t:equal(fs.exists(root), "folder")
  t:equal(fs.exists(root .. "/none"), false)
  t:equal(fs.exists(path .. "/none"), false)
  t:equal(fs.stat(root .. "/none"), nil)
  t:equal(fs.exists "/dev/null", "device")
end)

test("mkdir creates parents, and accepts a folder that exists", function()
  fs.write(path, "")
  fs.mkdir(root .. "/one/two/three")
  fs.mkdir(root .. "/one/two/three")
  fs.mkdir(root .. "/one//two/four/")
  fails("storage", ("cannot make %q: File exists"):format(path), fs.mkdir, path)
  fails("storage", ("cannot make %q: No such file or directory"):format(root .. "/x/y"), fs.mkdir, root .. "/x/y",
    { parents = false })
end)

test("list returns the sorted names and their kinds", function(t)
  fs.mkdir(root .. "/one/two/three")
  fs.mkdir(root .. "/one//two/four/")
  fs.write(root .. "/one/two/z", "")
  fs.write(root .. "/one/two/b", "")
  local names, kinds = fs.list(root .. "/one/two")
  t:equal(table.concat(names, " "), "b four three z")
  t:equal(kinds.four, "folder")
  t:equal(kinds.b, "file")
  fs.write(path, "")
  os.execute(("ln -s a.txt %s/link"):format(root))
  t:equal(select(2, fs.list(root)).link, "link")
  fails("storage", ("cannot list %q: Not a directory"):format(path), fs.list, path)
end)

test("rename moves a file", function(t)
  fs.write(path, "moved")
  fs.rename(path, root .. "/b.txt")
  t:equal(fs.exists(path), false)
  t:equal(fs.read(root .. "/b.txt"), "moved")
  fails("storage", ("cannot rename %q to %q: No such file or directory"):format(path, root .. "/c"), fs.rename, path,
    root .. "/c")
end)

test("copy copies the content and the permissions of a file", function(t)
  fs.write(path, "in place", { mode = 6 * 64 })
  fs.copy(path, root .. "/c.txt")
  t:equal(fs.read(root .. "/c.txt"), "in place")
  t:equal(fs.stat(root .. "/c.txt").mode, 6 * 64)
  fails("storage", ("cannot copy %q: Is a directory"):format(root), fs.copy, root, root .. "/d")
end)

test("remove returns whether the path existed, and removes a folder that is not empty only if recursive", function(t)
  fs.write(path, "")
  t:equal(fs.remove(path), true)
  t:equal(fs.remove(path), false)
  fs.mkdir(root .. "/one/two")
  fails("storage", ("cannot remove %q: Directory not empty; set recursive = true to remove its contents, too"):format(
    root .. "/one"), fs.remove, root .. "/one")
  local deep = root .. "/deep" .. ("/d"):rep(100)
  fs.mkdir(deep)
  for number = 1, 50 do fs.write(deep .. "/" .. number, "") end
  t:equal(fs.remove(root .. "/deep", { recursive = true }), true)
end)

test("a recursive remove removes links that lead out of the folder, and does not follow them", function(t)
  fs.mkdir(root .. "/one")
  fs.mkdir(root .. "/outside")
  fs.write(root .. "/outside/kept", "kept")
  os.execute(("ln -s ../outside %s/one/way-out"):format(root))
  t:equal(fs.remove(root .. "/one", { recursive = true }), true)
  t:equal(fs.exists(root .. "/one"), false)
  t:equal(fs.read(root .. "/outside/kept"), "kept")
  os.execute(("ln -s outside %s/to-outside"):format(root))
  t:equal(fs.remove(root .. "/to-outside", { recursive = true }), true)
  t:equal(fs.read(root .. "/outside/kept"), "kept")
end)

test("lines returns the lines without their endings, also empty lines and a last line without an ending", function(t)
  fs.write(path, "one\n\nthree\nlast")
  local lines = {}
  for line in fs.lines(path) do lines[#lines + 1] = line end
  t:equal(table.concat(lines, "|"), "one||three|last")
end)

test("lines reads a long file, and a loop over it can be left", function(t)
  fs.write(path, many_lines)
  local count = 0
  for line in fs.lines(path) do
    assert(line == "0123456789")
    count = count + 1
  end
  t:equal(count, 200000)
  for _ in fs.lines(path) do break end
end)

test("lines raises an error for a line that is too long and for a missing file", function()
  fs.write(path, many_lines)
  fails("too_large", ("a line of %q is longer than the limit of 5 bytes"):format(path),
    fs.lines(path, { max_line = 5 }))
  fails("storage", ("cannot read %q: No such file or directory"):format(root .. "/none"), fs.lines, root .. "/none")
end)

test("temporary files and folders are deleted with their variables", function(t)
  local kept
  do
    local file <close> = fs.temp_file { dir = root, suffix = ".txt" }
    kept = file.path
    t:matches(kept, "/nightjar%-[a-z0-9]+%.txt$")
    t:equal(fs.stat(file.path).mode, 6 * 64)
    fs.write(file.path, "x")
    local inner <close> = fs.temp_dir { dir = file.path:match "^(.*)/" }
    fs.write(inner.path .. "/y", "y")
    t:equal(fs.read(file), "x")
  end
  t:equal(fs.exists(kept), false)
end)

test("remove deletes a temporary file, and has no effect a second time", function(t)
  local file = fs.temp_file()
  local kept = file.path
  file:remove()
  file:remove()
  t:equal(fs.exists(kept), false)
end)

test("the garbage collector deletes an unreferenced temporary folder", function(t)
  local kept = nightjar.spawn(function() return fs.temp_dir().path end):join()
  for _ = 1, 3 do collectgarbage() end
  t:equal(fs.exists(kept), false)
end)

test("several operations run concurrently", function(t)
  local numbers = {}
  for number = 1, 100 do numbers[number] = number end
  nightjar.map(numbers, function(number)
    fs.write(root .. "/n" .. number, ("x"):rep(number))
    t:equal(#fs.read(root .. "/n" .. number), number)
  end, { concurrency = 20 })
end)

test("a write that has started is completed even if its task is cancelled: all or nothing", function(t)
  fs.write(path, many_lines)
  for _ = 1, 20 do
    local task = nightjar.spawn(fs.write, path, binary)
    nightjar.sleep(0)
    task:cancel()
    pcall(task.join, task)
  end
  nightjar.sleep(0.05)
  local size = fs.stat(path).size
  t:truthy(size == #binary or size == #many_lines, size)
end)

test("a private file is never readable by others, not even under its temporary name", function(t)
  local private = root .. "/private"
  local task = nightjar.spawn(fs.write, private, ("x"):rep(32 * 1024 * 1024), { mode = 6 * 64 })
  while not task.done do
    for _, name in ipairs(fs.list(root)) do
      local found = name:find "^%.nightjar%-" and fs.stat(root .. "/" .. name)
      if found then t:equal(found.mode, 6 * 64) end
    end
  end
  task:join()
  t:equal(fs.stat(private).mode, 6 * 64)
end)

local function named_pipe()
  local pipe = root .. "/named"
  assert(os.execute(("mkfifo %s"):format(pipe)))
  return pipe
end

test("waiting for the other end of a named pipe does not block other tasks, and can be cancelled", function(t)
  local pipe = named_pipe()
  for _, wait in ipairs {
    function() fs.read(pipe) end,
    function() fs.write(pipe, "x") end,
    function() fs.append(pipe, "x") end,
    function() fs.copy(pipe, root .. "/never") end,
    function() for _ in fs.lines(pipe) do end end,
  } do
    local waiting = {}
    for place = 1, 12 do waiting[place] = nightjar.spawn(wait) end
    nightjar.sleep(0.005)
    fs.write(path, "not held up")
    t:equal(fs.read(path), "not held up")
    for _, task in ipairs(waiting) do
      t:equal(task.done, false)
      task:cancel()
      fails("cancelled", "the task was cancelled", task.join, task)
    end
  end
  t:equal(fs.exists(root .. "/never"), false)
end)

test("a named pipe transfers all data, in either order of opening its ends", function(t)
  local pipe = named_pipe()
  local much = ("0123456789\n"):rep(20000)
  local reading = nightjar.spawn(fs.read, pipe)
  fs.write(pipe, much)
  t:equal(reading:join(), much)
  local writing = nightjar.spawn(fs.append, pipe, much)
  local count = 0
  for line in fs.lines(pipe) do
    t:equal(line, "0123456789")
    count = count + 1
  end
  t:equal(count, 20000)
  writing:join()
  writing = nightjar.spawn(fs.write, pipe, much)
  fails("too_large", ("%q is larger than the limit of 100 bytes"):format(pipe), fs.read, pipe, { max_bytes = 100 })
  fails("storage", ("cannot write %q: Broken pipe"):format(pipe), writing.join, writing)
end)

test("copying to a named pipe writes into it and does not replace it", function(t)
  local pipe = named_pipe()
  local much = ("0123456789\n"):rep(20000)
  fs.write(path, much)
  local reading = nightjar.spawn(fs.read, pipe)
  fs.copy(path, pipe)
  t:equal(reading:join(), much)
  t:equal(fs.exists(pipe), "pipe")
end)

test("copying from a named pipe reads it to its end", function(t)
  local pipe = named_pipe()
  local writing = nightjar.spawn(fs.write, pipe, "from the pipe")
  fs.copy(pipe, root .. "/copied")
  writing:join()
  t:equal(fs.read(root .. "/copied"), "from the pipe")
  t:equal(fs.exists(pipe), "pipe")
end)

test("invalid arguments raise an error that names the function and the argument", function()
  misuse("fs.read: argument 1 must be a path, got no value", fs.read)
  misuse("fs.read: the path is empty", fs.read, "")
  misuse([[fs.read: the path must not contain a NUL: "a\0b"]], fs.read, "a\0b")
  misuse("fs.write: argument 2 must be a string, got table", fs.write, path, {})
  misuse("fs.write: unknown option 'atomc'; did you mean 'atomic'?", fs.write, path, "", { atomc = true })
  misuse("fs.temp_file: option 'prefix' must not contain a slash or a NUL", fs.temp_file, { prefix = "../" })
end)

test("the error for a missing file has the system's message and code", function(t)
  fails("storage", 'cannot read "/no/such/file": No such file or directory', fs.read, "/no/such/file")
  t:equal(select(2, pcall(fs.read, "/no/such/file")).code, 2)
end)

assert(testing.run().ok, "a case failed")
