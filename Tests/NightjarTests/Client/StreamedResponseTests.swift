import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

/// A streamed body is complete, or its reader gets an error.
@Suite(.timeLimit(.minutes(1))) struct StreamedResponseTests {
    /// A response that stalls after 10 of its 50 bytes.
    private let stuck: [ScriptedTransport.Step] = [.head(200, [("Content-Length", "50")]), .body("0123456789")]

    private func cancelled(_ transport: ScriptedTransport) async throws {
        try await eventually("the exchange was cancelled") { transport.log.withLock { $0.cancelled } == 1 }
    }

    /// The body is incomplete, so cancelling the Swift task that reads it throws.
    @Test func cancellingTheReaderThrows() async throws {
        let transport = ScriptedTransport([stuck])
        let api = try client(transport)
        defer { api.close() }
        let response = try await api.stream(Request(.get, "/"))
        let received = Mutex("")
        let reading = Task {
            for try await part in response.body { received.withLock { $0 += String(buffer: part) } }
        }
        try await eventually("the first part was read") { received.withLock { $0 } == "0123456789" }
        reading.cancel()
        let error = await #expect(throws: NightjarError.self) { try await reading.value }
        #expect(error?.kind == .cancelled && error?.url == "http://api.test/v1/")
        try await cancelled(transport)
    }

    /// The reader is cancelled before it begins. The call is in flight, or has ended with unread parts.
    @Test(arguments: [false, true]) func cancelledReaderThrowsImmediately(isWhole: Bool) async throws {
        let transport = ScriptedTransport([stuck + (isWhole ? [.end] : [])])
        let api = try client(transport)
        defer { api.close() }
        let response = try await api.stream(Request(.get, "/"))
        let reading = Task {
            while !Task.isCancelled { await Task.yield() }
            for try await _ in response.body {}
        }
        reading.cancel()
        let error = await #expect(throws: NightjarError.self) { try await reading.value }
        #expect(error?.kind == .cancelled)
    }

    @Test func cancelEndsTheLoop() async throws {
        let transport = ScriptedTransport([stuck])
        let api = try client(transport)
        defer { api.close() }
        let response = try await api.stream(Request(.get, "/"))
        let error = await #expect(throws: NightjarError.self) {
            for try await _ in response.body { response.cancel() }
        }
        #expect(error?.kind == .cancelled)
        try await cancelled(transport)
    }

    @Test func lateCancellationKeepsACompleteBody() async throws {
        let transport = ScriptedTransport([[.head(200), .body("whole"), .end]])
        let api = try client(transport)
        defer { api.close() }
        let response = try await api.stream(Request(.get, "/"))
        let parts = response.body.makeAsyncIterator()
        #expect(try await parts.next().map { String(buffer: $0) } == "whole")
        #expect(try await parts.next() == nil)
        response.cancel()
        #expect(try await parts.next() == nil)
    }

    /// A failure is thrown after the preceding parts, and by every later call.
    @Test func failureIsThrownEachTime() async throws {
        let transport = ScriptedTransport([[.head(200), .body("half"), .fail(.connectionLost)]])
        let api = try client(transport)
        defer { api.close() }
        let parts = try await api.stream(Request(.get, "/")).body.makeAsyncIterator()
        #expect(try await parts.next() != nil)
        for _ in 0..<2 {
            do throws(NightjarError) {
                _ = try await parts.next()
                Issue.record("the body ended")
            } catch {
                // The error is typed, so no cast is needed.
                #expect(error.kind == .connectionLost)
            }
        }
    }

    @Test func secondReaderIsRejected() async throws {
        let api = try client(ScriptedTransport([stuck]))
        defer { api.close() }
        let body = try await api.stream(Request(.get, "/")).body
        let readers = (0..<2).map { _ in Task { for try await _ in body {} } }
        // The second reader is rejected. The end of its loop cancels the call, which ends the first reader.
        let ends = await [readers[0].result, readers[1].result]
        #expect(
            Set(
                ends.map { result in
                    guard case .failure(let error) = result else { return "ended" }
                    return (error as? NightjarError)?.kind.name ?? "?"
                }) == ["reentrant", "cancelled"])
    }

    /// An unread response is cancelled when it is released.
    @Test func droppedResponseReleasesItsExchange() async throws {
        let transport = ScriptedTransport([stuck])
        let api = try client(transport)
        defer { api.close() }
        #expect(try await api.stream(Request(.get, "/")).response.status == 200)
        try await cancelled(transport)
    }

    @Test func bodyRetainsTheCall() async throws {
        let transport = ScriptedTransport([stuck])
        let api = try client(transport)
        defer { api.close() }
        do {
            let body = try await api.stream(Request(.get, "/")).body
            #expect(api.limitStates().isEmpty)  // a cancellation would run on the loop before this call
            #expect(transport.log.withLock { $0.cancelled } == 0)
            withExtendedLifetime(body) {}
        }
        try await cancelled(transport)
    }
}
