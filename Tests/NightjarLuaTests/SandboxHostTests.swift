import Nightjar
import NightjarDemo
import NightjarHTTP
import NightjarTesting
import Testing

@testable import NightjarLua

/// A sandboxed script's access to its host's secrets, state and memory.
@Suite struct SandboxHostTests {
    private func client(
        _ routes: String, base: String = "http://api.test/v1", _ change: (inout Configuration) throws -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration()
        configuration.baseURL = base
        configuration.mock = try Mock(json: "[\(routes)]")
        configuration.retry.base = .milliseconds(1)
        try change(&configuration)
        return try Client(configuration)
    }

    /// The error message of running `source`; nil if it succeeds. `api` is the host's client.
    private func failure(
        of source: String, _ client: Client, sandboxed: Bool = true, memory: Int? = nil, pathScope: String? = nil
    ) throws -> String? {
        var limits = ScriptLimits()
        if let memory { limits.memory = memory }
        let script = try Script(client: client, sandboxed: sandboxed, limits: limits, pathScope: pathScope)
        do throws(NightjarError) {
            try script.run("local nightjar = require 'nightjar' local api = nightjar.client() " + source, name: "test")
            return nil
        } catch {
            return error.message
        }
    }

    // MARK: Secrets

    private static let secretive = """
        {"path": "/old", "response": {"status": 302, "headers": {"Location": "/v1/new?api_key=hunter2", "Set-Cookie": "sid=hunter2"}}},
        {"path": "/new", "response": {"status": 200, "headers": {"Set-Cookie": "sid=hunter2", "X-Auth-Token": "hunter2", "X-Page": "2"}}},
        {"path": "/bad", "response": {"status": 403, "headers": {"Set-Cookie": "sid=hunter2"}, "body": "no"}},
        {"path": "/list", "response": {"headers": {"Set-Cookie": "sid=hunter2"}, "json": {"items": [1]}}}
        """

    @Test(arguments: [
        "local res = api:get('/new') assert(res.headers.set_cookie == nil and res.headers['Set-Cookie'] == nil)",
        "for name, value in pairs(api:get('/new').headers) do assert(not value:find 'hunter2', name) end",
        "local res = api:get('/new') assert(res.headers.x_page == '2' and res.headers.x_auth_token == nil)",
        "local n = 0 local res = api:get('/new') for _ in pairs(res.headers) do n = n + 1 end assert(n == #res.headers)",
        "local _, err = nightjar.try(api.get, api, '/bad') assert(err.status == 403 and err.response.headers.set_cookie == nil)",
        "local seen api:get('/old', { on_redirect = function(h) seen = h.from .. h.url end }) assert(not seen:find 'hunter2', seen)",
        "local res = api:get '/old' assert(not res.redirects[1].url:find 'hunter2' and not res.url:find 'hunter2')",
        "local res = api:get '/new' assert(not res:curl():find 'hunter2' and not res:curl():find 'Tenant', res:curl())",
        "local res = api:get('/new', { headers = { ['X-Mine'] = 'yes' } }) assert(res:curl():find 'X%-Mine: yes')",
        "local _, err = nightjar.try(api.get, api, '/bad') assert(not err:curl():find 'hunter2' and not err:curl():find 'Tenant')",
        "local _, err = nightjar.try(api.get, api, '/bad') assert(not tostring(err):find 'hunter2' and not tostring(err.url):find 'hunter2')",
        "local res = api:get '/old' for _, d in ipairs(res:explain()) do assert(not tostring(d):find 'hunter2', tostring(d)) end",
        "for page in api:paginate('/list', { style = 'page', items = '/items', max_pages = 1 }):pages() do "
            + "assert(page.response.headers.set_cookie == nil and not page.response:curl():find 'Tenant') break end",
    ])
    func scriptsSeeNoCredentials(source: String) throws {
        let client = try client(SandboxHostTests.secretive) {
            try $0.headers.set("X-Tenant", "hunter2")
            $0.auth = .apiKey(try APIKey("hunter2", in: .query("api_key")))
            $0.cookies = CookieStorage()
        }
        #expect(try failure(of: source, client) == nil)
    }

    /// The host's challenge callback decides the challenges of the script's calls. The script cannot replace it, and does
    /// not see the password.
    @Test(arguments: [
        "local res = api:get '/private' assert(res.body == 'ok' and not res:curl():find('hunter2', 1, true), res:curl())",
        "for _, d in ipairs(api:get('/private'):explain()) do assert(not tostring(d):find 'hunter2', tostring(d)) end",
        "assert(not pcall(nightjar.client, { on_challenge = function() return { user = 'u', password = 'p' } end }))",
        "assert(not pcall(api.log_out, api))",
    ])
    func scriptsCannotDecideChallenges(source: String) throws {
        let routes = """
            {"path": "/private", "headers": {"Authorization": "Basic dXNlcjpodW50ZXIy"}, "response": {"body": "ok"}},
            {"path": "/private", "response": {"status": 401, "headers": {"WWW-Authenticate": "Basic realm=\\"hunter2\\""}}}
            """
        let client = try client(routes) {
            $0.onChallenge = Authentication.ChallengeHandler(runsOnLoop: false) { challenge in
                try? challenge.respond(.password(user: "user", password: "hunter2"))
            }
        }
        #expect(try failure(of: source, client) == nil)
    }

    /// A script that chooses a path must not learn the addresses in the network of the host.
    @Test func scriptsDoNotSeeDeniedAddresses() throws {
        let client = try client("", base: "http://inner.test:1") {
            $0.mock = nil
            $0.transport.proxy.source = .off
            $0.transport.resolve = try ResolveEntries(["inner.test:1:10.0.0.1"])
            $0.transport.addressFilter = .publicOnly
        }
        let source = """
            local function list() for _ in api:paginate '/' do end end
            local function socket() api:websocket('/'):connect() end
            local function events() for _ in api:events('/', { reconnect = false }) do end end
            for _, call in ipairs { function() api:get '/' end, list, socket, events } do
              local _, err = nightjar.try(call) assert(err.kind == 'invalid_request', err.kind)
              assert(#err:explain() == %d) assert(not tostring(err):find('10.0.0.1', 1, true))
            end
            """
        #expect(try failure(of: source.replacing("%d", with: "0"), client) == nil)
        #expect(try failure(of: source.replacing("%d", with: "1"), client, sandboxed: false) == nil)
    }

    /// A script cannot choose addresses or store logins: it cannot create clients, and calls have no such options.
    @Test(arguments: [
        "assert(not pcall(nightjar.client, { resolver = function() return { '127.0.0.1' } end }))",
        "assert(not pcall(nightjar.client, { on_addresses = function() return true end }))",
        "assert(not pcall(api.get, api, '/new', { resolver = function() return { '127.0.0.1' } end }))",
        "assert(not pcall(api.get, api, '/new', { on_addresses = function() return true end }))",
        "assert(not pcall(nightjar.client, { token_store = { load = print, save = print, delete = print } }))",
    ])
    func scriptsCannotChooseAddressesOrStoreLogins(source: String) throws {
        let client = try client(SandboxHostTests.secretive)
        #expect(try failure(of: source, client) == nil)
        #expect(client.mock?.calls.isEmpty == true)
    }

    // MARK: State

    @Test(arguments: [
        "Host", "host", "X-Forwarded-Host", "X-Original-URL", "Forwarded", "X-HTTP-Method-Override", "X-HTTP-Method",
        "X-Method-Override",
    ])
    func scriptsCannotSelectAnotherHostOrMethod(name: String) throws {
        let client = try client("{\"response\": 200}")
        let message = try failure(of: "api:get('/a', { headers = { ['\(name)'] = 'evil.test' } })", client)
        #expect(message?.contains("a sandboxed script cannot set the header") == true)
    }

    @Test(arguments: ["TRACE", "TRACK", "CONNECT"]) func scriptsCannotTrace(method: String) throws {
        let client = try client("{\"response\": 200}")
        #expect(try failure(of: "api:request { method = '\(method)', path = '/a' }", client) != nil)
        #expect(client.mock?.calls.isEmpty == true)
    }

    /// Every client's cache stores responses to requests with different routing headers separately.
    @Test func routingHeadersPartitionTheCache() throws {
        let routes = """
            {"path": "/a", "responses": [{"body": "one", "headers": {"Cache-Control": "max-age=60"}},
                                       {"body": "two", "headers": {"Cache-Control": "max-age=60"}}]}
            """
        for name in ["Host", "X-Forwarded-Host", "Forwarded", "X-Rewrite-URL"] {
            let client = try client(routes) { $0.cache = try CacheStorage() }
            var request = Request(.get, "/a")
            try request.headers.set(name, "evil.test")
            #expect(String(buffer: try client.sendBlocking(request).body) == "one")
            #expect(String(buffer: try client.sendBlocking(Request(.get, "/a")).body) == "two", "\(name)")
            #expect(String(buffer: try client.sendBlocking(request).body) == "one")
        }
    }

    @Test func scriptsHaveTheirOwnCache() throws {
        let routes = """
            {"path": "/a", "responses": [{"body": "one", "headers": {"Cache-Control": "max-age=60"}},
              {"body": "two", "headers": {"Cache-Control": "max-age=60"}}, {"body": "three", "headers": {"Cache-Control": "max-age=60"}}]}
            """
        let client = try client(routes) { $0.cache = try CacheStorage() }
        let get =
            "assert(api:get('/a').body == 'one') assert(api:get('/a').body == 'one' and api:get('/a').source == 'cache')"
        #expect(try failure(of: get, client) == nil)
        #expect(String(buffer: try client.sendBlocking(Request(.get, "/a")).body) == "two")
        // The next script uses neither the host's cache nor that of the first script.
        #expect(try failure(of: "assert(api:get('/a').body == 'three')", client) == nil)
        #expect(String(buffer: try client.sendBlocking(Request(.get, "/a")).body) == "two")
    }

    @Test func scriptsHaveTheirOwnCookies() throws {
        let routes = """
            {"path": "/set", "response": {"status": 200, "headers": {"Set-Cookie": "sid=evil; Path=/"}}},
            {"path": "/get", "headers": {"Cookie": "sid=host"}, "response": {"body": "host"}},
            {"path": "/get", "headers": {"Cookie": "sid=evil"}, "response": {"body": "evil"}},
            {"path": "/get", "response": {"body": "none"}}
            """
        let cookies = CookieStorage()
        let client = try client(routes) { $0.cookies = cookies }
        try cookies.set("sid=host; Path=/", for: RequestURL("http://api.test/"))
        #expect(String(buffer: try client.sendBlocking(Request(.get, "/get")).body) == "host")
        let use = "assert(api:get('/get').body == 'none') api:get '/set' assert(api:get('/get').body == 'evil')"
        #expect(try failure(of: use, client) == nil)
        #expect(String(buffer: try client.sendBlocking(Request(.get, "/get")).body) == "host")
        #expect(try failure(of: "assert(api:get('/get').body == 'none')", client) == nil)
    }

    @Test(arguments: [
        "/../admin", "/%2e%2e/admin", "/%2E%2e/admin", "/.%2e/admin", "/a/../../admin", "/..\\\\admin", "/..%5cadmin",
        "/%2e%2e%2fadmin", "/%252e%252e/admin", "/..;x/admin", "http://api.test/admin", "http://api.test/v1/../admin",
        "http://api.test/v12", "http://api.test/",
    ])
    func scriptsStayBelowTheBaseURL(path: String) throws {
        let client = try client("{\"response\": 200}")
        let message = try failure(of: "api:get '\(path)'", client)
        #expect(message != nil, "\(path)")
        let redirect = try self.client(
            "{\"path\": \"/old\", \"response\": {\"status\": 302, \"headers\": {\"Location\": \"/admin\"}}}")
        let rejected = try failure(of: "api:get '/old'", redirect)
        #expect(rejected?.contains("limited to paths under \"/v1\"") == true, "\(rejected ?? "")")
        for mock in [client.mock, redirect.mock] {
            #expect(mock?.calls.allSatisfy { $0.request.url.path == "/v1/old" } == true)
        }
    }

    @Test func hostSetsThePathScope() throws {
        let client = try client("{\"response\": 200}")
        #expect(
            try failure(of: "api:get '/a' api:get '/a..b/.c' api:get('/{p}', { params = { p = '..' } })", client) != nil
        )
        #expect(try failure(of: "api:get '/a' api:get '/a..b/.c/%20' api:get 'http://api.test/v1'", client) == nil)
        #expect(try failure(of: "api:get 'http://api.test/admin'", client, pathScope: "/") == nil)
        #expect(try failure(of: "api:get '/users/1'", client, pathScope: "/v1/users/") == nil)
        #expect(try failure(of: "api:get '/users2'", client, pathScope: "/v1/users/") != nil)
        for scope in ["v1", "/v1?x", "/v1/..", ""] {
            #expect(throws: NightjarError.self) { try Script(client: client, sandboxed: true, pathScope: scope) }
        }
        #expect(throws: NightjarError.self) { try Script(client: client, pathScope: "/v1") }
        // A client's path scope applies to all of its calls. A script's path scope cannot widen it.
        let scoped = try self.client("{\"response\": 200}") { $0.pathScope = "/v1/users" }
        #expect(try scoped.sendBlocking(Request(.get, "/users/1")).status == 200)
        #expect(throws: NightjarError.self) { try scoped.sendBlocking(Request(.get, "/users/../x")) }
        #expect(throws: NightjarError.self) { try scoped.sendBlocking(Request(.get, "/x")) }
        #expect(try failure(of: "api:get '/x'", scoped, pathScope: "/") != nil)
        #expect(try failure(of: "api:get '/x'", scoped, sandboxed: false) != nil)
        let lua = """
            local own = nightjar.client { base_url = 'http://own.test/v1', path_scope = '/v1', mock = { { response = 200 } } }
            assert(own:get('/a').status == 200 and not pcall(own.get, own, '/../a') and not pcall(own.get, own, 'http://own.test/a'))
            assert(not pcall(nightjar.client, { path_scope = '/v1' }))
            assert(not pcall(nightjar.client, { base_url = 'http://own.test', path_scope = 'v1' }))
            """
        #expect(try failure(of: lua, client, sandboxed: false) == nil)
    }

    // MARK: Memory and limits

    private func large(_ bytes: Int) -> String {
        "{\"path\": \"/large\", \"response\": {\"body\": \"\(String(repeating: "x", count: bytes))\"}}"
    }

    @Test func responseBodiesCountTowardsMemory() throws {
        let client = try client(large(5 << 20))
        let keeps = "local all = {} for i = 1, 30 do all[i] = api:get '/large' end"
        #expect(try failure(of: keeps, client, memory: 32 << 20)?.contains("memory limit") == true)
        let batch = "local all = {} for i = 1, 30 do all[i] = '/large' end api:batch(all)"
        #expect(try failure(of: batch, client, memory: 32 << 20)?.contains("memory limit") == true)
        let errors = """
            local kept = {}
            for i = 1, 30 do
              local _, err = nightjar.try(api.get, api, '/large', { expect = 204 })
              if tostring(err):find 'memory limit' then error(err, 0) end
              kept[i] = err
            end
            """
        #expect(try failure(of: errors, client, memory: 32 << 20)?.contains("memory limit") == true)
        // Responses that the script no longer references do not count.
        #expect(
            try failure(of: "for i = 1, 30 do assert(#api:get('/large').body == 5 << 20) end", client, memory: 32 << 20)
                == nil)
        #expect(try failure(of: keeps, client, memory: 256 << 20) == nil)
    }

    @Test func incompleteLinesAndEventsCountTowardsMemory() throws {
        let text = "data: " + String(repeating: "x", count: 40 << 20)
        let client = try client(
            "{\"path\": \"/large\", \"response\": {\"headers\": {\"content-type\": \"text/event-stream\"}, \"body\": \"\(text)\"}}"
        )
        for loop in [
            "for _ in api:lines('/large', { max_line = 1 << 30 }) do end",
            "for _ in api:ndjson('/large', { max_line = 1 << 30 }) do end",
            "for _ in api:events('/large', { max_event = 1 << 30 }) do end",
        ] {
            let message = try failure(of: loop, client, memory: 32 << 20)
            #expect(message?.contains("memory limit") == true, "\(loop): \(message ?? "no error")")
        }
    }

    @Test func pendingUploadsCountTowardsMemory() throws {
        let client = try client("{\"response\": {\"fault\": \"hang\"}}")
        let post =
            "local s = ('x'):rep(4 << 20) for i = 1, 100 do nightjar.spawn(function() api:post('/a', %) end) end nightjar.sleep(0.2)"
        let bodies = [
            "{ body = s }", "{ multipart = { a = s } }", "{ form = { a = s } }",
            "{ json = { s } }",
        ]
        for body in bodies {
            let message = try failure(of: post.replacing("%", with: body), client, memory: 32 << 20)
            #expect(message?.contains("memory") == true, "\(body): \(message ?? "no error")")
        }
    }

    /// The call fails at the first part of a body without end that exceeds the limit.
    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func partsOfAnEndlessBodyCountTowardsMemory(isStreamed: Bool) throws {
        let server = DemoServer()
        let port = try server.start(host: "127.0.0.1", port: 0)
        var configuration = Configuration()
        configuration.baseURL = "http://127.0.0.1:\(port)"
        let client = try Client(configuration)
        let post = """
            local big, others, calls = ('x'):rep(6 << 20), {}, 0
            for index = 1, 6 do others[index] = (index .. ''):rep(1 << 20) end
            local function body() calls = calls + 1 return big end
            local _, err = nightjar.try(api.post, api, '/upload', { stream = \(isStreamed), body = body })
            assert(err.message:find 'use smaller parts', err.message)
            assert(calls == 1, calls)
            """
        #expect(try failure(of: post, client, memory: 16 << 20) == nil)
    }

    /// A pending call needs memory outside of Lua.
    @Test func callsCountTowardsTheLimit() throws {
        let client = try client("{\"response\": {\"fault\": \"hang\"}}")
        let many = "for i = 1, 2000 do nightjar.spawn(function() api:get('/a') end) end nightjar.sleep(0.5)"
        #expect(try failure(of: many, client, memory: 16 << 20)?.contains("memory") == true)
    }

    @Test func optionsTightenTheLimits() throws {
        let routes =
            large(100_000)
            + ", {\"path\": \"/fails\", \"response\": 503}, {\"path\": \"/hangs\", \"response\": {\"fault\": \"hang\"}}"
        let client = try client(routes) {
            $0.maximumBody = 50_000
            $0.retry.maximumAttempts = 2
            $0.timeouts.total = .milliseconds(200)
            $0.limitGroups = ["fast": LimitSettings()]
        }
        func fails(_ call: String, _ text: String) throws {
            let message = try failure(of: call, client)
            #expect(message?.contains(text) == true, "\(call): \(message ?? "no error")")
        }
        try fails("api:get('/large', { max_body = 1 << 30 })", "50000")
        try fails("api:get('/large', { max_body = 100 })", "100 bytes")
        try fails("api:get('/hangs', { timeout = 5 })", "total")
        try fails("api:get('/hangs', { timeout = 0 })", "total")
        try fails("api:get('/a', { limit_group = 'fast' })", "limit group")
        let attempts = """
            for _, options in ipairs { { retry = { attempts = 9 } }, { on_retry = function() return true end }, { on_retry = function() return 0 end } } do
              local _, err = nightjar.try(api.get, api, '/fails', options)
              assert(err.attempts == 2, err.attempts)
            end
            local _, err = nightjar.try(api.get, api, '/fails', { retry = false })
            assert(err.attempts == 1, err.attempts)
            """
        #expect(try failure(of: attempts, client) == nil)
    }
}
