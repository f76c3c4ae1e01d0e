import NIOCore
import Nightjar
import NightjarDemo
import NightjarTestSupport
import Testing

@Suite struct WebSocketTests {
    private let server = DemoServer()
    private let port: Int
    private let client: Client

    init() throws {
        port = try server.start(host: "127.0.0.1", port: 0)
        client = try LoopbackTests.client(port: port)
    }

    private func socket(
        _ target: String, _ configure: (inout WebSocket.Settings) -> Void = { _ in }
    ) throws -> WebSocket {
        var settings = WebSocket.Settings()
        configure(&settings)
        return try client.webSocket(Request(.get, target), settings)
    }

    /// Returns the error that ends the loop over the messages.
    private func failure(_ socket: WebSocket) async -> NightjarError? {
        do throws(NightjarError) {
            for try await _ in socket {}
            return nil
        } catch {
            return error
        }
    }

    /// Returns how often the socket had the state.
    private func count(of state: WebSocket.State, _ socket: WebSocket) -> Int {
        socket.explanation.split(separator: "\n").count { $0.contains(" s: \(state.rawValue): ") }
    }

    @Test func largeMessagesArriveInPieces() async throws {
        let socket = try socket("/ws/echo") {
            $0.deliversPieces = true
            $0.compresses = false
        }
        let text = "a" + String(repeating: "\u{20AC}", count: 200_000)
        try await socket.send(text)
        try await socket.send("end")
        var (whole, count) = ("", 0)
        for try await piece in socket.pieces {
            guard case .text(let part) = piece.content else { continue }
            if part == "end" { break }
            #expect(part.utf8.count <= 65_536)
            whole += part
            count += 1
            #expect(piece.isFirst == (count == 1))
            #expect(piece.isLast == (whole.utf8.count == text.utf8.count))
        }
        #expect(whole == text)
        #expect(count >= 10)
    }

    @Test func aWholeMessageIsOnePiece() async throws {
        let socket = try socket("/ws/echo")
        try await socket.send(.binary(ByteBuffer(repeating: 7, count: 200_000)))
        var pieces = socket.pieces.makeAsyncIterator()
        let piece = try await pieces.next()
        #expect(piece?.content == .binary(ByteBuffer(repeating: 7, count: 200_000)))
        #expect(piece?.isFirst == true)
        #expect(piece?.isLast == true)
    }

    /// The connection ends in the middle of the message. The next connection begins another message.
    @Test func aFirstPieceFollowsAnIncompleteMessage() async throws {
        let socket = try socket("/ws/violation/half-frame") {
            $0.deliversPieces = true
            $0.reconnects = true
        }
        var pieces = socket.pieces.makeAsyncIterator()
        for _ in 0..<2 {
            let piece = try await pieces.next()
            #expect(piece?.content == .text("half"))
            #expect(piece?.isFirst == true && piece?.isLast == false)
        }
    }

    @Test func messagesAreEchoed() async throws {
        let socket = try socket("/ws/echo?headers=1") { $0.protocols = ["v9", "v2"] }
        try await socket.send("grüß")
        try await socket.send(.binary(ByteBuffer(bytes: [0, 255])))
        var messages = socket.makeAsyncIterator()
        guard case .text(let headers)? = try await messages.next() else {
            Issue.record("no headers")
            return
        }
        // RFC 8441 section 5: HTTP/2 has the pseudo-header field :protocol instead.
        #expect(headers.contains(#""upgrade":"websocket""#) != TestHTTP.isHTTP2)
        #expect(headers.contains(#""connection":"Upgrade""#) != TestHTTP.isHTTP2)
        #expect(headers.contains(#""sec-websocket-protocol":"v9, v2""#))
        #expect(try await messages.next() == .text("grüß"))
        #expect(try await messages.next() == .binary(ByteBuffer(bytes: [0, 255])))
        #expect(socket.state == .open)
        #expect(socket.subprotocol == "v2")
        #expect(socket.response?.headers["Sec-WebSocket-Protocol"] == "v2")
        #expect(try await socket.ping() > .zero)
        try await socket.close(code: 4000, reason: "bye")
        #expect(try await messages.next() == nil)
        #expect(socket.state == .closed)
        #expect(socket.closeCode == 4000)
    }

    @Test(arguments: [true, false]) func largeMessagesKeepTheirContent(isCompressed: Bool) async throws {
        let socket = try socket("/ws/echo") { $0.compresses = isCompressed }
        var messages = socket.makeAsyncIterator()
        for size in [0, 1, 125, 126, 65535, 65536, 3 << 20] {
            let text =
                String(repeating: "0123456789abcde\n", count: size / 16)
                + String(repeating: "x", count: size % 16)
            try await socket.send(text)
            #expect(try await messages.next() == .text(text))
        }
        try await socket.close()
    }

    @Test func slowReaderStopsTheServer() async throws {
        let socket = try socket("/ws/count?n=2000&interval=0&size=4096")
        var messages = socket.makeAsyncIterator()
        _ = try await messages.next()
        try await Task.sleep(for: .milliseconds(300))
        var count = 1
        while try await messages.next() != nil { count += 1 }
        #expect(count == 2000)
        #expect(socket.closeCode == 1000)
    }

    @Test func sendWaitsWhileTheServerDoesNotRead() async throws {
        let socket = try socket("/ws/slow?seconds=1") {
            $0.maximumQueued = 64 * 1024
            $0.compresses = false
        }
        let payload = ByteBuffer(repeating: 7, count: 1 << 20)
        // The server does not read while its messages are not read, so both directions are served at once.
        let sender = Task { for _ in 0..<16 { try await socket.send(.binary(payload)) } }
        var messages = socket.makeAsyncIterator()
        for _ in 0..<16 { #expect(try await messages.next() == .binary(payload)) }
        try await sender.value
        try await socket.close()
    }

    @Test(arguments: [1000, 1001, 1005]) func normalCloseEndsTheLoop(code: Int) async throws {
        let socket = try socket("/ws/drop?after=0&code=\(code)&reason=\(code == 1005 ? "" : "done")")
        #expect(await failure(socket) == nil)
        #expect(socket.closeCode == code)
        #expect(socket.closeReason == (code == 1005 ? "" : "done"))
    }

    @Test func otherCodesAreErrors() async throws {
        let socket = try socket("/ws/drop?after=0&code=4401&reason=token+expired")
        let error = await failure(socket)
        #expect(error?.kind == .connectionLost)
        #expect(error?.message == "the server closed the WebSocket with 4401: token expired")
    }

    @Test func lossWithoutCloseFrameIsAnError() async throws {
        let socket = try socket("/ws/drop?after=0")
        let error = await failure(socket)
        #expect(error?.kind == .connectionLost)
        #expect(socket.closeCode == 1006)
    }

    @Test func lostConnectionIsOpenedAgain() async throws {
        let socket = try socket("/ws/drop?after=2") { $0.reconnects = true }
        var messages = socket.makeAsyncIterator()
        for number in 0..<10 {
            try await socket.send("\(number)")
            #expect(try await messages.next() == .text("\(number)"))
            let losses = (number + 1) / 2
            try await eventually("the loss is noticed", within: .seconds(60)) {
                count(of: .waiting, socket) == losses
            }
        }
        try await socket.close()
        #expect(try await messages.next() == nil)
        #expect(count(of: .open, socket) == 5 || count(of: .open, socket) == 6)
    }

    @Test func codesThatAreNotListedEndTheSocket() async throws {
        let socket = try socket("/ws/drop?after=0&code=1011") {
            $0.reconnects = true
            $0.reconnectCodes = [1006]
        }
        #expect(await failure(socket)?.message.hasPrefix("the server closed the WebSocket with 1011") == true)
    }

    @Test func attemptsAreLimited() async throws {
        let socket = try socket("/ws/drop?after=0&code=1012") {
            $0.reconnects = true
            $0.reconnectAttempts = 2
        }
        #expect(await failure(socket)?.kind == .connectionLost)
        #expect(count(of: .open, socket) == 3)
    }

    @Test func serverWithoutPongIsLost() async throws {
        let socket = try socket("/ws/silent") {
            $0.pingInterval = .milliseconds(100)
            $0.pongTimeout = .milliseconds(100)
        }
        let error = await failure(socket)
        #expect(error?.kind == .timeout)
        #expect(error?.message.contains("after a Ping") == true)
    }

    @Test func serverThatIgnoresCloseIsLeft() async throws {
        let socket = try socket("/ws/silent") {
            $0.closeTimeout = .milliseconds(100)
            // Without a Pong, the connection would be lost while this test waits for its turn.
            $0.pingInterval = .zero
        }
        try await eventually("it is open", within: .seconds(60)) { socket.state == .open }
        try await socket.close()
        #expect(socket.state == .closed)
        #expect(socket.closeCode == 1006)
    }

    @Test func cancelledTaskClosesTheSocket() async throws {
        let socket = try socket("/ws/echo")
        let task = Task { for try await _ in socket {} }
        try await eventually("it is open", within: .seconds(60)) { socket.state == .open }
        task.cancel()
        let error = await #expect(throws: NightjarError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
        #expect(socket.state == .closed)
        await #expect(throws: NightjarError.self) { try await socket.send("x") }
    }

    @Test func eachPingOfAFloodHasItsPong() async throws {
        let socket = try socket("/ws/pings?n=1000")
        try await socket.send("x")
        var messages = socket.makeAsyncIterator()
        // The server sends the number of Pongs before or after it returns the message.
        let both = [try await messages.next(), try await messages.next()]
        #expect(both.contains(.text("x")))
        try await socket.close()
    }

    @Test(arguments: [
        ("masked", 1002), ("reserved-bit", 1002), ("reserved-opcode", 1002), ("fragmented-ping", 1002),
        ("long-ping", 1002), ("orphan-continuation", 1002), ("interleaved", 1002), ("invalid-utf8", 1007),
        ("truncated-close", 1002), ("close-code-1005", 1002), ("close-code-999", 1002), ("close-invalid-utf8", 1007),
        ("huge-frame", 1009), ("huge-message", 1009), ("bomb", 1009), ("unnegotiated-compression", 1002),
        ("half-frame", 1006), ("reset", 1006),
    ])
    func violationFailsWithItsCode(name: String, code: Int) async throws {
        let socket = try socket("/ws/violation/\(name)")
        let error = await failure(socket)
        let kinds: [Int: NightjarError.Kind] = [1009: .tooLarge, 1006: .connectionLost]
        #expect(error?.kind == kinds[code] ?? .protocol, "\(error?.message ?? "none")")
        #expect(socket.closeCode == code)
    }

    /// The faults of a handshake, and a part of the error. RFC 8441 section 5: HTTP/2 does not use Upgrade, Connection and
    /// Sec-WebSocket-Accept, and 200 accepts the handshake.
    private static let handshakeFaults =
        [("unknown-extension", "extension"), ("unknown-protocol", "subprotocol")]
        + (TestHTTP.isHTTP2
            ? []
            : [
                ("no-accept", "Sec-WebSocket-Accept"), ("wrong-accept", "Sec-WebSocket-Accept"),
                ("no-upgrade", "Upgrade"), ("no-connection", "Connection"), ("status-200", "responded 200"),
            ])

    @Test(arguments: handshakeFaults)
    func invalidHandshakeIsRejected(name: String, reason: String) async throws {
        let error = await failure(try socket("/ws/handshake/\(name)"))
        #expect(error?.kind == .protocol)
        #expect(error?.message.hasPrefix("the WebSocket handshake failed: ") == true)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "none")")
    }

    @Test func statusOfARejectedHandshakeIsItsError() async throws {
        let error = await failure(try socket("/ws/handshake/status-403"))
        #expect(error?.kind == .forbidden)
        #expect(error?.status == 403)
    }

    @Test func redirectOfAHandshakeIsFollowed() async throws {
        let socket = try socket("/ws/handshake/redirect")
        try await socket.send("x")
        var messages = socket.makeAsyncIterator()
        #expect(try await messages.next() == .text("x"))
        try await socket.close()
    }

    @Test func dataWithTheHandshakeIsDelivered() async throws {
        let socket = try socket("/ws/handshake/extra-data")
        var messages = socket.makeAsyncIterator()
        #expect(try await messages.next() != nil)
        try await socket.close()
    }

    @Test func connectionsOfSocketsDoNotCountForTheLimit() async throws {
        let client = try LoopbackTests.client(port: port) { $0.transport.connectionsPerHost = 2 }
        var sockets: [WebSocket] = []
        for _ in 0..<20 { sockets.append(try client.webSocket(Request(.get, "/ws/echo"))) }
        for socket in sockets {
            try await socket.send("x")
            var messages = socket.makeAsyncIterator()
            #expect(try await messages.next() == .text("x"))
        }
        #expect(try client.sendBlocking(Request(.get, "/ws/violation")).status == 200)
        for socket in sockets { try await socket.close() }
    }

    @Test func closedClientEndsTheSocket() async throws {
        let client = try LoopbackTests.client(port: port)
        let socket = try client.webSocket(Request(.get, "/ws/echo"))
        try await eventually("it is open", within: .seconds(60)) { socket.state == .open }
        client.close()
        #expect(await failure(socket)?.kind == .cancelled)
    }

    @Test func invalidArgumentsAreRejected() async throws {
        var post = Request(.post, "/ws/echo")
        #expect(throws: NightjarError.self) { try client.webSocket(post) }
        post.method = .get
        post.body = .bytes(ByteBuffer(string: "x"))
        #expect(throws: NightjarError.self) { try client.webSocket(post) }
        #expect(throws: NightjarError.self) { try socket("/ws/echo") { $0.protocols = ["a b"] } }
        #expect(throws: NightjarError.self) { try socket("/ws/echo") { $0.maximumMessage = 0 } }
        let open = try socket("/ws/echo")
        await #expect(throws: NightjarError.self) { try await open.close(code: 1005) }
        await #expect(throws: NightjarError.self) {
            try await open.close(reason: String(repeating: "x", count: 124))
        }
    }
}
