---@meta nightjar.csv
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---CSV, RFC 4180.
---@class nightjar.csv
local csv = {}

---Returns all rows: lists of strings, or records if there is a header.
---@param text string
---@param options? nightjar.csv_reading_options
---@return table[]
function csv.parse(text, options) end

---Returns an iterator over the rows of a text, or of a function that returns its pieces, such as res:chunks().
---@param source string|fun(): string?
---@param options? nightjar.csv_reading_options
---@return fun(): table?
function csv.rows(source, options) end

---Returns rows as CSV: lists, or records by the columns.
---@param rows table[]|fun(): table?
---@param options? nightjar.csv_writing_options
---@return string
function csv.write(rows, options) end

---Returns a function that encodes a row and passes the text to put.
---@param put fun(text: string)
---@param options? nightjar.csv_writing_options
---@return fun(row: table)
function csv.writer(put, options) end

return csv
