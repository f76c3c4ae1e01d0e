import Glibc
import NIOCore
import Nightjar
import NightjarTestSupport
import Testing

/// Windows and the number of concurrent streams. RFC 9113 sections 5.1.2, 5.2 and 6.9.
@Suite struct HTTP2FlowControlTests {
    private func upload(_ target: String, _ count: Int) -> Request {
        var request = Request(.put, target)
        request.body = .bytes(ByteBuffer(repeating: 7, count: count))
        request.expectsContinue = false
        return request
    }

    /// RFC 9113 section 6.9.2: the window of a stream becomes negative. The client sends again when it is positive.
    @Test func loweredInitialWindowMayBecomeNegative() throws {
        let peer = try HTTP2Peer([
            { connection in
                let stream = try connection.request().stream
                var received = 0
                while received < 65_535 { received += try connection.frame(.data).payload.count }
                // The window is 0 and becomes -64535.
                try connection.send(.settings([(.initialWindowSize, 1000)]))
                try connection.send(.windowUpdate(0, 1 << 20), .windowUpdate(stream, 64_535))
                try connection.synchronize()
                let early = try connection.frames(within: .milliseconds(100)).filter {
                    if case .frame(let frame) = $0 { frame.kind == .data } else { false }
                }
                guard early.isEmpty else { throw HTTP2PeerConnection.Failure("DATA beyond the window") }
                try connection.send(.windowUpdate(stream, 10))
                guard try connection.frame(.data).payload.count == 10 else {
                    throw HTTP2PeerConnection.Failure("not the window's 10 bytes")
                }
                try connection.send(.windowUpdate(stream, 1 << 20))
                received += try connection.body(stream).count + 10
                try connection.respond(stream, body: Bytes(Array("\(received)".utf8)))
                try connection.readToEnd()
            }
        ])
        let client = try client(of: peer)
        #expect(try client.sendBlocking(upload("/", 300_000)).text == "300000")
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    /// The window of the connection is used up by one stream. Requests without a body continue.
    @Test func stalledConnectionWindowDelaysOnlyBodies() throws {
        let peer = try HTTP2Peer(
            [
                { connection in
                    let upload = try connection.request().stream
                    var received = 0
                    while received < 65_535 { received += try connection.frame(.data).payload.count }
                    let get = try connection.request()
                    try connection.respond(get.stream, body: "fast")
                    let second = try connection.request()
                    let early = try connection.frames(within: .milliseconds(100)).filter {
                        if case .frame(let frame) = $0 { frame.kind == .data } else { false }
                    }
                    guard early.isEmpty else { throw HTTP2PeerConnection.Failure("DATA beyond the window") }
                    try connection.send(.windowUpdate(0, 1 << 20))
                    received += try connection.body(upload).count
                    try connection.respond(upload, body: Bytes(Array("\(received)".utf8)))
                    let small = try connection.body(second.stream).count
                    try connection.respond(second.stream, body: Bytes(Array("\(small)".utf8)))
                    try connection.readToEnd()
                }
            ], settings: [(.initialWindowSize, 1 << 20)])
        let client = try client(of: peer)
        let calls = Calls(client)
        try calls.start(upload("/large", 200_000))
        try calls.start("/get")
        #expect(try calls.response("/get").text == "fast")
        try calls.start(upload("/small", 5))
        #expect(try calls.response("/large").text == "200000")
        #expect(try calls.response("/small").text == "5")
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    /// The idle timeout of a stalled upload expires although another stream of the connection sends.
    @Test func stalledStreamTimesOutWhileAnotherSends() throws {
        let peer = try HTTP2Peer([
            { (connection: HTTP2PeerConnection) throws in
                let stalled = try connection.request().stream
                var received = 0
                while received < 65_535 { received += try connection.frame(.data).payload.count }
                let active = try connection.request().stream
                try connection.send(.windowUpdate(0, 1 << 30), .windowUpdate(active, 1 << 30))
                var count = 0
                while true {
                    let frame = try connection.frame(.data, stream: active)
                    count += frame.payload.count
                    if frame.flags.contains(.endStream) { break }
                    // Reads slowly, so that data is always in flight.
                    usleep(2000)
                }
                _ = try connection.frame(.reset, stream: stalled)
                try connection.respond(active, body: Bytes(Array("\(count)".utf8)))
                try connection.readToEnd()
            }
        ])
        let client = try client(of: peer) { $0.timeouts = .long }
        let calls = Calls(client)
        var stalled = upload("/stalled", 200_000)
        stalled.timeouts = Timeouts(connect: .seconds(10), idle: .milliseconds(500), total: Timeouts.unlimited)
        try calls.start(stalled)
        let size = 12 << 20
        try calls.start(upload("/active", size))
        let error = try calls.error("/stalled")
        #expect(error.kind == .timeout && error.phase == .idle)
        #expect(!calls.hasEnded("/active"))
        #expect(try calls.response("/active").text == "\(size)")
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    /// The server lowers the limit to 1 and to 0, and raises it again. Calls wait, and use the same connection.
    @Test func limitOfConcurrentStreamsMayChange() throws {
        let isLowered = Latch()
        let peer = try HTTP2Peer(
            [
                { connection in
                    let first = try (0..<2).map { _ in try connection.request() }
                    try connection.send(.settings([(.maximumConcurrentStreams, 1)]))
                    try connection.synchronize()
                    isLowered.open()
                    for request in first { try connection.respond(request.stream, body: "first") }
                    // One stream at a time.
                    let single = try connection.request()
                    try Self.expectNoRequest(connection)
                    try connection.send(.settings([(.maximumConcurrentStreams, 0)]))
                    try connection.synchronize()
                    try connection.respond(single.stream, body: "single")
                    try Self.expectNoRequest(connection)
                    try connection.send(.settings([(.maximumConcurrentStreams, 10)]))
                    for request in try (0..<3).map({ _ in try connection.request() }) {
                        try connection.respond(request.stream, body: "many")
                    }
                    try connection.readToEnd()
                }
            ], settings: [(.maximumConcurrentStreams, 100)])
        // The calls could otherwise use further connections.
        let client = try client(of: peer) { $0.transport.connectionsPerHost = 1 }
        let calls = Calls(client)
        for index in 0..<2 { try calls.start("/first/\(index)") }
        try isLowered.wait(within: .seconds(10))
        for index in 0..<4 { try calls.start("/later/\(index)") }
        for index in 0..<2 { #expect(try calls.response("/first/\(index)").text == "first") }
        let texts = try (0..<4).map { try calls.response("/later/\($0)").text }
        #expect(texts.sorted() == ["many", "many", "many", "single"])
        #expect(peer.connectionCount == 1)
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    private static func expectNoRequest(_ connection: HTTP2PeerConnection) throws {
        for event in try connection.frames(within: .milliseconds(100)) {
            if case .fields = event { throw HTTP2PeerConnection.Failure("a stream beyond the limit") }
        }
    }
}
