import NIOCore

/// `/ws/count`: sends `n` text messages `{"n":1,"pad":"xxx"}`, then closes. Received messages are discarded.
///
/// - `n`: the number of messages. The default is 10.
/// - `interval`: the seconds between two messages. The default is 0.01.
/// - `size`: the length of `pad` in bytes. The default is 16.
/// - `close`: the code of the Close frame. The default is 1000. 0 closes the TCP connection without a Close frame.
final class CountEndpoint: WebSocketEndpoint {
    private let count: Int
    private let interval: TimeAmount
    private let padding: String
    private let code: Int
    private var sent = 0
    /// True until the time of the next message.
    private var isWaiting = false

    init(_ request: Request) throws(Problem) {
        count = try request.query("n", in: 0...1_000_000_000, or: 10)
        interval = try request.queryDuration("interval", atMost: 60, or: 0.01)
        padding = String(repeating: "x", count: try request.query("size", in: 0...(16 << 20), or: 16))
        code = try request.query("close", in: 0...65_535, or: 1000)
    }

    var isPacedByOutput: Bool { false }

    func opened(_ session: WebSocketSession) { advance(session) }

    func becameWritable(_ session: WebSocketSession) { advance(session) }

    private func advance(_ session: WebSocketSession) {
        while !isWaiting, session.isWritable {
            guard sent < count else {
                session.end(code: code)
                return
            }
            sent += 1
            session.send("{\"n\":\(sent),\"pad\":\"\(padding)\"}")
            guard interval > .zero, sent < count else { continue }
            isWaiting = true
            session.after(interval) { [self, session] in
                isWaiting = false
                advance(session)
            }
        }
    }
}

/// `/ws/pings`: sends `n` Pings as fast as the client reads them, and the number of received Pongs as text after the
/// Pong of the last Ping. Messages are sent back. The default is 1000.
///
/// A client may omit Pongs of older Pings (RFC 6455 section 5.5.3).
final class PingEndpoint: WebSocketEndpoint {
    private let count: Int
    private var sent = 0
    private var pongs = 0

    init(_ request: Request) throws(Problem) {
        count = try request.query("n", in: 0...1_000_000_000, or: 1000)
    }

    var isPacedByOutput: Bool { sent == count }

    func opened(_ session: WebSocketSession) {
        advance(session)
        if count == 0 { session.send("0") }
    }

    func becameWritable(_ session: WebSocketSession) { advance(session) }

    func received(_ message: WebSocketMessage, _ session: WebSocketSession) { session.send(message) }

    func receivedPong(_ payload: ByteBuffer, _ session: WebSocketSession) {
        pongs += 1
        if sent == count, payload == PingEndpoint.payload(count) { session.send("\(pongs)") }
    }

    private func advance(_ session: WebSocketSession) {
        while sent < count, session.isWritable {
            sent += 1
            session.write(.ping, PingEndpoint.payload(sent))
        }
    }

    /// The payload of the Ping with this number, from 1.
    private static func payload(_ number: Int) -> ByteBuffer { ByteBuffer(string: String(number)) }
}
