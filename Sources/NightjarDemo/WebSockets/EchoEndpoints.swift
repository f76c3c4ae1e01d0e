import NIOCore
import NIOHTTP1

/// The first message of a connection with the parameter `headers=1`: a JSON object with the fields of the request, with
/// names in lower case. The values of a repeated field are joined with commas.
private struct RequestFields {
    let message: JSON?

    init(_ request: Request) throws(Problem) {
        let isSent = try request.query("headers", oneOf: ["0", "1"]) == "1"
        message = isSent ? RequestFields.document(request.head.headers) : nil
    }

    private static func document(_ headers: HTTPHeaders) -> JSON {
        var names: [String] = []
        var values: [String: String] = [:]
        for (name, value) in headers {
            let name = name.lowercased()
            if let previous = values[name] {
                values[name] = "\(previous), \(value)"
            } else {
                names.append(name)
                values[name] = value
            }
        }
        return .object(names.map { JSON.Member(name: $0, value: .optional(values[$0])) })
    }
}

/// `/ws/echo`: sends each message back.
///
/// - `headers`: see ``RequestFields``.
final class EchoEndpoint: WebSocketEndpoint {
    private let greeting: JSON?

    init(_ request: Request) throws(Problem) { greeting = try RequestFields(request).message }

    init() { greeting = nil }

    func opened(_ session: WebSocketSession) {
        if let greeting { session.send(greeting) }
    }

    func received(_ message: WebSocketMessage, _ session: WebSocketSession) { session.send(message) }
}

/// `/ws/drop`: sends messages back, and ends the connection after `after` received messages. The default is 1.
///
/// - `code`: the code of the Close frame. 0, the default, closes the TCP connection without a Close frame. 1005 sends a
///   Close frame without a code.
/// - `reason`: the reason of the Close frame. The default is empty.
/// - `headers`: see ``RequestFields``.
final class DropEndpoint: WebSocketEndpoint {
    private let limit: Int
    private let code: Int
    private let reason: String
    private let greeting: JSON?
    private var count = 0

    init(_ request: Request) throws(Problem) {
        greeting = try RequestFields(request).message
        limit = try request.query("after", in: 0...1_000_000_000, or: 1)
        code = try request.query("code", in: 0...65_535, or: 0)
        reason = request.query("reason") ?? ""
    }

    func opened(_ session: WebSocketSession) {
        if let greeting { session.send(greeting) }
        endIfComplete(session)
    }

    func received(_ message: WebSocketMessage, _ session: WebSocketSession) {
        session.send(message)
        count += 1
        endIfComplete(session)
    }

    private func endIfComplete(_ session: WebSocketSession) {
        if count == limit { session.end(code: code, reason: reason) }
    }
}

/// `/ws/slow`: does not read from the socket for `seconds` after the handshake, then sends messages back. The default
/// is 1.
final class SlowEndpoint: WebSocketEndpoint {
    private let pause: TimeAmount

    init(_ request: Request) throws(Problem) {
        pause = try request.queryDuration("seconds", atMost: 3600, or: 1)
    }

    func opened(_ session: WebSocketSession) { session.pauseReading(for: pause) }

    func received(_ message: WebSocketMessage, _ session: WebSocketSession) { session.send(message) }
}

/// `/ws/silent`: accepts everything and sends nothing after the handshake, neither Pong nor Close frames.
final class SilentEndpoint: WebSocketEndpoint {
    var isPacedByOutput: Bool { false }
    var sendsControlFrames: Bool { false }
}

extension WebSocketSession {
    /// - Parameter code: the code of the Close frame. 0 closes the TCP connection without a Close frame.
    func end(code: Int, reason: String = "") {
        if code == 0 { drop() } else { close(code: code, reason: reason) }
    }
}
