-- nightjar.csv: parsing and writing. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local csv = nightjar.csv

-- Rows as text for comparison.
local function show(rows) return nightjar.json.encode(nightjar.array(rows)) end
-- Parses the text whole, and in pieces of each size: splitting the input must not change the result.
local function parses(t, text, json, options)
  t:equal(show(csv.parse(text, options)), json)
  for size = 1, math.min(#text, 8) do
    local at, rows, is_over = 1, {}, false
    local function piece()
      if at > #text then
        assert(not is_over, "called again after the end")
        is_over = true
        return nil
      end
      at = at + size
      return text:sub(at - size, at - 1)
    end
    for row in csv.rows(piece, options) do rows[#rows + 1] = row end
    t:equal(show(rows), json)
  end
end

testing.test("parses rows with any line ends, and quoted fields", function(t)
  parses(t, "", "[]")
  parses(t, "a", '[["a"]]')
  parses(t, "a,b\r\nc,d\r\n", '[["a","b"],["c","d"]]')
  parses(t, "a,b\nc,d", '[["a","b"],["c","d"]]')
  parses(t, "a\rb\r", '[["a"],["b"]]')
  parses(t, "a,\n,b\n,", '[["a",""],["","b"],["",""]]')
  parses(t, '"a,b","c ""d""","e\r\nf",""\r\n', '[["a,b","c \\"d\\"","e\\r\\nf",""]]')
  parses(t, '""', '[[""]]')
  parses(t, "\r\n\n\na\r\n\r\nb\n\n", '[["a"],["b"]]')
end)

testing.test("an incomplete byte order mark is a field", function(t)
  local left, is_over = { "\xEF" }, false
  local row = csv.rows(function()
    t:falsy(is_over, "called again after the end")
    is_over = #left == 0
    return table.remove(left)
  end)
  t:equal(row()[1], "\xEF")
  t:equal(row(), nil)
end)

testing.test("a byte order mark is skipped", function(t)
  parses(t, "\xEF\xBB\xBFa,b", '[["a","b"]]')
end)

testing.test("the separator and the quote can be chosen", function(t)
  parses(t, "a;b|c", '[["a","b|c"]]', { separator = ";" })
  parses(t, "'a\tb'\tc", '[["a\\tb","c"]]', { separator = "\t", quote = "'" })
end)

testing.test("a header turns rows into records", function(t)
  parses(t, "id,name\n1,Ada\n2,Grace\n", '[{"id":"1","name":"Ada"},{"id":"2","name":"Grace"}]', { header = true })
  parses(t, "1,Ada\n", '[{"id":"1","name":"Ada"}]', { header = { "id", "name" } })
  parses(t, "x,x\n1,Ada\n", '[{"id":"1","name":"Ada"}]', { header = { "id", "name" }, skip = 1 })
  parses(t, "id,name\n1\n2,Ada,more\n", '[{"id":"1"},{"id":"2","name":"Ada"}]', { header = true, ragged = true })
  parses(t, "a,b\n", "[]", { header = true })
  parses(t, "", "[]", { header = true })
end)

testing.test("malformed fields are accepted in lenient mode", function(t)
  parses(t, 'a "b" c,"d"e\n', '[["a \\"b\\" c","de"]]', { lenient = true })
end)

testing.test("a source can return lines without line ends", function(t)
  local lines, rows = { "a,b", '"c', 'd",e' }, {}
  local place = 0
  local function source()
    place = place + 1
    return lines[place]
  end
  for row in csv.rows(source, { lines = true }) do rows[#rows + 1] = row end
  t:equal(show(rows), '[["a","b"],["c\\nd","e"]]')
end)

testing.test("rows reads only as much of its source as it needs", function(t)
  local requested = 0
  local rows = csv.rows(function() requested = requested + 1 return "a,b\n" end)
  rows()
  t:equal(requested, 1)
end)

testing.test("the source of rows can wait", function(t)
  local lines, rows = { "a,", 'b\n"c', '",d\n' }, {}
  local place = 0
  local function source()
    place = place + 1
    nightjar.sleep(0)
    return lines[place]
  end
  for row in csv.rows(source) do rows[#rows + 1] = row end
  t:equal(show(rows), '[["a","b"],["c","d"]]')
end)

testing.test("malformed text is refused with its line", function()
  local function broken(message, text, options)
    check.fails("decoding", "CSV parsing failed: " .. message, csv.parse, text, options)
  end
  broken("an opening quote is not closed at line 2", 'a\n"b\nc\n')
  broken("\"c\" follows a closing quote at line 1", '"b"c')
  broken("unexpected quote in an unquoted field at line 3; set lenient = true to accept it", 'a\n\nb"c')
  broken("the row at line 3 has 1 fields, but the header has 2; set ragged = true to accept it", "a,b\n1,2\n3\n",
    { header = true })
  broken("the header has \"a\" twice at line 1; set header to a list of names and skip = 1", "a,a\n", { header = true })
  broken("the row at line 2 is longer than 1048576 bytes; perhaps the quote at line 2 is not closed",
    'a\n"' .. ("x\n"):rep(1 << 20))
  broken("the row at line 1 is longer than 9 bytes", "0123,567,9ab", { max_row = 9 })
end)

testing.test("the limit of a row does not apply to the whole text", function(t)
  t:equal(#csv.parse(("x,"):rep(1000) .. "\n" .. ("y"):rep(1 << 20))[1], 1001)
end)

testing.test("parsing written rows returns the same rows", function(t)
  for _, rows in ipairs {
    {}, { { "a", "b" } }, { { "" } }, { { "", "" } }, { { 'a "b"', "c,d", "e\r\nf", " g" } }, { { "a" }, { "b", "c" } },
  } do
    t:equal(show(csv.parse(csv.write(rows))), show(rows))
  end
end)

testing.test("fields are quoted where needed", function(t)
  t:equal(csv.write { { "a,b", 'c"d', "e\nf", " g", true, 1, 1.5, 2.0, 0.1, nightjar.null, "end" } },
    '"a,b","c""d","e\nf"," g",true,1,1.5,2,0.1,,end\r\n')
end)

testing.test("options choose line ends, separator and quotes", function(t)
  t:equal(csv.write({ { 1, nil, 3, n = 3 } }, { line_end = "\n" }), "1,,3\n")
  t:equal(csv.write({ { "a;b", "%c" } }, { separator = ";", quote = "%" }), "%a;b%;%%%c%\r\n")
  t:equal(csv.write({ { "a", "" } }, { quote_all = true }), '"a",""\r\n')
end)

testing.test("numbers are written with all their digits", function(t)
  t:equal(csv.write({ { 2 ^ 53, 1e300, -0.5, 1 / 3 } }), "9007199254740992,1e+300,-0.5,0.33333333333333331\r\n")
end)

testing.test("records are written in the order of their names, or with the given columns", function(t)
  t:equal(csv.write { { name = "Ada", id = 1 }, { id = 2, name = "Grace" } }, "id,name\r\n1,Ada\r\n2,Grace\r\n")
  t:equal(csv.write({ { name = "Ada", id = 1, x = 2 }, { id = 2 } }, { columns = { "name", "id" } }),
    "name,id\r\nAda,1\r\n,2\r\n")
  t:equal(csv.write({ { name = "Ada" } }, { columns = { "name" }, header = false }), "Ada\r\n")
  t:equal(csv.write({ { 1, 2 } }, { columns = { "a", "b" } }), "a,b\r\n1,2\r\n")
  t:equal(csv.write({}, { columns = { "a", "b" } }), "a,b\r\n")
  t:equal(csv.write(csv.rows("a,b\n1,2\n", { header = true })), "a,b\r\n1,2\r\n")
end)

testing.test("with safe, fields that a spreadsheet would evaluate become text, and numbers are unchanged", function(t)
  t:equal(csv.write({ { '=HYPERLINK("http://x")', "+1", "-2.5", "@a", "-x", "+cmd" } }, { safe = true }),
    '"\'=HYPERLINK(""http://x"")",+1,-2.5,\'@a,\'-x,\'+cmd\r\n')
end)

testing.test("writer writes row by row", function(t)
  local written = {}
  local put = csv.writer(function(text) written[#written + 1] = text end, { columns = { "a" } })
  put { a = 1 }
  put { a = 2 }
  t:equal(table.concat(written, "|"), "a\r\n1\r\n|2\r\n")
end)

testing.test("invalid arguments are reported", function()
  check.misuse("csv.parse: a string expected, got no value; csv.rows reads from a function", function() csv.parse() end)
  check.misuse("csv.parse: unknown option 'seperator'; did you mean 'separator'?",
    function() csv.parse("", { seperator = ";" }) end)
  check.misuse("csv.parse: option 'skip' must be of type integer, got a number with a fraction",
    function() csv.parse("", { skip = 1.5 }) end)
  check.misuse("csv.rows: the options must be a table, got string", function() csv.rows("", "x") end)
  check.misuse("csv.rows: a string or a function expected, got table; an iterator such as res:chunks() is a function",
    function() csv.rows {} end)
  check.misuse("csv.rows: the function must return strings, got number",
    function() csv.rows(function() return 1 end)() end)
  check.misuse("separator must be a single byte other than a line end",
    function() csv.parse("", { separator = "\n" }) end)
  check.misuse("separator and quote must not be the same", function() csv.parse("", { separator = '"' }) end)
  check.misuse("csv.write: field 2 is a table; CSV fields must be strings, numbers or booleans",
    function() csv.write { { 1, {} } } end)
  check.misuse("csv.write: field b is a function; CSV fields must be strings, numbers or booleans",
    function() csv.write { { a = 1, b = print } } end)
  check.misuse("csv.write: a row must be a table, got number", function() csv.write { 1 } end)
  check.misuse("csv.write: a row has the field \"b\", which the first row does not have; set columns = {...}",
    function() csv.write { { a = 1 }, { b = 1 } } end)
  check.misuse("csv.write: a record follows lists; set columns = {...}", function() csv.write { { 1 }, { b = 1 } } end)
  check.misuse("csv.write: columns has \"a\" twice", function() csv.write({}, { columns = { "a", "a" } }) end)
end)

assert(testing.run().ok, "a case failed")
