import NIOCore
import NightjarCoding
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// A frame that the test server sends.
struct ServerFrame: Sendable {
    var opcode: UInt8
    var payload: [UInt8]
    var isFinal = true
    /// RSV1 is 4, RSV2 is 2, RSV3 is 1.
    var reserved: UInt8 = 0
    var isMasked = false
    /// The number of bytes of the length: 0, 2 or 8. Nil selects the minimal number.
    var lengthBytes: Int?
    /// The length in the header. Nil for the size of the payload.
    var length: UInt64?

    var isData: Bool { opcode <= 2 }

    var wire: [UInt8] {
        let length = length ?? UInt64(payload.count)
        let form = lengthBytes ?? (length < 126 ? 0 : length < 65536 ? 2 : 8)
        let mask: UInt8 = isMasked ? 0x80 : 0
        var bytes = [opcode | (isFinal ? 0x80 : 0) | reserved << 4]
        bytes.append(mask | (form == 0 ? UInt8(length) : form == 2 ? 126 : 127))
        for index in (0..<form).reversed() { bytes.append(UInt8(truncatingIfNeeded: length >> UInt64(8 * index))) }
        if isMasked { bytes += [0, 0, 0, 0] }
        return bytes + payload
    }

    static func text(_ payload: Bytes, isFinal: Bool = true, reserved: UInt8 = 0) -> ServerFrame {
        ServerFrame(opcode: 1, payload: payload.array, isFinal: isFinal, reserved: reserved)
    }

    static func binary(_ payload: Bytes, isFinal: Bool = true, reserved: UInt8 = 0) -> ServerFrame {
        ServerFrame(opcode: 2, payload: payload.array, isFinal: isFinal, reserved: reserved)
    }

    static func continuation(_ payload: Bytes, isFinal: Bool = true) -> ServerFrame {
        ServerFrame(opcode: 0, payload: payload.array, isFinal: isFinal)
    }

    static func ping(_ payload: Bytes = "") -> ServerFrame { ServerFrame(opcode: 9, payload: payload.array) }
    static func pong(_ payload: Bytes = "") -> ServerFrame { ServerFrame(opcode: 10, payload: payload.array) }

    static func close(_ code: Int? = 1000, _ reason: Bytes = "") -> ServerFrame {
        let code = code.map { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] } ?? []
        return ServerFrame(opcode: 8, payload: code + reason.array)
    }

    /// Splits a message into frames of at most `size` bytes.
    static func fragments(of opcode: UInt8, _ payload: [UInt8], size: Int) -> [ServerFrame] {
        var frames: [ServerFrame] = []
        for start in stride(from: 0, to: max(payload.count, 1), by: size) {
            let end = min(start + size, payload.count)
            frames.append(
                ServerFrame(
                    opcode: start == 0 ? opcode : 0, payload: Array(payload[start..<end]), isFinal: end == payload.count
                ))
        }
        return frames
    }
}

/// A client that records everything that a connection does: received events, sent frames, and the end.
///
/// The client writes after each event, so the record does not depend on how the bytes of the server are split.
final class WebSocketConversation {
    var connection: WebSocketConnection
    var now: UInt64 = 0
    /// True to send each received message back.
    var echoes = false
    private(set) var log: [String] = []
    private(set) var messages: [WebSocketMessage] = []
    private(set) var closure: WebSocketClosure?
    private(set) var sentFrames: [ServerFrame] = []

    private var masks = SeededRandom(seed: 7)
    /// Decompresses the messages of the client.
    private let peer: MessageDeflate?
    private var sent = ByteBuffer()
    private var sentMessage: (opcode: UInt8, isCompressed: Bool, payload: [UInt8])?

    init(
        _ settings: WebSocketConnectionSettings = WebSocketConnectionSettings(),
        deflate: WebSocketDeflate.Agreement? = nil
    ) {
        connection = WebSocketConnection(settings, now: 0)
        peer = deflate.map { MessageDeflate($0.swapped) }
        connection.opened(deflate.map { MessageDeflate($0) }, now: 0)
    }

    /// The description of a payload in the log.
    static func shown(_ payload: some Collection<UInt8>) -> String {
        guard payload.count > 64 else { return Bytes(payload).description }
        return "\(payload.count) bytes \(Array(payload).hashValue)"
    }

    func receive(_ frames: ServerFrame...) { receive(frames.flatMap(\.wire)) }

    func receive(_ bytes: [UInt8]) {
        connection.received(ByteBuffer(bytes: bytes), now: now)
        drain()
    }

    func endOfStream() {
        connection.endOfStream(now: now)
        drain()
    }

    /// Advances the clock to the deadline of the connection.
    func reachDeadline() throws {
        now = try #require(deadline)
        connection.reached(now)
        drain()
    }

    // MARK: The client

    var deadline: UInt64? { connection.deadline }
    var queuedBytes: Int { connection.queuedBytes }
    var hasOutput: Bool { connection.hasOutput }
    var isOpen: Bool { connection.isOpen }

    func send(_ message: WebSocketMessage) throws(NightjarError) -> Bool { try connection.send(message) }

    func ping(_ payload: ByteBuffer = ByteBuffer()) throws(NightjarError) -> Bool { try connection.ping(payload) }

    func close(code: WebSocketCloseCode? = .normal, reason: String = "") throws(NightjarError) {
        try connection.close(code: code, reason: reason, now: now)
    }

    func takeUnsent() -> [WebSocketMessage] { connection.takeUnsent() }

    // MARK: The server

    /// Returns the log since the last call.
    func takeLog() -> [String] {
        defer { log = [] }
        return log
    }

    func drain() {
        flushAll()
        while let event = connection.next() {
            switch event {
            case .message(let message): note(message)
            case .ping(let payload): log.append("ping \(Self.shown(payload.readableBytesView))")
            case .pong(let payload): log.append("pong \(Self.shown(payload.readableBytesView))")
            case .closed(let closure):
                self.closure = closure
                log.append("closed \(closure.code)\(closure.isClean ? " clean" : "")")
            case .closeTransport: log.append("close transport")
            }
            flushAll()
        }
    }

    private func note(_ message: WebSocketMessage) {
        messages.append(message)
        let part =
            message.startsMessage && message.endsMessage
            ? "" : message.startsMessage ? " begin" : message.endsMessage ? " end" : " middle"
        log.append("\(message.kind)\(part) \(Self.shown(message.payload.readableBytesView))")
        guard echoes else { return }
        do throws(NightjarError) {
            if !(try connection.send(message)) { log.append("queue is full") }
        } catch {
            log.append("not sent: \(error.kind.name)")
        }
    }

    private func flushAll() {
        while connection.hasOutput { flush() }
    }

    /// Writes frames once, at most about 64 KiB.
    func flush() {
        connection.write(into: &sent) { UInt32(truncatingIfNeeded: masks.next()) }
        while let frame = readFrame() {
            sentFrames.append(frame)
            noteSent(frame)
        }
    }

    /// Parses a frame of the client.
    private func readFrame() -> ServerFrame? {
        let bytes = Array(sent.readableBytesView)
        guard bytes.count >= 2 else { return nil }
        #expect(bytes[1] & 0x80 != 0, "a frame of the client is not masked")
        let form = bytes[1] & 0x7F == 126 ? 2 : bytes[1] & 0x7F == 127 ? 8 : 0
        var length = Int(bytes[1] & 0x7F)
        if form > 0 { length = bytes[2..<2 + form].reduce(0) { $0 << 8 | Int($1) } }
        let start = 2 + form + 4
        let mask = bytes[(2 + form)..<start].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        // Masking again unmasks. WebSocketFrameTests compares the function with the specification.
        var payload = [UInt8](repeating: 0, count: length)
        bytes[start..<start + length].withUnsafeBytes { masked in
            payload.withUnsafeMutableBytes { WebSocketFrameEncoder.copy(masked, masked: mask, to: $0) }
        }
        sent.moveReaderIndex(forwardBy: start + length)
        var frame = ServerFrame(opcode: bytes[0] & 0x0F, payload: payload, isFinal: bytes[0] & 0x80 != 0)
        frame.reserved = bytes[0] >> 4 & 7
        if sent.readableBytes == 0 { sent.clear() }
        return frame
    }

    private func noteSent(_ frame: ServerFrame) {
        switch frame.opcode {
        case 8:
            guard frame.payload.count >= 2 else { return log.append("sent close") }
            log.append("sent close \(Int(frame.payload[0]) << 8 | Int(frame.payload[1]))")
        case 9: log.append("sent ping \(Self.shown(frame.payload))")
        case 10: log.append("sent pong \(Self.shown(frame.payload))")
        default:
            let isFirst = frame.opcode != 0
            #expect(isFirst == (sentMessage == nil), "a frame of the client is out of order")
            var message = sentMessage ?? (frame.opcode, frame.reserved == 4, [])
            message.payload += frame.payload
            sentMessage = frame.isFinal ? nil : message
            guard frame.isFinal else { return }
            let payload = message.isCompressed ? inflated(message.payload) : message.payload
            log.append("sent \(message.opcode == 1 ? "text" : "binary") \(Self.shown(payload))")
        }
    }

    private func inflated(_ bytes: [UInt8]) -> [UInt8] {
        var input = ByteBuffer(bytes: bytes)
        var output = ByteBuffer()
        do throws(NightjarError) {
            while !(try peer?.inflate(&input, endsMessage: true, into: &output, maximum: 1000) ?? true) {}
        } catch {
            Issue.record("the message of the client is invalid: \(error)")
        }
        return Array(output.readableBytesView)
    }
}

extension WebSocketDeflate.Agreement {
    /// The parameters from the view of the server.
    var swapped: WebSocketDeflate.Agreement {
        WebSocketDeflate.Agreement(
            serverWindowBits: clientWindowBits, clientWindowBits: serverWindowBits,
            serverResetsContext: clientResetsContext, clientResetsContext: serverResetsContext)
    }
}
