import NightjarHTTP

/// Rejections of a token after the response to its call, such as by the close code of a WebSocket.
extension TokenManager {
    /// The version of the token that a call was sent with. Nil: it was sent without a token of this login.
    func sentVersion(of call: Call) -> TokenRefresh.Version? {
        call.sendsLogin ? call.states[states]?.version : nil
    }

    /// Handles the rejection of a token over a connection that was opened with it. Starts a refresh, which the next call
    /// waits for, unless the client already has another token.
    func rejected(_ version: TokenRefresh.Version) {
        let actions = machine.rejected(version, at: now())
        noteRejection(actions)
        perform(actions)
    }
}
