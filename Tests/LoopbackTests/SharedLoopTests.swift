import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

/// Clients that share an event loop.
@Suite struct SharedLoopTests {
    private func clients(_ count: Int, of peer: ScriptedPeer, loop name: String?) throws -> [Client] {
        try (0..<count).map { _ in try client(of: peer) { $0.sharedLoop = name } }
    }

    private func respondingPeer() throws -> ScriptedPeer {
        try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "ok")])]], repeatsLast: true)
    }

    @Test func clientsOfOneNameUseOneLoop() throws {
        let peer = try respondingPeer()
        let shared = try clients(20, of: peer, loop: "one")
        let others = try clients(1, of: peer, loop: "other") + clients(2, of: peer, loop: nil)
        let loops = Set((shared + others).map { ObjectIdentifier($0.loop.eventLoop) })
        #expect(Set(shared.map { ObjectIdentifier($0.loop.eventLoop) }).count == 1)
        #expect(loops.count == 4)
        for client in shared { #expect(try client.sendBlocking(Request(.get, "/")).text == "ok") }
        // Clients share no connections.
        #expect(peer.connectionCount == 20)
    }

    @Test func closingOneClientDoesNotAffectTheOthers() throws {
        let peer = try ScriptedPeer(
            [[.expectRequest, .wait(.milliseconds(100)), .respond(body: "late")]], repeatsLast: true)
        let clients = try clients(3, of: peer, loop: "close one")
        let queue = CompletionQueue()
        let results = Mutex<[String]>([])
        for (index, client) in clients.enumerated() {
            try client.start(
                Request(.get, "/"), on: queue,
                TaskHandlers { _, result in
                    let text = (try? result.get().text) ?? "failed"
                    results.withLock { $0.append("\(index) \(text)") }
                })
        }
        try eventually("three requests arrived") { peer.requests.count == 3 }
        clients[1].close()
        while results.withLock({ $0.count }) < 3 { queue.poll(timeout: .seconds(1)) }
        #expect(results.withLock { $0.sorted() } == ["0 late", "1 failed", "2 late"])
    }

    @Test func loopStartsAgainAfterItsLastClient() throws {
        let peer = try respondingPeer()
        for _ in 0..<20 {
            let clients = try clients(2, of: peer, loop: "again")
            for client in clients {
                #expect(try client.sendBlocking(Request(.get, "/")).text == "ok")
                client.close()
            }
        }
    }

    @Test func clientsJoinAndLeaveOnSeveralThreads() async throws {
        let peer = try respondingPeer()
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    try await onOwnThread {
                        for _ in 0..<50 {
                            let client = try client(of: peer) { $0.sharedLoop = "threads" }
                            #expect(try client.sendBlocking(Request(.get, "/")).text == "ok")
                            client.close()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// A callback on the loop must not block the loop that the other client needs.
    @Test func blockingCallOnTheSharedLoopIsRejected() throws {
        let peer = try respondingPeer()
        let clients = try clients(2, of: peer, loop: "reentrant")
        let kind = Mutex<ErrorKind?>(nil)
        let done = Mutex(false)
        try clients[0].start(
            Request(.get, "/"), on: nil,
            TaskHandlers { [other = clients[1]] _, _ in
                do throws(NightjarError) { _ = try other.sendBlocking(Request(.get, "/")) } catch {
                    kind.withLock { $0 = error.kind }
                }
                done.withLock { $0 = true }
            })
        try eventually("the callback ran") { done.withLock { $0 } }
        #expect(kind.withLock { $0 } == .reentrant)
    }

    /// The lookups of a closed client do not delay the shared threads, and their results are discarded.
    @Test func closedClientLeavesTheSharedThreads() throws {
        let peer = try respondingPeer()
        let first = try client(of: peer) {
            $0.sharedLoop = "lookups"
            $0.baseURL = "http://localhost:\(peer.port)"
        }
        let second = try clients(1, of: peer, loop: "lookups")[0]
        let queue = CompletionQueue()
        let ended = Mutex(0)
        for index in 0..<50 {
            try first.start(
                Request(.get, "http://host\(index).localhost:\(peer.port)/"), on: queue,
                TaskHandlers { _, _ in ended.withLock { $0 += 1 } })
        }
        first.close()
        while ended.withLock({ $0 }) < 50 { queue.poll(timeout: .seconds(1)) }
        #expect(try second.sendBlocking(Request(.get, "/")).text == "ok")
    }

    @Test func emptyNameIsRejected() {
        var configuration = Configuration()
        configuration.sharedLoop = ""
        let error = #expect(throws: NightjarError.self) { try Client(configuration) }
        #expect(error?.description == "invalid_argument: the name of the shared loop is empty")
    }
}
