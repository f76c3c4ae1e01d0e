import NIOCore
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

/// A read that follows a write of the same client does not join an earlier read.
@Suite(.timeLimit(.minutes(1))) struct CoalesceAfterWriteTests {
    private func site() throws -> ManualSite { try ManualSite { $0.coalesces = true } }

    private func write(_ site: ManualSite, _ status: Int = 204, target: String = "/a") async throws {
        let started = site.transport.log.withLock { $0.started }
        try site.start("write", Request(.put, target))
        try await site.started(started + [target])
        site.transport.respond(target, status)
        _ = try await site.result("write")
    }

    @Test(arguments: [204, 500]) func readDoesNotJoinOneFromBeforeAWrite(status: Int) async throws {
        let site = try site()
        try site.start("before", Request(.get, "/a"))
        try await site.started(["/a"])
        // The transport responds to the oldest exchange of a target first.
        try await write(site, status, target: "/a/name")
        try site.start("after", Request(.get, "/a"))
        try await site.started(["/a", "/a/name", "/a"])
        site.transport.respond("/a", body: "old")
        site.transport.respond("/a", body: "new")
        #expect(try await site.result("before").get().text == "old")
        #expect(try await site.result("after").get().text == "new")
    }

    /// Once a caller has received the head of its write's response, its reads must return the written state.
    @Test func readAfterTheHeadOfAWriteDoesNotJoinAnEarlierOne() async throws {
        let site = try site()
        try site.start("before", Request(.get, "/a"))
        try await site.started(["/a"])
        let hasHead = Mutex(false)
        var handlers = TaskHandlers { _, _ in }
        handlers.head = { _, _ in hasHead.withLock { $0 = true } }
        handlers.body = { _, _ in }
        let write = try site.api.start(Request(.put, "/b"), on: nil, handlers)
        try await site.started(["/a", "/b"])
        site.transport.respond("/b", body: "begun", isWhole: false)
        try await eventually("the head arrived") { hasHead.withLock { $0 } }
        try site.start("after", Request(.get, "/a"))
        try await site.started(["/a", "/b", "/a"])
        site.transport.respond("/a", body: "old")
        site.transport.respond("/a", body: "new")
        #expect(try await site.result("before").get().text == "old")
        #expect(try await site.result("after").get().text == "new")
        write.cancel()
    }

    @Test func readJoinsOneStartedAfterTheWrite() async throws {
        let site = try site()
        try await write(site)
        try site.start("1", Request(.get, "/a"))
        try await site.started(["/a", "/a"])
        try site.start("2", Request(.get, "/a"))
        #expect(site.api.limitStates().isEmpty)  // runs on the loop after the second call
        site.transport.respond("/a", body: "new")
        #expect(try await site.result("1").get().text == "new")
        #expect(try await site.result("2").get().source == .coalesced)
        #expect(site.transport.log.withLock { $0.started.count } == 2)
    }

    @Test func writeToAnotherOriginDoesNotSeparateReads() async throws {
        let site = try site()
        try site.start("1", Request(.get, "/a"))
        try await site.started(["/a"])
        try site.start("write", Request(.put, "http://other.test/b"))
        try await site.started(["/a", "/b"])
        site.transport.respond("/b", 204)
        _ = try await site.result("write")
        try site.start("2", Request(.get, "/a"))
        #expect(site.api.limitStates().isEmpty)
        site.transport.respond("/a", body: "it")
        #expect(try await site.result("2").get().text == "it")
        #expect(site.transport.log.withLock { $0.started } == ["/a", "/b"])
    }
}
