-- The subcommands with their summaries and items, in the form of nightjar.args. The items determine the text of --help, the
-- parsing of the words, and the shell completions.
local network_options = require "nightjar.command.network_options"
local option_types = require "nightjar.command.option_types"

local bytes, seconds, time = option_types.bytes, option_types.seconds, option_types.time

local commands = {}

-- The kinds of values and arguments for completions, by the name of the value in the items.
commands.values = {
  FILE = "file", SCRIPT = "file", PATH = "file", FOLDER = "file", PROFILE = "profile", SHELL = { "bash", "zsh", "fish" },
}

local items_help = [[
Items after the URL, as in httpie:
  name=text        a text field of the body        name=@file    the text of a file
  name:=json       a field with a JSON value       name:=@file   the JSON of a file
  name==text       a query item                    name==@file   the text of a file
  Name:text        a header                        Name:@file    the text of a file
  Name:            removes the header              'Name;'       a header without a value
  name@file        a file in a form (--form, --multipart); name@file;type=text/csv
  a[b]=1  a[]=1  a[0]=1  []=1                      nested fields and lists
A backslash escapes a separator in a name: a\:b=c. After the separator, nothing is special.

URL: https://host/path; host/path uses http; :8080/path is localhost; /path is joined to the profile's base_url.

Exit status: 0 success; 1 failure, including a status of 400 or higher: the message goes to standard error, the body to
standard output; 2 invalid arguments.]]

local formats = { "json", "ndjson", "csv", "table", "raw" }

local function call_items()
  local all = {
    { "url" },
    { "item", many = true, optional = true },
    { "-p", "--profile", "PROFILE", help = "use a profile of the config file: base URL, login, headers" },
    { "-j", "--json", help = "send fields as JSON (the default)" },
    { "-F", "--form", help = "send fields as a form; as multipart if there are files" },
    { "-m", "--multipart", help = "send fields as a multipart form" },
    { "--raw", "TEXT", help = "use TEXT as the body" },
    { "--ignore-stdin", help = "do not read the body from standard input" },
    { "-f", "--pick", "POINTER", many = true, help = "write only the part of a JSON response at this JSON Pointer, as in -f /results/0/title; can be repeated" },
    { "-o", "--output", "FORMAT", choices = formats, help = "output format of the response" },
    { "-d", "--download", "FILE", help = "write the body to a file, which appears when it is complete; - is standard output" },
    { "-C", "--continue", help = "with --download: continue an earlier download that has failed" },
    { "-H", "--headers", help = "write only status and headers" },
    { "-b", "--body", help = "write only the body" },
    { "-v", "--verbose", help = "also write the request; secrets are masked" },
    { "-S", "--stream", help = "write the body as it arrives" },
    { "--lines", help = "write each line of the body as it arrives; with -f or -o, each line is a JSON value" },
    { "--timeout", "SECONDS", type = seconds, help = "timeout of the whole call: 5, or 1m30s; 0: no limit" },
    { "--retry", "N", type = "integer", help = "number of retries if a retry is safe; 0: none" },
    { "--follow", help = "follow redirects (the default)" },
    { "--no-follow", help = "do not follow redirects" },
    { "--paginate", help = "fetch all pages of a list and write its items as they arrive; ndjson by default" },
    { "--at", "POINTER", help = "location of the items in a page" },
    { "--style", "STYLE", choices = { "page", "offset", "cursor", "link", "next", "header", "guess" }, help = "pagination style of the list" },
    { "--next", "POINTER", help = "location of the cursor or URL of the next page in the body of a page" },
    { "--body-param", "POINTER", help = "location in the JSON body of the request that selects a page, such as /cursor" },
    { "--next-header", "NAME", help = "response header with the URL of the next page" },
    { "--max-items", "N", type = "integer", help = "write at most N items" },
    { "--http1.1", help = "use HTTP/1.1" },
    { "--http2", help = "use HTTP/2 over TLS if the server supports it (default)" },
    { "--http2-prior-knowledge", help = "use HTTP/2, also without TLS" },
    { "--ca-file", "FILE", help = "PEM file of certificate authorities to trust instead of the system's" },
    { "--cert", "FILE", help = "client certificate: a PEM file, or a PKCS #12 archive (.p12, .pfx); the password is read from NIGHTJAR_CERT_PASSWORD" },
    { "--cert-key", "FILE", help = "PEM file with the private key of the client certificate; default: the file of --cert" },
    { "--key-log", "FILE", help = "append the keys of TLS connections to FILE, for Wireshark; anyone who can read FILE can decrypt the traffic" },
    { "--trace", help = "print each call and its phases to standard error" },
    { "--har", "FILE", help = "write the calls to FILE as an HTTP archive, with credentials masked" },
    { "--har-secrets", help = "do not mask credentials in the archive" },
  }
  table.move(network_options.items, 1, #network_options.items, #all + 1, all)
  return all
end

commands.verbs = { "get", "post", "put", "patch", "delete", "head", "options" }

local summaries = {
  get = "Sends a GET request and writes the response.", post = "Sends a POST request and writes the response.",
  put = "Sends a PUT request and writes the response.", patch = "Sends a PATCH request and writes the response.",
  delete = "Sends a DELETE request and writes the response.", head = "Sends a HEAD request and writes the headers of the response.",
  options = "Sends an OPTIONS request and writes the response.",
}

commands.list = {}

local function add(name, summary, items, epilog)
  items.name, items.summary, items.epilog = "nightjar " .. name, summary, epilog
  commands.list[#commands.list + 1] = name
  commands[name] = items
end

for _, verb in ipairs(commands.verbs) do add(verb, summaries[verb], call_items(), items_help) end

-- The options of a call that determine its request.
local request_options = {
  ["--profile"] = true, ["--json"] = true, ["--form"] = true, ["--multipart"] = true, ["--raw"] = true, ["--ignore-stdin"] = true,
  ["--retry"] = true, ["--follow"] = true, ["--no-follow"] = true,
  ["--http1.1"] = true, ["--http2"] = true, ["--http2-prior-knowledge"] = true, ["--ca-file"] = true, ["--cert"] = true,
  ["--cert-key"] = true, ["--resolve"] = true, ["--ipv4"] = true, ["--ipv6"] = true, ["--interface"] = true,
  ["--key-log"] = true, ["--trace"] = true, ["--har"] = true, ["--har-secrets"] = true,
}

local event_items = { { "url" }, { "item", many = true, optional = true } }
for _, item in ipairs(call_items()) do
  if request_options[item[2]] or request_options[item[1]] then event_items[#event_items + 1] = item end
end
for _, item in ipairs {
  { "-X", "--method", "METHOD", choices = { "get", "post", "put", "patch" }, help = "method of the request; default: get, or post with fields" },
  { "--last-event-id", "ID", help = "begin after the event with this id" },
  { "-n", "--max-events", "N", type = "integer", help = "write at most N events" },
  { "--once", help = "do not connect again" },
  { "-o", "--output", "FORMAT", choices = { "pretty", "ndjson", "data" }, help = "output format: pretty (the default on a terminal), ndjson, or only the data" },
  { "-v", "--verbose", help = "write the changes of the connection to standard error at the end" },
} do event_items[#event_items + 1] = item end

add("events", "Writes the events of an event stream (server-sent events) as they arrive, and connects again when the connection ends.",
  event_items, items_help)

local socket_items = { { "url" }, { "item", many = true, optional = true } }
local body_options = { ["--json"] = true, ["--form"] = true, ["--multipart"] = true, ["--raw"] = true, ["--follow"] = true }
for _, item in ipairs(call_items()) do
  local is_listed = request_options[item[2]] or request_options[item[1]]
  if is_listed and not body_options[item[2]] and not body_options[item[1]] then socket_items[#socket_items + 1] = item end
end
for _, item in ipairs {
  { "--protocol", "NAME", many = true, help = "offer a subprotocol" },
  { "--reconnect", help = "connect again when the connection is lost" },
  { "-n", "--max-messages", "N", type = "integer", help = "close after N messages" },
  { "-w", "--wait", "SECONDS", type = "number", help = "after the end of standard input, close when no message arrives for SECONDS; default: 1, or 0 on a terminal" },
  { "-o", "--output", "FORMAT", choices = { "pretty", "ndjson", "data" }, help = "output format: pretty (the default on a terminal), ndjson, or only the data" },
  { "-v", "--verbose", help = "write the changes of the connection to standard error at the end" },
} do socket_items[#socket_items + 1] = item end

add("ws", "Opens a WebSocket, sends each line of standard input, and writes the messages that arrive. Ctrl-C and Ctrl-D close it.",
  socket_items, "An item is a header, NAME:VALUE, or a query parameter, NAME==VALUE.")

local graphql_options = {
  ["--json"] = false, ["--form"] = false, ["--multipart"] = false, ["--raw"] = false, ["--ignore-stdin"] = false,
  ["--pick"] = true, ["--headers"] = true, ["--verbose"] = true, ["--timeout"] = true,
}
local graphql_items = { { "url" }, { "query", optional = true }, { "item", many = true, optional = true } }
for _, item in ipairs(call_items()) do
  local name = item[2] and item[2]:sub(1, 2) == "--" and item[2] or item[1]
  local is_listed = graphql_options[name]
  if is_listed or is_listed == nil and request_options[name] then graphql_items[#graphql_items + 1] = item end
end
for _, item in ipairs {
  { "--operation", "NAME", help = "the operation of a document that has several" },
  { "--variables", "JSON", help = "the variables as a JSON object, or @FILE; items replace its members" },
  { "--check", help = "check the variables against the schema of the service, which is kept for a day" },
  { "-X", "--method", "METHOD", choices = { "get", "post" }, help = "method of a query; default: post" },
  { "-o", "--output", "FORMAT", choices = formats, help = "output format of the data" },
  { "--paginate", help = "fetch all pages of a connection and write its nodes as they arrive; ndjson by default" },
  { "--at", "POINTER", help = "with --paginate: location of the connection in the data, if there are several" },
  { "-n", "--max-items", "N", type = "integer", help = "write at most N nodes, or results of a subscription" },
  { "--transport", "TRANSPORT", choices = { "websocket", "events" }, help = "transport of a subscription; default: websocket (graphql-transport-ws)" },
  { "--init-payload", "JSON", help = "payload of connection_init for a WebSocket, or @FILE" },
  { "--authorize", help = "send the Authorization header also in the payload of connection_init" },
  { "--once", help = "do not connect a subscription again" },
  { "--schema", "FORMAT", choices = { "sdl", "json" }, help = "write the schema of the service: in the schema definition language, or the result of an introspection query" },
  { "-d", "--download", "FILE", help = "with --schema: write the schema to a file" },
} do graphql_items[#graphql_items + 1] = item end

add("graphql", "Sends a GraphQL operation and writes its data, or the results of a subscription, one in each line, until it ends.", graphql_items, [[
QUERY: a text such as '{ articles { id } }', @FILE, or - for standard input.

Items after the query:
  name=text        a variable with a text          name=@file    the text of a file
  name:=json       a variable with a JSON value    name:=@file   the JSON of a file
  name[a]=1  name[]=1                              nested fields and lists
  Name:text        a header                        name==text    a query item of the URL

If fields have errors, the whole result is written instead of the data, and the errors go to standard error. -f and the
formats ndjson, csv and table apply to the data in any case.

Exit status: 0 success; 1 failure, also if only some fields have errors: the messages go to standard error; 2 invalid
arguments, also an invalid document or variable: nothing was sent.]])

local upload_items = { { "file" }, { "url" }, { "item", many = true, optional = true } }
for _, item in ipairs(call_items()) do
  local is_listed = request_options[item[2]] or request_options[item[1]]
  if is_listed and not body_options[item[2]] and not body_options[item[1]] and item[1] ~= "--ignore-stdin" then
    upload_items[#upload_items + 1] = item
  end
end
for _, item in ipairs {
  { "-P", "--protocol", "PROTOCOL", choices = { "put", "post", "tus", "resumable", "s3", "oci" }, help = "protocol of the upload; default: put" },
  { "-C", "--continue", help = "continue an earlier upload of the file that has failed" },
  { "--checksum", "DIGEST", help = "send a digest: an algorithm, such as sha256, or an algorithm, a colon and the digest that the file must have" },
  { "--chunk-size", "BYTES", type = bytes, help = "maximum number of bytes in a request: 500, 64K, 8M or 1G" },
  { "--max-rate", "BYTES", type = bytes, help = "maximum number of bytes per second" },
  { "--type", "TYPE", help = "media type of the file; default: guessed from its name" },
  { "-f", "--pick", "POINTER", many = true, help = "write only the part of a JSON response at this JSON Pointer; can be repeated" },
  { "--timeout", "SECONDS", type = seconds, help = "timeout of each request: 5, or 1m30s; 0: no limit" },
  { "-o", "--output", "FORMAT", choices = formats, help = "output format of the response" },
} do upload_items[#upload_items + 1] = item end

add("upload", "Uploads a file, or standard input for -, and continues after lost connections. Writes the body of the last response, or the URL of the upload.",
  upload_items, "An item is a header, NAME:VALUE, or a query parameter, NAME==VALUE. If an upload with tus, resumable, s3 or oci fails, its state remains in "
  .. "FILE.nightjar-upload. A person who can read this file can often write to the upload.")

-- The commands of a subcommand that has several. The items of each are commands["transfers list"] and so on.
commands.parts = { transfers = {}, outbox = {} }

local function add_part(name, part, summary, items, epilog)
  items[#items + 1] = { "--journal", "FILE", help = "the journal; default: that of the user, nightjar/journal.db in $XDG_STATE_HOME or ~/.local/state" }
  items.name, items.summary, items.epilog = ("nightjar %s %s"):format(name, part), summary, epilog
  commands.parts[name][#commands.parts[name] + 1] = part
  commands[name .. " " .. part] = items
end

-- The items of all commands of nightjar outbox, besides --journal.
local function outbox_items(items)
  items[#items + 1] = { "-p", "--profile", "PROFILE", help = "use a profile of the config file: its journal; to send and record also base URL, login, headers" }
  items[#items + 1] = { "--name", "NAME", help = "name of the outbox; default: default" }
  return items
end

local transferd = { "--transferd", help = "start nightjar transferd if no worker runs" }

add_part("transfers", "list", "Lists the transfers in the order in which they were started: id, kind, state, progress, path, and the error of a failed one.", {
  { "--json", help = "write a JSON array with all fields" },
})
add_part("transfers", "start", "Records a download or an upload, which nightjar transferd performs. Writes the transfer.", {
  { "id" }, { "url" }, { "item", many = true, optional = true },
  { "-d", "--download", "FILE", help = "download the URL to a file, or to a folder if FILE is one or ends with a slash" },
  { "-u", "--upload", "FILE", help = "upload a file to the URL" },
  { "--data", "TEXT", help = "upload a text to the URL" },
  { "--connections", "N", type = "integer", help = "number of connections of a download" },
  { "--checksum", "DIGEST", help = "an algorithm, a colon and the digest that the file must have, as in sha256:HEX; for an upload also only the algorithm of the digest to send" },
  { "--max-rate", "BYTES", type = bytes, help = "maximum number of bytes per second: 500, 64K, 8M or 1G" },
  { "-P", "--protocol", "PROTOCOL", choices = { "put", "post", "tus", "resumable", "s3", "oci" }, help = "protocol of an upload; default: put" },
  { "-H", "--header", "HEADER", many = true, help = "send a header, 'Name: value'; can be repeated" },
  { "--not-before", "SECONDS", type = time, help = "do not start before this time, in seconds since 1970" },
  { "--unmetered", help = "wait while the network is metered" },
  { "--discretionary", help = "wait while the network is metered or the machine runs on battery" },
  { "--priority", "N", type = "integer", help = "-10 to 10; transfers with a higher priority start first; default: 0" },
  { "--bandwidth-share", "N", type = "integer", help = "1 to 100; the weight of the transfer when transferd divides its --max-rate; default: 1" },
  { "--time-limit", "SECONDS", type = seconds, help = "time after which the transfer fails if it is not complete: 600, or 12h; default: 7 days" },
  transferd,
}, [[
An item is another option of the transfer or a header:
  name=value       an option, as in attempts=3 overwrite=false type=text/csv
  name:=json       an option with a JSON value     name[a]=value  a nested option
  Name:text        a header
The content of an upload without a file, in place of -u:
  json:=json       json[name]=value        form[name]=value
  multipart[name]=value   multipart[name]@file    a form with files; multipart[name]@file;type=text/csv

If the journal has a transfer with the same id and options, nothing changes, and that transfer is written. The same id
with other options is an error. The journal must not contain secrets: use a login of the type oauth2 with a store, as in
client[auth][type]=oauth2 client[auth][store]=keyring:name ...]])
add_part("transfers", "wait", "Waits until the named transfers end, or all that have not ended. Ctrl-C ends the wait, not the transfers.", {
  { "id", many = true, optional = true },
  { "--timeout", "SECONDS", type = seconds, help = "timeout of the wait: 5, or 1m30s; 0: no limit (the default)" },
  transferd,
}, "Exit status: 0 all transfers have succeeded; 1 a transfer has not succeeded or not ended: the message goes to standard error;\n2 invalid arguments.")
add_part("transfers", "show", "Writes all fields of a transfer as JSON.", { { "id" } })
add_part("transfers", "pause", "Pauses transfers.", { { "id", many = true } })
add_part("transfers", "resume", "Continues paused transfers.", { { "id", many = true }, transferd })
add_part("transfers", "cancel", "Cancels transfers, and removes what downloads have received.", { { "id", many = true } })
add_part("transfers", "retry", "Starts transfers again that have failed, were cancelled or are in doubt.", { { "id", many = true }, transferd })
add_part("transfers", "log", "Writes the log of the workers, oldest entry first: time, id, event and message. The workers keep at least the last 1 MiB.", {
  { "id", many = true, optional = true }, { "--json", help = "write one JSON object per line" },
})
add_part("transfers", "rm", "Removes transfers that do not run, with their results but not with their files.", { { "id", many = true } })

add("transfers", "Records, lists and changes background transfers, which nightjar transferd performs, and waits for them.", {
  { "command", choices = commands.parts.transfers }, { "argument", many = true, optional = true },
  { "--journal", "FILE", help = "the journal; default: that of the user, nightjar/journal.db in $XDG_STATE_HOME or ~/.local/state" },
}, [[
Commands:
  list                  list the transfers
  start ID URL -d FILE  record a download          start ID URL -u FILE   record an upload
  wait [ID...]          wait for the end           show ID                write all fields as JSON
  pause ID...           pause                      resume ID...           continue
  cancel ID...          cancel                     retry ID...            start again
  rm ID...              remove                     log [ID...]            write the log of the workers
nightjar transfers start --help and so on show the options of a command.]])
local confirmed = { "-y", "--yes", help = "do not ask; required if standard input is not a terminal" }

add_part("outbox", "list", "Lists the entries in the order in which they were recorded: id, state, method, URL, and the error of the last attempt.", outbox_items {
  { "--state", "STATE", choices = { "pending", "sending", "done", "conflict", "parked", "in_doubt" }, help = "only the entries with this state" },
  { "--json", help = "write a JSON array with all fields" },
})
add_part("outbox", "show", "Writes all fields of an entry: of a conflict, also both versions and the members that differ.", outbox_items {
  { "id" }, { "--json", help = "write a JSON object" },
})
add_part("outbox", "count", "Writes the number of entries that are not done.", outbox_items {})
for _, verb in ipairs { "post", "put", "patch", "delete" } do
  add_part("outbox", verb, ("Records a %s request, which nightjar outbox run or another process with this outbox sends. Writes the entry."):format(verb:upper()), outbox_items {
    { "url" }, { "item", many = true, optional = true },
    { "--id", "ID", help = "identity of the write, unique in the journal; default: random. The same id and write are the same entry" },
    { "--key", "KEY", help = "order key: the entries of a key are sent in order; default: the URL without its query" },
    { "--if-match", "ETAG", help = "ETag of the version that the write changes" },
    { "--no-idempotency-key", help = "send no Idempotency-Key; a post or patch whose response was lost is then in doubt" },
    { "-j", "--json", help = "send fields as JSON (the default)" },
    { "-F", "--form", help = "send fields as a form; as multipart if there are files" },
    { "-m", "--multipart", help = "send fields as a multipart form" },
    { "--raw", "TEXT", help = "use TEXT as the body" },
    { "--ignore-stdin", help = "do not read the body from standard input" },
  }, items_help:match "^(.-)\n\nExit status")
end
add_part("outbox", "run", "Sends the entries now, also those that wait for their next attempt, until all are done or held. Writes each entry whose state changes.", outbox_items {
  { "--timeout", "SECONDS", type = seconds, help = "end after this time: 5, or 1m30s; 0: no limit (the default)" },
  { "--json", help = "write one JSON object per line" },
}, "Exit status: 0 all entries are done; 1 an entry is held or not sent: the message goes to standard error; 2 invalid arguments.")
add_part("outbox", "wait", "Waits until entries are done, which another process sends.", outbox_items {
  { "id", many = true }, { "--timeout", "SECONDS", type = seconds, help = "timeout of the wait: 5, or 1m30s; 0: no limit (the default)" },
}, "Exit status: 0 the entries are done; 1 an entry is held or not done: the message goes to standard error; 2 invalid arguments.")
add_part("outbox", "retry", "Sends entries that are held again, and ends the waits of pending entries for their next attempts.", outbox_items { { "id", many = true } })
add_part("outbox", "resolve", "Decides a conflict: sends a merged body or the recorded one, or keeps the version of the server. Other held entries can be sent with another body.", outbox_items {
  { "id" }, { "item", many = true, optional = true },
  { "--mine", help = "send the same body again, in place of the server's version" },
  { "--theirs", help = "keep the server's version, and remove the entry" },
  { "--raw", "TEXT", help = "use TEXT as the merged body" },
  { "--if-match", "ETAG", help = "ETag to send; default: that of the server's version" },
  { "--ignore-stdin", help = "do not read the merged body from standard input" },
  confirmed,
}, [[
An item is a field of the merged body, which replaces the whole body of the write:
  name=text        a text field          name=@file    the text of a file
  name:=json       a JSON value          name:=@file   the JSON of a file]])
add_part("outbox", "remove", "Removes entries: writes that are not to be sent, or responses that were processed. Asks before it removes a write that is not done.", outbox_items {
  { "id", many = true }, confirmed,
})

add("outbox", "Lists, sends and changes the entries of an outbox: writes that are recorded in a journal until the server accepts them.", outbox_items {
  { "command", choices = commands.parts.outbox }, { "argument", many = true, optional = true },
  { "--journal", "FILE", help = "the journal; default: that of the profile, or of the user, nightjar/journal.db in $XDG_STATE_HOME or ~/.local/state" },
}, [[
Commands:
  list                    list the entries             show ID         write an entry, with both versions of a conflict
  count                   count those not done         run             send the entries now
  retry ID...             send held entries again      wait ID...      wait until they are done
  resolve ID --mine       send the recorded version    remove ID...    remove entries
  resolve ID --theirs     keep the server's version    resolve ID name=value...   send a merged version
  post|put|patch|delete URL [item...]   record a write
States: pending, sending, done; conflict, parked and in_doubt are held until they are retried, resolved or removed.
nightjar outbox list --help and so on show the options of a command.]])
add("login", "Logs in as configured in the profile, for example with a device code or in the browser, and stores the login.", {
  { "-p", "--profile", "PROFILE", help = "the profile; default: the default profile" },
})
add("logout", "Logs out of a profile and deletes the stored login.", {
  { "--clear-cookies", help = "also delete the cookies of the login" },
  { "-p", "--profile", "PROFILE", help = "the profile; default: the default profile" },
})
add("profiles", "Lists the profiles of the config file.", {
  { "-o", "--output", "FORMAT", choices = formats, help = "output format" },
  { "--names", help = "write only the names" },
})
add("tls", "Shows the TLS connection to a server, its certificates and their pins, and whether a client accepts them.", {
  { "url" },
  { "-p", "--profile", "PROFILE", help = "use the options of a profile for tls, proxy, unix_socket, timeout and addresses" },
  { "--ca-file", "FILE", help = "PEM file of certificate authorities to trust instead of the system's" },
  { "--key-log", "FILE", help = "append the keys of the connections to FILE, for Wireshark" },
  { "--pins", help = "write only the pins, one in each line: the server's first, the trusted authority's last" },
  table.unpack(network_options.items),
}, "Sends GET requests without credentials. The server need not support HTTP. Without a scheme, URL uses https. Exit status: 0 the connection is accepted; 1 it is "
  .. "refused, for the reason on standard error, or it failed; 2 invalid arguments.")
add("check", "Checks the syntax of scripts and reports unknown fields and options of Nightjar.", {
  { "script", many = true },
}, "Findings are written to standard output as file:line:column: text. Exit status: 0 no findings, 1 otherwise.")
add("test", "Runs the tests in files and folders. In a folder, test files are named NAME_test.lua or test_NAME.lua.", {
  { "path", many = true },
  { "-k", "--filter", "TEXT", help = "run only tests whose names contain TEXT" },
  { "--tap", help = "write results in the Test Anything Protocol" },
  { "-x", "--fail-fast", help = "stop after the first failure" },
  { "--timeout", "SECONDS", type = "number", help = "default timeout of a test" },
}, "Exit status: 0 no test failed, 1 a test failed or no tests were run.")
add("completions", "Writes a completion script for a shell.", {
  { "shell", choices = { "bash", "zsh", "fish" } },
})

-- The words before a script or a subcommand, for completions and the manual.
commands.words = {
  { "-e", "CODE" }, { "-l", "MODULE" }, { "-i" }, { "-v" }, { "-W" }, { "--trace" }, { "--har", "FILE" }, { "--har-secrets" },
  { "--profile", "PROFILE" }, { "-h", "--help" }, { "--version" },
}

return commands
