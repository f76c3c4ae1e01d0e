import NIOCore
import NightjarHTTP

/// Changes of the network, and connections that may be dead.
extension NetworkTransport {
    /// Forgets the addresses of names, and probes the connections to other machines. An idle connection is not used
    /// until its peer has responded: a request on a dead connection would wait for the idle timeout.
    func networkChanged() {
        connector.resolver.forgetAll()
        var isProbing = false
        for host in hosts.values where !host.isLocal {
            host.pool.distrustIdle()
            host.pool.distrustShared()
        }
        for connection in Array(sharedConnections.values) where !connection.host.isLocal {
            if connection.ping() { isProbing = true } else { connection.retire() }
        }
        for connection in connections.values where !connection.host.isLocal {
            // If the system has no probes, the idle connection is closed at the end.
            connection.startProbing()
            isProbing = true
        }
        probeEnd?.cancel()
        probeEnd = nil
        if isProbing { scheduleEndOfProbing() }
    }

    /// Probes the shared connections of a host that have been idle for a long time. A router may have forgotten them.
    func probeLongIdle(_ host: Host) {
        for connection in host.pool.distrustShared(idleSince: clock.now - NetworkTransport.longIdleTime) {
            // No PING is sent if the server has responded to one within the last seconds.
            if connection.ping() { scheduleEndOfProbing() } else { confirmed(connection) }
        }
    }

    private func scheduleEndOfProbing() {
        guard probeEnd == nil, !isShutDown else { return }
        probeEnd = loop.scheduleTask(in: NetworkTransport.probeTime) { self.endProbing() }
    }

    /// Makes the idle connections available whose peer has responded to a probe.
    func confirmIdle(of host: Host) {
        for connection in host.pool.unconfirmedConnections where connection.peerHasResponded() {
            host.pool.confirm(connection)
        }
    }

    /// Ends the probing, and closes the idle connections whose peer has not responded.
    private func endProbing() {
        probeEnd = nil
        for connection in connections.values where !connection.host.isLocal { _ = connection.peerHasResponded() }
        for host in hosts.values where host.pool.hasUnconfirmed {
            confirmIdle(of: host)
            for connection in host.pool.unconfirmedConnections { connection.close() }
        }
        for host in hosts.values {
            for connection in host.pool.suspectConnections { connection.retire() }
        }
    }

    /// Some routers forget connections after half a minute without traffic.
    private static let longIdleTime = TimeAmount.seconds(30)
    /// A peer that does not respond to three probes within this time is lost.
    private static let probeTime = TimeAmount.seconds(4)
}
