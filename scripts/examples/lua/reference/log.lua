local log = require "nightjar.log"
log.set_level "debug"
log.debug("cache opened", { entries = 12 })
log.info("logged in", { user = "ada", password = "moonlight" })
log.with({ job = 7 }).warn "slow"
log.error "gave up"
print(log.level())
-- Prints:
--   ... debug cache opened entries=12
--   ... info  logged in password=*** user=ada
--   ... warn  slow job=7
--   ... error gave up
--   debug
