---@meta nightjar.csv
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Tables as text, a row a line, by RFC 4180.
---@class nightjar.csv
local csv = {}

---All rows: lists of strings, or records where there is a header.
---@param text string
---@param options? nightjar.csv_reading_options
---@return table[]
function csv.parse(text, options) end

---A row at a time, of a text or of a function that gives its pieces, as res:chunks() does.
---@param source string|fun(): string?
---@param options? nightjar.csv_reading_options
---@return fun(): table?
function csv.rows(source, options) end

---The rows as text: lists, or records by the columns.
---@param rows table[]|fun(): table?
---@param options? nightjar.csv_writing_options
---@return string
function csv.write(rows, options) end

---A function that gives the text of each row to put.
---@param put fun(text: string)
---@param options? nightjar.csv_writing_options
---@return fun(row: table)
function csv.writer(put, options) end

return csv
