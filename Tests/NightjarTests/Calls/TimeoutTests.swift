import Testing

@testable import Nightjar

/// A timeout of zero means unlimited, for a client and for a call.
@Suite struct TimeoutTests {
    private func task(_ clients: Timeouts, _ calls: Timeouts = Timeouts()) throws -> CallOptions {
        var configuration = Configuration()
        configuration.timeouts = clients
        let api = try Client(configuration) { _ in ScriptedTransport([]) }
        defer { api.close() }
        var request = Request(.get, "http://h/")
        request.timeouts = calls
        return try api.start(request, on: nil, TaskHandlers { _, _ in }).options
    }

    @Test func zeroIsUnlimitedAndNilIsTheDefault() throws {
        let none = Timeouts(connect: Timeouts.unlimited, idle: Timeouts.unlimited, total: Timeouts.unlimited)
        #expect(try task(none).timeouts == Timeouts())
        #expect(try task(none).limits.idle == nil && (try task(none).limits.total) == nil)
        #expect(
            try task(Timeouts()).timeouts == Timeouts(connect: .seconds(5), idle: .seconds(30), total: .seconds(300)))
        #expect(try task(Timeouts(), none).timeouts == Timeouts())
        #expect(try task(none, Timeouts(idle: .seconds(1))).timeouts == Timeouts(idle: .seconds(1)))
        #expect(
            try task(Timeouts(total: .seconds(9)), Timeouts(connect: .zero)).timeouts
                == Timeouts(idle: .seconds(30), total: .seconds(9)))
    }

    @Test func moreThanACenturyIsUnlimited() throws {
        #expect(try task(Timeouts(total: .seconds(Int64.max))).timeouts.total == nil)
        #expect(try task(Timeouts(total: .seconds(3_153_600_000))).timeouts.total == .seconds(3_153_600_000))
    }

    @Test func negativeTimeoutIsRejected() throws {
        for (clients, calls) in [
            (Timeouts(idle: .seconds(-1)), Timeouts()), (Timeouts(), Timeouts(idle: .seconds(-1))),
        ] {
            let error = #expect(throws: NightjarError.self) { try task(clients, calls) }
            #expect(error?.kind == .invalidArgument)
            #expect(error?.message == "timeout.idle must be between 0 and 3153600000 seconds, got -1")
        }
    }
}
