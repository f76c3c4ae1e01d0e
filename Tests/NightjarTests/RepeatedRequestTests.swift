import NightjarHTTP
import Testing

@testable import Nightjar

@Suite struct RepeatedRequestTests {
    private func start(_ api: Client, _ target: String = "/a", _ timeouts: Timeouts = Timeouts()) throws -> ClientTask {
        var request = Request(.get, target)
        request.timeouts = timeouts
        return try api.start(request, on: nil, TaskHandlers { _, _ in })
    }

    @Test func aRequestThatComesAgainIsWrittenTwiceAndNoMore() throws {
        let api = try client(ScriptedTransport([]))
        defer { api.close() }
        let tasks = try (0..<4).map { _ in try start(api) }
        #expect(tasks[0].request !== tasks[1].request, "most are never asked again")
        #expect(tasks[1].request === tasks[2].request && tasks[2].request === tasks[3].request)
        #expect(tasks[1].options === tasks[3].options)
    }

    @Test func anotherRequestIsAnother() throws {
        let api = try client(ScriptedTransport([]))
        defer { api.close() }
        let tasks = try (0..<3).map { _ in try start(api) }
        let hurried = try start(api, "/a", Timeouts(total: .seconds(1)))
        #expect(hurried.options.timeouts.total == .seconds(1))
        #expect(try start(api, "/b").url.target == "/v1/b")
        #expect(try start(api).request.fingerprint == tasks[2].request.fingerprint)
    }

    @Test func moreRequestsThanThereIsRoomForAreAllSentAsTheyAre() throws {
        let api = try client(ScriptedTransport([]))
        defer { api.close() }
        for _ in 0..<3 {
            for number in 0..<500 { #expect(try start(api, "/\(number)").url.target == "/v1/\(number)") }
        }
    }

    @Test func whatWasKeptIsForgottenWithTheLogin() throws {
        let api = try client(ScriptedTransport([]))
        defer { api.close() }
        let tasks = try (0..<3).map { _ in try start(api) }
        api.repeated.forget()
        #expect(try start(api).request !== tasks[2].request)
    }
}
