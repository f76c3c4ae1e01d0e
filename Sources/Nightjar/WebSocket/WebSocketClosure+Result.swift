import NightjarHTTP

/// The end of a connection as the result of a WebSocket.
extension WebSocketClosure {
    /// Why the connection ended, as a clause.
    var summary: String {
        if let error { return error.message }
        let text = reason.isEmpty ? "" : ": \(reason)"
        return isRequested ? "the server confirmed the close" : "the server closed it with \(code)\(text)"
    }

    /// Success for an end that the caller has requested, and for the codes 1000, 1001 and 1005.
    ///
    /// - Parameter addition: The end of the error message.
    func result(isRequested: Bool, _ addition: String) -> Result<Void, NightjarError> {
        if isRequested { return .success(()) }
        if let error {
            var facts = error.facts
            facts.message += addition
            return .failure(NightjarError(facts))
        }
        switch code {
        case .normal, .goingAway, .noStatus: return .success(())
        default:
            let text = reason.isEmpty ? "" : ": \(reason)"
            return .failure(
                NightjarError(
                    .connectionLost, "the server closed the WebSocket with \(code)\(text)\(addition)",
                    phase: .receive, requestMayHaveBeenProcessed: true))
        }
    }
}
