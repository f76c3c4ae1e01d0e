import NIOCore
import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

/// Responses without an owner are returned to the loop that created them, and freed there.
@Suite struct ResponseRecyclerTests {
    private static func response(bytes: Int) throws -> Response {
        let url = try RequestURL(base: "http://api.test/")
        return Response(
            head: ResponseHead(status: 200, reason: "", headers: Headers()),
            body: ByteBuffer(repeating: 1, count: bytes), url: url)
    }

    private struct Witness {
        weak var response: Response?
    }

    @Test func returnedResponseIsFreedByTheLoop() throws {
        var recycler = ResponseRecycler()
        var witnesses: [Witness] = []
        for _ in 0..<3 {
            let response = try ResponseRecyclerTests.response(bytes: 100)
            witnesses.append(Witness(response: response))
            recycler.take(response)
        }
        #expect(witnesses.allSatisfy { $0.response != nil })
        var storage: [Response] = []
        recycler.handOut(&storage)
        #expect(witnesses.contains { $0.response != nil })
        storage.removeAll()
        #expect(witnesses.allSatisfy { $0.response == nil })
    }

    /// An idle client keeps at most 256 KiB, however many responses there were before.
    @Test func responseBeyondTheLimitIsFreedImmediately() throws {
        var recycler = ResponseRecycler()
        var witnesses: [Witness] = []
        func give(_ bytes: Int) throws {
            let response = try ResponseRecyclerTests.response(bytes: bytes)
            witnesses.append(Witness(response: response))
            recycler.take(response)
        }
        try give(1 << 20)
        #expect(witnesses[0].response == nil)
        for _ in 0..<1000 { try give(0) }
        let kept = witnesses.count { $0.response != nil }
        #expect(kept > 100 && kept <= 256)
        var storage: [Response] = []
        recycler.handOut(&storage)
        #expect(witnesses.contains { $0.response != nil })
        storage.removeAll()
        #expect(!witnesses.contains { $0.response != nil })
        try give(0)
        #expect(witnesses.last?.response != nil)
    }

    /// A response that a callback did not keep is returned with the loop's next messages; a kept one belongs to its
    /// holder.
    @Test func retainedResponseIsNotReturned() throws {
        let transport = ScriptedTransport([[.head(200), .end], [.head(200), .end], [.head(200), .end]])
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        let api = try Client(configuration) { _ in transport }
        defer { api.close() }
        let queue = CompletionQueue()
        let seen = Mutex<(witness: Witness, kept: Response?)>((Witness(), nil))
        func call(keeping keeps: Bool) throws {
            let isDone = Atomic(false)
            try api.start(
                Request(.get, "/"), on: queue,
                TaskHandlers { _, result in
                    let response = try? result.get()
                    seen.withLock { $0 = (Witness(response: response), keeps ? response : nil) }
                    isDone.store(true, ordering: .relaxed)
                })
            while !isDone.load(ordering: .relaxed) { queue.poll(timeout: .seconds(5)) }
        }
        try call(keeping: false)
        let witness = seen.withLock { $0.witness }
        #expect(witness.response != nil)
        try call(keeping: true)
        let kept = seen.withLock { $0 }
        try call(keeping: false)
        #expect(witness.response == nil)
        #expect(kept.witness.response === kept.kept && kept.kept != nil)
    }
}
