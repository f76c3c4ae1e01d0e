-- nightjar.fs: files and folders. Needs no server.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails
local fs = nightjar.fs

local folder <close> = fs.temp_dir { prefix = "fs-", suffix = ".test" }
local root = folder.path
assert(root:match "/fs%-[a-z0-9]+%.test$", root)
equal(tostring(folder), root)
equal(fs.stat(root).kind, "folder")
equal(fs.stat(root).mode, 7 * 64)
local path = root .. "/a.txt"

-- Read, write, append.
fs.write(path, "hello\n")
equal(fs.read(path), "hello\n")
fs.append(path, "world\n")
fs.append(path, 7)
equal(fs.read(path), "hello\nworld\n7")
fs.write(path, "")
equal(fs.read(path), "")
local bytes = {}
for byte = 0, 255 do bytes[#bytes + 1] = string.char(byte) end
local binary = table.concat(bytes):rep(8192)
fs.write(path, binary)
equal(fs.read(path), binary)
equal(fs.stat(path).size, #binary)
assert(math.abs(fs.stat(path).modified - os.time()) < 100)
fails("too_large", ("%q is larger than the limit of 100 bytes"):format(path), fs.read, path,
  { max_bytes = 100 })
equal(#fs.read(path, { max_bytes = #binary }), #binary)
assert(fs.read("/proc/self/status"):find "Name:")

-- Writing replaces the file atomically: an open handle still reads the old file. No temporary file remains.
local old = assert(io.open(path))
fs.write(path, "new")
equal(old:read(4), binary:sub(1, 4))
old:close()
equal(fs.read(path), "new")
equal(#fs.list(root), 1)
-- The permissions are kept, or set to the given mode. A link remains a link.
fs.write(path, "x", { mode = 6 * 64 })
equal(fs.stat(path).mode, 6 * 64)
fs.write(path, "y")
equal(fs.stat(path).mode, 6 * 64)
os.execute(("ln -s a.txt %s/link"):format(root))
fs.write(root .. "/link", "through the link")
equal(fs.read(path), "through the link")
equal(fs.stat(root .. "/link", { follow = false }).kind, "link")
equal(fs.stat(root .. "/link").kind, "file")
-- A failed write leaves the old content.
fails("storage", ('cannot write %q: No such file or directory'):format(root .. "/no/file"), fs.write, root .. "/no/file", "x")
fs.write("/dev/null", "what is no plain file is written as it is")
fs.write(path, "in place", { atomic = false })
equal(fs.read(path), "in place")

-- Existence and type.
equal(fs.exists(path), "file")
equal(fs.exists(root), "folder")
equal(fs.exists(root .. "/none"), false)
equal(fs.exists(path .. "/none"), false)
equal(fs.stat(root .. "/none"), nil)
equal(fs.exists "/dev/null", "device")

-- Folders.
fs.mkdir(root .. "/one/two/three")
fs.mkdir(root .. "/one/two/three")
fs.mkdir(root .. "/one//two/four/")
fails("storage", ("cannot make %q: File exists"):format(path), fs.mkdir, path)
fails("storage", ("cannot make %q: No such file or directory"):format(root .. "/x/y"), fs.mkdir, root .. "/x/y",
  { parents = false })
fs.write(root .. "/one/two/z", "")
fs.write(root .. "/one/two/b", "")
local names, kinds = fs.list(root .. "/one/two")
equal(table.concat(names, " "), "b four three z")
equal(kinds.four, "folder")
equal(kinds.b, "file")
equal(select(2, fs.list(root)).link, "link")
fails("storage", ("cannot list %q: Not a directory"):format(path), fs.list, path)

-- Rename, copy, remove.
fs.rename(path, root .. "/b.txt")
equal(fs.exists(path), false)
fails("storage", ("cannot rename %q to %q: No such file or directory"):format(path, root .. "/c"), fs.rename, path,
  root .. "/c")
fs.copy(root .. "/b.txt", root .. "/c.txt")
equal(fs.read(root .. "/c.txt"), "in place")
equal(fs.stat(root .. "/c.txt").mode, 6 * 64)
fails("storage", ("cannot copy %q: Is a directory"):format(root), fs.copy, root, root .. "/d")
equal(fs.remove(root .. "/c.txt"), true)
equal(fs.remove(root .. "/c.txt"), false)
fails("storage", ("cannot remove %q: Directory not empty; set recursive = true to remove its contents, too"):format(
  root .. "/one"), fs.remove, root .. "/one")
-- A link that leads out of the folder is removed, not followed.
fs.mkdir(root .. "/outside")
fs.write(root .. "/outside/kept", "kept")
os.execute(("ln -s ../outside %s/one/way-out"):format(root))
equal(fs.remove(root .. "/one", { recursive = true }), true)
equal(fs.exists(root .. "/one"), false)
equal(fs.read(root .. "/outside/kept"), "kept")
os.execute(("ln -s outside %s/to-outside"):format(root))
equal(fs.remove(root .. "/to-outside", { recursive = true }), true)
equal(fs.read(root .. "/outside/kept"), "kept")
local deep = root .. "/deep" .. ("/d"):rep(100)
fs.mkdir(deep)
for number = 1, 50 do fs.write(deep .. "/" .. number, "") end
equal(fs.remove(root .. "/deep", { recursive = true }), true)

-- By line.
fs.write(path, "one\n\nthree\nlast")
local lines = {}
for line in fs.lines(path) do lines[#lines + 1] = line end
equal(table.concat(lines, "|"), "one||three|last")
fs.write(path, ("0123456789\n"):rep(200000))
local count = 0
for line in fs.lines(path) do
  assert(line == "0123456789")
  count = count + 1
end
equal(count, 200000)
for line in fs.lines(path) do break end
fails("too_large", ("a line of %q is longer than the limit of 5 bytes"):format(path),
  fs.lines(path, { max_line = 5 }))
fails("storage", ("cannot read %q: No such file or directory"):format(root .. "/none"), fs.lines, root .. "/none")

-- Temporary files are deleted with their variables.
local kept
do
  local file <close> = fs.temp_file { dir = root, suffix = ".txt" }
  kept = file.path
  assert(kept:match "/nightjar%-[a-z0-9]+%.txt$")
  equal(fs.stat(file.path).mode, 6 * 64)
  fs.write(file.path, "x")
  local inner <close> = fs.temp_dir { dir = file.path:match "^(.*)/" }
  fs.write(inner.path .. "/y", "y")
  equal(fs.read(file), "x")
end
equal(fs.exists(kept), false)
local file = fs.temp_file()
kept = file.path
file:remove()
file:remove()
equal(fs.exists(kept), false)
kept = nightjar.spawn(function() return fs.temp_dir().path end):join()
for _ = 1, 3 do collectgarbage() end
equal(fs.exists(kept), false)

-- Other tasks run meanwhile, and several operations run at once.
local numbers = {}
for number = 1, 100 do numbers[number] = number end
nightjar.map(numbers, function(number)
  fs.write(root .. "/n" .. number, ("x"):rep(number))
  equal(#fs.read(root .. "/n" .. number), number)
end, { concurrency = 20 })

-- A write that has started is completed even if its task is cancelled: all or nothing.
for _ = 1, 20 do
  local task = nightjar.spawn(fs.write, path, binary)
  nightjar.sleep(0)
  task:cancel()
  pcall(task.join, task)
end
nightjar.sleep(0.05)
local size = fs.stat(path).size
assert(size == #binary or size == 2200000, size)

-- A private file is never readable by others, not even under its temporary name.
do
  local private = root .. "/private"
  local task = nightjar.spawn(fs.write, private, ("x"):rep(32 * 1024 * 1024), { mode = 6 * 64 })
  while not task.done do
    for _, name in ipairs(fs.list(root)) do
      local found = name:find "^%.nightjar%-" and fs.stat(root .. "/" .. name)
      if found then equal(found.mode, 6 * 64) end
    end
  end
  task:join()
  equal(fs.stat(private).mode, 6 * 64)
end

-- Named pipes: waiting for the other end does not block other tasks, and can be cancelled.
do
  local pipe = root .. "/named"
  assert(os.execute(("mkfifo %s"):format(pipe)))
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
    equal(fs.read(path), "not held up")
    for _, task in ipairs(waiting) do
      equal(task.done, false)
      task:cancel()
      fails("cancelled", "the task was cancelled", task.join, task)
    end
  end
  equal(fs.exists(root .. "/never"), false)
  -- All data is transferred, in either order of opening the ends.
  local much = ("0123456789\n"):rep(20000)
  local reading = nightjar.spawn(fs.read, pipe)
  fs.write(pipe, much)
  equal(reading:join(), much)
  local writing = nightjar.spawn(fs.append, pipe, much)
  local count = 0
  for line in fs.lines(pipe) do
    equal(line, "0123456789")
    count = count + 1
  end
  equal(count, 20000)
  writing:join()
  writing = nightjar.spawn(fs.write, pipe, much)
  fails("too_large", ("%q is larger than the limit of 100 bytes"):format(pipe), fs.read, pipe, { max_bytes = 100 })
  fails("storage", ("cannot write %q: Broken pipe"):format(pipe), writing.join, writing)
  -- Copying to a pipe writes into it and does not replace it.
  fs.write(path, much)
  reading = nightjar.spawn(fs.read, pipe)
  fs.copy(path, pipe)
  equal(reading:join(), much)
  equal(fs.exists(pipe), "pipe")
  writing = nightjar.spawn(fs.write, pipe, "from the pipe")
  fs.copy(pipe, root .. "/copied")
  writing:join()
  equal(fs.read(root .. "/copied"), "from the pipe")
  equal(fs.exists(pipe), "pipe")
end

-- Misuse.
misuse("fs.read: argument 1 must be a path, got no value", fs.read)
misuse("fs.read: the path is empty", fs.read, "")
misuse([[fs.read: the path must not contain a NUL: "a\0b"]], fs.read, "a\0b")
misuse("fs.write: argument 2 must be a string, got table", fs.write, path, {})
misuse("fs.write: unknown option 'atomc'; did you mean 'atomic'?", fs.write, path, "", { atomc = true })
misuse("fs.temp_file: option 'prefix' must not contain a slash or a NUL", fs.temp_file, { prefix = "../" })
fails("storage", 'cannot read "/no/such/file": No such file or directory', fs.read, "/no/such/file")
equal(select(2, pcall(fs.read, "/no/such/file")).code, 2)
