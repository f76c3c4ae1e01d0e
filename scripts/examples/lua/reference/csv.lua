local csv = require "nightjar.csv"
local text = "id;name\n1;Ada\n2;Grace\n"
print(csv.parse(text, { header = true, separator = ";" })[2].name)
for row in csv.rows(text, { separator = ";", skip = 1 }) do print(row[1], row[2]) end
io.write(csv.write({ { id = 1, name = "Ada, Countess" } }, { columns = { "id", "name" }, line_end = "\n" }))
local put = csv.writer(function(line) io.write(line) end, { line_end = "\n", safe = true })
put { "=1+1", 2 }
-- Prints:
--   Grace
--   1	Ada
--   2	Grace
--   id,name
--   1,"Ada, Countess"
--   ...=1+1...,2
