-- Limits of the values that show.lua and its parts display; print and res.text show everything. output.lua
-- removes them for commands.
return {
  depth = 6,      -- of tables within tables
  entries = 100,  -- of one table
  lines = 60,     -- of a text, a body or a table of records
  string = 1000,  -- bytes of a string within a table
  column = 40,    -- columns of a cell in a table of records
}
