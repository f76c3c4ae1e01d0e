---@meta nightjar.log
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Log lines with fields, on standard error or in the log of the host's client. Values of fields with the names of credentials are shown as ***. The level is that of the variable NIGHTJAR_LOG, else info.
---@class nightjar.log
local log = {}

---Writes a line of the level debug.
---@param message any
---@param fields? table<string, any>
function log.debug(message, fields) end

---Writes a line of the level info.
---@param message any
---@param fields? table<string, any>
function log.info(message, fields) end

---Writes a line of the level warn.
---@param message any
---@param fields? table<string, any>
function log.warn(message, fields) end

---Writes a line of the level error.
---@param message any
---@param fields? table<string, any>
function log.error(message, fields) end

---Returns a log that adds the fields to each line.
---@param fields table<string, any>
---@return table
function log.with(fields) end

---Sets the level up to which lines are written.
---@param level "off"|"error"|"warn"|"info"|"debug"
function log.set_level(level) end

---Returns the level.
---@return string
function log.level() end

return log
