---@meta nightjar
---The API of Nightjar in Lua, for the Lua language server (LuaLS).
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---The module that require "nightjar" returns: clients, and tasks that run concurrently.
---@class nightjar
---@field args nightjar.args Command lines of scripts.
---@field base64 nightjar.base64 Base64, RFC 4648.
---@field csv nightjar.csv CSV, RFC 4180.
---@field env nightjar.env Environment variables with types.
---@field fs nightjar.fs Files and folders, without blocking other tasks.
---@field process nightjar.process Other programs, without blocking other tasks.
---@field stdin nightjar.stdin Standard input, without blocking other tasks.
---@field channels nightjar.channels The module of nightjar.channel and nightjar.select.
---@field timers nightjar.timers The module of nightjar.after and nightjar.every.
---@field hash nightjar.hash Digests, HMACs and hexadecimal digits.
---@field log nightjar.log Log lines with fields, without secrets.
---@field testing nightjar.testing Tests of scripts.
---@field time nightjar.time Points in time and durations.
---@field url nightjar.url URLs, RFC 3986.
---@field uuid nightjar.uuid UUIDs, RFC 9562.
---@field json nightjar.json JSON.
---@field null userdata JSON null. A value of its own, because nil cannot be stored in a table.
---@field version string The version of Nightjar.
local nightjar = {}

---Creates a client: the connections, login, cookies, cache and limits of an API. Without options in an embedded script, returns the client of the host program.
---@param options? nightjar.client_options
---@return nightjar.client
function nightjar.client(options) end

---Starts a task that runs f(...) while other tasks wait. The task belongs to the task that spawned it, which does not end before it. At the prompt it continues in the background.
---@param f function
---@param ... any
---@return nightjar.task
function nightjar.spawn(f, ...) end

---Suspends the task for 0 to 1e9 seconds. Other tasks run meanwhile.
---@param seconds number
function nightjar.sleep(seconds) end

---Runs functions concurrently and returns the first result of each, in order. The first error cancels the others and is raised.
---@param functions function[]
---@return any ...
function nightjar.all(functions) end

---Runs functions concurrently, returns the results of the first one that ends, and cancels the others.
---@param functions function[]
---@return any ...
function nightjar.race(functions) end

---Calls f for each item, a limited number at a time, and returns the results in order. The first error cancels the rest, unless collect_errors is set; then returns the results and the errors, each by place.
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

---Calls f(...) and returns its results, or nil and the error if it raises one.
---@param f function
---@param ... any
---@return any
---@return nightjar.error?
function nightjar.try(f, ...) end

---Marks a table as a JSON array, so that an empty table is encoded as [] and not as {}.
---@param list? table
---@return table
function nightjar.array(list) end

---Starts a task that waits, runs f(...) and returns its results.
---@param seconds number
---@param f function
---@param ... any
---@return nightjar.task
function nightjar.after(seconds, f, ...) end

---Starts a task that runs f(...) at multiples of the period, until the task is cancelled or f returns false. Runs that would start while the previous one is in progress are skipped.
---@param seconds number
---@param f function
---@param ... any
---@return nightjar.task
function nightjar.every(seconds, f, ...) end

---Creates a bounded channel between tasks. Capacity 0: each sender waits for its receiver.
---@param capacity integer
---@return nightjar.channel
function nightjar.channel(capacity) end

---Waits for the first channel of a list that has a value, and returns the channel and the value. A nil value: that channel is closed and empty. With timeout = seconds in the list, returns nil when the time has passed.
---@param channels table
---@return nightjar.channel?
---@return any
function nightjar.select(channels) end

---Returns a function that runs f once it has not been called for that many seconds, with the arguments of the last call.
---@param seconds number
---@param f function
---@return nightjar.debounced
function nightjar.debounce(seconds, f) end

---Returns a function that runs f at most once in that many seconds: immediately, and again at the end of the period with the arguments of the last call.
---@param seconds number
---@param f function
---@return nightjar.throttled
function nightjar.throttle(seconds, f) end

---Returns a new idempotency key, a random UUID.
---@return string
function nightjar.idempotency_key() end

---Creates a mock from a list of nightjar.mock_route, for the option mock of a client. With passthrough = true in the list, requests that match no route go to the network.
---@param routes table
---@return nightjar.mock
function nightjar.mock(routes) end

---Options of csv.parse and csv.rows.
---@class nightjar.csv_reading_options
---@field separator? string The character between fields. Default: ",".
---@field quote? string The character around fields. Default: '"'.
---@field header? boolean|string[] true: the first row has the names; a list: the names. Rows are then records. Default: false.
---@field skip? integer Number of rows to skip at the beginning. Default: 0.
---@field ragged? boolean Whether rows may have fewer or more fields than the header. Default: false.
---@field lenient? boolean Whether quotes may be anywhere in a field. Default: false.
---@field lines? boolean Whether the source returns lines without their ends, as io.lines does. Default: false.
---@field max_row? integer Maximum size of a row in bytes. Default: 1 MiB.

---Options of csv.write and csv.writer.
---@class nightjar.csv_writing_options
---@field separator? string The character between fields. Default: ",".
---@field quote? string The character around fields. Default: '"'.
---@field columns? string[] The names of the columns in order, for rows that are records. Default: none.
---@field header? boolean Whether the names are the first row. Default: true.
---@field line_end? string The end of each line. Default: "\r\n".
---@field quote_all? boolean Whether all fields are quoted. Default: false.
---@field safe? boolean Whether fields that a spreadsheet would evaluate as formulas are escaped. Default: false.

---A temporary file or folder. It is removed at the end of its <close> variable, at the latest when the script ends.
---@class nightjar.temporary
---@field path string Its path.
local temporary = {}

---Removes it.
function temporary:remove() end

---Options of process.spawn: { "ls", "-l" }, or cmd and args.
---@class nightjar.spawn_options
---@field cmd? string The program, instead of the first item of the list. Default: none.
---@field args? string[] The arguments, instead of the other items. Default: none.
---@field env? table<string, string> Environment variables to set; false removes one. Default: none.
---@field inherit_env? boolean Whether the program gets the environment of the script too. Default: true.
---@field cwd? string The working folder. Default: that of the script.
---@field stdin? string null, inherit or pipe. Default: "null".
---@field stdout? string inherit, null or pipe. Default: "inherit".
---@field stderr? string inherit, null, pipe, or output: the same as stdout. Default: "inherit".

---Options of process.run.
---@class nightjar.run_options
---@field cmd? string The program, instead of the first item of the list. Default: none.
---@field args? string[] The arguments, instead of the other items. Default: none.
---@field env? table<string, string> Environment variables to set; false removes one. Default: none.
---@field inherit_env? boolean Whether the program gets the environment of the script too. Default: true.
---@field cwd? string The working folder. Default: that of the script.
---@field input? string Standard input. Default: none.
---@field stdout? string pipe: part of the result; inherit or null. Default: "pipe".
---@field stderr? string pipe: part of the result; inherit, null, or output: the same as stdout. Default: "pipe".
---@field timeout? number Seconds until the program is killed and an error of the kind timeout is raised. Default: no limit.
---@field max_output? integer Maximum bytes of output; more is the error too_large. Default: 16 MiB.
---@field check? boolean Whether a status other than 0 is an error. Default: false.

---A program that process.spawn has started. <close> ends it.
---@class nightjar.child
---@field pid integer Its process id.
---@field stdin nightjar.writer? Its input, if that is a pipe.
---@field stdout nightjar.reader? Its output, if that is a pipe.
---@field stderr nightjar.reader? Its error output, if that is a pipe.
local child = {}

---Waits until the program ends.
---@return { status: integer?, signal: string?, ok: boolean }
function child:wait() end

---Sends a signal, TERM by default. Returns whether the program was running.
---@param signal? string|integer
---@return boolean
function child:kill(signal) end

---Ends the program if it is running, and closes its pipes.
function child:close() end

---The input of a program.
---@class nightjar.writer
local writer = {}

---Writes the texts, and waits while the pipe is full.
---@param ... string
---@return nightjar.writer
function writer:write(...) end

---Closes the input.
function writer:close() end

---The output of a program.
---@class nightjar.reader
local reader = {}

---Returns the next line without its end, or nil at the end. A line longer than limit (16 MiB by default) is an error of the kind too_large.
---@param limit? integer
---@return string?
function reader:line(limit) end

---Returns an iterator over the lines.
---@param limit? integer
---@return fun(): string?
function reader:lines(limit) end

---Returns count bytes, fewer at the end, or nil. Without count, returns what is available next.
---@param count? integer
---@return string?
function reader:read(count) end

---Returns everything up to the end. More than limit bytes (256 MiB by default) is an error of the kind too_large.
---@param limit? integer
---@return string
function reader:read_all(limit) end

---A bounded channel between tasks. #channel is the number of pending values.
---@class nightjar.channel
---@field capacity integer The maximum number of pending values.
---@field closed boolean Whether the channel is closed.
local channel = {}

---Sends a value other than nil, and waits while the channel is full.
---@param value any
function channel:send(value) end

---Returns the next value, or nil if the channel is closed and empty.
---@return any
function channel:receive() end

---Returns an iterator over the values, until the channel is closed and empty.
---@return fun(): any
function channel:values() end

---Closes the channel. Pending values can still be received.
function channel:close() end

---A digest that takes its bytes in parts.
---@class nightjar.digest
local digest = {}

---Adds bytes.
---@param bytes string
---@return nightjar.digest
function digest:update(bytes) end

---Returns the digest. Can be called once.
---@param form? string
---@return string
function digest:finish(form) end

---A clock for tests.
---@class nightjar.clock
local clock = {}

---Moves the time, and returns when everything due has run and all tasks wait.
---@param seconds number
function clock:advance(seconds) end

---Returns the seconds since the clock was created.
---@return number
function clock:now() end

---Restores real time.
function clock:close() end

---Options of nightjar.testing.run.
---@class nightjar.testing_options
---@field files? string[] The files to run. Default: the registered tests.
---@field filter? string A text that the file and name of a test contain. Default: none.
---@field format? "readable"|"tap"|"none" The format of the report. Default: "readable".
---@field timeout? number Seconds for a test without a timeout of its own. Default: 60.
---@field write? fun(text: string) Receives the report. Default: standard output.
---@field fail_fast? boolean Whether the run ends at the first failure. Default: false.

---The argument of a test. Failures report the file and line.
---@class nightjar.test
local test = {}

---Fails unless the values are equal, tables by their content.
---@param got any
---@param expected any
---@param note? string
function test:equal(got, expected, note) end

---Fails for nil and false. Returns the value.
---@param value any
---@param note? string
---@return any
function test:truthy(value, note) end

---Fails unless the value is nil or false.
---@param value any
---@param note? string
function test:falsy(value, note) end

---Fails unless the text matches the Lua pattern. Returns the captures.
---@param text string
---@param pattern string
---@param note? string
---@return any ...
function test:matches(text, pattern, note) end

---Fails if the numbers differ by more than the tolerance, a millionth of the expected number by default.
---@param got number
---@param expected number
---@param tolerance? number
---@param note? string
function test:near(got, expected, tolerance, note) end

---Fails unless f(...) raises: an error of a kind, with a message that matches a pattern, or with fields. Returns the error.
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

---Registers a function that is called at the end of the test, the last one first.
---@param f function
---@param ... any
function test:cleanup(f, ...) end

---Makes the clients that are created until the end of the test replay these cassettes, one each, in order. Paths are relative to the file of the test.
---@param ... string
function test:replay(...) end

---Runs a test inside this one, which fails with it.
---@param name string
---@param f fun(t: nightjar.test)
---@return boolean
function test:test(name, f) end

---A mock: responses in place of servers.
---@class nightjar.mock
local mock = {}

---Returns the requests, of a route by its name: method, url, path, query, headers, body, json and route. At most the last 1000.
---@param route? string
---@return table[]
function mock:calls(route) end

---Returns how often a route, or all routes, were used.
---@param route? string
---@return integer
function mock:uses(route) end

---Clears the recorded requests, and restarts each sequence of responses.
function mock:reset() end

---Raises an error if a route was not used as often as required, or if a request matched no route.
function mock:verify() end

---A route of a mock: what it matches, and the response. The first route that matches a request responds.
---@class nightjar.mock_route
---@field name? string For mock:calls and mock:uses. Default: method and path.
---@field method? string The method. Default: any.
---@field path? string "/articles/{id}", "/files/*.csv", "/static/**"; relative to the base URL, or absolute. Default: any.
---@field query? table Items that the query must have: a value, a list, true for any, false for none. Default: any.
---@field headers? table<string, string|true> Headers that the request must have, in the same form. Default: any.
---@field json? any Members that the JSON of the body must have. Default: any.
---@field form? table Items that the form must have. Default: any.
---@field body? string The body. Default: any.
---@field response? integer|nightjar.mock_response|fun(request: table): integer|nightjar.mock_response A status, a response, or a function that returns one and may wait. Default: required, or answers.
---@field responses? nightjar.mock_response[]|integer[] Responses in order. Default: none.
---@field when_exhausted? "last"|"first"|"error" After the last of answers: repeats it, starts again, or fails the call. Default: "last".
---@field times? integer How often the route responds, 1 to 1,000,000. Default: no limit.
---@field optional? boolean Whether mock:verify accepts that it was not used. Default: false.

---A response of a mock.
---@class nightjar.mock_response
---@field status? integer The status, 100 to 599. Default: 200.
---@field headers? table<string, string> The headers. Default: none.
---@field json? any The body as JSON. Default: empty.
---@field body? string The body as text. Default: empty.
---@field base64? string The body as Base64. Default: empty.
---@field file? string The path of a file with the body. Default: none.
---@field delay? number Seconds until the head is sent. Default: 0.
---@field rate? integer Bytes of the body per second. Default: unlimited.
---@field chunk_size? integer Bytes of each piece of the body. Default: one piece.
---@field fault? string|table offline, dns, connect, tls, connect_timeout, timeout, hang, connection_lost or malformed; or { kind =, after = bytes of the body }. Default: none.

---Options of nightjar.map and api:batch.
---@class nightjar.map_options
---@field concurrency? integer How many run at a time. Default: 6.
---@field collect_errors? boolean Whether errors are collected; otherwise the first error cancels the rest. Default: false.

---A client: connections, login, cookies, cache and limits of an API.
---@class nightjar.client
---@field endpoints nightjar.endpoints The endpoints, by name.
---@field cookies nightjar.cookies? The cookies; nil if the client does not keep cookies.
---@field cache nightjar.cache? The cache; nil if the client has none.
local client = {}

---Sends a GET request to a path or URL and returns the response. Raises an error object if the call fails or the status is not expected.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:get(path, options) end

---Sends a POST request. json, form, multipart, body or file is its body.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:post(path, options) end

---Sends a PUT request. json, form, multipart, body or file is its body.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:put(path, options) end

---Sends a PATCH request. json, form, multipart, body or file is its body.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:patch(path, options) end

---Sends a DELETE request.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:delete(path, options) end

---Sends a HEAD request.
---@param path string
---@param options? nightjar.call_options
---@return nightjar.response
function client:head(path, options) end

---Sends a request that the options describe: method and path, or endpoint and arguments.
---@param options nightjar.call_options
---@return nightjar.response
function client:request(options) end

---Sends a list of requests, a limited number at a time, and returns the responses in order. The list also takes concurrency (6 by default) and collect_errors.
---@param requests (string|nightjar.call_options)[]
---@return nightjar.response[]
function client:batch(requests) end

---Returns a list that the server sends in pages: for item in api:paginate(path) do ... end. The style is detected unless the options set it.
---@param path string
---@param options? nightjar.page_options
---@return nightjar.list
function client:paginate(path, options) end

---Uses a token that the caller has, and stores it.
---@param token nightjar.token
function client:set_token(token) end

---Removes the token, also from the store, and the cached responses to its login. All clients of the store stay logged out until the next login. Raises an error of the kind storage if the store or the cache could not be changed; this client is logged out even then.
---@param options? { scheme?: string }
function client:log_out(options) end

---Logs in, interactively if the grant is device_code or authorization_code, and waits for the end, at most 900 seconds. Without prompt, prints the page, and opens it in a browser if there is no code to enter.
---@param options? { prompt?: fun(info: table), scheme?: string }
function client:log_in(options) end

---Returns the state of the limits of each origin and group: name, inside, waiting, circuit, and pause in seconds.
---@return table[]
function client:limits() end

---Reads an OpenAPI document from a file, a URL, or "url:" and a path, and adds its endpoints.
---@param location string
---@return nightjar.endpoints
function client:load_openapi(location) end

---Cancels the calls in flight and closes the connections. <close> and the garbage collector do the same.
function client:close() end

---Options of nightjar.client.
---@class nightjar.client_options
---@field base_url? string Paths are joined to this URL: http, https, or the socket of a daemon such as unix:/run/docker.sock. Default: none.
---@field path_scope? string Limits calls to the origin of base_url to this path and the paths below it, redirects included: "/v1". Dot segments are rejected. Default: any path.
---@field headers? table<string, string> Headers of every request that does not set them itself. Default: none.
---@field user_agent? string|false The User-Agent; false sends none. Default: "nightjar/VERSION".
---@field auth? nightjar.auth_options|false Credentials for the origin of base_url. Default: none.
---@field timeout? number|false|nightjar.timeout_options Seconds for the whole call, or a table of limits; 0 or false is no limit. Default: connect 5, idle 30, total 300.
---@field retry? nightjar.retry_options|boolean|integer Which failures are retried. false: none; a number: the number of attempts. Default: 3 attempts.
---@field respect_retry_after? boolean Whether Retry-After is respected: retries and redirects wait, a 429 that asks for up to retry.max_wait holds back all calls to the origin, and a longer 429 or a 503 holds back the calls for the same URL until one succeeds. false: it is only reported, as err.retry_after. Default: true.
---@field lenient_line_endings? boolean Whether LF without CR ends the lines of a response, as some embedded devices send them. Default: false.
---@field cache? boolean|nightjar.cache_options A cache by RFC 9111. true: 20 MiB in memory. Default: false.
---@field cookies? boolean|nightjar.cookie_options Whether cookies are kept, and where. true: in memory. Default: false.
---@field redirect? nightjar.redirect_options|boolean|integer Whether redirects are followed, and how many. Default: 10.
---@field tls? nightjar.tls_options Which certificates are trusted. Default: those of the system.
---@field proxy? boolean|string|table false: none; a URL; or { url =, no_proxy = }. Default: from the environment.
---@field unix_socket? string The socket of all connections. Default: none.
---@field coalesce? boolean Whether identical calls share one exchange. Default: false.
---@field rate_limit? boolean|nightjar.rate_options How many requests may begin in a period. true: adapts to the RateLimit fields of responses. Default: false.
---@field concurrency? integer Requests in flight to one origin, 1 to 1,000,000. Default: unlimited.
---@field circuit_breaker? boolean|nightjar.breaker_options Rejects calls to a server that fails. true: with the defaults. Default: false.
---@field max_queued? integer Calls of one origin or group that may wait for limits, 0 to 10,000,000. Default: 1000.
---@field limit_groups? table<string, table> Groups of calls with limits of their own, by name. Default: none.
---@field endpoints? table<string, nightjar.endpoint_options> Endpoints, by name. Default: none.
---@field openapi? string The path of an OpenAPI document. Default: none.
---@field openapi_folder? string The folder whose files OpenAPI documents may refer to. Default: that of the document.
---@field response_validation? "off"|"warn"|"error" The handling of responses that do not match the description of their endpoint. Default: "off".
---@field max_body? integer Maximum size of a collected response body in bytes, up to 2 GiB. Default: 64 MiB.
---@field decompress? boolean Whether compressed responses are requested and decompressed. Default: true.
---@field max_connections_per_host? integer Connections to one origin, 1 to 65,536. Default: 64.
---@field idle_connection_lifetime? number Seconds that an unused connection is kept open. Default: 60.
---@field sensitive_headers? string[] Names of further headers with credentials: masked in logs, and not sent to other origins. Default: none.
---@field forward_headers? string[] Names of further headers that are sent to other origins, with redirects, next pages and absolute URLs. Default: none.
---@field ephemeral? boolean Whether the client writes nothing to disk. Default: false.
---@field log? function|{ level: string, write: function } A function(level, line), or { level =, write = }. Levels: error, warning, info, debug. Default: none; level debug.
---@field mock? nightjar.mock|table Responses in place of servers. Default: none.
---@field cassette? string|nightjar.cassette_options A file that records exchanges without their secrets, and replays them. Default: none.
---@field network? string|nightjar.network_options A network profile: 3g, edge, lossy, offline. Default: none.
---@field before? fun(request: table) Called before each call. It may change the request. Default: none.
---@field after? fun(outcome: nightjar.response|nightjar.error, request: table) Called after each call. Default: none.

---Options of a cassette.
---@class nightjar.cassette_options
---@field file? string The path of the cassette, a JSON file. Default: required.
---@field mode? "auto"|"record"|"replay" record: everything from the network; replay: nothing from the network; auto: what the file has, else the network. Default: "auto".
---@field repeats? boolean Whether the last matching exchange is replayed again and again. Default: false.
---@field timing? boolean Whether replay takes the recorded time. Default: false.
---@field headers? string[] Names of headers that are compared, in addition to method, URL and body. Default: none.
---@field ignore? { query?: string[], json?: string[], body?: boolean, origin?: boolean } Parts of a request that are not compared. Default: nothing.
---@field secrets? string[] Further names of headers, query items and fields whose values are replaced. Default: none.
---@field secret_values? string[] Further values that are replaced. Default: none.

---A network profile. Each value replaces that of the profile.
---@class nightjar.network_options
---@field profile? "3g"|"edge"|"lossy"|"offline" The profile to start from. Default: none.
---@field latency? number Seconds until a response begins. Default: 0.
---@field jitter? number Maximum of a random addition to the latency, in seconds. Default: 0.
---@field down? number Bytes per second from the server. Default: unlimited.
---@field up? number Bytes per second to the server. Default: unlimited.
---@field loss? number The share of exchanges whose connection breaks, 0 to 1. Default: 0.
---@field offline? boolean Whether the network is unavailable. Default: false.
---@field seed? integer The seed of the random numbers. Default: 1.

---Options of a call.
---@class nightjar.call_options
---@field query? table Added to the query of the URL: { page = 1, tag = { "a", "b" } }, or a list of pairs. Default: none.
---@field params? table Values of the {names} in the path (RFC 6570, to level 3). Default: none.
---@field headers? table<string, string> Headers, instead of those of the client with the same names. Default: none.
---@field json? any The body as JSON. Content-Type is application/json unless the headers set one. Default: none.
---@field form? table The body as a form. Content-Type is application/x-www-form-urlencoded unless the headers set one. Default: none.
---@field multipart? table The body as multipart/form-data: a list of { name =, value = }, { name =, file = path } or { name =, bytes =, filename = }. Default: none.
---@field body? string|function|{ each: function, length?: integer } The body, or a function that returns its parts and nil at the end. Default: none.
---@field file? string The path of a file with the body. Default: none.
---@field expect? integer|integer[] Statuses that are responses and not errors. Default: 200 to 299, and 304.
---@field timeout? number|false|nightjar.timeout_options Seconds for the whole call, or a table of limits; 0 or false is no limit. Default: that of the client.
---@field stream? boolean Whether the body is read in parts, by res:chunks(). Default: false.
---@field auth? boolean|string|string[] false: without the client's credentials; or the names of security schemes. Default: true.
---@field retry? nightjar.retry_options|boolean|integer Which failures are retried. Default: that of the client.
---@field respect_retry_after? boolean Whether Retry-After is respected. false: the call neither waits for a pause that a server asked for nor starts one. Default: that of the client.
---@field idempotency_key? boolean|string The Idempotency-Key, which allows a write to be retried; true: a new one. Default: none.
---@field redirect? nightjar.redirect_options|boolean|integer Whether redirects are followed, and how many. Default: that of the client.
---@field cookies? boolean false: cookies are neither sent nor kept. Default: true.
---@field cache? boolean|string protocol, reload, revalidate, cache_else_load, cache_only or offline_first; false: without the cache. Default: that of the client.
---@field coalesce? boolean Whether the call may share an exchange with identical calls. Default: that of the client.
---@field limit_group? string The group whose limits apply instead of those of the origin. Default: none.
---@field compress? boolean Whether the body is sent as gzip. Default: false.
---@field decompress? boolean Whether the response may be compressed. Default: that of the client.
---@field expect_continue? boolean Whether the request waits for 100 (Continue) before the body. Default: from 1 MiB, or if the length is unknown.
---@field max_body? integer Maximum size of the response body in bytes. Default: that of the client.
---@field allow_body_on_get? boolean Whether a GET or HEAD request may have a body. Default: false.
---@field schema? table A JSON Schema that the response must match. Default: none.
---@field method? string api:request: the method. Default: "GET".
---@field path? string api:request: the path or URL. Default: required, or endpoint.
---@field endpoint? string api:request: the name of an endpoint, instead of method and path. Default: none.
---@field arguments? table api:request: the parameters of the endpoint. Default: none.
---@field on_redirect? fun(redirect: table): boolean|string|nil Called before each redirect with status, from, url and method. Returns false to stop, a URL to go elsewhere. Default: none.
---@field on_retry? fun(attempt: table): boolean|number|nil Called after each failed attempt with error, attempt, again and after. Returns true or seconds to retry, false to stop, nil for the client's decision. Default: none.
---@field on_refresh? fun(response?: nightjar.response, err?: nightjar.error) Receives the result of a revalidation in the background. Default: none.
---@field on_progress? fun(progress: { sent: integer, sent_total?: integer, received: integer, received_total?: integer }) Receives the numbers of bytes about ten times a second, and at the end of a call that succeeds; unknown totals are nil. An error that it raises ends the call. Default: none.

---Options of api:paginate.
---@class nightjar.page_options: nightjar.call_options
---@field style? string page, offset, cursor, link, next, header or guess. Default: "guess".
---@field items? string JSON Pointer to the items. Default: detected.
---@field next? string|function JSON Pointer to the cursor or next URL; or a function that gets each page and returns nil at the end, a URL, or { query = }. Default: detected.
---@field key? string JSON Pointer to the identity of an item: no item is returned twice. Default: none.
---@field param? string The query item of the page, offset or cursor. Default: the name of the style.
---@field size? integer Items per page, 1 to 10,000,000. Default: none.
---@field size_param? string The query item of the size. Default: none.
---@field first? integer The number of the first page, 0 to 2,147,483,647. Default: 1.
---@field header? string The response header with the token, or, without param and request_header, the URL of the next page. Default: none.
---@field request_header? string The request header with the token. Default: none.
---@field more? string JSON Pointer to whether there are more items. Default: detected.
---@field total? string JSON Pointer to the number of items. Default: detected.
---@field prefetch? integer Pages that are loaded in advance, 0 to 64. Default: 1.
---@field max_pages? integer Maximum number of pages; more is an error. Default: 100,000.
---@field max_items? integer Maximum number of items; more is an error. Default: 10,000,000.
---@field allow_origins? string[] Other origins that a next page may be on. They get no credentials. Default: none.
---@field resume? string A position from list:state(). Default: none.
---@field total_timeout? number|false Seconds for the whole list; 0 or false is no limit. Default: no limit.
---@field query? table Added to the query of the URL. Default: none.
---@field headers? table<string, string> Headers, instead of those of the client with the same names. Default: none.
---@field timeout? number|nightjar.timeout_options Limits of each call. Default: that of the client.

---The option auth: credentials, and how tokens are refreshed.
---@class nightjar.auth_options
---@field type? "bearer"|"basic"|"digest"|"api_key"|"oauth2"|"login" The type of the credentials. Default: required, or schemes.
---@field schemes? table<string, nightjar.auth_options> Several credentials by the names of security schemes. Each endpoint uses those that it requires. Default: none.
---@field scheme? string The security scheme of the OpenAPI document that the credentials are for. Default: the one that fits.
---@field token? string bearer: the token. Default: required, or provider.
---@field user? string basic, digest: the user. Default: required.
---@field password? string basic, digest: the password. Default: required.
---@field key? string api_key: the key. Default: required.
---@field header? string api_key: the name of a header. Default: "X-Api-Key".
---@field cookie? string api_key: the name of a cookie. Default: none.
---@field query? string api_key: the name of a query item. Default: none.
---@field prefix? string api_key: the text before the key in the header. Default: empty.
---@field provider fun(info: { rejected: boolean }): string?, number? bearer: returns a token and its lifetime in seconds. refused: the server has rejected the last token. Without a token the login ends. Default: none.
---@field on_login_required? function Called once when the login has ended. Default: none.
---@field token_url? string oauth2: the token endpoint. Default: required.
---@field client_id? string oauth2: the client. Default: none.
---@field client_secret? string oauth2: its secret. Default: none.
---@field client_auth? "basic"|"post" oauth2: whether the secret is sent as Basic credentials or in the form. Default: "basic".
---@field grant? "refresh_token"|"client_credentials"|"device_code"|"authorization_code" oauth2: how a token is obtained. Default: "refresh_token".
---@field device_url? string oauth2, device_code: the device authorization endpoint. Default: required.
---@field authorize_url? string oauth2, authorization_code: the page for the browser. Default: required.
---@field scope? string oauth2: the scope. Default: none.
---@field issuer? string oauth2: the expected issuer (RFC 9207). Default: any.
---@field url? string login: the URL of the login call. Default: required.
---@field method? string login: its method. Default: "POST".
---@field json? table login: its body as JSON. Default: required, or form.
---@field form? table login: its body as a form. Default: none.
---@field access_token_pointer? string login: JSON Pointer to the access token. Default: "/access_token".
---@field refresh_token_pointer? string login: JSON Pointer to the refresh token. Default: "/refresh_token".
---@field lifetime? string login: JSON Pointer to the seconds until the token expires. Default: "/expires_in".
---@field expiry? string login: JSON Pointer to the moment when the token expires. Default: none.
---@field token_type? string login: JSON Pointer to the type of the token. Default: "/token_type".
---@field refresh? table login: the refresh call: url, method, json or form, and token (JSON Pointer to the refresh token in the body). Default: logs in again.
---@field access_token? string The token to begin with. Default: none.
---@field refresh_token? string The refresh token to begin with. Default: none.
---@field expires_in? number Seconds until the first token expires. Default: unknown.
---@field store? string|table memory, file:PATH, sqlite:PATH, keyring:SERVICE, or a table with account, and key_file or key_env for encryption. Default: "memory".
---@field skew? number Seconds before its expiry at which a token is refreshed. Default: 30.
---@field refresh_timeout? number Seconds for a refresh; 0 is no limit. Default: 30.
---@field refresh_limit? integer Refreshes within 30 seconds. Default: 5.

---Time limits between 0 and 3,153,600,000 seconds. 0, false and math.huge are no limit; nightjar.null is the default.
---@class nightjar.timeout_options
---@field connect? number|false Until a connection is open, TLS included. Default: 5.
---@field idle? number|false Without a byte in either direction. Default: 30.
---@field total? number|false For the whole call with all attempts. Default: 300.

---Retries, and the waits before them.
---@class nightjar.retry_options
---@field attempts? integer All attempts, 1 to 100. Default: 3.
---@field base? number Maximum of the first wait in seconds; it doubles with each attempt. Default: 0.5.
---@field cap? number Maximum of each wait in seconds. Default: 30.
---@field max_wait? number The longest wait that a server can ask for. A call that would wait longer fails at once. Default: 60.
---@field budget? { reserve?: integer, successes_per_retry?: integer } Retries of the client without any success (0 to 1,000,000), and successes that earn one more. Not for a call. Default: reserve 10, successes_per_retry 10.

---A cache by RFC 9111.
---@class nightjar.cache_options
---@field memory? string|integer Bytes in memory: a number, "64KB", "20MB", "1GB"; false: none. Default: "20MB".
---@field disk? string|integer Bytes on disk, in the same form. Default: none.
---@field path? string The folder of the cache on disk. Default: $XDG_CACHE_HOME/nightjar, ~/.cache/nightjar.
---@field policy? string protocol, reload, revalidate, cache_else_load, cache_only or offline_first. Default: "protocol".
---@field login_cookies? string[] The cookies that identify a login; responses to different logins are stored apart. { "*" }: all cookies, each by its value; {}: none, for a cache of a single user. A cookie keeps its login when a reusable response replaces it. Default: all but those of load balancers, bot filters and analytics.

---Cookies, RFC 6265bis.
---@class nightjar.cookie_options
---@field file? string The file of the cookies, shared by processes. Default: none: in memory.
---@field policy? "all"|"first_party"|"none" Which cookies are accepted. Default: "all".
---@field keep_session? boolean Whether session cookies are written to the file. Default: false.

---Redirects.
---@class nightjar.redirect_options
---@field max? integer How many are followed, 0 to 100. Default: 10.
---@field allow_downgrade? boolean Whether a redirect may lead from https to http. Default: false.

---TLS.
---@class nightjar.tls_options
---@field ca_file? string A PEM file of certificate authorities, instead of the system's. Default: none.
---@field verify? boolean false accepts any certificate: every connection can be intercepted. The client logs one warning, and explain() reports it. Default: true.

---A rate limit.
---@class nightjar.rate_options
---@field requests? integer Requests that may begin in a period, 1 to 1,000,000,000. Default: required.
---@field per? number The period in seconds. Default: 1.
---@field burst? integer Requests that may begin at once after a pause. Default: requests.

---A circuit breaker.
---@class nightjar.breaker_options
---@field failure_rate? number The share of failed calls at which the circuit opens: above 0, to 1. Default: 0.5.
---@field minimum_calls? integer Calls in the window before the circuit can open, 1 to 1,000,000. Default: 20.
---@field window? number Seconds in which calls are counted, above 0. Default: 10.
---@field open_duration? number Seconds that the circuit is open. Default: 5.

---The description of an endpoint.
---@class nightjar.endpoint_options
---@field path? string The path, with {names} of parameters. Default: required.
---@field method? string The method. Default: "GET".
---@field parameters? table By name: a type, or a table of JSON Schema keywords and in, required, default, style, explode. Default: none.
---@field body? table The JSON Schema of the body, or { schema =, content_type =, required = }. Default: none.
---@field response? table The JSON Schema of a 2xx response. Default: none.
---@field summary? string One sentence. Default: none.
---@field documentation? string More text. Default: none.
---@field tags? string[] Names of groups. Default: none.
---@field deprecated? boolean Whether the log warns of a use. Default: false.
---@field requires_auth? boolean true: fails without credentials; false: sent without credentials. Default: as the client does.
---@field security? table Security requirements, of which one is enough: { "session", { OAuth = { "read" } } }. Default: none.
---@field idempotent? boolean Whether it may be repeated. Default: by the method.
---@field timeout? number|nightjar.timeout_options Limits of its calls. Default: that of the client.
---@field cache? boolean|string The cache policy of its calls; false: without the cache. Default: that of the client.
---@field server? string An absolute URL, instead of the base URL. Default: the base URL.
---@field pagination? nightjar.page_options Pagination of its list. Default: detected.
---@field response_validation? "off"|"warn"|"error" The handling of responses that do not match. Default: that of the client.

---A token for api:set_token.
---@class nightjar.token
---@field access_token? string The token. Default: required.
---@field refresh_token? string The refresh token. Default: none.
---@field expires_in? number Seconds until it expires. Default: unknown.
---@field scheme? string The security scheme, if the client has several. Default: the only one.

---A response. It is immutable.
---@class nightjar.response
---@field status integer The status code.
---@field ok boolean Whether the status is from 200 to 299.
---@field headers nightjar.headers The headers.
---@field body string The body as bytes.
---@field json any The body decoded from JSON. Raises an error of the kind decoding if it is not JSON.
---@field text string The body as UTF-8, converted from its charset.
---@field url string The URL of the response, without secrets.
---@field source string network, coalesced, cache, revalidated or stale.
---@field attempts integer The number of requests that were sent.
---@field timing nightjar.timing Durations of the phases.
---@field redirects { status: integer, url: string }[] The redirects that were followed, in order.
---@field peer string? The address of the server.
---@field idempotency_key string? The Idempotency-Key that was sent.
local response = {}

---Returns an iterator over the parts of a streamed body, as they arrive.
---@return fun(): string?
function response:chunks() end

---Returns the decisions of the client about the call. tostring has one sentence per line.
---@return table[]
function response:explain() end

---Returns the request as a curl command. Secrets are masked unless show_secrets is set.
---@param options? { show_secrets: boolean }
---@return string
function response:curl(options) end

---Waits for the revalidation in the background and returns its response, or nil and the error; nil if nothing is revalidated.
---@return nightjar.response?
function response:refreshed() end

---Cancels a streamed response that is not read to its end.
function response:close() end

---Seconds of the phases of a call. A phase that did not occur is nil.
---@class nightjar.timing
---@field total? number From the start to the end of the call.
---@field sent? number From the start until the request was sent.
---@field first_byte? number From the start to the first byte of the response.
---@field dns? number Name resolution.
---@field connect? number TCP connection.
---@field tls? number TLS handshake.
---@field reused? boolean Whether the connection had been used before.

---Headers by name, case-insensitive and with _ for -: headers.content_type. pairs returns each field, # is their number.
---@class nightjar.headers
---@field [string] string?
local headers = {}

---The error that a failed call raises and nightjar.try returns. tostring is one line.
---@class nightjar.error
---@field kind nightjar.error_kind The kind.
---@field message string For the developer: what happened, and what to do.
---@field user_message string? For the user; nil if the call was cancelled.
---@field status integer? The status of the response, if there was one.
---@field phase string? dns, connect, tls, send, receive, idle or total; for a timeout, the limit that expired.
---@field retryable boolean Whether the same call may succeed later.
---@field retry_after number? Seconds that the server asked to wait.
---@field may_have_been_processed boolean Whether the server may have acted on the request.
---@field attempts integer The number of attempts.
---@field url string? The URL, without secrets.
---@field response nightjar.response? The response, if there was one.
---@field details table? The server's description: title, message, detail, code, type, fields.
---@field code integer? The error number of the system or of TLS.
---@field earlier nightjar.error[] The errors of earlier attempts.
---@field idempotency_key string? The Idempotency-Key that was sent.
---@field index integer? The place of the request in a batch, from 1.
local error = {}

---Returns the decisions of the client about the call. tostring has one sentence per line.
---@return table[]
function error:explain() end

---Returns the request as a curl command. Secrets are masked unless show_secrets is set.
---@param options? { show_secrets: boolean }
---@return string?
function error:curl(options) end

---The field kind of an error.
---@alias nightjar.error_kind
---| "invalid_argument" # An argument or option is out of its documented range. Nothing was sent.
---| "forked" # The client belongs to the parent of this forked process. Nothing was sent.
---| "closed" # The client was closed.
---| "reentrant" # A host program made a blocking call from a callback of the object that it would wait for.
---| "cancelled" # Cancelled by the script, by the end of its task or of the client.
---| "timeout" # A time limit expired: err.phase is connect, idle or total.
---| "no_memory" # The process has no memory for a body, a JSON document or a file.
---| "invalid_url" # The URL cannot be requested. Nothing was sent.
---| "invalid_request" # A header, body or option cannot be sent. Nothing was sent.
---| "offline" # There is no network. Nothing was sent.
---| "dns" # The host name has no address. Nothing was sent.
---| "connect" # No address accepted the connection. Nothing was sent.
---| "tls" # The handshake failed, or the certificate is not trusted. Nothing was sent.
---| "pin_mismatch" # Reserved for certificate pinning.
---| "connection_lost" # The connection was closed before the response was complete: see err.may_have_been_processed.
---| "protocol" # The response violates HTTP, or its redirects form a loop.
---| "too_large" # A head or body exceeds its limit.
---| "unauthorized" # Status 401, or there is no login.
---| "forbidden" # Status 403.
---| "not_found" # Status 404.
---| "rate_limited" # Status 429, or a limit of the client: see err.retry_after.
---| "client" # Another unexpected status below 500.
---| "server" # Status 500 and above, or an open circuit breaker.
---| "decoding" # A response or a text does not have the expected form.
---| "cache_miss" # The policy is cache_only, and nothing usable is stored.
---| "storage" # A file cannot be read or written.
---| "script" # An error in a Lua script.

---A task.
---@class nightjar.task
---@field done boolean Whether the task and the tasks that it spawned have ended.
---@field cancelled boolean Whether it was cancelled.
local task = {}

---Waits for the end of the task and returns the results of its function, or raises its error.
---@return any ...
function task:join() end

---Cancels the task, the tasks that it spawned and their requests.
function task:cancel() end

---A paginated list. A loop over it returns its items.
---@class nightjar.list
---@field explanation string? How the list continues, and how that was detected.
---@overload fun(): any
local list = {}

---Returns an iterator over the pages, also those without items.
---@return fun(): nightjar.page?
function list:pages() end

---Returns the next items, fewer at the end.
---@param count integer
---@return any[]
function list:take(count) end

---Returns all remaining items.
---@return any[]
function list:collect() end

---Returns the position as a text, to continue here or in another run.
---@return string
function list:state() end

---Sets the position.
---@param state string
---@return nightjar.list
function list:resume(state) end

---Starts again with the first page.
---@return nightjar.list
function list:refresh() end

---Cancels the pages that are being loaded.
function list:close() end

---A page of a list.
---@class nightjar.page
---@field items any[] The items.
---@field number integer The number of the page, from 1.
---@field response nightjar.response The response.

---The endpoints of a client, by name: api.endpoints.article { id = 42 }. pairs returns names and endpoints, # is their number.
---@class nightjar.endpoints
---@field [string] nightjar.endpoint
local endpoints = {}

---An endpoint: endpoint(parameters, options) calls it, tostring describes it. It has the fields of its description.
---@class nightjar.endpoint
---@field path string The path, with {names} of parameters.
---@field method string The method.
---@field parameters table The parameters.
---@overload fun(parameters?: table, options?: nightjar.call_options): nightjar.response
local endpoint = {}

---Returns the paginated list of the endpoint.
---@param parameters? table
---@param options? nightjar.page_options
---@return nightjar.list
function endpoint:paginate(parameters, options) end

---The cookies of a client.
---@class nightjar.cookies
local cookies = {}

---Returns all cookies: name, value, domain, path, expires, secure, http_only, same_site.
---@return table[]
function cookies:list() end

---Stores a cookie as if the URL had sent that Set-Cookie header.
---@param url string
---@param set_cookie string
function cookies:set(url, set_cookie) end

---Deletes the cookies that match all given fields, and returns their number.
---@param match { name?: string, domain?: string, path?: string }
---@return integer
function cookies:delete(match) end

---Deletes all cookies.
function cookies:clear() end

---Returns when all cookies are in the file.
function cookies:flush() end

---Writes a cookies.txt, the format of curl.
---@param path string
function cookies:export(path) end

---Reads a cookies.txt. Returns the numbers of stored cookies and of skipped lines.
---@param path string
---@return integer
---@return integer
function cookies:import(path) end

---Returns the cookies in the format of export.
---@return string
function cookies:text() end

---Reads cookies in the format of export. Returns the same numbers as import.
---@param text string
---@return integer
---@return integer
function cookies:load_text(text) end

---The cache of a client.
---@class nightjar.cache
local cache = {}

---Returns the stored response of a path at any age, or nil. No request is sent.
---@param path string
---@param options? table
---@return nightjar.response?
function cache:get(path, options) end

---Stores a response as if the server had sent it.
---@param path string
---@param answer { status?: integer, headers?: table, body?: string, json?: any }
---@param options? table
function cache:put(path, answer, options) end

---Removes the stored responses of a path, or of all paths with a prefix, and returns their number. Raises an error of the kind storage if another process holds the index on disk for 5 seconds.
---@param path string|{ prefix: string }
---@param options? table
---@return integer
function cache:delete(path, options) end

---Removes all responses and returns their number. Raises an error of the kind storage as delete does.
---@return integer
function cache:clear() end

---Returns hits, stale, misses, validations, bytes_saved, memory_entries, memory_bytes, disk_entries and disk_bytes.
---@return table
function cache:stats() end

---Waits until all responses and removals are on disk. Raises an error of the kind storage if an invalidation or a removal cannot be written within 5 seconds.
function cache:flush() end

---A function of nightjar.debounce.
---@class nightjar.debounced
---@overload fun(...: any)
local debounced = {}

---Cancels the pending run.
function debounced:cancel() end

---Starts the pending run now.
---@return nightjar.task?
function debounced:flush() end

---A function of nightjar.throttle.
---@class nightjar.throttled
---@overload fun(...: any)
local throttled = {}

---Cancels the pending run; the next call runs immediately.
function throttled:cancel() end

---Starts the pending run now.
---@return nightjar.task?
function throttled:flush() end

return nightjar
