import Nightjar
import NightjarDemo
import Testing

@testable import NightjarLua

/// Attempts of a sandboxed script to access the machine, the host or the interpreter. Each attempt is a chunk that
/// raises an error if it succeeds.
@Suite struct SandboxEscapeTests {
    private let demo = DemoServer()
    private let client: Client

    init() throws {
        var configuration = Configuration()
        configuration.baseURL = "http://127.0.0.1:\(try demo.start())"
        client = try Client(configuration)
    }

    private func script() throws -> Script {
        let script = try Script(client: client, sandboxed: true)
        // Only a state without a sandbox has string.dump.
        let maker = try Script()
        nonisolated(unsafe) var bytecode: [UInt8] = []
        try maker.register("give") { call in bytecode = call.string(0).map(Array.init) ?? [] }
        try maker.run("give(string.dump(function() return 'out' end))")
        #expect(bytecode.first == 0x1B)
        try script.setGlobal("bytecode", .string(bytecode))
        return script
    }

    @Test(arguments: [
        // The libraries, and ways to reach them.
        "for _, name in ipairs { 'io', 'os', 'debug', 'package', 'dofile', 'loadfile', 'collectgarbage', 'print' } do "
            + "assert(_G[name] == nil, name) end",
        "for _, name in ipairs { 'io', 'os', 'debug', 'package', 'lfs', 'nightjar.fs', 'nightjar.process', 'nightjar.env', "
            + "'nightjar.args', 'nightjar.stdin', 'nightjar.command.prompt' } do assert(not pcall(require, name), name) end",
        "local api = require 'nightjar'.client() assert(not pcall(api.outbox, api) and not pcall(require, 'nightjar.outboxes'))",
        "local nightjar = require 'nightjar' for _, name in ipairs { 'fs', 'process', 'env', 'args', 'stdin' } do "
            + "assert(nightjar[name] == nil, name) end",
        "assert(load 'return _ENV'() == _G and not load 'return io'())",
        "local f = coroutine.wrap(function() return _ENV end) assert(f().debug == nil)",
        "assert(not pcall(require 'nightjar'.testing.run, { files = { '/etc/passwd' } }))",
        // Bytecode, which can be forged.
        "assert(string.dump == nil and ('').dump == nil)",
        "assert(load(bytecode) == nil and load(bytecode, 'x', 'b') == nil and load(bytecode, 'x', 'bt') == nil)",
        "local given = false assert(load(function() if given then return nil end given = true return bytecode end) == nil)",
        "local i = 0 assert(load(function() i = i + 1 return i <= #bytecode and bytecode:sub(i, i) or nil end, 'x', 'b') == nil)",
        // Metatables of shared objects, and finalizers.
        "local nightjar = require 'nightjar' assert(type(getmetatable(nightjar)) ~= 'table')",
        "assert(not pcall(setmetatable, require 'nightjar', {}))",
        """
        local nightjar = require 'nightjar'
        local api = nightjar.client()
        local res = api:get '/echo'
        local _, err = nightjar.try(api.get, api, '/nothing')
        local list = api:paginate('/v1/articles', { items = '/results' })
        local page for p in list:pages() do page = p break end
        local all = { api, res, res.headers, err, list, page, nightjar.spawn(function() end), nightjar.channel(1),
          nightjar.hash.new 'sha256', nightjar.null, res:explain() }
        for number, object in pairs(all) do assert(type(getmetatable(object)) ~= 'table', number) end
        """,
        "assert(not pcall(setmetatable, {}, { __gc = function() end }))",
        "local m = {} local t = setmetatable({}, m) m.__gc = function() error 'out' end t = nil for i = 1, 1e4 do local x = {} end",
        // Replaced string methods and globals, which must not receive internal objects of modules written in Lua.
        """
        local nightjar = require 'nightjar'
        local seen, select, ipairs, type, assert = {}, select, ipairs, type, assert
        local index = getmetatable('').__index
        for name, method in pairs(index) do
          index[name] = function(...) for i = 1, select('#', ...) do seen[#seen + 1] = (select(i, ...)) end return method(...) end
        end
        for _, name in ipairs { 'pairs', 'ipairs', 'type', 'select', 'pcall', 'rawget', 'setmetatable', 'tostring' } do
          local real = _G[name]
          _G[name] = function(...) for i = 1, select('#', ...) do seen[#seen + 1] = (select(i, ...)) end return real(...) end
        end
        nightjar.csv.parse 'a,b' nightjar.url.parse 'http://h/?a=b' nightjar.time.format(0) nightjar.log.error('x', { a = 1 })
        for _, value in ipairs(seen) do assert(type(value) ~= 'userdata' and type(value) ~= 'thread') end
        """,
        // Coroutine functions that the limits and closing depend on.
        "local co = coroutine.create(function() coroutine.yield() end) coroutine.resume(co) assert(coroutine.close(co))",
        "assert(not pcall(coroutine.close, coroutine.running()))",
        "local nightjar = require 'nightjar' local co = coroutine.wrap(function() nightjar.sleep(0) return 'in' end) assert(co() == 'in')",
        "local co co = coroutine.wrap(function() return pcall(co) end) assert(co() == false)",
        // The host's client: its secrets, its lifetime, its files.
        "local api = require 'nightjar'.client() api:close() assert(require 'nightjar'.client():get('/echo').status == 200)",
        "local api = require 'nightjar'.client() assert(api.cookies == nil and api.cache == nil)",
        "local api = require 'nightjar'.client() assert(not pcall(api.post, api, '/echo', { file = '/etc/passwd' }))",
        "local api = require 'nightjar'.client() assert(not pcall(api.load_openapi, api, '/etc/passwd'))",
        "local api = require 'nightjar'.client() assert(not pcall(api.log_out, api))",
        "assert(not pcall(require 'nightjar'.client, { base_url = 'http://127.0.0.1' }))",
    ])
    func scriptsCannotEscape(attempt: String) throws {
        let script = try script()
        do throws(NightjarError) {
            try script.run(attempt, name: "attempt")
        } catch {
            Issue.record("\(error.message)")
        }
        // The client and the next script are unaffected.
        let next = try Script(client: client, sandboxed: true)
        try next.run("assert(require 'nightjar'.client():get('/echo').status == 200 and ('x'):rep(2) == 'xx')")
    }
}
