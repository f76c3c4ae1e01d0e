import NIOCore
import NightjarCoding
import NightjarHTTP

/// Fuzzes WebSocket connections with the bytes of a server, whole, split and byte by byte. Aborts if one of these
/// invariants is violated:
///
/// - The connection never crashes and never accesses memory outside its buffers (checked by AddressSanitizer).
/// - The events do not depend on how the input is split, and whole messages equal the sums of their pieces.
/// - Messages do not exceed the limit, pieces have at most 64 KiB, and texts are UTF-8.
/// - The end is reported once, and then the end of the transport once. A violation has one of the codes 1002, 1007,
///   1009, and the client sends one Close frame and nothing after it.
/// - Sent frames are masked and have valid headers, and the client's compressed messages can be decompressed.
/// - The parsers of the handshake never crash.
///
/// The first three bytes of the input are settings: the extension and its parameters, and the positions to split at.
func fuzzWebSocket(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 3 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let wire = Array(input[3...])
    let deflate = agreement(input[0])
    let whole = Client(deflate, deliversPieces: false)
    whole.run(wire, cutAt: [])
    let cuts = [Int(input[1]), Int(input[1]) + Int(input[2])].filter { $0 < wire.count }
    for cut in [Array(wire.indices.dropFirst()), cuts] {
        let split = Client(deflate, deliversPieces: false)
        split.run(wire, cutAt: cut)
        require(split.events == whole.events, "the events depend on the split: \(whole.events) \(split.events)")
        let pieces = Client(deflate, deliversPieces: true)
        pieces.run(wire, cutAt: cut)
        require(pieces.events == whole.events, "pieces differ: \(whole.events) \(pieces.events)")
    }
    checkHandshake(wire)
    return 0
}

private func agreement(_ setting: UInt8) -> WebSocketDeflate.Agreement? {
    guard setting & 1 == 1 else { return nil }
    return WebSocketDeflate.Agreement(
        serverWindowBits: 8 + Int(setting >> 1 & 7), clientWindowBits: 8 + Int(setting >> 4 & 7),
        serverResetsContext: setting & 0x80 != 0, clientResetsContext: setting & 0x80 != 0)
}

/// A client that sends each message back.
private final class Client {
    private static let limit = 100_000

    private var connection: WebSocketConnection
    private let peer: MessageDeflate?
    private let deliversPieces: Bool
    private(set) var events: [String] = []
    private var partial: [UInt8] = []
    private var output = ByteBuffer()
    private var sentMessage: (isCompressed: Bool, payload: [UInt8])?
    private var closesSent = 0
    private var isClosed = false
    private var isTransportClosed = false

    init(_ deflate: WebSocketDeflate.Agreement?, deliversPieces: Bool) {
        var settings = WebSocketConnectionSettings()
        settings.maximumMessage = Client.limit
        settings.deliversPieces = deliversPieces
        settings.maximumFrame = 1000
        settings.smallestCompressed = 1
        settings.maximumQueued = .max
        self.deliversPieces = deliversPieces
        connection = WebSocketConnection(settings, now: 0)
        peer = deflate.map {
            MessageDeflate(
                WebSocketDeflate.Agreement(
                    serverWindowBits: $0.clientWindowBits, clientWindowBits: $0.serverWindowBits,
                    serverResetsContext: $0.clientResetsContext, clientResetsContext: $0.serverResetsContext))
        }
        connection.opened(deflate.map { MessageDeflate($0, level: 1) }, now: 0)
    }

    func run(_ wire: [UInt8], cutAt cuts: [Int]) {
        for (start, end) in zip([0] + cuts, cuts + [wire.count]) {
            connection.received(ByteBuffer(bytes: wire[start..<end]), now: 1)
            drain()
        }
        connection.endOfStream(now: 2)
        drain()
        require(isClosed && isTransportClosed, "the end is not reported")
        require(connection.deadline == nil && connection.next() == nil, "it continues after the end")
        // A message of which only pieces were received is not comparable.
        partial = []
    }

    private func drain() {
        while let event = connection.next() {
            switch event {
            case .message(let message): note(message)
            case .ping(let payload): events.append("ping \(Array(payload.readableBytesView))")
            case .pong(let payload): events.append("pong \(Array(payload.readableBytesView))")
            case .closed(let closure):
                require(!isClosed, "the end is reported twice")
                isClosed = true
                events.append("closed \(closure.code) \(closure.isClean)")
                let isViolation = closure.error != nil && closure.code != .abnormal
                require(!isViolation || [1002, 1007, 1009].contains(closure.code.rawValue), "code \(closure.code)")
                require(closure.isClean == (closure.error == nil), "a clean end has an error")
            case .closeTransport:
                require(isClosed && !isTransportClosed, "the transport is closed too early or twice")
                isTransportClosed = true
            }
            flush()
        }
    }

    private func note(_ message: WebSocketMessage) {
        require(!isClosed, "a message after the end")
        require(message.startsMessage == partial.isEmpty || deliversPieces, "a message is not whole")
        require(!deliversPieces || message.payload.readableBytes <= 65536, "a piece is too large")
        require(
            !deliversPieces || message.kind == .binary
                || String(validating: message.payload.readableBytesView, as: UTF8.self) != nil,
            "a piece of a text is not UTF-8")
        partial += message.payload.readableBytesView
        require(partial.count <= Client.limit, "a message is too large")
        do throws(NightjarError) {
            require(try connection.send(message), "the queue is full")
        } catch {
            require(false, "a received message cannot be sent: \(error)")
        }
        guard message.endsMessage else { return }
        require(message.kind == .binary || String(validating: partial, as: UTF8.self) != nil, "a text is not UTF-8")
        events.append("\(message.kind) \(partial.hashValue)")
        partial = []
    }

    // MARK: Sent frames

    private func flush() {
        var mask: UInt32 = 0x9E37_79B9
        connection.write(into: &output) {
            mask = mask &* 1_664_525 &+ 1_013_904_223
            return mask
        }
        while output.readableBytes > 0 { readFrame() }
    }

    private func readFrame() {
        require(closesSent == 0, "a frame after the Close frame")
        guard let first = output.readInteger(as: UInt8.self), let second = output.readInteger(as: UInt8.self) else {
            return require(false, "a short header")
        }
        require(second & 0x80 != 0, "a frame is not masked")
        var length = Int(second & 0x7F)
        if length == 126 { length = Int(output.readInteger(as: UInt16.self) ?? 0) }
        require(length <= 1000, "a frame of \(length) bytes")
        guard let mask = output.readBytes(length: 4), let masked = output.readBytes(length: length) else {
            return require(false, "a short frame")
        }
        let payload = masked.enumerated().map { $1 ^ mask[$0 % 4] }
        switch first & 0x0F {
        case 8: closesSent += 1
        case 9, 10: require(first & 0xF0 == 0x80 && length <= 125, "an invalid control frame")
        case let opcode:
            require(opcode <= 2 && (opcode == 0) == (sentMessage != nil), "a frame out of order")
            require(first & 0x40 == 0 || opcode != 0 && peer != nil, "RSV1 is invalid")
            var message = sentMessage ?? (first & 0x40 != 0, [])
            message.payload += payload
            sentMessage = first & 0x80 != 0 ? nil : message
            if first & 0x80 != 0, message.isCompressed { inflate(message.payload) }
        }
    }

    private func inflate(_ bytes: [UInt8]) {
        var input = ByteBuffer(bytes: bytes)
        var output = ByteBuffer()
        do throws(NightjarError) {
            while !(try peer?.inflate(&input, endsMessage: true, into: &output, maximum: 65536) ?? true) {}
        } catch {
            require(false, "a sent message cannot be decompressed: \(error)")
        }
    }
}

/// Uses the bytes as fields of a response.
private func checkHandshake(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    guard
        let handshake = try? WebSocketHandshake(protocols: ["v1"], deflate: WebSocketDeflate.Offer())
    else { return require(false, "the handshake cannot be made") }
    _ = try? WebSocketHandshake(protocols: [text])
    let key = WebSocketKey(random: [UInt8](repeating: 1, count: 16))
    let accept = key.accept { _ in [1, 2, 3] }
    for name in ["Upgrade", "Connection", "Sec-WebSocket-Accept", "Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions"]
    {
        var head = ResponseHead(status: 101)
        do throws(NightjarError) {
            for (field, value) in [
                ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept),
            ] where field != name { try head.headers.add(field, value) }
            try head.headers.add(name, text)
        } catch {
            return
        }
        do throws(NightjarError) {
            try key.check(head) { _ in [1, 2, 3] }
            let agreement = try handshake.check(status: head.status, head.headers)
            require(agreement.subprotocol.map { $0 == "v1" } ?? true, "a subprotocol that was not offered")
            if let deflate = agreement.deflate {
                require((8...15).contains(deflate.serverWindowBits), "an invalid window")
                require((8...12).contains(deflate.clientWindowBits), "an invalid window")
            }
        } catch {
            require(error.kind == .protocol && error.message.utf8.count < 1000, "an invalid error: \(error)")
        }
    }
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
