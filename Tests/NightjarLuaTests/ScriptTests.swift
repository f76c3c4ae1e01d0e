import Foundation
import Nightjar
import NightjarDemo
import NightjarHTTP
import Testing

@testable import NightjarLua

/// Scripts that a host program runs.
@Suite struct ScriptTests {
    /// The error message of running `source`; nil if it succeeds.
    private func failure(
        of source: String, sandboxed: Bool = false, client: Client? = nil, limits: ScriptLimits = ScriptLimits()
    ) throws -> String? {
        let script = try Script(client: client, sandboxed: sandboxed, limits: limits)
        do throws(NightjarError) {
            try script.run(source, name: "test")
            return nil
        } catch {
            #expect(error.kind == .script)
            return error.message
        }
    }

    // MARK: Errors

    @Test func errorHasPositionAndTraceback() throws {
        #expect(
            try failure(of: "local function f() error 'boom' end\nf()")
                == """
                test:1: boom
                stack traceback:
                \t[C]: in function 'error'
                \ttest:1: in local 'f'
                \ttest:2: in main chunk
                """)
        #expect(try failure(of: "x = = 1") == "test:1: unexpected symbol near '='")
        #expect(try failure(of: "error(nil)")?.hasPrefix("nil") == true)
        #expect(
            try failure(of: "error(setmetatable({}, {__tostring = function() return 'told' end}))")?.hasPrefix("told")
                == true)
        #expect(try failure(of: "error(setmetatable({}, {__tostring = error}))") != nil)
    }

    @Test func errorOfAnUnjoinedTaskFailsTheScript() throws {
        let lost =
            "local nightjar = require 'nightjar' nightjar.spawn(function() nightjar.sleep(0.001) error 'lost' end)"
        #expect(try failure(of: lost)?.hasPrefix("test:1: lost") == true)
    }

    @Test func deadlockEndsTheScript() throws {
        let script = """
            local nightjar = require "nightjar"
            local a, b
            a = nightjar.spawn(function() nightjar.sleep(0) b:join() end)
            b = nightjar.spawn(function() a:join() end)
            a:join()
            """
        #expect(try failure(of: script) == "deadlock: all tasks wait for each other")
    }

    @Test func interpreterRunsAgainAfterAFailure() throws {
        let script = try Script()
        #expect(throws: NightjarError.self) { try script.run("error 'once'") }
        try script.run("x = 1")
        try script.run("assert(x == 1)")
    }

    // MARK: Limits

    @Test func memoryIsBounded() throws {
        let limits = limiting { $0.memory = 2 << 20 }
        #expect(
            try failure(of: "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", limits: limits)?
                .hasPrefix("not enough memory") == true)
        #expect(try failure(of: "x = ('x'):rep(1 << 30)", limits: limits)?.hasPrefix("not enough memory") == true)
        #expect(try failure(of: "for i = 1, 1e5 do local s = ('x'):rep(1000) .. i end", limits: limits) == nil)
        #expect(throws: NightjarError.self) { try Script(limits: limiting { $0.memory = 1000 }) }
    }

    /// Memory that a script released is reused, for objects of many sizes and for growing and shrinking lists.
    @Test(arguments: [nil, 4 << 20]) func freedMemoryIsReused(limit: Int?) throws {
        let source = """
            local kept, sizes = {}, {}
            for _, size in ipairs { 1, 15, 16, 17, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 16383, 16384, 16385, 40000 } do
              for near = -1, 1 do sizes[#sizes + 1] = math.max(size + near * 24, 1) end
            end
            for round = 1, 200 do
              for index, size in ipairs(sizes) do
                local letter = string.char(97 + (round + index) % 26)
                kept[(round * 7 + index) % 60] = { letter = letter, text = letter:rep(size) }
              end
              for _, one in pairs(kept) do assert(one.text == one.letter:rep(#one.text)) end
              local list = {}
              for index = 1, round * 20 do list[index] = index end
              for index = #list, 2, -1 do list[index] = nil end
              for index = 2, 9 do list[index] = index end
              for index = 1, 9 do assert(list[index] == index) end
            end
            """
        #expect(try failure(of: source, sandboxed: true, limits: limiting { $0.memory = limit }) == nil)
    }

    @Test func memoryOfTheJSONParserIsCounted() throws {
        let limits = limiting { $0.memory = 2 << 20 }
        let decode = "local text = '[' .. (' '):rep(size) .. '1]' return require 'nightjar'.json.decode(text)[1]"
        let script = try Script(limits: limits)
        try script.setGlobal("size", .integer(200_000))
        #expect(throws: NightjarError.self) { try script.run(decode) }
        try script.setGlobal("size", .integer(50_000))
        for _ in 0..<10 { try script.run(decode) }
        try script.run("for i = 1, 100 do assert(require 'nightjar'.json.decode('[' .. i .. ']')[1] == i) end")
        try script.run("for i = 1, 10 do local s = (' '):rep(300000) .. i end")
    }

    @Test(arguments: [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "local t = setmetatable({}, {__close = function() while true do end end}) do local x <close> = t end",
        "require 'nightjar'.sleep(100)",
        "local nightjar = require 'nightjar' while true do pcall(nightjar.sleep, 100) end",
        "local nightjar = require 'nightjar' nightjar.spawn(function() while true do nightjar.sleep(0) end end)",
        "local function f(d) if d > 0 then for i = 1, 50 do coroutine.wrap(f)(d - 1) end end end f(30)",
        "local function f(d) for i = 1, d > 0 and 50 or 0 do pcall(coroutine.wrap(f), d - 1) end end f(30)",
        "local nightjar = require 'nightjar' local function f() for i = 1, 9 do nightjar.spawn(f) end end f()",
        "('x'):gsub('x', function() require 'nightjar'.sleep(100) end)",
        "error(setmetatable({}, {__tostring = function() while true do end end}))",
        "getmetatable('').__tostring = function() while true do end end error 'x'",
    ])
    func timeIsBounded(source: String) throws {
        let message = try failure(of: source, limits: limiting { $0.time = .milliseconds(100) })
        #expect(message?.hasPrefix("the script exceeded its time limit") == true, "\(message ?? "no error")")
    }

    @Test func shortCoroutinesCountAsInstructions() throws {
        let source = "local function f(d) if d > 0 then for i = 1, 50 do coroutine.wrap(f)(d - 1) end end end f(30)"
        let message = try failure(of: source, limits: limiting { $0.instructions = 1_000_000 })
        #expect(message?.hasPrefix("the script exceeded its instruction limit") == true)
    }

    @Test func hostGlobalsBypassTheMetatableOfGlobals() throws {
        let script = try Script(limits: limiting { $0.time = .seconds(5) })
        try script.run("setmetatable(_G, {__newindex = function() while true do end end})")
        try script.setGlobal("value", .integer(1))
        try script.register("f") { $0.returnInteger(2) }
        try script.run("assert(value == 1 and f() == 2)")
    }

    @Test func instructionsAreBounded() throws {
        let limits = limiting { $0.instructions = 1_000_000 }
        #expect(try failure(of: "for i = 1, 1e5 do end", limits: limits) == nil)
        #expect(
            try failure(of: "while true do pcall(error) end", limits: limits)?.hasPrefix(
                "the script exceeded its instruction limit") == true)
        let script = try Script(limits: limits)
        for _ in 0..<20 { try script.run("for i = 1, 1e5 do end") }
    }

    /// The limit applies to the instructions between two waits. A script that waits often enough is not stopped.
    @Test func computingTimeIsBounded() throws {
        let limits = limiting { $0.burst = 1_000_000 }
        let waits = "local nightjar = require 'nightjar' for i = 1, 20 do for j = 1, 1e5 do end nightjar.sleep(0) end"
        #expect(try failure(of: waits, limits: limits) == nil)
        let tasks =
            "local nightjar = require 'nightjar' for i = 1, 20 do nightjar.spawn(function() for j = 1, 1e5 do end end) end"
        #expect(try failure(of: tasks, limits: limits) == nil)
        let computes = "require 'nightjar'.sleep(0) while true do pcall(error) end"
        #expect(
            try failure(of: computes, limits: limits)?.hasPrefix(
                "the script exceeded its limit of instructions without a wait") == true)
    }

    @Test func scriptHasDefaultLimits() {
        let limits = ScriptLimits()
        #expect(limits.memory == 256 << 20 && limits.burst == 1_000_000_000)
        #expect(limits.instructions == 100_000_000_000 && limits.time == .seconds(3600))
        let none = ScriptLimits.none
        #expect(none.memory == nil && none.burst == nil && none.instructions == nil && none.time == nil)
    }

    @Test(arguments: [
        "while true do end", "require 'nightjar'.sleep(100)",
        "repeat until pcall(function() while true do end end) == 1",
        "local function f(d) for i = 1, d > 0 and 50 or 0 do pcall(coroutine.wrap(f), d - 1) end end f(30)",
        "('x'):gsub('x', function() require 'nightjar'.sleep(100) end)",
    ])
    func scriptIsInterruptedFromAnotherThread(source: String) throws {
        let script = try Script()
        let interrupter = Thread {
            Thread.sleep(forTimeInterval: 0.1)
            script.interrupt()
        }
        interrupter.start()
        let error = #expect(throws: NightjarError.self) { try script.run(source) }
        #expect(error?.message.hasPrefix("interrupted") == true)
        try script.run("x = 1")
    }

    // MARK: The sandbox

    @Test(arguments: [
        "io", "os", "debug", "package", "print", "dofile", "loadfile", "warn", "collectgarbage", "string.dump",
    ])
    func sandboxLacksGlobals(name: String) throws {
        #expect(try failure(of: "assert(\(name) == nil)", sandboxed: true) == nil)
        #expect(try failure(of: "assert(\(name) ~= nil)") == nil)
    }

    @Test func sandboxSendsNoFiles() throws {
        let client = try Client()
        for body in ["file = '/etc/passwd'", "multipart = { f = { file = '/etc/passwd' } }"] {
            let message = try failure(
                of: "require('nightjar').client():post('http://127.0.0.1:1/', { \(body) })", sandboxed: true,
                client: client)
            #expect(message?.contains("post: files are not available in a sandbox") == true)
        }
    }

    @Test func sandboxChoosesNoCachePartition() throws {
        let client = try Client()
        for function in ["get", "delete"] {
            let message = try failure(
                of: "require('nightjar').client():\(function)('http://127.0.0.1:1/', { cache_partition = 'x' })",
                sandboxed: true, client: client)
            #expect(message?.contains("\(function): cache_partition is not available in a sandbox") == true)
        }
    }

    @Test func sandboxTransfersNoFiles() throws {
        let client = try Client()
        for name in ["download", "start_download", "upload", "start_upload", "remove_transfer"] {
            let message = try failure(
                of: "require('nightjar').client():\(name)('http://127.0.0.1:1/', '/tmp/file')", sandboxed: true,
                client: client)
            #expect(message?.contains("\(name): not available in a sandbox") == true, "\(message ?? "no error")")
        }
        let demo = DemoServer()
        defer { demo.stop() }
        var configuration = Configuration()
        configuration.baseURL = "http://127.0.0.1:\(try demo.start())"
        let message = try failure(
            of: "require('nightjar').client():get('/bytes/10', { stream = true }):download('/tmp/file')",
            sandboxed: true, client: try Client(configuration))
        #expect(message?.contains("download: not available in a sandbox") == true, "\(message ?? "no error")")
    }

    /// API descriptions can be larger than a script's memory limit.
    @Test func sandboxLoadsNoDescriptions() throws {
        let client = try Client()
        for location in ["http://127.0.0.1:1/a.json", "url:/a.json", "/etc/passwd"] {
            let message = try failure(
                of: "require('nightjar').client():load_openapi('\(location)')", sandboxed: true, client: client)
            #expect(message?.contains("load_openapi: not available in a sandbox") == true)
        }
    }

    /// A sandboxed script makes calls with the host's credentials, and must not be able to read them.
    @Test func sandboxShowsNoSecretsOfTheHost() throws {
        let demo = DemoServer()
        defer { demo.stop() }
        var configuration = Configuration()
        configuration.baseURL = "http://127.0.0.1:\(try demo.start())"
        configuration.cookies = CookieStorage()
        configuration.cache = try CacheStorage()
        try configuration.headers.set("Authorization", "Bearer hunter2")
        let client = try Client(configuration)
        let start = "local api = require('nightjar').client() local res = api:get('/status/200') "
        #expect(try failure(of: start + "assert(api.cookies == nil)", sandboxed: true, client: client) == nil)
        #expect(try failure(of: start + "assert(api.cache == nil)", sandboxed: true, client: client) == nil)
        #expect(try failure(of: start + "assert(api.cache)", client: client) == nil)
        #expect(
            try failure(of: start + "assert(not res:curl():find 'hunter2')", sandboxed: true, client: client) == nil)
        let requests = start + "res:curl { show_secrets = true }"
        #expect(
            try failure(of: requests, sandboxed: true, client: client)?.contains(
                "show_secrets is not available in a sandbox") == true)
        for change in ["set_token { access_token = 'x' }", "log_out()", "log_in()"] {
            #expect(
                try failure(of: start + "api:\(change)", sandboxed: true, client: client)?.contains(
                    "not available in a sandbox; the login belongs to the host program") == true)
        }
        #expect(
            try failure(of: start + "api:set_pinning 'off'", sandboxed: true, client: client)?.contains(
                "set_pinning: not available in a sandbox") == true)
        #expect(try failure(of: start + "assert(api.cookies)", client: client) == nil)
        #expect(try failure(of: requests, client: client) == nil)
    }

    @Test func sandboxLoadsOnlyText() throws {
        let bytecode = try Script()
        nonisolated(unsafe) var dumped: [UInt8] = []
        try bytecode.register("keep") { call in dumped = call.string(0).map(Array.init) ?? [] }
        try bytecode.run("keep(string.dump(function() return 1 end))")
        #expect(!dumped.isEmpty)
        let script = try Script(sandboxed: true)
        try script.setGlobal("code", .string(dumped))
        try script.run("local f, why = load(code) assert(f == nil and why:find 'binary', why)")
        try script.run("local f, why = load(code, 'x', 'b') assert(f == nil)")
        try script.run("assert(load('return 1')() == 1) assert(load('return x', 'n', 't', {x = 2})() == 2)")
        #expect(throws: NightjarError.self) { try script.run(dumped) }
        #expect(throws: NightjarError.self) { try script.run("setmetatable({}, {__gc = function() end})") }
    }

    @Test func sandboxHasOnlyTheClientOfTheHost() throws {
        let demo = DemoServer()
        defer { demo.stop() }
        var configuration = Configuration()
        configuration.baseURL = "http://127.0.0.1:\(try demo.start())"
        let client = try Client(configuration)
        let uses =
            "local nightjar = require 'nightjar' local api = nightjar.client() assert(api:get('/echo').status == 200) api:close()"
        #expect(try failure(of: uses, sandboxed: true, client: client) == nil)
        #expect(try failure(of: uses, sandboxed: true, client: client) == nil)
        let makes = "require 'nightjar'.client {base_url = 'http://127.0.0.1'}"
        #expect(
            try failure(of: makes, sandboxed: true, client: client)?.contains(
                "a sandboxed script has only the host's client") == true)
        #expect(try failure(of: makes, sandboxed: true)?.contains("the host program provides no client") == true)
        // The option for a disk cache is also rejected.
        let writes = "require 'nightjar'.client { cache = { disk = '1MB', path = '/tmp/of-a-script' } }"
        #expect(
            try failure(of: writes, sandboxed: true, client: client)?.contains(
                "a sandboxed script has only the host's client") == true)
        let logs = "require 'nightjar'.client { tls = { key_log_file = '/tmp/of-a-script' } }"
        #expect(
            try failure(of: logs, sandboxed: true, client: client)?.contains(
                "a sandboxed script has only the host's client") == true)
        let observes = "require 'nightjar'.client { observer = function() end }"
        #expect(
            try failure(of: observes, sandboxed: true, client: client)?.contains(
                "a sandboxed script has only the host's client") == true)
        #expect(
            try failure(of: "require 'socket'", sandboxed: true)?.contains(
                "module 'socket' is not available in a sandbox") == true)
    }

    /// Without this rule, a sandboxed script could send requests to networks that only the host's machine can access.
    @Test func sandboxSendsRequestsOnlyToAllowedOrigins() throws {
        let (demo, other) = (DemoServer(), DemoServer())
        defer {
            demo.stop()
            other.stop()
        }
        var configuration = Configuration()
        configuration.baseURL = "http://127.0.0.1:\(try demo.start())"
        configuration.cache = try CacheStorage()
        let elsewhere = "http://127.0.0.1:\(try other.start())"
        let client = try Client(configuration)
        let rejection =
            "the script's host does not allow calls to \(elsewhere); it allows \(configuration.baseURL ?? "")"
        let requests = [
            "api:get('\(elsewhere)/echo')",
            "api:get('/redirect-to', { query = { url = '\(elsewhere)/echo' } })",
            "api:get('/redirect-to', { query = { url = '/echo' }, on_redirect = function() return '\(elsewhere)/echo' end })",
            "for item in api:paginate('\(elsewhere)/v1/articles') do end",
            "api:batch { '\(elsewhere)/echo' }",
            "assert(api:get('\(elsewhere)/echo', { cache = 'cache_only' }))",
        ]
        // The host program may send the request. Its response is now in the client's cache.
        for _ in 0..<3 { #expect(try client.sendBlocking(Request(.get, "\(elsewhere)/echo")).status == 200) }
        for ask in requests {
            let source = "local api = require 'nightjar'.client() local res = \(ask)".replacing(
                "local res = for", with: "for")
            let message = try failure(of: source, sandboxed: true, client: client)
            #expect(message?.contains(rejection) == true, "\(ask): \(message ?? "no error")")
        }
        #expect(other.statistics.requestCount == 3)
        let script = try Script(client: client, sandboxed: true, allowedOrigins: [elsewhere + "/"])
        try script.run("assert(require 'nightjar'.client():get('\(elsewhere)/echo').status == 200)")
        #expect(throws: NightjarError.self) { try Script(client: client, sandboxed: true, allowedOrigins: ["nowhere"]) }
        #expect(throws: NightjarError.self) { try Script(client: client, allowedOrigins: [elsewhere]) }
        // A script that is not sandboxed may send requests to any origin.
        #expect(try failure(of: "require 'nightjar'.client():get('\(elsewhere)/echo')", client: client) == nil)
    }

    // MARK: Functions of the host

    @Test func hostFunctionsConvertValues() throws {
        let script = try Script()
        try script.register("swap") { call in
            #expect(call.count == 7)
            #expect((0..<8).map(call.kind) == [.none, .boolean, .integer, .number, .string, .other, .other, .none])
            #expect(call.boolean(1))
            #expect(call.integer(2) == .min)
            #expect(call.number(3) == 0.5)
            #expect(call.string(4).map(Array.init) == [97, 0, 98])
            #expect(call.string(2) == nil)
            #expect(call.integer(99) == 0)
            call.returnNil()
            call.returnBoolean(false)
            call.returnInteger(.max)
            call.returnNumber(-.infinity)
            [UInt8]([97, 0, 99]).withUnsafeBytes(call.returnString)
        }
        try script.run(
            """
            local n, b, i, f, s, more = swap(nil, true, math.mininteger, 0.5, 'a\\0b', {}, print)
            assert(n == nil and b == false and i == math.maxinteger and f == -math.huge and s == 'a\\0c' and more == nil)
            """)
        try script.register("refuse") { $0.fail("not today") }
        #expect(throws: NightjarError.self) { try script.run("refuse()") }
        try script.run("local ok, why = pcall(refuse) assert(why:find 'not today')")
        try script.run("local old = swap; swap = nil; kept = old")
        for value: ScriptValue in [.none, .boolean(true), .integer(7), .number(1.5), .string("text")] {
            try script.setGlobal("value", value)
        }
        try script.run("assert(value == 'text')")
    }

    @Test func hostFunctionsCannotReenterTheScript() throws {
        let script = try Script()
        nonisolated(unsafe) var kind: ErrorKind?
        try script.register("again") { [unowned script] _ in
            do throws(NightjarError) { try script.run("x = 1") } catch { kind = error.kind }
            try? script.setGlobal("set", .integer(1))
        }
        try script.run("again() assert(x == nil and set == 1)")
        #expect(kind == .reentrant)
    }

    // MARK: Logins

    /// A later run refreshes the login of an earlier run with the stored refresh token.
    @Test func loginsOutliveTheirInterpreter() throws {
        let demo = DemoServer()
        defer { demo.stop() }
        let path = "/tmp/nightjar-\(UInt64.random(in: 0 ... .max)).token"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let source = """
            local nightjar = require "nightjar"
            local plain = nightjar.client { base_url = origin }
            local auth = {
                type = "login", url = "/v1/auth/login", json = { email = "ada@example.org", password = "moonlight" },
                refresh = { url = "/v1/auth/refresh" }, store = { file = path },
            }
            local api = nightjar.client { base_url = origin, auth = auth }
            plain:post("/__control", { json = { expire_access_tokens = true } })
            assert(api:get("/v1/me").json.handle == "ada")
            local seen = plain:get("/__stats").json.auth
            assert(seen.logins == 1 and seen.refreshes == run - 1 and seen.refresh_reuses == 0, seen.refreshes)
            """
        let origin = "http://127.0.0.1:\(try demo.start())"
        for run: Int64 in 1...3 {
            let script = try Script()
            try script.setGlobal("origin", .string(origin))
            try script.setGlobal("path", .string(path))
            try script.setGlobal("run", .integer(run))
            try script.run(source)
        }
    }

    // MARK: Exhausted memory

    /// Lua does not finalize objects that a finalizer creates while the state closes.
    @Test func objectsCreatedByFinalizersEndWithTheState() throws {
        nonisolated(unsafe) weak var made: ScriptCall?
        nonisolated(unsafe) var calls = 0
        var script: Script? = try Script()
        try script?.register("save") { call in
            made = call
            calls += 1
        }
        try script?.run("kept = setmetatable({}, {__gc = function() save() end})")
        #expect(calls == 0)
        script = nil
        #expect(calls == 1)
        #expect(made == nil)
    }

    /// Finalizers run after any failed allocation. Otherwise the resources of their objects would leak.
    @Test func finalizersHaveMemory() {
        nonisolated(unsafe) var (made, ended, most) = (0, 0, 0)
        func run(allocations: UInt64) {
            var limits = ScriptLimits()
            limits.allocations = allocations
            guard let script = try? Script(limits: limits) else { return }
            try? script.register("made") { _ in made += 1 }
            try? script.register("ended") { _ in ended += 1 }
            try? script.run(
                "for i = 1, 9 do local t = setmetatable({}, {__gc = function() ended() end}) made() local s = {i} end")
        }
        for limit in UInt64(1)..<4000 {
            (made, ended) = (0, 0)
            run(allocations: limit)
            most = max(most, made)
            #expect(ended >= made, "\(limit)")
        }
        #expect(most == 9)
    }

    /// When a state closes, pages are finalized before the script's own finalizers run.
    @Test func finalizersMaySaveThePositionInAList() throws {
        let demo = DemoServer()
        defer { demo.stop() }
        var configuration = Configuration()
        configuration.baseURL = "http://127.0.0.1:\(try demo.start())/v1"
        let client = try Client(configuration)
        let start = """
            local api = require("nightjar").client()
            local options = {items = "/results", next = "/next_cursor", query = {count = 20, limit = 5}, resume = state}
            local list = api:paginate("/lists/finalizers/cursor", options)
            """
        nonisolated(unsafe) var saved: [[UInt8]] = []
        var script: Script? = try Script(client: client)
        try script?.register("save") { call in
            for index in 0..<call.count { saved.append(call.string(index).map(Array.init) ?? []) }
        }
        try script?.run(
            start + """

                kept = setmetatable({}, {__gc = function()
                    save(list:state())
                    for _, f in ipairs {list, list:pages(), function() list:take(1) end, function() list:collect() end} do
                        local _, why = pcall(f)
                        save(why.message)
                    end
                end})
                for i = 1, 8 do list() end
                """)
        #expect(saved.isEmpty)
        script = nil
        let state = try #require(saved.first)
        #expect(
            saved.dropFirst().map { String(decoding: $0, as: UTF8.self) }
                == Array(repeating: "the list is closed", count: 4))
        let next = try Script(client: client)
        try next.setGlobal("state", .string(state))
        try next.run(start + " local id = list().id assert(id == 9000, id)")
        client.close()
    }
}

/// The default limits with a change.
func limiting(_ change: (inout ScriptLimits) -> Void) -> ScriptLimits {
    var limits = ScriptLimits()
    change(&limits)
    return limits
}
