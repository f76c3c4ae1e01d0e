import NIOCore

/// Determines with TCP keep-alive probes whether the peer of a connection still responds after the network has changed.
struct ConnectionProbe {
    /// The time at which the probing began; nil: the connection does not probe.
    private var since: NIODeadline?

    /// Begins to probe. Has no effect if the channel has no TCP socket, or if the system has no probes.
    mutating func start(on channel: (any Channel)?) {
        guard let channel, let socket = SocketHandle(channel), socket.startProbing() else { return }
        since = .now()
    }

    /// Returns true and ends the probing if the peer has responded since the probing began.
    mutating func hasResponse(on channel: (any Channel)?) -> Bool {
        guard let since, let channel, let socket = SocketHandle(channel), let silence = socket.silence,
            silence < NIODeadline.now() - since
        else { return false }
        self.since = nil
        socket.stopProbing()
        return true
    }
}
