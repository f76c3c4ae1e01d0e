import NIOCore
import NightjarHTTP

/// A subprotocol whose messages the client handles itself; see ``WebSocketSettings/subprotocol``. On the loop.
extension WebSocketSession {
    /// Begins the subprotocol on a new connection.
    func begin(_ selected: String?, _ authorization: String?) {
        guard selected == settings.subprotocol?.name else {
            link.take()?.abandon()
            return finish(.failure(WebSocketSession.noSubprotocol), WebSocketSession.noSubprotocol.message)
        }
        isOpening = true
        perform(subprotocolState?.opened(authorization: authorization) ?? [])
        let current = link
        loop.after(WebSocketSession.readyTimeout) { [weak self, weak current] in
            guard let self, let current, link === current, subprotocolState?.isReady == false, state == .open else {
                return
            }
            finish(.failure(WebSocketSession.notReady), WebSocketSession.notReady.message)
        }
    }

    func perform(_ actions: [WebSocketSubprotocolAction]) {
        for action in actions {
            guard !hasEnded, state == .open else { return }
            switch action {
            case .send(let message): link?.send(message)
            case .deliver(let message):
                reconnect.delivered()
                accept(message)
            case .complete: beginClosing(.normal, "")
            case .fail(let error): finish(.failure(error), error.message)
            }
        }
    }

    /// Handles the end of a connection whose token the server rejects.
    ///
    /// - Parameter closure: The end, with the error of the subprotocol.
    func rejected(_ token: WebSocketLink.SentToken, _ closure: WebSocketClosure) {
        let verdict: WebSocketReconnect.Verdict =
            mayReconnect ? reconnect.tokenRejected(now: loop.now) : .stop(.closedByCaller)
        // A token that was refreshed after the last rejection is kept: another refresh would not help.
        if verdict != .stop(.tokenRejected), !closure.isRequested { token.reject() }
        guard case .again(let wait) = verdict else {
            return finish(
                closure.rejection.result(isRequested: state == .closing, ""), closure.rejection.summary)
        }
        reconnect(after: wait, closure)
    }

    private static let noSubprotocol = NightjarError(
        .protocol, "the server does not support the subprotocol; use another transport", phase: .receive)
    private static let notReady = NightjarError(
        .timeout, "the server did not acknowledge the connection of the subprotocol within \(readyTimeout)",
        phase: .receive)
    /// The time in which the server must accept a connection of a subprotocol.
    private static let readyTimeout = Duration.seconds(10)
}

extension WebSocketClosure {
    /// This end with the error of a response with the status 401. The code of the server can be that of another error.
    fileprivate var rejection: WebSocketClosure {
        guard var facts = error?.facts else { return self }
        facts.kind = .unauthorized
        var closure = self
        closure.error = NightjarError(facts)
        return closure
    }
}
