import NIOCore

/// `/ws/violation/{name}`: sends a violation of the protocol, then sends messages back.
///
/// - `delay`: the seconds between the handshake and the violation. The default is 0, which sends both together. For
///   `reset`, the default is 0.05, because a reset could overtake the response.
final class ViolationEndpoint: WebSocketEndpoint {
    private let violation: ServerViolation
    private let pause: TimeAmount
    private var source: ViolationSource?

    init(_ request: Request, _ violation: ServerViolation) throws(Problem) {
        self.violation = violation
        pause = try request.queryDuration("delay", atMost: 60, or: violation == .reset ? 0.05 : 0)
    }

    var isPacedByOutput: Bool { source == nil }

    func opened(_ session: WebSocketSession) {
        if pause > .zero {
            session.after(pause) { [self, session] in violate(session) }
        } else {
            violate(session)
        }
    }

    func becameWritable(_ session: WebSocketSession) { advance(session) }

    func received(_ message: WebSocketMessage, _ session: WebSocketSession) {
        if source == nil { session.send(message) }
    }

    func closed(_ session: WebSocketSession) { source = nil }

    private func violate(_ session: WebSocketSession) {
        session.write(violation.frames)
        if let payload = violation.closePayload { session.close(payload: payload) }
        switch violation {
        case .bomb where session.agreement.deflate == nil:
            session.close(.normal, "permessage-deflate was not negotiated")
        case .hugeFrame, .hugeMessage, .bomb:
            source = ViolationSource(violation)
            session.output.isBroken = source?.splitsFrames == true
            advance(session)
        case .halfFrame:
            session.output.isBroken = true
            session.drop()
        case .reset:
            session.reset()
        default:
            break
        }
    }

    private func advance(_ session: WebSocketSession) {
        while session.state == .open, session.isWritable, let source {
            if let bytes = source.next() {
                session.write(bytes)
            } else {
                self.source = nil
                session.output.isBroken = false
            }
        }
    }
}
