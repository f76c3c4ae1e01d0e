import NightjarHTTP

/// Events of HTTP/2 connections, which exchanges share.
extension NetworkTransport {
    func connected(_ attempt: ConnectionAttempt, _ connection: HTTP2Connection) {
        attempts[ObjectIdentifier(attempt)] = nil
        sharedConnections[ObjectIdentifier(connection)] = connection
        watchNetwork(for: connection.host)
        let waiters = attempt.host.pool.connected(
            connection, streams: connection.maximumStreams, now: clock.now)
        start(waiters, on: connection)
    }

    private func start(_ waiters: [NetworkExchange], on connection: HTTP2Connection) {
        for exchange in waiters { exchange.start(on: connection) }
        startAttempts(connection.host)
        armExpiry()
    }

    func streamLimitChanged(_ connection: HTTP2Connection) {
        start(connection.host.pool.setLimit(of: connection, streams: connection.maximumStreams), on: connection)
    }

    /// - Parameter isIdle: Whether no exchange uses the connection.
    func releasedStream(_ connection: HTTP2Connection, isIdle: Bool) {
        if let exchange = connection.host.pool.released(connection, now: clock.now) {
            exchange.start(on: connection)
        } else if isIdle {
            armExpiry()
        }
    }

    func draining(_ connection: HTTP2Connection) { connect(connection.host, connection.host.pool.remove(connection)) }

    func confirmed(_ connection: HTTP2Connection) {
        start(connection.host.pool.confirmShared(connection), on: connection)
    }

    func lost(_ connection: HTTP2Connection) {
        guard sharedConnections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        connect(connection.host, connection.host.pool.remove(connection))
        armExpiry()
    }
}
