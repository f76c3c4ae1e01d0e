-- What the command can be asked for, beside scripts: each subcommand with its summary and its items, as nightjar.args takes them.
-- The source of --help, of reading the words, and of the completions of shells.
local commands = {}

-- What an option's value or an argument is, for completions: by the name it has in the items.
commands.values = {
  FILE = "file", SCRIPT = "file", PATH = "file", FOLDER = "file", PROFILE = "profile", SHELL = { "bash", "zsh", "fish" },
}

local items_help = [[
Items, behind the URL, httpie's:
  name=text        a field of the body, a text     name=@file    the text of a file
  name:=json       a field, any JSON               name:=@file   the JSON of a file
  name==text       an item of the query            name==@file   the text of a file
  Name:text        a header                        Name:@file    the text of a file
  Name:            without this header             'Name;'       a header without a value
  name@file        a file of a form (--form, --multipart); name@file;type=text/csv
  a[b]=1  a[]=1  a[0]=1  []=1                      fields within fields, and lists
A backslash keeps a separator in a name from being one: a\:b=c. Behind the separator nothing is special.

URL: https://host/path; host/path is http://, :8080/path is localhost; /path is joined to the profile's base_url.

Exit status: 0 done; 1 failed, a status from 400 on among it: the message on standard error, the body on standard output;
2 the words make no sense.]]

local formats = { "json", "ndjson", "csv", "table", "raw" }

local function call_items()
  return {
    { "url" },
    { "item", many = true, optional = true },
    { "-p", "--profile", "PROFILE", help = "a profile of the config file: base URL, login, headers" },
    { "-j", "--json", help = "fields as JSON, which they are by default" },
    { "-F", "--form", help = "fields as a form; in parts where a file is among them" },
    { "-m", "--multipart", help = "fields as a form in parts" },
    { "--raw", "TEXT", help = "the body as it stands" },
    { "--ignore-stdin", help = "standard input is not the body" },
    { "-f", "--pick", "POINTER", many = true, help = "of a JSON answer only this, a JSON Pointer: -f /results/0/title; repeated: each" },
    { "-o", "--output", "FORMAT", choices = formats, help = "how the answer is written" },
    { "-d", "--download", "FILE", help = "the body to a file; - is standard output" },
    { "-H", "--headers", help = "status and headers only" },
    { "-b", "--body", help = "the body only" },
    { "-v", "--verbose", help = "the request, too; secrets are masked" },
    { "-S", "--stream", help = "the body as it comes" },
    { "--timeout", "SECONDS", help = "for the whole call: 5, or 1m30s; 0: no limit" },
    { "--retry", "N", type = "integer", help = "try again so often what may be repeated; 0: never" },
    { "--follow", help = "follow redirects, which is the default" },
    { "--no-follow", help = "a redirect is the answer" },
    { "--paginate", help = "all items of a list in pages, as they come; ndjson by default" },
    { "--at", "POINTER", help = "where the items are in a page" },
    { "--style", "STYLE", choices = { "page", "offset", "cursor", "link", "next", "header", "guess" }, help = "how the list goes on" },
    { "--max-items", "N", type = "integer", help = "no more items than that" },
    { "--ca-file", "FILE", help = "PEM file of authorities to trust, in place of the system's" },
    { "--trace", help = "show each call and its phases on standard error" },
    { "--har", "FILE", help = "write the calls to FILE as an HTTP archive, credentials masked" },
    { "--har-secrets", help = "not masked" },
  }
end

commands.verbs = { "get", "post", "put", "patch", "delete", "head", "options" }

local summaries = {
  get = "Asks for a URL and writes what it answers.", post = "Sends a POST and writes what it answers.",
  put = "Sends a PUT and writes what it answers.", patch = "Sends a PATCH and writes what it answers.",
  delete = "Sends a DELETE and writes what it answers.", head = "Asks for the headers of a URL.",
  options = "Asks what a URL can be asked for.",
}

commands.list = {}

local function add(name, summary, items, epilog)
  items.name, items.summary, items.epilog = "nightjar " .. name, summary, epilog
  commands.list[#commands.list + 1] = name
  commands[name] = items
end

for _, verb in ipairs(commands.verbs) do add(verb, summaries[verb], call_items(), items_help) end

add("login", "Logs a person in, by a code or with the browser, as the profile's auth says, and keeps the login.", {
  { "-p", "--profile", "PROFILE", help = "which profile; the default one without" },
})
add("logout", "Forgets the login of a profile.", {
  { "-p", "--profile", "PROFILE", help = "which profile; the default one without" },
})
add("profiles", "Lists the profiles of the config file.", {
  { "-o", "--output", "FORMAT", choices = formats, help = "how they are written" },
  { "--names", help = "their names only" },
})
add("check", "Parses scripts and tells of fields and options that Nightjar does not have.", {
  { "script", many = true },
}, "Findings are on standard output as file:line:column: text. Exit status: 0 none, 1 some.")
add("test", "Runs the tests of files, and of the files of folders that are called NAME_test.lua or test_NAME.lua.", {
  { "path", many = true },
  { "-k", "--filter", "TEXT", help = "only tests that have the text in their names" },
  { "--tap", help = "results by the Test Anything Protocol" },
  { "-x", "--fail-fast", help = "no more behind the first that fails" },
  { "--timeout", "SECONDS", type = "number", help = "for a test that does not say" },
}, "Exit status: 0 all passed, 1 some failed or there were none.")
add("completions", "Writes what completes the command's words in a shell.", {
  { "shell", choices = { "bash", "zsh", "fish" } },
})

-- Of the words before a script or a subcommand, for completions and for the manual.
commands.words = {
  { "-e", "CODE" }, { "-l", "MODULE" }, { "-i" }, { "-v" }, { "-W" }, { "--trace" }, { "--har", "FILE" }, { "--har-secrets" },
  { "--profile", "PROFILE" }, { "-h", "--help" }, { "--version" },
}

return commands
