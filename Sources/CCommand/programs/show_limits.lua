-- The limits of values at the prompt. print and res.text have no limits. output.lua raises the limits for subcommands.
return {
  depth = 6,      -- levels of nested tables
  entries = 100,  -- entries of one table
  lines = 60,     -- lines of a text, a body or a table of records
  string = 1000,  -- bytes of a string within a table, and of a line of a text
  column = 40,    -- columns of a cell in a table of records
}
