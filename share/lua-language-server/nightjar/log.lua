---@meta nightjar.log
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---What a script tells of its work, a line at a time, with fields: to standard error, or to the log of the host's client. Values of fields whose names are those of credentials are shown as ***. The level is that of NIGHTJAR_LOG; info where it is not set.
---@class nightjar.log
local log = {}

---A line of the level debug.
---@param message any
---@param fields? table<string, any>
function log.debug(message, fields) end

---A line of the level info.
---@param message any
---@param fields? table<string, any>
function log.info(message, fields) end

---A line of the level warn.
---@param message any
---@param fields? table<string, any>
function log.warn(message, fields) end

---A line of the level error.
---@param message any
---@param fields? table<string, any>
function log.error(message, fields) end

---A log that adds the fields to each line: debug, info, warn, error and with.
---@param fields table<string, any>
---@return table
function log.with(fields) end

---Lines up to that level are written.
---@param level "off"|"error"|"warn"|"info"|"debug"
function log.set_level(level) end

---The level.
---@return string
function log.level() end

return log
