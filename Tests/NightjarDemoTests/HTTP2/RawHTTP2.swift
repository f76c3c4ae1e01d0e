import NightjarTestSupport

/// An HTTP/2 client on a plain socket, independent of the client library and of the server's implementation. It sends any
/// frames. Its field blocks have no Huffman coding and no dynamic table.
final class RawHTTP2 {
    enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let ping: UInt8 = 6
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
    }

    static let endStream: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let acknowledged: UInt8 = 1

    struct Frame: Equatable {
        let kind: UInt8
        let flags: UInt8
        let stream: Int
        let payload: [UInt8]

        var endsStream: Bool { (kind == Kind.data || kind == Kind.headers) && flags & RawHTTP2.endStream > 0 }

        var text: String { String(decoding: payload, as: UTF8.self) }

        /// Returns the number in four bytes of the payload.
        func number(at index: Int) -> Int { payload[index..<index + 4].reduce(0) { $0 << 8 | Int($1) } }

        /// The settings in the payload, by identifier.
        var settings: [Int: Int] {
            let pairs = stride(from: 0, to: payload.count - 5, by: 6).map { index in
                (Int(payload[index]) << 8 | Int(payload[index + 1]), number(at: index + 2))
            }
            return Dictionary(pairs) { $1 }
        }
    }

    let socket: NightjarTestSupport.Socket
    /// The settings that the server sends first.
    let settings: [Int: Int]
    private var received: [UInt8] = []

    /// Sends the connection preface.
    init(_ demo: Demo) throws {
        socket = try demo.connect()
        try socket.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + RawHTTP2.frame(Kind.settings, 0, 0, []))
        var rest: [UInt8] = []
        let first = try RawHTTP2.next(socket, &rest)
        (settings, received) = (first?.settings ?? [:], rest)
        try send(Kind.settings, RawHTTP2.acknowledged, 0)
    }

    static func frame(_ kind: UInt8, _ flags: UInt8, _ stream: Int, _ payload: [UInt8]) -> Bytes {
        Bytes(number(payload.count)[1...] + [kind, flags] + number(stream) + payload)
    }

    private static func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    func send(_ kind: UInt8, _ flags: UInt8, _ stream: Int, _ payload: [UInt8] = []) throws {
        try socket.send(RawHTTP2.frame(kind, flags, stream, payload))
    }

    func send(_ kind: UInt8, _ stream: Int, number: Int) throws { try send(kind, 0, stream, RawHTTP2.number(number)) }

    /// Sends a request. Names and values have at most 126 bytes.
    ///
    /// - Parameter ends: true if the request has no body.
    func request(
        _ stream: Int, _ path: String, method: String = "GET", _ fields: [(String, String)] = [], ends: Bool = true
    ) throws {
        let head = [(":method", method), (":scheme", "http"), (":authority", "x"), (":path", path)]
        var block: [UInt8] = []
        for (name, value) in head + fields {
            block += [0, UInt8(name.utf8.count)] + Array(name.utf8)
            block += [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        try send(Kind.headers, RawHTTP2.endHeaders | (ends ? RawHTTP2.endStream : 0), stream, block)
    }

    /// Receives a frame. Nil if the server has closed the connection.
    func receive() throws -> Frame? { try RawHTTP2.next(socket, &received) }

    /// Receives frames up to the first that satisfies `condition`, which is the last element.
    func receive(until condition: (Frame) -> Bool) throws -> [Frame] {
        var frames: [Frame] = []
        while let frame = try receive() {
            frames.append(frame)
            if condition(frame) { return frames }
        }
        throw ToolFailure(description: "the server closed the connection after \(frames.map(\.kind))")
    }

    /// Receives the first frame of a kind.
    func receive(_ kind: UInt8) throws -> Frame? { try receive { $0.kind == kind }.last }

    /// Receives frames to the end of the connection.
    func receiveToEnd() throws -> [Frame] {
        var frames: [Frame] = []
        while let frame = try receive() { frames.append(frame) }
        return frames
    }

    private static func next(_ socket: NightjarTestSupport.Socket, _ received: inout [UInt8]) throws -> Frame? {
        while received.count < 9 || received.count < 9 + length(received) {
            let bytes = try socket.receive()
            if bytes.isEmpty { return nil }
            received += bytes
        }
        let size = length(received)
        let stream = received[5..<9].reduce(0) { $0 << 8 | Int($1) }
        let frame = Frame(
            kind: received[3], flags: received[4], stream: stream & 0x7FFF_FFFF, payload: Array(received[9..<9 + size]))
        received.removeFirst(9 + size)
        return frame
    }

    private static func length(_ bytes: [UInt8]) -> Int { bytes[..<3].reduce(0) { $0 << 8 | Int($1) } }
}
