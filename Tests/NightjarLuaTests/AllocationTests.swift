import Foundation
import Nightjar
import NightjarDemo
import NightjarTestSupport
import Synchronization
import Testing

@testable import NightjarLua

/// Every allocation of Lua fails once, for each feature of scripts. See ``Allocations``.
@Suite struct AllocationTests {
    private let demo = DemoServer()

    private func client(
        at url: String? = nil, _ change: (inout Configuration) throws -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration()
        configuration.baseURL = try url ?? origin()
        try change(&configuration)
        return try Client(configuration)
    }

    private func origin() throws -> String { "http://127.0.0.1:\(try demo.start())" }

    /// Runs `body` with a temporary folder. Afterwards the folder must be empty; it is removed.
    private func inFolder(_ body: (String) throws -> Void) throws {
        let folder = "/tmp/nightjar-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    @Test func stateSurvivesFailedAllocations() throws {
        try Allocations.fail(.allFrom, in: "", isSandboxed: true)
        try Allocations.fail(.one, in: "", isSandboxed: true)
    }

    // MARK: Modules

    private static let modules = [
        "local s = nightjar.base64.encode('abc') local b = nightjar.base64.decode(s)",
        "local r = nightjar.csv.parse('a,b\\n1,\"2\"\\n', {header = true}) local t = nightjar.csv.write(r)",
        "local h = nightjar.hash.new('sha256', 'k'):update('a'):finish('base64') local d = nightjar.hash.md5('a')",
        "local t = nightjar.time.format(nightjar.time.parse('2024-02-29T12:00:00Z'), {offset = '+01:00'})",
        "local u = nightjar.url.build(nightjar.url.parse('http://h/?a=b')) local r = nightjar.url.redact('http://h/?token=1')",
        "local u, w = nightjar.uuid.v4(), nightjar.uuid.parse(nightjar.uuid.v7())",
        "nightjar.log.with{b = 1}.error('x', {a = {1, 'b c'}, token = 'x'})",
        "local e = pcall(nightjar.env.integer, 'PATH') local p = nightjar.env.get('PATH')",
        "local a = nightjar.args.read({{'x'}, {'-n', 'N', type = 'integer'}}, {'a', '-n1'}) local e = nightjar.try(nightjar.args.read, {}, {'x'})",
        """
        local v = {b = nightjar.array {}, a = {1, 2.5, nightjar.null, true, "x\\n"}, c = {d = {e = math.mininteger}}}
        local text = nightjar.json.encode(v, {pretty = true, sorted = true}) .. nightjar.json.encode(v)
        local back = nightjar.json.decode('{"a":[1,2.5e3,null,true,"\\\\u00e4\\\\n"],"b":{"c":[]},"d":18446744073709551615}')
        local item, _, err = nightjar.json.pointer({a = {1}}, '/a~01/0'), pcall(nightjar.json.decode, '[1,}')
        local _, why = pcall(nightjar.json.encode, {[{}] = 1})
        """,
        // The text is long enough for the code that handles only long documents.
        """
        local text = '{"pad":"' .. ("x"):rep(40000) .. '","list":[{"name":"a"},{"name":"b","more":{}}]}'
        local isDecoded, back = pcall(nightjar.json.decode, text)
        assert(collectgarbage "isrunning")
        """,
        """
        local input = nightjar.stdin
        local _, why = pcall(input.lines, 0)
        """,
        """
        local testing = nightjar.testing
        testing.before(function(t) end)
        testing.test("a", function(t) t:equal({1, {a = 2}}, {1, {a = 2}}) t:cleanup(function() end) end)
        testing.test("b", function(t) t:raises("boom", error, "boom") t:test("c", function(t) t:equal(1, 2) end) end)
        local output = {}
        testing.run {format = "tap", write = function(text) output[#output + 1] = text end}
        """,
    ]

    @Test(arguments: modules) func modulesSurvive(use: String) throws {
        var configuration = Configuration()
        configuration.log = use.contains("log") ? LogSink(level: .error) { _ in } : nil
        let client = try Client(configuration)
        try Allocations.fail(.allFrom, in: use, client: client)
        try Allocations.fail(.one, in: use, client: client)
        client.close()
    }

    /// Host functions, their arguments and their results.
    @Test func functionsOfTheHostSurvive() throws {
        for failing in [Allocations.Failing.allFrom, .one] {
            try Allocations.fail(
                failing, in: "local a, b = swap('a', 1, true) pcall(refuse, {}) assert(value == 'text')"
            ) {
                script in
                try script.register("swap") { call in
                    call.string(0).map(call.returnString)
                    call.returnInteger(call.integer(1))
                }
                try script.register("refuse") { $0.fail("not today") }
                try script.setGlobal("value", .string("text"))
            }
        }
    }

    /// Results, globals and arguments as JSON.
    @Test(arguments: [false, true]) func exchangedValuesSurvive(isSandboxed: Bool) throws {
        let value: JSONValue = ["empty": [], "list": [1, .null, ["a": "text"]]]
        for failing in [Allocations.Failing.allFrom, .one] {
            try Allocations.fail(failing, in: "", isSandboxed: isSandboxed) { script in
                try script.register("echo") { call in
                    do throws(NightjarError) {
                        try call.returnJSON(try call.json(0))
                    } catch {
                        call.fail(error.message)
                    }
                }
                try script.setGlobal("value", json: value)
                let (global, results) = (try script.global("value"), try script.evaluate("return echo(value), 1"))
                let invoked = try script.invoke("echo", value)
                #expect(global == value && results == [value, 1] && invoked == [value])
                #expect(throws: NightjarError.self) { try script.evaluate("return {pairs}") }
            }
        }
    }

    /// Runs on a queue, with a host function that defers its result.
    @Test func runsOnAQueueSurvive() throws {
        let queue = CompletionQueue()
        for failing in [Allocations.Failing.allFrom, .one] {
            try Allocations.fail(failing, in: "") { script in
                nonisolated(unsafe) var replies: [ScriptReply] = []
                let ended = Mutex<Result<JSONValue, NightjarError>?>(nil)
                try script.register("later") { call in call.deferResult().map { replies.append($0) } }
                let source = "local task = require('nightjar').spawn(later) return later(), task:join()"
                try script.startRun(source, on: queue) { result in ended.withLock { $0 = result } }
                while ended.withLock({ $0 }) == nil {
                    queue.poll(timeout: .seconds(1))
                    for reply in replies { try? reply.returnJSON([1]) }
                    replies = []
                }
                let results = try ended.withLock { $0 }?.get()
                #expect(results == [[1], [1]])
            }
        }
        queue.close()
    }

    // MARK: Tasks

    private static let waits = """
        local clock <close> = nightjar.testing.clock { auto = true }
        local channel = nightjar.channel(1)
        nightjar.spawn(function() for i = 1, 3 do channel:send(i) end channel:close() end)
        for value in channel:values() do nightjar.sleep(1) end
        local one, other = nightjar.channel(0), nightjar.channel(0)
        nightjar.spawn(function() other:send "x" end)
        local from, value = nightjar.select {one, other, timeout = 5}
        local none = nightjar.select {one, timeout = 1}
        nightjar.after(1, function() end):join()
        local ticker = nightjar.every(1, function() end)
        nightjar.sleep(3)
        ticker:cancel()
        package.preload.waits = function() nightjar.sleep(1) return {} end
        local again = nightjar.spawn(function() return require "waits" end)
        require "waits"
        again:join()
        local lost = nightjar.spawn(function() error "lost" end)
        pcall(lost.join, lost)
        local f = nightjar.debounce(1, function(...) nightjar.sleep(0) end)
        f(1, 2) f(3) nightjar.sleep(2) f(4)
        f:flush():join()
        local g = nightjar.throttle(1, function() end)
        g(1) g(2) g:cancel() g(3) g(4) nightjar.sleep(2) g:cancel()
        clock:close()
        """

    private static let groups = """
        local clock <close> = nightjar.testing.clock {auto = true}
        local gen = coroutine.wrap(function() for i = 1, 2 do nightjar.sleep(0) coroutine.yield(i) end end)
        local a, b = gen(), gen()
        local x, y = nightjar.all {function() return 1 end, function() nightjar.sleep(0) end}
        local list = nightjar.map({1, 2, 3}, function(i) nightjar.sleep(0) return i end, {concurrency = 2})
        local some, errors = nightjar.map({1, 2}, function(i) error(i) end, {collect_errors = true})
        local first = nightjar.race {function() nightjar.sleep(5) end, function() return 1 end}
        local t = nightjar.timeout(5, function() return 1 end)
        local _, late = nightjar.try(nightjar.timeout, 0, function() nightjar.sleep(5) end)
        local closes = setmetatable({}, {__close = function() nightjar.sleep(0) end})
        local task = nightjar.spawn(function() local c <close> = closes nightjar.sleep(5) end)
        local left, late = false, false
        pcall(nightjar.map, {1, 2, 3}, function() nightjar.sleep(9) late = left end)
        left = true
        nightjar.sleep(20)
        assert(not late)
        nightjar.sleep(0)
        task:cancel()
        local _, why = pcall(task.join, task)
        local text = tostring(task) .. tostring(why)
        """

    @Test(arguments: [waits, groups]) func tasksSurvive(use: String) throws {
        try Allocations.fail(.allFrom, in: use)
        try Allocations.fail(.one, in: use)
    }

    // MARK: Files and processes

    @Test func filesSurvive() throws {
        try inFolder { folder in
            let use = """
                local fs = nightjar.fs
                local folder <close> = fs.temp_dir {dir = "\(folder)"}
                local path = folder.path .. "/a"
                fs.append(path, "one\\ntwo\\n")
                fs.write(path .. "b", fs.read(path), {mode = 384})
                for line in fs.lines(path) do end
                local names, kinds = fs.list(folder.path)
                local found, kind = fs.stat(path), fs.exists(path)
                fs.copy(path, path .. "c") fs.rename(path, path .. "d")
                fs.mkdir(path .. "/../e/f")
                fs.remove(path .. "c")
                local file <close> = fs.temp_file {dir = folder.path}
                local _, err = pcall(fs.read, path)
                """
            try Allocations.fail(.allFrom, in: use)
        }
    }

    @Test func processesSurvive() throws {
        try Allocations.fail(
            .allFrom,
            in: """
                local process = nightjar.process
                local child <close> = process.spawn {"cat", stdin = "pipe", stdout = "pipe", stderr = "null"}
                child.stdin:write "line\\n"
                local text = child.stdout:line() .. tostring(child) .. child.pid
                child.stdin:close()
                local status = child:wait().status
                child:kill "TERM"
                """)
    }

    @Test func runsOfProgramsSurvive() throws {
        try Allocations.fail(
            .allFrom,
            in: """
                local result = nightjar.process.run {"cat", input = "text", env = {A = "b"}, inherit_env = false}
                local _, err = pcall(nightjar.process.run, {"/no/such/program"})
                """)
    }

    // MARK: Calls

    @Test func callsSurvive() throws {
        let client = try client()
        try Allocations.fail(
            .allFrom,
            in: """
                local api = nightjar.client()
                local res = api:get("/echo", {query = {a = {1, "x"}}, headers = {["X-A"] = 2}, timeout = 5})
                local seen, type = res.json, res.headers.content_type
                for name, value in pairs(res.headers) do end
                local told = tostring(res) .. res:curl() .. res.url .. #res.body .. res.timing.total .. #res.headers
                local made = api:post("/echo", {json = {a = {1, 2, nightjar.null}}, schema = {type = "object"}})
                local value, err = nightjar.try(api.get, api, "/status/404")
                local text, body, why = tostring(err), err.response.text, err.kind .. err.message
                """, client: client)
        client.close()
        demo.stop()
    }

    @Test func bodiesAndStreamsSurvive() throws {
        let client = try client()
        try Allocations.fail(
            .allFrom,
            in: """
                local api = nightjar.client()
                for chunk in api:get("/drip?bytes=2&delay=0.001", {stream = true}):chunks() do a = chunk end
                local left <close> = api:get("/bytes/1000000", {stream = true})
                local place = 0
                api:post("/echo", {body = function() place = place + 1 nightjar.sleep(0) return ({"a", "b"})[place] end})
                api:post("/form", {form = {{"a", "b"}, {"a", 1}}, compress = true})
                api:post("/form", {multipart = {{name = "a", value = 1}, {name = "b", bytes = "x", filename = "f"}}})
                api:post("/upload", {file = "/etc/hostname"})
                api:get("/redirect/1", {on_redirect = function(info) nightjar.sleep(0) return info.url end})
                """, client: client)
        client.close()
        demo.stop()
    }

    private static let streams = [
        """
        local api, place = nightjar.client(), 0
        local res <close> = api:post("/duplex", {stream = true, body = function()
          place = place + 1
          nightjar.sleep(0)
          return place < 4 and "x" or nil
        end})
        for part in res:chunks() do a = part end
        """,
        """
        local api = nightjar.client()
        local body = {each = function() local place = 0 return function() place = place + 1 return ({"a"})[place] end end}
        for part in api:post("/redirect/1?status=308", {stream = true, body = body}):chunks() do a = part end
        local e = nightjar.try(api.post, api, "/echo", {stream = true, body = function() error "x" end})
        """,
        """
        local api = nightjar.client()
        local events = api:post("/events?count=2&end=close", {json = {}, stream = true}):events {max_event = 1000}
        for event in events do a = event.json.n end
        local id, time = events.last_event_id, events.reconnection_time
        local e = nightjar.try(function() for _ in api:get("/echo"):events() do end end)
        """,
    ]

    @Test(arguments: streams.indices) func streamsSurvive(number: Int) throws {
        let client = try client()
        try Allocations.fail(.allFrom, in: Self.streams[number], client: client)
        client.close()
        demo.stop()
    }

    @Test func webSocketsSurvive() throws {
        let origin = try origin()
        try Allocations.fail(
            .allFrom,
            in: """
                local api = nightjar.client {base_url = "\(origin)",
                  before = function(request) request.headers["X-A"] = "b" nightjar.sleep(0) end}
                local socket <close> = api:websocket("/ws/echo", {
                  pieces = true, on_open = function(socket) socket:send("a") nightjar.sleep(0) end})
                a = socket:receive(20).text
                socket:send_json {b = 1}
                local b, state = socket:receive(20), socket.state
                local isLast, json, text = b.is_last, b.json, socket:explain()
                """)
        demo.stop()
    }

    @Test(arguments: ["", ", before = function(request) request.headers[\"X-A\"] = \"b\" nightjar.sleep(0) end"])
    func resourcesSurvive(hook: String) throws {
        let origin = try origin()
        try Allocations.fail(
            .allFrom,
            in: """
                local api = nightjar.client {base_url = "\(origin)"\(hook)}
                local res <close> = api:resource("/v1/articles/1", {tags = {"a"}})
                a = res:get(20).id
                for snapshot in res:changes() do
                  a = snapshot.data
                  if snapshot.phase == "loaded" then break end
                end
                api:invalidate "a"
                res:set_path("/v1/articles/{id}", {params = {id = 2}})
                local b, text = res:reload(20).id, tostring(res)
                local e = nightjar.try(res.mutate, res, {method = "PUT", json = {}, optimistic = {id = 3}})
                local c = res.snapshot.error
                res:set_path("/v1/articles/none")
                local f = nightjar.try(res.get, res)
                c = res.snapshot.error.kind
                """)
        demo.stop()
    }

    @Test func downloadsSurvive() throws {
        let origin = try origin()
        try Allocations.fail(
            .allFrom,
            in: """
                local api = nightjar.client {base_url = "\(origin)",
                  before = function(request) request.headers["X-A"] = "b" nightjar.sleep(0) end}
                local file <close> = require("nightjar.fs").temp_file()
                local path = "/cache/film?length=3000&etag=strong&cut=1000"
                local done = api:download(path, file.path, {
                  retry_delay = 0, on_head = function(response) local status = response.status nightjar.sleep(0) end,
                  on_progress = function(progress, download) nightjar.sleep(0) end})
                local size, name, text = done.size, done.path, tostring(done)
                local download <close> = api:start_download(path, file.path, {attempts = 1})
                local ok, err = pcall(download.wait, download, 20)
                local state, received = download:state(), download.progress.received
                download:cancel {keep = false}
                """)
        demo.stop()
    }

    @Test func uploadsSurvive() throws {
        let origin = try origin()
        try Allocations.fail(
            .allFrom,
            in: """
                local api = nightjar.client {base_url = "\(origin)",
                  before = function(request) request.headers["X-A"] = "b" nightjar.sleep(0) end}
                local file <close> = require("nightjar.fs").temp_file()
                nightjar.fs.write(file.path, ("x"):rep(3000))
                local done = api:upload("/tus?faults=none,cut@1000", file.path, {
                  protocol = "tus", retry_delay = 0, on_progress = function(progress, upload) nightjar.sleep(0) end})
                local size, url, response, text = done.size, done.url, done.response, tostring(done)
                local left = 3
                api:upload("/resumable", function()
                  nightjar.sleep(0)
                  left = left - 1
                  if left >= 0 then return "some bytes" end
                end, {protocol = "resumable", chunk_size = 15})
                local upload <close> = api:start_upload("/tus?faults=none,cut@1000", file.path, {protocol = "tus", attempts = 1})
                local ok, err = pcall(upload.wait, upload, 20)
                local state, sent = upload:state(), upload.progress.sent
                upload:cancel {keep = false}
                for _, path in ipairs {"/bytes/100", "/cache/film?length=3000&etag=strong&cut=1000"} do
                  local res = api:get(path, {stream = true})
                  local size = res:download(file.path, {retry_delay = 0, on_progress = function() nightjar.sleep(0) end}).size
                  local other <close> = api:get(path, {stream = true}):start_download(file.path)
                  other:cancel()
                  pcall(other.wait, other) -- its part is then closed
                end
                """)
        demo.stop()
    }

    /// The cache, and background revalidation of stale responses.
    @Test func storedResponsesSurvive() throws {
        let client = try client {
            $0.cache = try CacheStorage()
            $0.cachePolicy = .offlineFirst
        }
        try Allocations.fail(
            .allFrom,
            in: """
                local api = nightjar.client()
                local options = {query = {control = "max-age=0", etag = "strong"}}
                api:get("/cache/a", options)
                local heard
                options.on_refresh = function(res, err) nightjar.sleep(0) heard = true end
                local res = api:get("/cache/a", options)
                local source, age = res.source, res.headers.age
                local fresh = res:refreshed()
                local a, b = nightjar.all {function() return res:refreshed() end, function() return res:refreshed() end}
                local cache = api.cache
                cache:put("/cache/b", {json = {1}, headers = {["Cache-Control"] = "max-age=9"}}, {query = {x = 1}})
                local kept = cache:get("/cache/b", {query = {x = 1}}).json
                local none = cache:get("/cache/none")
                local count = cache:delete("/cache/b", {query = {x = 1}}) + cache:delete {prefix = "/cache/b"}
                local text, hits = tostring(cache), cache:stats().hits
                local _, why = pcall(cache.put, cache, "/", {status = 1})
                """, client: client)
        client.close()
        demo.stop()
    }

    /// Callbacks for logins and for failed attempts.
    @Test func loginsAndRetriesSurvive() throws {
        let origin = try origin()
        try Allocations.fail(
            .allFrom,
            in: """
                local plain = nightjar.client {base_url = "\(origin)"}
                local ended = 0
                local api <close> = nightjar.client {
                    base_url = "\(origin)",
                    auth = {
                        type = "bearer",
                        provider = function(info)
                            nightjar.sleep(0)
                            if info.rejected then return nil end
                            return plain:post("/v1/auth/login", {
                                json = {email = "ada@example.org", password = "moonlight"}}).json.access_token, 60
                        end,
                        on_login_required = function() ended = ended + 1 end,
                    },
                }
                local me = nightjar.map({1, 2}, function() return api:get("/v1/me").json.handle end)
                api:set_token {access_token = "at_wrong"}
                local _, err = nightjar.try(api.get, api, "/v1/me")
                local why = tostring(err:explain()) .. #err.earlier
                api:log_out()
                local member <close> = nightjar.client {base_url = "\(origin)", auth = {type = "login",
                    url = "/v1/auth/login", json = {email = "ada@example.org", password = "moonlight"}}}
                member:log_in {prompt = function() end}
                local limits = #api:limits()
                local key = nightjar.idempotency_key()
                local res = plain:put("/v1/flaky", {
                    query = {key = key, times = 1}, retry = {attempts = 2, base = 0.0001}, idempotency_key = key,
                    on_retry = function(info) nightjar.sleep(0) return info.again end,
                    body = {each = function()
                        local parts = {"a", "b"} return function() return table.remove(parts) end
                    end}})
                local list, text = res:explain(), tostring(res:explain())
                """)
        demo.stop()
    }

    /// Batches and paginated lists.
    @Test func listsSurvive() throws {
        let client = try client(at: origin() + "/v1")
        try Allocations.fail(
            .allFrom,
            in: """
                local api = nightjar.client()
                local got, errors = api:batch {"/articles/1", {path = "/articles/0"}, collect_errors = true}
                local text = tostring(errors[2]) .. errors[2].index .. got.n
                local options = {items = "/results", next = "/next_cursor", key = "/id", query = {count = 4, limit = 2}}
                local list = api:paginate("/lists/memory/cursor", options)
                local item, state = list(), list:state()
                for page in list:pages() do local n = #page.items + page.number + page.response.status end
                local some = list:resume(state):take(1)
                list:close()
                local own = api:paginate("/lists/memory/cursor", {query = {count = 4, limit = 2}, next = function(page)
                    nightjar.sleep(0)
                    if page.number == 1 then return {query = {cursor = page.response.json.next_cursor}} end
                end})
                nightjar.map({1, 2}, function() for item in own do nightjar.sleep(0) end end)
                local why = own.explanation .. tostring(own)
                local _, none = nightjar.try(api.paginate, api, "/lists/memory/cursor", {resume = "x"})
                for item in api:paginate("/lists/one/cursor", {query = {count = 1}}) do break end
                """, client: client)
        client.close()
        demo.stop()
    }

    /// An outbox whose server cannot be reached.
    @Test func outboxSurvives() throws {
        let folder = try TemporaryDirectory()
        try Allocations.fail(
            .allFrom,
            in: """
                local api <close> = nightjar.client {base_url = "http://127.0.0.1:1", journal = "\(folder.file("journal.db"))"}
                local outbox <close> = api:outbox {retry_delay = 60}
                local entry = outbox:put("/a", {json = {1}, id = "a", if_match = '"1"'})
                local binary = outbox:post("/b", {body = "\\xff", id = "b"})
                for each in outbox:list {state = "conflict"} do each:retry() end
                local _, err = nightjar.try(entry.resolve, entry, {json = {2}})
                local text = outbox:get("a"):refresh().url .. outbox:count() .. tostring(err)
                for change in outbox:changes {timeout = 0} do break end
                """)
    }

    /// A sandboxed script with the client of its host.
    @Test func sandboxSurvives() throws {
        let client = try client()
        try Allocations.fail(
            .allFrom,
            in: """
                nightjar.log.info "x"
                local api = nightjar.client()
                local a, b = nightjar.all {function() return api:get("/echo").json end, function() nightjar.sleep(0) end}
                for item in api:paginate("/v1/lists/sandbox/cursor", {items = "/results", next = "/next_cursor",
                    query = {count = 3}}) do end
                """, client: client, isSandboxed: true)
        client.close()
        demo.stop()
    }

    // MARK: Clients without network access

    private static let mocked = [
        // Mocks, their functions, logging and network rules.
        """
        local mock = nightjar.mock {
            {name = "list", path = "/a", query = {page = 1}, responses = {{fault = "connection_lost"}, {json = {results = {1}}}}},
            {name = "own", path = "/b/{id}", response = function(request)
                nightjar.sleep(0)
                return {json = {id = request.params.id}, headers = {etag = '"7"'}}
            end},
        }
        local lines = {}
        local api <close> = nightjar.client {base_url = "http://api.test", mock = mock, retry = {attempts = 2, base = 0.0001},
            network = {loss = 0}, log = function(level, line) lines[#lines + 1] = level .. line end}
        local got, id = api:get("/a", {query = {page = 1}}).json, api:get("/b/7").json.id
        local _, err = pcall(api.get, api, "/c")
        local uses, calls = mock:uses "list", mock:calls("own")[1].path
        local _, why = pcall(mock.verify, mock)
        mock:reset()
        """,
        // Hooks, also for the calls of lists and of documents.
        """
        local pages = {{path = "/list", response = {json = {results = {{id = 1}}, next_cursor = nightjar.null}}},
            {path = "/api.json", response = {json = {openapi = "3.1.0", info = {title = "A", version = "1"}, paths = {}}}},
            {response = 404}}
        local seen = 0
        local api <close> = nightjar.client {base_url = "http://api.test", mock = pages,
            before = function(request) nightjar.sleep(0) request.headers["X-A"] = "b" end,
            after = function(result, request) seen = seen + 1 end}
        pcall(api.get, api, "/x")
        local options = {items = "/results", next = "/next_cursor"}
        for item in api:paginate("/list", options) do end
        api:load_openapi "url:/api.json"
        local task, list
        local circle <close> = nightjar.client {base_url = "http://api.test", mock = pages, before = function() task:join() end}
        list = circle:paginate("/list", options)
        task = nightjar.spawn(function() return list() end)
        local _, why = pcall(task.join, task)
        """,
        // Endpoints.
        """
        local api <close> = nightjar.client {base_url = "http://api.test", mock = {{response = {json = {results = {{id = 1}}}}}},
            endpoints = {
                read = {path = "/a/{id}", summary = "One", parameters = {id = {type = "integer"}, q = {type = "string"}}},
                make = {path = "/a", method = "POST", body = {schema = {type = "object", required = {"t"}}}},
                all = {path = "/a", pagination = {style = "cursor", items = "/results", next = "/next"}},
            }}
        local ends = api.endpoints
        local id = ends.read({id = 1}, {query = {x = 1}}).json.results[1].id
        ends.make {json = {t = 1}}
        api:request {endpoint = "read", arguments = {id = 2}}
        local _, refused = pcall(ends.make, {json = {}})
        local _, near = pcall(function() return ends.rad end)
        for name, each in pairs(ends) do local text = tostring(each) .. each.path end
        for item in ends.all:paginate({}, {prefetch = 0, max_pages = 9}) do end
        local text, count = tostring(ends), #ends
        """,
        // Cookies.
        """
        local api <close> = nightjar.client {base_url = "http://api.test", cookies = true, mock = {{response = {
            headers = {["set-cookie"] = "a=b; Path=/"}, body = ""}}}}
        api:get "/"
        local jar = api.cookies
        jar:set("http://api.test/", "c=d; Max-Age=100; HttpOnly; SameSite=Strict")
        for _, cookie in ipairs(jar:list()) do local text = cookie.name .. cookie.value .. tostring(cookie.expires) end
        local text = jar:text() .. tostring(jar)
        local stored, skipped = jar:load_text(text)
        local gone = jar:delete {name = "a"}
        local _, why = pcall(jar.set, jar, "x", "y")
        jar:clear()
        """,
        // Limits, coalescing, and their statistics.
        """
        local api <close> = nightjar.client {base_url = "http://api.test", coalesce = true, concurrency = 1, max_queued = 2,
            rate_limit = {requests = 100, per = 1}, mock = {{response = {body = "x", delay = 0.0001}}}}
        local task = nightjar.spawn(function() nightjar.map({1, 2}, function(i) return api:get("/" .. i).body end) end)
        nightjar.sleep(0)
        local states = api:limits()
        task:join()
        local same = nightjar.map({1, 2}, function() return api:get("/").source end)
        local _, wrong = pcall(nightjar.client, {base_ulr = "x"})
        local why = tostring(wrong) .. tostring(api:get("/"):explain())
        """,
        // Pins.
        """
        local one, two = "sha256/" .. ("A"):rep(43) .. "=", "sha256/" .. ("A"):rep(42) .. "E="
        local api <close> = nightjar.client {tls = {on_pin_mismatch = function() end, pins = {
            ["*.api.test"] = {one, two, report_only_after = "2027-01-01"}, ["api.test"] = {two, one}}}}
        api:set_pinning "report"
        local _, wrong = pcall(api.set_pinning, api, "no")
        local _, few = pcall(nightjar.client, {tls = {pins = {["api.test"] = {one}}}})
        """,
        // Observers.
        """
        local seen = {}
        local api <close> = nightjar.client {base_url = "http://api.test", retry = {attempts = 2, base = 0.0001}, cache = true,
            observer = function(step) seen[#seen + 1] = step.step .. step.call_id if #seen == 2 then error("x") end end, mock = {
            {path = "/a", response = {headers = {["Cache-Control"] = "max-age=60"}, body = "a"}}, {response = 503}}}
        assert(api:get("/a").body == api:get("/a").body)
        local _, err = pcall(api.get, api, "/b", {query = {token = "x"}})
        local slow <close> = nightjar.client {base_url = "http://api.test", mock = {{response = 200}},
            observer = function() nightjar.sleep(0) end}
        slow:get "/"
        """,
        // Challenges.
        """
        local function client(f)
          return nightjar.client {base_url = "http://api.test", retry = false, on_challenge = f, mock = {
            {path = "/", headers = {Authorization = "Basic dTpw"}, response = 200},
            {path = "/", response = {status = 401, headers = {["WWW-Authenticate"] = "Basic realm=r"}}}}}
        end
        local api <close> = client(function(challenge) return {user = "u", password = challenge.realm and "p"} end)
        local why = tostring(api:get("/"):explain())
        local refusing <close> = client(function() return false, "no" end)
        local _, wrong = pcall(refusing.get, refusing, "/")
        """,
        // Decisions about storing.
        """
        local api <close> = nightjar.client {base_url = "http://api.test", cache = true, retry = false,
          on_store = function(response) return response.status == 200 and response.headers.etag == '"1"' end,
          mock = {{path = "/", response = {headers = {["Cache-Control"] = "max-age=60", ETag = '"1"'}, body = "a"}}}}
        assert(api:get("/").body == api:get("/").body)
        """,
        // Hooks of requests, and trailers.
        """
        local function client(f)
          return nightjar.client {base_url = "http://api.test", retry = false, on_request = f, mock = {
            {path = "/", response = 200}}}
        end
        local api <close> = client(function(request) return {["X-Signature"] = request.method .. #request.body} end)
        local res = api:post("/", {body = "abc"})
        assert(#res.trailers == 0 and res.call_id > 0)
        local refusing <close> = client(function() return false, "no" end)
        local _, wrong = pcall(refusing.get, refusing, "/")
        """,
    ]

    @Test(arguments: mocked) func mockedCallsSurvive(use: String) throws {
        try Allocations.fail(.allFrom, in: use)
    }

    /// Mocks open no connections, so the functions need a server.
    @Test func addressFunctionsSurvive() throws {
        let port = try demo.start()
        let use = """
            local api <close> = nightjar.client {retry = false, proxy = false,
              resolver = function(host, port) return {"127.0.0.1"} end,
              on_addresses = function(host, addresses) return addresses end}
            local status = api:get("http://api.test:\(port)/echo").status
            local refusing <close> = nightjar.client {retry = false, proxy = false, on_addresses = function() return false, "no" end}
            local _, wrong = pcall(refusing.get, refusing, "http://127.0.0.1:\(port)/echo")
            """
        try Allocations.fail(.allFrom, in: use)
        demo.stop()
    }

    @Test func tokenStoresSurvive() throws {
        let origin = try origin()
        let use = """
            local records = {}
            local api <close> = nightjar.client {base_url = "\(origin)", retry = false, proxy = false,
              auth = {type = "oauth2", grant = "client_credentials", token_url = "/v1/oauth/token", client_id = "demo",
                client_secret = "demo-secret", store = "host:main"},
              token_store = {
                load = function(key) return records[key] end,
                save = function(key, record) records[key] = record end,
                delete = function(key) records[key] = nil end}}
            local status = api:get("/v1/me").status
            api:log_out()
            """
        try Allocations.fail(.allFrom, in: use)
        demo.stop()
    }

    @Test func cassettesSurvive() throws {
        try inFolder { folder in
            let origin = try origin()
            let use = """
                local file = "\(folder)/cassette.json"
                for _, mode in ipairs {"record", "replay", "auto"} do
                    local api <close> = nightjar.client {base_url = "\(origin)", cassette = {file = file, mode = mode}}
                    local status = api:get("/echo", {query = {token = "x"}}).status
                end
                """
            try Allocations.fail(.allFrom, in: use)
            try FileManager.default.removeItem(atPath: folder + "/cassette.json")
            demo.stop()
        }
    }
}
