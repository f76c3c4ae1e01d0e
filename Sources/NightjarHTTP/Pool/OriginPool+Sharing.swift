/// Shared connections: each carries as many exchanges as the server allows. RFC 9113 section 5.1.2.
///
///     attempt ──▶ accepting ◀──▶ idle (no exchange) ──expire──▶ closed
///                    │ └── suspect: after a change of the network, until it is confirmed
///                    └── GOAWAY, loss ──▶ removed. The exchanges in progress may end.
extension OriginPool {
    /// Whether an origin's connections are shared.
    public enum Sharing: Sendable {
        case never
        /// Unknown until the first connection is open.
        case possible
        case always
    }

    @usableFromInline
    struct Shared {
        @usableFromInline let connection: SharedConnection
        /// The number of exchanges that use the connection.
        @usableFromInline var streams: Int
        @usableFromInline var limit: Int
        /// The time of the end of the last exchange; nil while an exchange uses the connection.
        @usableFromInline var idleSince: Moment?
        /// Whether the connection may be dead. It gets no further exchange until it is confirmed.
        @usableFromInline var isSuspect = false
    }

    /// Takes a stream of a shared connection, if one is available.
    @inlinable
    mutating func takeStream() -> SharedConnection? {
        for index in shared.indices where shared[index].streams < shared[index].limit && !shared[index].isSuspect {
            shared[index].streams += 1
            shared[index].idleSince = nil
            return shared[index].connection
        }
        return nil
    }

    /// Reports that an attempt to connect succeeded, and that the connection is shared.
    ///
    /// - Parameter streams: the largest number of exchanges at a time.
    /// - Returns: the waiters that use the connection. The caller must then start the attempt that ``takeAttempt()``
    ///   returns.
    public mutating func connected(_ connection: SharedConnection, streams: Int, now: Moment) -> [Waiter] {
        assert(connecting > 0)
        connecting -= 1
        mustShare()
        shared.append(Shared(connection: connection, streams: 0, limit: max(streams, 0), idleSince: now))
        return assign(at: shared.count - 1)
    }

    /// Reports that the server has changed the number of exchanges. Returns as ``connected(_:streams:now:)``.
    public mutating func setLimit(of connection: SharedConnection, streams: Int) -> [Waiter] {
        guard let index = index(of: connection) else { return [] }
        shared[index].limit = max(streams, 0)
        return assign(at: index)
    }

    /// Reports the end of an exchange. Returns the waiter that uses its stream, if any.
    @inlinable
    public mutating func released(_ connection: SharedConnection, now: Moment) -> Waiter? {
        guard let index = index(of: connection) else { return nil }
        let isAvailable = shared[index].streams <= shared[index].limit && !shared[index].isSuspect
        if isAvailable, let waiter = popWaiter() { return waiter }
        shared[index].streams -= 1
        if shared[index].streams == 0 { shared[index].idleSince = now }
        return nil
    }

    /// Removes a connection that has closed or is draining. A draining connection does not count toward the limit, because
    /// its last response may take hours, and no other connection could be opened if the limit is 1.
    ///
    /// - Returns: an attempt to start for a waiter, or nil if none is needed.
    public mutating func remove(_ connection: SharedConnection) -> Attempt? {
        guard let index = index(of: connection) else { return nil }
        shared.remove(at: index)
        return lost()
    }

    /// Removes and returns the shared connections that no exchange has used since `moment` or longer.
    public mutating func expireShared(idleSince moment: Moment) -> [SharedConnection] {
        let expired = shared.filter { $0.idleSince.map { $0 <= moment } ?? false }
        guard !expired.isEmpty else { return [] }
        shared.removeAll { $0.idleSince.map { $0 <= moment } ?? false }
        open -= expired.count
        return expired.map(\.connection)
    }

    /// The time at which the shared connection that has been idle longest became idle.
    public var oldestIdleShared: Moment? { shared.compactMap(\.idleSince).min() }

    /// Removes and returns the waiters for which the failed attempt was made as well: all that accept `isIncluded`.
    public mutating func removeWaiters(where isIncluded: (Waiter) -> Bool) -> [Waiter] {
        var removed: [Waiter] = []
        for index in queue.indices {
            guard let waiter = queue[index], isIncluded(waiter) else { continue }
            queue[index] = nil
            waiting -= 1
            removed.append(waiter)
        }
        dropEmptyPlaces()
        return removed
    }

    // MARK: Confirmation after a change of the network or a long idle time

    /// Returns the shared connections that no exchange has used since `moment` or longer. They get no further exchange
    /// before ``confirmShared(_:)``.
    @inlinable
    public mutating func distrustShared(idleSince moment: Moment) -> [SharedConnection] {
        var found: [SharedConnection] = []
        for index in shared.indices where !shared[index].isSuspect {
            guard let since = shared[index].idleSince, since <= moment else { continue }
            shared[index].isSuspect = true
            found.append(shared[index].connection)
        }
        return found
    }

    /// Reports that the network has changed. The shared connections get no further exchange before
    /// ``confirmShared(_:)``.
    public mutating func distrustShared() {
        for index in shared.indices { shared[index].isSuspect = true }
    }

    /// The shared connections that wait for their confirmation.
    public var suspectConnections: [SharedConnection] { shared.filter(\.isSuspect).map(\.connection) }

    /// Reports that the peer has responded. Returns as ``connected(_:streams:now:)``.
    public mutating func confirmShared(_ connection: SharedConnection) -> [Waiter] {
        guard let index = index(of: connection) else { return [] }
        shared[index].isSuspect = false
        return assign(at: index)
    }

    // MARK: Helpers

    /// Takes the waiters for which the connection has streams.
    private mutating func assign(at index: Int) -> [Waiter] {
        var waiters: [Waiter] = []
        while shared[index].streams < shared[index].limit, !shared[index].isSuspect, let waiter = popWaiter() {
            shared[index].streams += 1
            shared[index].idleSince = nil
            waiters.append(waiter)
        }
        return waiters
    }

    @inlinable
    func index(of connection: SharedConnection) -> Int? { shared.firstIndex { $0.connection === connection } }

    @inlinable
    mutating func popWaiter() -> Waiter? {
        guard case .assign(let waiter) = place() else { return nil }
        return waiter
    }
}
