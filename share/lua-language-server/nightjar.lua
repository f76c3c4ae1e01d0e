---@meta nightjar
---The API of Nightjar in Lua, for the Lua language server (LuaLS).
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---What require "nightjar" returns: clients, and tasks that run side by side.
---@class nightjar
---@field args nightjar.args The command line of a script, described once.
---@field base64 nightjar.base64 Bytes as text, by RFC 4648.
---@field csv nightjar.csv Tables as text, a row a line, by RFC 4180.
---@field env nightjar.env Settings from the environment, as what they are.
---@field fs nightjar.fs Files and folders, while other tasks go on.
---@field process nightjar.process Other programs, while other tasks go on.
---@field stdin nightjar.stdin Standard input, while other tasks go on.
---@field channels nightjar.channels Where nightjar.channel and nightjar.select come from.
---@field timers nightjar.timers Where nightjar.after and nightjar.every come from.
---@field hash nightjar.hash Digests, message authentication codes, hexadecimal digits.
---@field log nightjar.log What a script tells of its work, a line at a time, without secrets.
---@field testing nightjar.testing Tests of scripts.
---@field time nightjar.time Moments and lengths of time.
---@field url nightjar.url What is in a URL, by RFC 3986.
---@field uuid nightjar.uuid Identifiers that are made without asking anybody, by RFC 9562.
---@field json nightjar.json JSON with 64-bit integers, null, and arrays kept apart from objects.
---@field null userdata JSON's null: a value of its own, since nil is no value.
---@field version string The version of Nightjar.
local nightjar = {}

---Makes a client: the connections, the login, the cache and the limits of an API. Without options, in a program that has embedded the script, the program's own.
---@param options? nightjar.client_options
---@return nightjar.client
function nightjar.client(options) end

---Starts f(...) as a task of its own, which runs while others wait. It belongs to the task that has spawned it, which does not end before it; at the prompt it goes on in the background.
---@param f function
---@param ... any
---@return nightjar.task
function nightjar.spawn(f, ...) end

---Waits, 0 to 1e9 seconds; others run meanwhile.
---@param seconds number
function nightjar.sleep(seconds) end

---Runs functions side by side and returns the first result of each, in order. The first error cancels the rest and is raised.
---@param functions function[]
---@return any ...
function nightjar.all(functions) end

---Runs functions side by side, returns what the first that ends returns, and cancels the rest.
---@param functions function[]
---@return any ...
function nightjar.race(functions) end

---Calls f with each item, a few at a time, and returns the results in order. The first error cancels the rest, unless errors are collected.
---@param list any[]
---@param f fun(item: any, place: integer): any
---@param options? nightjar.map_options
---@return any[]
function nightjar.map(list, f, options) end

---Calls f(...) and returns its results. If f takes longer, it is cancelled and an error of the kind timeout is raised. 0: no limit.
---@param seconds number
---@param f function
---@param ... any
---@return any ...
function nightjar.timeout(seconds, f, ...) end

---Calls f(...): what it returns, or nil and the error.
---@param f function
---@param ... any
---@return any
---@return nightjar.error?
function nightjar.try(f, ...) end

---Marks a table as a JSON array, so that an empty one is written as [] and not as {}.
---@param list? table
---@return table
function nightjar.array(list) end

---A task that waits so long and then runs f(...), whose results it has.
---@param seconds number
---@param f function
---@param ... any
---@return nightjar.task
function nightjar.after(seconds, f, ...) end

---A task that runs f(...) again and again, at multiples of so long from now on, until it is cancelled or f returns false. What is missed while a run takes longer is left out.
---@param seconds number
---@param f function
---@param ... any
---@return nightjar.task
function nightjar.every(seconds, f, ...) end

---A way for values between tasks, with room for so many; 0: each sender waits for its receiver.
---@param capacity integer
---@return nightjar.channel
function nightjar.channel(capacity) end

---Waits for the first of a list of channels that has a value, and returns both; with nil in the place of the value the channel is closed and empty. { a, b, timeout = 1 }: nil when the time was over first.
---@param channels table
---@return nightjar.channel?
---@return any
function nightjar.select(channels) end

---A function that runs f once its calls have ceased for so long, with the arguments of the last.
---@param seconds number
---@param f function
---@return nightjar.debounced
function nightjar.debounce(seconds, f) end

---A function that runs f at most once in so many seconds: at once, and again at the end with the arguments of the last call.
---@param seconds number
---@param f function
---@return nightjar.throttled
function nightjar.throttle(seconds, f) end

---A new idempotency key, for calls that a server is to carry out once.
---@return string
function nightjar.idempotency_key() end

---Answers in the place of servers, for tests: a list of nightjar.mock_route, with passthrough = true where what no route fits may go out. For the option mock of a client.
---@param routes table
---@return nightjar.mock
function nightjar.mock(routes) end

---How a CSV text is read.
---@class nightjar.csv_reading_options
---@field separator? string Between fields; a comma by default.
---@field quote? string Around fields; " by default.
---@field header? boolean|string[] true: the first row has the names; a list: these are the names.
---@field skip? integer Rows that are left out at the beginning.
---@field ragged? boolean Rows may have fewer or more fields than the header.
---@field lenient? boolean Quotes may stand anywhere.
---@field lines? boolean The source gives lines without their ends, as io.lines does.
---@field max_row? integer Bytes of a row; 1 MiB by default.

---How a CSV text is written.
---@class nightjar.csv_writing_options
---@field separator? string Between fields; a comma by default.
---@field quote? string Around fields; " by default.
---@field columns? string[] The names of the columns, in order, for rows that are records.
---@field header? boolean Whether the names are the first row; true by default.
---@field line_end? string "\r\n" by default.
---@field quote_all? boolean Quotes around every field.
---@field safe? boolean A spreadsheet computes nothing that it finds in the text.

---A temporary file or folder. It is removed when its <close> variable goes, and at the latest when the script ends.
---@class nightjar.temporary
---@field path string Where it is.
local temporary = {}

---Removes it.
function temporary:remove() end

---A program and how it is run: { "ls", "-l" }, or by cmd and args.
---@class nightjar.spawn_options
---@field cmd? string The program, in place of the first of the list.
---@field args? string[] Its arguments.
---@field env? table<string, string> Variables of its environment.
---@field inherit_env? boolean Whether it has those of the script, too; true by default.
---@field cwd? string The folder it runs in.
---@field stdin? string null, inherit or pipe.
---@field stdout? string inherit, null or pipe.
---@field stderr? string inherit, null, pipe, or output: where stdout goes.

---A program that is run to its end.
---@class nightjar.run_options
---@field cmd? string The program, in place of the first of the list.
---@field args? string[] Its arguments.
---@field env? table<string, string> Variables of its environment.
---@field inherit_env? boolean Whether it has those of the script, too; true by default.
---@field cwd? string The folder it runs in.
---@field input? string Its standard input.
---@field stdout? string pipe by default: it is in the result.
---@field stderr? string pipe by default: it is in the result; output: where stdout goes.
---@field timeout? number Seconds, after which it is killed and an error of the kind timeout raised.
---@field max_output? integer Bytes of output that are kept; 16 MiB by default. More is too_large.
---@field check? boolean A status that is not 0 is an error.

---A program that nightjar.process.spawn has begun; <close> ends it.
---@class nightjar.child
---@field pid integer Its number.
---@field stdin nightjar.writer? Where it is a pipe.
---@field stdout nightjar.reader? Where it is a pipe.
---@field stderr nightjar.reader? Where it is a pipe.
local child = {}

---Waits for its end.
---@return { status: integer?, signal: string?, ok: boolean }
function child:wait() end

---Sends a signal, TERM by default; whether it was there to get it.
---@param signal? string|integer
---@return boolean
function child:kill(signal) end

---Ends it if it has not ended, and closes its pipes.
function child:close() end

---The input of a program.
---@class nightjar.writer
local writer = {}

---Waits while the program does not read.
---@param ... string
---@return nightjar.writer
function writer:write(...) end

---The program comes to the end of its input.
function writer:close() end

---The output of a program.
---@class nightjar.reader
local reader = {}

---The next line without its end; nil at the end of all. A longer one than limit bytes is an error of the kind too_large.
---@param limit? integer
---@return string?
function reader:line(limit) end

---for line in reader:lines() do ... end.
---@param limit? integer
---@return fun(): string?
function reader:lines(limit) end

---So many bytes, fewer before the end, nil at the end; without a count what comes next.
---@param count? integer
---@return string?
function reader:read(count) end

---All that is left.
---@param limit? integer
---@return string
function reader:read_all(limit) end

---What nightjar.channel makes; # is how many values are in it.
---@class nightjar.channel
---@field capacity integer How many it has room for.
---@field closed boolean Whether nothing more is sent.
local channel = {}

---Sends a value that is not nil; waits while the channel is full.
---@param value any
function channel:send(value) end

---The next value; nil when the channel is closed and empty.
---@return any
function channel:receive() end

---for value in channel:values() do ... end, until it is closed and empty.
---@return fun(): any
function channel:values() end

---Nothing more is sent; what is in it can be received.
function channel:close() end

---What nightjar.hash.new makes.
---@class nightjar.digest
local digest = {}

---Takes more bytes.
---@param bytes string
---@return nightjar.digest
function digest:update(bytes) end

---The digest of all; once.
---@param form? string
---@return string
function digest:finish(form) end

---A time for tests.
---@class nightjar.clock
local clock = {}

---Returns when all that was due by then has happened and all tasks wait.
---@param seconds number
function clock:advance(seconds) end

---Seconds since it was made.
---@return number
function clock:now() end

---Real time passes from here on.
function clock:close() end

---Options of nightjar.testing.run.
---@class nightjar.testing_options
---@field files? string[] The files to run; those registered so far without.
---@field filter? string A text that the name of a test, with its file, has in it.
---@field format? "readable"|"tap"|"none" How it is reported.
---@field timeout? number Seconds that a test may take which says nothing else.
---@field write? fun(text: string) Gets the report; standard output by default.
---@field fail_fast? boolean The first failure ends the run.

---What the function of a test gets. What it says of failures has the file and the line.
---@class nightjar.test
local test = {}

---The same value, tables by what is in them.
---@param got any
---@param expected any
---@param note? string
function test:equal(got, expected, note) end

---Neither nil nor false.
---@param value any
---@param note? string
---@return any
function test:truthy(value, note) end

---nil or false.
---@param value any
---@param note? string
function test:falsy(value, note) end

---A text that fits a pattern of Lua; returns what it captures.
---@param text string
---@param pattern string
---@param note? string
---@return any ...
function test:matches(text, pattern, note) end

---Numbers that differ by no more; a millionth where it is not said.
---@param got number
---@param expected number
---@param tolerance? number
---@param note? string
function test:near(got, expected, tolerance, note) end

---f(...) raises: an error of a kind, with a message like a pattern, or with fields. Returns it.
---@param expected string|table|nil
---@param f function
---@param ... any
---@return any
function test:raises(expected, f, ...) end

---Fails.
---@param message? string
function test:fail(message) end

---Ends the test, which neither passes nor fails.
---@param reason? string
function test:skip(reason) end

---Called when the test is over, the last one first.
---@param f function
---@param ... any
function test:cleanup(f, ...) end

---Clients that are made from here to the end of the test replay these cassettes, one each, in this order, and leave nothing on disk. Paths are relative to the file of the test. At the prompt .save test writes such a test.
---@param ... string
function test:replay(...) end

---A test within this one, which fails with it.
---@param name string
---@param f fun(t: nightjar.test)
---@return boolean
function test:test(name, f) end

---What nightjar.mock makes.
---@class nightjar.mock
local mock = {}

---The requests that came, first to last: method, url, path, query, headers, body, json, route; those of a route by its name.
---@param route? string
---@return table[]
function mock:calls(route) end

---How often a route was asked, or all of them were.
---@param route? string
---@return integer
function mock:uses(route) end

---Nothing was asked, and each sequence begins anew.
function mock:reset() end

---Raises where a route was not asked as often as it says, or a call had none.
function mock:verify() end

---A route of a mock: what a request must have, and what it is answered. The first that fits answers.
---@class nightjar.mock_route
---@field name? string For mock:calls and mock:uses.
---@field method? string Any where it is not said.
---@field path? string "/articles/{id}", "/files/*.csv", "/static/**"; relative to the base URL, or absolute.
---@field query? table Items that the query must have.
---@field headers? table<string, string|true> Headers that it must have; true: with any value.
---@field json? any What the body must have, as JSON.
---@field form? table What the body must have, as a form.
---@field body? string The body.
---@field answer? integer|nightjar.mock_answer|fun(request: table): integer|nightjar.mock_answer A status, an answer, or a function that returns one; it may wait.
---@field answers? nightjar.mock_answer[]|integer[] One after the other.
---@field used_up? "last"|"first"|"error" What comes when all answers were given.
---@field times? integer How often it must be asked.
---@field optional? boolean It need not be asked.

---An answer of a mock.
---@class nightjar.mock_answer
---@field status? integer 200 by default.
---@field headers? table<string, string> Its headers.
---@field json? any Its body, as JSON.
---@field body? string Its body.
---@field base64? string Its body, as base64.
---@field file? string The path of a file that is its body.
---@field delay? number Seconds before it.
---@field rate? integer Bytes in a second.
---@field pieces? integer Bytes of each piece in which the body comes.
---@field fault? string|table What goes wrong: offline, dns, connect, tls, connect_timeout, timeout, hang, connection_lost, malformed; or { kind =, after = bytes }.

---Options of nightjar.map and api:batch.
---@class nightjar.map_options
---@field concurrency? integer How many run at once; 6 by default.
---@field collect_errors? boolean Errors take the place of the results they stand for, and nothing is cancelled.

---A client, as nightjar.client makes it: connections, login, cookies, cache and limits of an API.
---@class nightjar.client
---@field endpoints nightjar.endpoints What the API can do, by name.
---@field cookies nightjar.cookies? The cookies; nil where the client keeps none.
---@field cache nightjar.cache? The cache by hand; nil where the client has none.
local client = {}

---Asks for a path or URL and returns the response. A status that is not expected, and what goes wrong on the way, is raised as an error object.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:get(path, options) end

---Sends a POST: json, form, multipart, body or file give what is sent.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:post(path, options) end

---Sends a PUT: json, form, multipart, body or file give what is sent.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:put(path, options) end

---Sends a PATCH: json, form, multipart, body or file give what is sent.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:patch(path, options) end

---Sends a DELETE.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:delete(path, options) end

---Asks for the headers alone.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:head(path, options) end

---Sends what the options say, method and path or endpoint among them.
---@param options nightjar.call_options
---@return nightjar.response
function client:request(options) end

---Sends a list of requests, a few at a time, and returns the responses in order. The list takes concurrency and collect_errors, too.
---@param requests (string|nightjar.call_options)[]
---@return nightjar.response[]
function client:batch(requests) end

---A list that comes in pages: for item in api:paginate(path) do ... end. How it goes on is said by the options, or found out.
---@param path string
---@param options? nightjar.page_options
---@return nightjar.list
function client:paginate(path, options) end

---Begins to use a token that a login has brought, and keeps it in the store.
---@param token nightjar.token
function client:sign_in(token) end

---Removes the token and the responses that are cached for it, also from the store. All clients of the store stay logged out until somebody logs in. Raises an error of the kind storage if the store or the cache could not be changed; this client is logged out even then.
---@param options? { scheme?: string }
function client:sign_out(options) end

---Logs a person in, by a code or with the browser as the grant says: prints where to go unless prompt does it, and waits until it is done.
---@param options? { prompt?: fun(info: table), scheme?: string }
function client:log_in(options) end

---How origins and groups stand with their limits: rate, requests under way, waiting, circuit; and the URLs for which a server asked for a pause.
---@return table[]
function client:limits() end

---Reads an OpenAPI document, a file or a URL, and adds its endpoints.
---@param location string
---@return nightjar.endpoints
function client:load_openapi(location) end

---Cancels what is in flight and closes the connections. Also done by <close> and the collector.
function client:close() end

---Options of nightjar.client.
---@class nightjar.client_options
---@field base_url? string What paths are joined to: http, https, or the socket of a daemon as unix:/run/docker.sock.
---@field path_scope? string Limits calls to the origin of base_url to this path and the paths below it, redirects included: "/v1". Dot segments are rejected.
---@field headers? table<string, string> Sent with every request that does not set them itself.
---@field user_agent? string|false The User-Agent; false sends none.
---@field auth? nightjar.auth_options|false Credentials for the origin of base_url.
---@field timeout? number|false|nightjar.timeout_options Seconds for a whole call, or a table of limits; 0 or false: no limit.
---@field retry? nightjar.retry_options|boolean|integer What is tried again; false: nothing; a number: so many attempts in all.
---@field respect_retry_after? boolean Whether the Retry-After of a response is respected; true by default. Retries and redirects then wait as long as it asks, a 429 that asks for up to retry.max_wait holds back all calls to the origin, and a longer 429 or a 503 holds back the calls for the same URL until one succeeds. false: it is only reported, as err.retry_after.
---@field lenient_line_endings? boolean Whether LF without CR ends the lines of a response, as some embedded devices send them; false by default.
---@field cache? boolean|nightjar.cache_options A cache by RFC 9111; true: 20 MB in memory.
---@field cookies? boolean|nightjar.cookie_options Whether cookies are kept, and where.
---@field redirect? nightjar.redirect_options|boolean|integer Whether redirects are followed, and how many.
---@field tls? nightjar.tls_options Which certificates are trusted.
---@field proxy? boolean|string|table false for none, a URL, or { url =, no_proxy = }; by default as the environment says.
---@field unix_socket? string The socket that every connection goes to.
---@field coalesce? boolean Calls that are alike at the same time share one exchange.
---@field rate_limit? boolean|nightjar.rate_options How many requests may begin in how many seconds; true: what servers tell of their limits.
---@field concurrency? integer Requests of one origin under way at once.
---@field circuit_breaker? boolean|nightjar.breaker_options Leaves a server alone while it fails.
---@field max_waiting? integer Calls that may wait for limits; 1000 by default.
---@field limit_groups? table<string, table> Groups of calls with limits of their own, by name.
---@field endpoints? table<string, nightjar.endpoint_options> What the API can do, by name.
---@field openapi? string The path of an OpenAPI document, read with the client.
---@field openapi_folder? string The folder whose files OpenAPI documents may refer to; the document's own folder by default.
---@field response_validation? "off"|"warn"|"error" What is done about answers that are not as their endpoint says.
---@field max_body? integer The largest size of a collected response body, in bytes; 64 MiB by default.
---@field decompress? boolean Whether answers may come compressed; true by default.
---@field max_connections_per_host? integer Connections open at once to one origin; 64 by default.
---@field idle_connection_lifetime? number Seconds that an unused connection stays open; 60 by default.
---@field sensitive_headers? string[] Further headers whose values are kept out of logs, and from other origins.
---@field forward_headers? string[] Further headers that are also sent to other origins, with redirects, next pages and absolute URLs.
---@field ephemeral? boolean Nothing is left on disk.
---@field log? function|{ level: string, write: function } A function(level, line) that gets the log, without secrets; debug, info, warning or error.
---@field mock? nightjar.mock|table Answers in the place of servers.
---@field cassette? string|nightjar.cassette_options The path of a file that records exchanges without their secrets, and replays them.
---@field network? string|nightjar.network_options A worse network: 3g, edge, lossy, offline.
---@field before? fun(request: table) Sees each call before it is sent, and may change it.
---@field after? fun(outcome: nightjar.response|nightjar.error, request: table) Sees how each call has ended.

---How exchanges are recorded and replayed.
---@class nightjar.cassette_options
---@field file? string The path of the cassette, which is JSON for people.
---@field mode? "auto"|"record"|"replay" auto, the default, replays what is there.
---@field repeats? boolean The last exchange that fits is given again.
---@field timing? boolean What is replayed takes the time that it took.
---@field headers? string[] Headers that tell requests apart, beside method, URL and body.
---@field ignore? { query?: string[], json?: string[], body?: boolean, origin?: boolean } What does not.
---@field secrets? string[] Further names of headers, query items and fields whose values are kept out of it.
---@field secret_values? string[] Further values that are.

---A worse network: what is named in the place of what the profile has.
---@class nightjar.network_options
---@field profile? "3g"|"edge"|"lossy"|"offline" What the others change.
---@field latency? number Seconds until an answer begins.
---@field jitter? number Seconds that it varies by.
---@field down? number Bytes in a second from the server.
---@field up? number Bytes in a second to it.
---@field loss? number The part of the connections that break, 0 to 1.
---@field offline? boolean There is no network.
---@field seed? integer The same seed goes the same way.

---Options of a call.
---@class nightjar.call_options
---@field query? table What is added to the URL's query: { page = 1, tag = { "a", "b" } }, or a list of pairs.
---@field params? table Values for {names} in the path, by RFC 6570.
---@field headers? table<string, string> In place of the client's of the same names.
---@field json? any The body, as JSON; its Content-Type is application/json unless the call's or the client's headers set one.
---@field form? table The body, as a form; its Content-Type is application/x-www-form-urlencoded unless the headers set one.
---@field multipart? table The body in parts: fields, and files as { file = path }.
---@field body? string|function|{ each: function, length?: integer } The body, or a function that returns its parts, nil at the end.
---@field file? string The path of a file that is the body.
---@field expect? integer|integer[] Statuses that are an answer and no error.
---@field timeout? number|false|nightjar.timeout_options Seconds for the whole call, or a table of limits; 0 or false: no limit.
---@field stream? boolean The body comes in parts, by res:chunks().
---@field auth? boolean|string|string[] false: without the client's credentials; or the names of the security schemes whose credentials it has.
---@field retry? nightjar.retry_options|boolean|integer What is tried again.
---@field respect_retry_after? boolean Whether Retry-After is respected, in place of the client's setting; false neither waits for a pause that a server asked for nor starts one.
---@field idempotency_key? boolean|string A key by which the server carries the call out once; true: a new one.
---@field redirect? nightjar.redirect_options|boolean|integer Whether redirects are followed.
---@field cookies? boolean false: neither sent nor kept.
---@field cache? boolean|string A policy of the cache: protocol, reload, revalidate, cache_else_load, cache_only, offline_first; false passes it by.
---@field coalesce? boolean Whether the call may share an exchange with others that are alike.
---@field limit_group? string The group whose limits hold.
---@field compress? boolean The body is sent as gzip.
---@field decompress? boolean Whether the answer may come compressed.
---@field expect_continue? boolean The server is asked before the body is sent.
---@field max_body? integer Bytes that the answer's body may have.
---@field body_on_get? boolean A GET may have a body.
---@field schema? table A JSON Schema that the answer must keep.
---@field method? string Of api:request: GET by default.
---@field path? string Of api:request: the path or URL.
---@field endpoint? string Of api:request: the name of an endpoint, in place of method and path.
---@field arguments? table Of api:request: the endpoint's parameters.
---@field on_redirect? fun(hop: table): boolean|string|nil Says whether a redirect is followed, or where to.
---@field on_retry? fun(attempt: table): boolean|number|nil Says whether a failed attempt is repeated, or after how many seconds; nil: as decided.
---@field on_refresh? fun(response?: nightjar.response, err?: nightjar.error) Gets the fresh answer where a stored one was given first.
---@field on_progress? fun(progress: { sent: integer, sent_total?: integer, received: integer, received_total?: integer }) Told how many bytes of the bodies have come and gone, about ten times a second while they move and once at the end of a call that succeeds; totals are nil where nobody knows them. What it raises ends the call.

---Options of api:paginate, beside those of its calls.
---@class nightjar.page_options: nightjar.call_options
---@field style? string page, offset, cursor, link, next, header or guess.
---@field items? string Where in an answer the items are, as a JSON Pointer.
---@field next? string|function Where the cursor or the next URL is, as a JSON Pointer; or a function that says how the list goes on.
---@field key? string What tells items apart, as a JSON Pointer: none is given twice.
---@field param? string The query item of the page, offset or cursor.
---@field size? integer Items of a page.
---@field size_param? string The query item of the size.
---@field first? integer The number of the first page or item.
---@field header? string The header of a response that has the token, or, without param and request_header, the URL of the next page.
---@field request_header? string The header of a request that sends the token.
---@field more? string Where the answer says that there is more, as a JSON Pointer.
---@field total? string Where the answer says how many there are, as a JSON Pointer.
---@field prefetch? integer Pages that are loaded ahead.
---@field max_pages? integer More pages are an error.
---@field max_items? integer More items are an error.
---@field allow_origins? string[] Other origins that a next page may be on.
---@field resume? string A state, as list:state() has it, to go on at.
---@field total_timeout? number|false Seconds for the whole list; 0 or false, the default: no limit.
---@field query? table What is added to the URL's query.
---@field headers? table<string, string> In place of the client's of the same names.
---@field timeout? number|nightjar.timeout_options Of each call.

---The option auth: credentials, and how they are renewed.
---@class nightjar.auth_options
---@field type? "bearer"|"basic"|"digest"|"api_key"|"oauth2"|"login" Which of them.
---@field schemes? table<string, nightjar.auth_options> Several credentials in place of one, by the names of the security schemes: each endpoint has those that it names.
---@field scheme? string The security scheme of the description that the credentials are for, where it has several.
---@field token? string bearer: the token.
---@field user? string basic, digest: the name.
---@field password? string basic, digest: the password.
---@field key? string api_key: the key.
---@field header? string api_key: the header it goes into.
---@field cookie? string api_key: the cookie it goes into.
---@field query? string api_key: the query item it goes into.
---@field prefix? string api_key: what stands before it in the header.
---@field provider fun(info: { refused: boolean }): string?, number? bearer: a function that returns a token and how many seconds it lives, also of one of the schemes; refused says that the server has refused the last one. Without a token the login has ended.
---@field on_login_required? function Runs once when the login has ended.
---@field token_url? string oauth2: where tokens come from.
---@field client_id? string oauth2: who asks.
---@field client_secret? string oauth2: the client's secret.
---@field client_auth? "basic"|"post" oauth2: how the client proves itself.
---@field grant? "refresh_token"|"client_credentials"|"device_code"|"authorization_code" oauth2: how a token is got.
---@field device_url? string oauth2, device_code: where the code comes from.
---@field authorize_url? string oauth2, authorization_code: where the browser goes.
---@field scope? string oauth2: what is asked for.
---@field issuer? string oauth2: who must answer, by RFC 9207.
---@field url? string login: the call that logs in.
---@field method? string login: its method.
---@field json? table login: its body, as JSON.
---@field form? table login: its body, as a form.
---@field access? string login: where the token is, as a JSON Pointer.
---@field renewal? string login: where the refresh token is.
---@field lifetime? string login: where the seconds are that the token lives.
---@field expiry? string login: where the moment is at which it ends.
---@field token_type? string login: where the type is.
---@field refresh? table login: the call that renews: url, method, json or form, and token.
---@field access_token? string A token to begin with.
---@field refresh_token? string A refresh token to begin with.
---@field expires_in? number How many seconds the first token lives.
---@field store? string|table Where the login is kept: memory, file:PATH, sqlite:PATH, keyring:SERVICE, or a table with key_file or key_env.
---@field skew? number Seconds before its end at which a token is renewed; 30.
---@field refresh_timeout? number Seconds that a refresh may take; 30 by default. 0: no limit.
---@field refresh_limit? integer Refreshes within 30 seconds; 5.

---Limits of time, between 0 and 3153600000 seconds. 0 is no limit, and so are false and math.huge; nightjar.null is not set: the default of a client, the client's limit of a call.
---@class nightjar.timeout_options
---@field connect? number|false Until a connection is open, TLS included; 5 by default.
---@field idle? number|false Without a byte in either direction; 30 by default.
---@field total? number|false For the whole call; 300 by default.

---What is tried again, and when.
---@class nightjar.retry_options
---@field attempts? integer In all; 3 by default.
---@field base? number Seconds of the first pause, before chance.
---@field cap? number Seconds of the longest pause.
---@field max_wait? number The longest wait that a server can ask for and that a call waits; 60 by default. Beyond it the call fails at once.
---@field budget? { reserve?: integer, successes_per_retry?: integer } How many of all calls of a client may be retries: a reserve, and one more for so many successes. Of a client alone.

---A cache by RFC 9111.
---@class nightjar.cache_options
---@field memory? string|integer Its room in memory: "20MB".
---@field disk? string|integer Its room on disk.
---@field path? string Its folder; ~/.cache/nightjar by default.
---@field policy? string protocol, reload, revalidate, cache_else_load, cache_only or offline_first.
---@field login_cookies? string[] The cookies that identify a login; responses to different logins are stored apart. { "*" }: all cookies, each by its value. {}: none, for a cache of a single user. Default: all but those of load balancers, bot filters and analytics; a cookie keeps its login when a reusable response replaces it.

---How cookies are kept.
---@class nightjar.cookie_options
---@field file? string The file that keeps them, shared by processes.
---@field policy? "all"|"first_party"|"none" Which are accepted.
---@field keep_session? boolean Those that end with the session are kept, too.

---How redirects are followed.
---@class nightjar.redirect_options
---@field max? integer How many; 10 by default, 0 for none.
---@field allow_downgrade? boolean From https to http, too.

---Which certificates are trusted.
---@class nightjar.tls_options
---@field ca_file? string A PEM file of authorities, in place of the system's.
---@field verify? boolean false accepts any certificate: every connection is open to interception. The client logs one warning, and explain() reports it.

---How many requests may begin.
---@class nightjar.rate_options
---@field requests? integer How many,
---@field per? number in how many seconds,
---@field burst? integer and how many at once after a pause.

---When a server is left alone.
---@class nightjar.breaker_options
---@field failure_rate? number The part of the calls that failed, above 0, to 1.
---@field minimum_calls? integer Fewer prove nothing.
---@field window? number Seconds that are looked at.
---@field rest? number Seconds that it is left alone.

---What is said of an endpoint.
---@class nightjar.endpoint_options
---@field path? string With {names} for parameters.
---@field method? string GET by default.
---@field parameters? table By name, a type or a schema; in says where each goes.
---@field body? table The schema of the body.
---@field answer? table The schema of the answer.
---@field summary? string A sentence.
---@field documentation? string More.
---@field tags? string[] What it belongs to.
---@field deprecated? boolean It is not to be used any more.
---@field requires_auth? boolean Without credentials it is not asked.
---@field security? table The security schemes whose credentials it has: { "session", { OAuth = { "read" } } }.
---@field idempotent? boolean It may be repeated.
---@field timeout? number|nightjar.timeout_options Of its calls.
---@field cache? boolean|string The policy of its calls.
---@field server? string In place of the base URL.
---@field pagination? nightjar.page_options How its list goes on.
---@field response_validation? "off"|"warn"|"error" What is done about answers that are not as it says.

---What api:sign_in takes.
---@class nightjar.token
---@field access_token? string The token.
---@field refresh_token? string What renews it.
---@field expires_in? number How many seconds it lives.
---@field scheme? string The security scheme that it is for, where the client has several.

---A response. It never changes.
---@class nightjar.response
---@field status integer The status code.
---@field ok boolean Whether the status is from 200 to 299.
---@field headers nightjar.headers The header fields.
---@field body string The body, as bytes.
---@field json any The body, decoded from JSON; an error of the kind decoding where it is none.
---@field text string The body as UTF-8, by its charset.
---@field url string The URL that answered, without secrets.
---@field source string network, cache or another origin of the answer.
---@field attempts integer How many attempts it took.
---@field timing nightjar.timing Seconds of each phase.
---@field redirects { status: integer, url: string }[] The redirects that led here, first to last.
---@field peer string? The address that answered.
---@field idempotency_key string? What was sent as such.
local response = {}

---for part in res:chunks() do ... end: the body of a streamed answer, as it comes.
---@return fun(): string?
function response:chunks() end

---Why the call went as it did; prints as a sentence a line.
---@return table[]
function response:explain() end

---The command line of curl that sends the same request.
---@param options? { show_secrets: boolean }
---@return string
function response:curl(options) end

---Waits for the fresh answer where a stored one was given first; nil where nothing was fetched.
---@return nightjar.response?
function response:refreshed() end

---Ends a streamed answer that nobody reads to its end.
function response:close() end

---Seconds of the phases of a call; what did not occur is nil.
---@class nightjar.timing
---@field total? number From the call to its end.
---@field sent? number From the call until the request was sent.
---@field first_byte? number From the call to the first byte of the answer.
---@field dns? number How long the name was looked up.
---@field connect? number How long connecting took.
---@field tls? number How long TLS took.
---@field reused? boolean Whether the connection was there already.

---Header fields by name, in any case and with _ for -: headers.content_type. pairs gives each line, # their number.
---@class nightjar.headers
---@field [string] string?
local headers = {}

---What a call that fails raises; nightjar.try returns it. It prints as a sentence.
---@class nightjar.error
---@field kind nightjar.error_kind What happened: not_found, timeout, connect and so on.
---@field message string For the developer.
---@field user_message string? For the user; none when it was cancelled.
---@field status integer? The status, where there was an answer.
---@field phase string? Which limit ran out: connect, idle or total.
---@field retryable boolean Whether the same call may succeed later.
---@field retry_after number? Seconds that the server asked to wait.
---@field may_have_been_processed boolean Whether the server may have done what it was asked.
---@field attempts integer How many attempts were made.
---@field url string? The URL, without secrets.
---@field response nightjar.response? The answer, where there was one.
---@field details table? What the server says: title, message, detail, code, type, fields.
---@field code integer? The number of the system's or TLS's error.
---@field earlier nightjar.error[] What the attempts before failed with.
---@field idempotency_key string? What was sent as such.
---@field index integer? Which request of a batch it was.
local error = {}

---Why the call went as it did; prints as a sentence a line.
---@return table[]
function error:explain() end

---The command line of curl that sends the same request.
---@param options? { show_secrets: boolean }
---@return string?
function error:curl(options) end

---What happened, in a word: the field kind of an error.
---@alias nightjar.error_kind
---| "invalid_argument" # An argument or option breaks its documented bounds. Nothing was sent.
---| "forked" # The client belongs to the parent of this forked process. Nothing was sent.
---| "closed" # The client was closed.
---| "reentrant" # Of a host program: called from inside a callback of what it would wait for.
---| "cancelled" # Cancelled by the script, by the end of its task or of the client.
---| "timeout" # A limit ran out: err.phase is connect, idle or total.
---| "no_memory" # The process has no memory for a body, a JSON document or a file.
---| "invalid_url" # The URL is none that can be asked. Nothing was sent.
---| "invalid_request" # A header, body or option cannot be sent. Nothing was sent.
---| "offline" # No network is there. Nothing was sent.
---| "dns" # The host's name has no address. Nothing was sent.
---| "connect" # No address accepted the connection. Nothing was sent.
---| "tls" # The handshake failed, or the certificate is not trusted. Nothing was sent.
---| "pin_mismatch" # The server's key is none of those that were expected.
---| "connection_lost" # The connection ended before the answer did: err.may_have_been_processed.
---| "protocol" # The server broke the rules of HTTP, or its redirects go in a circle.
---| "too_large" # A head or body beyond its limit.
---| "unauthorized" # The status 401.
---| "forbidden" # The status 403.
---| "not_found" # The status 404.
---| "rate_limited" # The status 429: err.retry_after; or a limit of the client's own, whose calls wait in too great a number.
---| "client" # Any other status below 500 that is not expected.
---| "server" # A status of 500 and above.
---| "decoding" # The answer, or a text, is not what it says or is taken for.
---| "cache_miss" # The server was not to be asked, and the cache has no answer.
---| "storage" # A file cannot be read or written.
---| "script" # An error in a Lua script.

---What nightjar.spawn returns.
---@class nightjar.task
---@field done boolean Whether it has ended, and what it has spawned.
---@field cancelled boolean Whether it was cancelled.
local task = {}

---Waits for its end and returns what its function returned, or raises its error.
---@return any ...
function task:join() end

---Cancels it and all that it has spawned.
function task:cancel() end

---A list in pages, as api:paginate makes it. A loop over it gives item by item.
---@class nightjar.list
---@field explanation string? How the list goes on, and how that was found out.
---@overload fun(): any
local list = {}

---for page in list:pages() do ... end. Pages without items are given too.
---@return fun(): nightjar.page?
function list:pages() end

---The next items, or fewer at the end.
---@param count integer
---@return any[]
function list:take(count) end

---All items that are left.
---@return any[]
function list:collect() end

---Its place as a text, for resume, here or in another run.
---@return string
function list:state() end

---Goes on at a place.
---@param state string
---@return nightjar.list
function list:resume(state) end

---Begins anew.
---@return nightjar.list
function list:refresh() end

---Gives up what is loaded.
function list:close() end

---One page of a list.
---@class nightjar.page
---@field items any[] Its items.
---@field number integer From 1.
---@field response nightjar.response Its answer.

---What the API can do, by name: api.endpoints.article { id = 42 }. pairs gives name and endpoint, # their number.
---@class nightjar.endpoints
---@field [string] nightjar.endpoint
local endpoints = {}

---One of an API's calls: endpoint(parameters, options) makes it, tostring tells what is said of it. Its fields are those of its description.
---@class nightjar.endpoint
---@field path string With {names} for parameters.
---@field method string Its method.
---@field parameters table By name.
---@overload fun(parameters?: table, options?: nightjar.call_options): nightjar.response
local endpoint = {}

---Its list, item by item.
---@param parameters? table
---@param options? nightjar.page_options
---@return nightjar.list
function endpoint:paginate(parameters, options) end

---The cookies of a client.
---@class nightjar.cookies
local cookies = {}

---All: name, value, domain, path, expires, secure, http_only, same_site.
---@return table[]
function cookies:list() end

---As if the URL had answered with that Set-Cookie.
---@param url string
---@param set_cookie string
function cookies:set(url, set_cookie) end

---Deletes those that match all, and returns how many.
---@param match { name?: string, domain?: string, path?: string }
---@return integer
function cookies:delete(match) end

---Deletes all.
function cookies:clear() end

---Returns when all is in the file.
function cookies:flush() end

---Writes a cookies.txt, as curl has it.
---@param path string
function cookies:export(path) end

---Reads one: cookies stored, lines skipped.
---@param path string
---@return integer
---@return integer
function cookies:import(path) end

---What export writes.
---@return string
function cookies:text() end

---What import reads.
---@param text string
---@return integer
---@return integer
function cookies:load_text(text) end

---The cache of a client, by hand.
---@class nightjar.cache
local cache = {}

---What is stored, of any age; no server is asked.
---@param path string
---@param options? table
---@return nightjar.response?
function cache:get(path, options) end

---Stores an answer as if a server had given it.
---@param path string
---@param answer { status?: integer, headers?: table, body?: string, json?: any }
---@param options? table
function cache:put(path, answer, options) end

---Removes the stored responses of a path, or of all paths with a prefix, and returns how many there were. Raises a storage error if another process keeps them on disk for 5 seconds.
---@param path string|{ prefix: string }
---@param options? table
---@return integer
function cache:delete(path, options) end

---Removes all responses and returns how many there were. Raises a storage error as delete does.
---@return integer
function cache:clear() end

---hits, stale, misses, validations, bytes_saved, memory_entries, memory_bytes, disk_entries, disk_bytes.
---@return table
function cache:stats() end

---Waits until all responses and removals are on disk. Raises a storage error if an invalidation or a removal cannot be written within 5 seconds.
function cache:flush() end

---A function that nightjar.debounce has made.
---@class nightjar.debounced
---@overload fun(...: any)
local debounced = {}

---What is put off does not run.
function debounced:cancel() end

---What is put off runs now.
---@return nightjar.task?
function debounced:flush() end

---A function that nightjar.throttle has made.
---@class nightjar.throttled
---@overload fun(...: any)
local throttled = {}

---What is put off does not run; the next call runs at once.
function throttled:cancel() end

---What is put off runs now.
---@return nightjar.task?
function throttled:flush() end

return nightjar
