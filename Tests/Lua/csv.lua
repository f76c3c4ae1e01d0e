-- nightjar.csv
local nightjar = require "nightjar"
local check = require "check"
local csv, equal = nightjar.csv, check.equal

-- Rows as text for comparison.
local function show(rows) return nightjar.json.encode(nightjar.array(rows)) end
local function parses(text, json, options)
  equal(show(csv.parse(text, options)), json)
  -- Splitting the input does not change the result.
  for size = 1, math.min(#text, 8) do
    local at, rows, is_over = 1, {}, false
    local function piece()
      if at > #text then
        assert(not is_over, "asked again behind the end")
        is_over = true
        return nil
      end
      at = at + size
      return text:sub(at - size, at - 1)
    end
    for row in csv.rows(piece, options) do rows[#rows + 1] = row end
    equal(show(rows), json)
  end
end

parses("", "[]")
parses("a", '[["a"]]')
parses("a,b\r\nc,d\r\n", '[["a","b"],["c","d"]]')
parses("a,b\nc,d", '[["a","b"],["c","d"]]')
parses("a\rb\r", '[["a"],["b"]]')
parses("a,\n,b\n,", '[["a",""],["","b"],["",""]]')
parses('"a,b","c ""d""","e\r\nf",""\r\n', '[["a,b","c \\"d\\"","e\\r\\nf",""]]')
parses('""', '[[""]]')
parses("\r\n\n\na\r\n\r\nb\n\n", '[["a"],["b"]]')
do -- Input that begins like a byte order mark, and ends.
  local left, is_over = { "\xEF" }, false
  local row = csv.rows(function()
    assert(not is_over, "asked again behind the end")
    is_over = #left == 0
    return table.remove(left)
  end)
  equal(row()[1], "\xEF")
  equal(row(), nil)
end
parses("\xEF\xBB\xBFa,b", '[["a","b"]]')
parses("a;b|c", '[["a","b|c"]]', { separator = ";" })
parses("'a\tb'\tc", '[["a\\tb","c"]]', { separator = "\t", quote = "'" })

-- A header turns rows into records.
parses("id,name\n1,Ada\n2,Grace\n", '[{"id":"1","name":"Ada"},{"id":"2","name":"Grace"}]', { header = true })
parses("1,Ada\n", '[{"id":"1","name":"Ada"}]', { header = { "id", "name" } })
parses("x,x\n1,Ada\n", '[{"id":"1","name":"Ada"}]', { header = { "id", "name" }, skip = 1 })
parses("id,name\n1\n2,Ada,more\n", '[{"id":"1"},{"id":"2","name":"Ada"}]', { header = true, ragged = true })
parses("a,b\n", "[]", { header = true })
parses("", "[]", { header = true })

-- Malformed fields are accepted in lenient mode.
parses('a "b" c,"d"e\n', '[["a \\"b\\" c","de"]]', { lenient = true })

-- Lines without line endings.
do
  local lines, rows = { "a,b", '"c', 'd",e' }, {}
  local place = 0
  for row in csv.rows(function() place = place + 1 return lines[place] end, { lines = true }) do rows[#rows + 1] = row end
  equal(show(rows), '[["a","b"],["c\\nd","e"]]')
end

-- It reads no more of its source than needed.
do
  local requested = 0
  local rows = csv.rows(function() requested = requested + 1 return "a,b\n" end)
  rows()
  equal(requested, 1)
end

-- Its source can wait.
do
  local lines, rows = { "a,", 'b\n"c', '",d\n' }, {}
  local place = 0
  for row in csv.rows(function() place = place + 1 nightjar.sleep(0) return lines[place] end) do rows[#rows + 1] = row end
  equal(show(rows), '[["a","b"],["c","d"]]')
end

local function broken(message, text, options)
  check.fails("decoding", "CSV parsing failed: " .. message, csv.parse, text, options)
end
broken("an opening quote is not closed at line 2", 'a\n"b\nc\n')
broken("\"c\" follows a closing quote at line 1", '"b"c')
broken("unexpected quote in an unquoted field at line 3; set lenient = true to accept it", 'a\n\nb"c')
broken("the row at line 3 has 1 fields, but the header has 2; set ragged = true to accept it", "a,b\n1,2\n3\n", { header = true })
broken("the header has \"a\" twice at line 1; set header to a list of names and skip = 1", "a,a\n", { header = true })
broken("the row at line 2 is longer than 1048576 bytes; perhaps the quote at line 2 is not closed", 'a\n"' .. ("x\n"):rep(1 << 20))
broken("the row at line 1 is longer than 9 bytes", "0123,567,9ab", { max_row = 9 })
equal(#csv.parse(("x,"):rep(1000) .. "\n" .. ("y"):rep(1 << 20))[1], 1001)

-- Reading written rows returns the same rows.
for _, rows in ipairs { {}, { { "a", "b" } }, { { "" } }, { { "", "" } }, { { 'a "b"', "c,d", "e\r\nf", " g" } }, { { "a" }, { "b", "c" } } } do
  equal(show(csv.parse(csv.write(rows))), show(rows))
end
equal(csv.write { { "a,b", 'c"d', "e\nf", " g", true, 1, 1.5, 2.0, 0.1, nightjar.null, "end" } },
  '"a,b","c""d","e\nf"," g",true,1,1.5,2,0.1,,end\r\n')
equal(csv.write({ { 1, nil, 3, n = 3 } }, { line_end = "\n" }), "1,,3\n")
equal(csv.write({ { "a;b", "%c" } }, { separator = ";", quote = "%" }), "%a;b%;%%%c%\r\n")
equal(csv.write({ { "a", "" } }, { quote_all = true }), '"a",""\r\n')
equal(csv.write({ { 2 ^ 53, 1e300, -0.5, 1 / 3 } }), "9007199254740992,1e+300,-0.5,0.33333333333333331\r\n")

-- Records: in the order of the names, or with the given columns.
equal(csv.write { { name = "Ada", id = 1 }, { id = 2, name = "Grace" } }, "id,name\r\n1,Ada\r\n2,Grace\r\n")
equal(csv.write({ { name = "Ada", id = 1, x = 2 }, { id = 2 } }, { columns = { "name", "id" } }), "name,id\r\nAda,1\r\n,2\r\n")
equal(csv.write({ { name = "Ada" } }, { columns = { "name" }, header = false }), "Ada\r\n")
equal(csv.write({ { 1, 2 } }, { columns = { "a", "b" } }), "a,b\r\n1,2\r\n")
equal(csv.write({}, { columns = { "a", "b" } }), "a,b\r\n")
equal(csv.write(csv.rows("a,b\n1,2\n", { header = true })), "a,b\r\n1,2\r\n")

-- With safe, fields that a spreadsheet would evaluate are turned into text. Numbers are unchanged.
equal(csv.write({ { '=HYPERLINK("http://x")', "+1", "-2.5", "@a", "-x", "+cmd" } }, { safe = true }),
  '"\'=HYPERLINK(""http://x"")",+1,-2.5,\'@a,\'-x,\'+cmd\r\n')

-- Row by row.
do
  local written = {}
  local put = csv.writer(function(text) written[#written + 1] = text end, { columns = { "a" } })
  put { a = 1 }
  put { a = 2 }
  equal(table.concat(written, "|"), "a\r\n1\r\n|2\r\n")
end

-- Misuse.
check.misuse("csv.parse: a string expected, got no value; csv.rows reads from a function", function() csv.parse() end)
check.misuse("csv.parse: unknown option 'seperator'; did you mean 'separator'?", function() csv.parse("", { seperator = ";" }) end)
check.misuse("csv.parse: option 'skip' must be of type integer, got a number with a fraction", function() csv.parse("", { skip = 1.5 }) end)
check.misuse("csv.rows: the options must be a table, got string", function() csv.rows("", "x") end)
check.misuse("csv.rows: a string or a function expected, got table; an iterator such as res:chunks() is a function", function() csv.rows {} end)
check.misuse("csv.rows: the function must return strings, got number", function() csv.rows(function() return 1 end)() end)
check.misuse("separator must be a single byte other than a line end", function() csv.parse("", { separator = "\n" }) end)
check.misuse("separator and quote must not be the same", function() csv.parse("", { separator = '"' }) end)
check.misuse("csv.write: field 2 is a table; CSV fields must be strings, numbers or booleans", function() csv.write { { 1, {} } } end)
check.misuse("csv.write: field b is a function; CSV fields must be strings, numbers or booleans", function() csv.write { { a = 1, b = print } } end)
check.misuse("csv.write: a row must be a table, got number", function() csv.write { 1 } end)
check.misuse("csv.write: a row has the field \"b\", which the first row does not have; set columns = {...}", function() csv.write { { a = 1 }, { b = 1 } } end)
check.misuse("csv.write: a record follows lists; set columns = {...}", function() csv.write { { 1 }, { b = 1 } } end)
check.misuse("csv.write: columns has \"a\" twice", function() csv.write({}, { columns = { "a", "a" } }) end)
