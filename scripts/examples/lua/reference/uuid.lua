local uuid = require "nightjar.uuid"
print(#uuid.v4(), uuid.v7(0) < uuid.v7())
print(uuid.parse "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6")
print(uuid.is_valid "moon")
-- Prints:
--   36	true
--   f81d4fae-7dec-11d0-a765-00a0c91e6bf6	1...
--   false
