import NightjarHTTP
import Testing

@testable import Nightjar

@Suite struct RepeatedRequestTests {
    private func start(_ api: Client, _ target: String = "/a", _ timeouts: Timeouts = Timeouts()) throws -> ClientTask {
        var request = Request(.get, target)
        request.timeouts = timeouts
        return try api.start(request, on: nil, TaskHandlers { _, _ in })
    }

    @Test func repeatedRequestIsEncodedTwice() throws {
        let api = try client(ScriptedTransport([]))
        defer { api.close() }
        let tasks = try (0..<4).map { _ in try start(api) }
        #expect(tasks[0].request !== tasks[1].request, "the first request is not stored")
        #expect(tasks[1].request === tasks[2].request && tasks[2].request === tasks[3].request)
        #expect(tasks[1].options === tasks[3].options)
    }

    @Test func differentRequestIsNotReused() throws {
        let api = try client(ScriptedTransport([]))
        defer { api.close() }
        let tasks = try (0..<3).map { _ in try start(api) }
        let hurried = try start(api, "/a", Timeouts(total: .seconds(1)))
        #expect(hurried.options.timeouts.total == .seconds(1))
        #expect(try start(api, "/b").url.target == "/v1/b")
        #expect(try start(api).request.fingerprint == tasks[2].request.fingerprint)
    }

    @Test func requestsBeyondTheCapacityAreSentUnchanged() throws {
        let api = try client(ScriptedTransport([]))
        defer { api.close() }
        for _ in 0..<3 {
            for number in 0..<500 { #expect(try start(api, "/\(number)").url.target == "/v1/\(number)") }
        }
    }

    @Test func loginChangeDiscardsStoredRequests() throws {
        let api = try client(ScriptedTransport([]))
        defer { api.close() }
        let tasks = try (0..<3).map { _ in try start(api) }
        api.repeated.forget()
        #expect(try start(api).request !== tasks[2].request)
        #expect(repeated(api, "GET", "/a") == nil)
    }

    private func repeated(_ api: Client, _ method: String, _ target: String) -> RepeatedRequests.Call? {
        Array(method.utf8).withUnsafeBytes { method in
            Array(target.utf8).withUnsafeBytes { api.repeated(method, $0) }
        }
    }

    @Test func bareRequestIsRestartedFromItsBytes() throws {
        let api = try client(ScriptedTransport([]))
        #expect(repeated(api, "GET", "/a") == nil)
        _ = try start(api)
        #expect(repeated(api, "GET", "/a") == nil, "the request was not repeated")
        let second = try start(api)
        let known = try #require(repeated(api, "GET", "/a"))
        #expect(known.prepared === second.request && known.options === second.options)
        #expect(repeated(api, "HEAD", "/a") == nil && repeated(api, "GET", "/b") == nil)
        let again = try api.start(known, on: nil, TaskHandlers { _, _ in })
        #expect(again.request === second.request && again.options === second.options)
        for _ in 0..<3 { _ = try start(api, "/hurried", Timeouts(total: .seconds(1))) }
        #expect(repeated(api, "GET", "/hurried") == nil, "the request has options")
        api.close()
        #expect(
            #expect(throws: NightjarError.self) { try api.start(known, on: nil, TaskHandlers { _, _ in }) }?.kind
                == .closed)
    }
}
