import DequeModule

/// Assigns the connections of one origin to calls. A connection of HTTP/1.1 carries one exchange at a time. A connection of
/// HTTP/2 is shared by many exchanges, see the extension.
///
///     acquire ──▶ use       an idle connection, most recently used first, so that surplus connections age and expire
///             ──▶ connect   no idle connection can be used and the limit allows one more; the caller also waits, and
///                           gets the first connection that is available: the new one or a released one
///             ──▶ share     a stream of a shared connection
///             ──▶ wait      the limit is reached, or the origin may share the connection that is being opened; first
///                           come, first served
///
/// The pool does no I/O and reads no clock. It receives events and returns actions. `Moment` is the time type of a
/// clock.
public struct OriginPool<
    Connection: AnyObject, SharedConnection: AnyObject, Waiter: AnyObject, Moment: Comparable
> {
    /// A position in the wait queue.
    public struct Ticket: Hashable, Sendable {
        @usableFromInline let number: Int

        @inlinable
        init(number: Int) { self.number = number }
    }

    public enum Acquired {
        case use(Connection)
        case share(SharedConnection)
        case connect(Ticket)
        case wait(Ticket)
    }

    /// The action to take with a connection that has become available.
    public enum Placed {
        case assign(Waiter)
        case park
    }

    /// A connection to open, and the waiter for which it is opened.
    public struct Attempt {
        public var ticket: Ticket
        public var waiter: Waiter

        @inlinable
        init(ticket: Ticket, waiter: Waiter) {
            self.ticket = ticket
            self.waiter = waiter
        }
    }

    @usableFromInline
    struct Idle {
        @usableFromInline let connection: Connection
        @usableFromInline let since: Moment

        @inlinable
        init(_ connection: Connection, since: Moment) {
            self.connection = connection
            self.since = since
        }
    }

    /// The number of open connections: in use, idle or connecting. Never more than ``limit``.
    @inlinable
    public var openCount: Int { open }
    @inlinable
    public var connectingCount: Int { connecting }
    @inlinable
    public var waitingCount: Int { waiting }
    public let limit: Int
    /// Whether the origin's connections are shared. While it may be, only one connection is opened at a time, because
    /// all waiters may be able to use it.
    public private(set) var sharing: Sharing

    @usableFromInline var open = 0
    @usableFromInline var connecting = 0
    @usableFromInline var waiting = 0
    @usableFromInline var idle = Deque<Idle>()
    /// The idle connections that are not used until they are confirmed, in the order of ``idle``.
    @usableFromInline var unconfirmed = Deque<Idle>()
    @usableFromInline var queue = Deque<Waiter?>()
    /// The ticket number of the first position in `queue`.
    @usableFromInline var firstNumber = 0

    /// The shared connections that accept further exchanges.
    @usableFromInline var shared: [Shared] = []

    public init(limit: Int, sharing: Sharing = .never) {
        self.limit = max(1, limit)
        self.sharing = sharing
    }

    @inlinable
    public var isUnused: Bool { open == 0 && waiting == 0 }

    /// Requests a connection for `waiter`.
    ///
    /// - Parameter fresh: true to use no idle connection, for example because another idle connection was found closed.
    @inlinable
    public mutating func acquire(_ waiter: Waiter, fresh: Bool = false) -> Acquired {
        if !fresh, let idle = idle.popLast() { return .use(idle.connection) }
        if !shared.isEmpty, let connection = takeStream() { return .share(connection) }
        let ticket = enqueue(waiter)
        guard open < limit, connecting == 0 || sharing == .never else { return .wait(ticket) }
        open += 1
        connecting += 1
        return .connect(ticket)
    }

    /// Removes an idle connection if the limit is reached, so that a new connection can be opened. Removes the oldest
    /// connection that is not confirmed or, if there is none, the oldest idle connection.
    ///
    /// - Returns: the removed connection, which the caller must close, and the attempt to start, if any. Nil if the
    ///   limit is not reached or no connection is idle.
    @inlinable
    public mutating func replaceOldestIdle() -> (Connection, Attempt?)? {
        guard open >= limit, let oldest = unconfirmed.popFirst() ?? idle.popFirst() else { return nil }
        open -= 1
        return (oldest.connection, nextAttempt())
    }

    /// Reports that an attempt to connect succeeded, and that the connection carries one exchange at a time. The caller
    /// must then start the attempts that ``takeAttempt()`` returns.
    @inlinable
    public mutating func connected() -> Placed {
        assert(connecting > 0)
        connecting -= 1
        noSharing()
        return place()
    }

    @usableFromInline
    mutating func noSharing() { sharing = .never }

    @usableFromInline
    mutating func mustShare() { sharing = .always }

    /// Returns a further attempt to start, if any.
    @inlinable
    public mutating func takeAttempt() -> Attempt? { nextAttempt() }

    /// Reports that the attempt for `ticket` failed.
    ///
    /// - Returns: the waiter of the ticket if it is still waiting, and the attempt to start for another waiter, if any.
    @inlinable
    public mutating func connectFailed(for ticket: Ticket) -> (failed: Waiter?, next: Attempt?) {
        assert(connecting > 0)
        connecting -= 1
        open -= 1
        let failed = take(ticket)
        return (failed, nextAttempt())
    }

    /// Reports that a call has released a connection that can be reused.
    @inlinable
    public mutating func released() -> Placed { place() }

    /// Stores a connection as idle after ``released()`` or ``connected()`` returned `park`.
    @inlinable
    public mutating func park(_ connection: Connection, now: Moment) {
        idle.append(Idle(connection, since: now))
    }

    /// Reports that a connection in use has closed.
    ///
    /// - Returns: an attempt to start for a waiter, or nil if none is needed.
    @inlinable
    public mutating func lost() -> Attempt? {
        open -= 1
        return nextAttempt()
    }

    /// Reports that an idle connection has closed. Returns false if the connection was not idle in this pool.
    @inlinable
    public mutating func lostIdle(_ connection: Connection) -> Bool {
        if let index = idle.firstIndex(where: { $0.connection === connection }) {
            idle.remove(at: index)
        } else if let index = unconfirmed.firstIndex(where: { $0.connection === connection }) {
            unconfirmed.remove(at: index)
        } else {
            return false
        }
        open -= 1
        return true
    }

    /// Removes a waiter from the queue. The waiter's connection attempt, if any, continues for the other waiters.
    @inlinable
    public mutating func cancel(_ ticket: Ticket) {
        _ = take(ticket)
    }

    /// Removes and returns the connections that have been idle since `moment` or longer.
    @inlinable
    public mutating func expire(idleSince moment: Moment) -> [Connection] {
        var expired: [Connection] = []
        while let first = unconfirmed.first, first.since <= moment {
            unconfirmed.removeFirst()
            open -= 1
            expired.append(first.connection)
        }
        while let first = idle.first, first.since <= moment {
            idle.removeFirst()
            open -= 1
            expired.append(first.connection)
        }
        return expired
    }

    /// The time at which the oldest idle connection became idle.
    @inlinable
    public var oldestIdle: Moment? {
        guard let first = unconfirmed.first else { return idle.first?.since }
        return idle.first.map { min($0.since, first.since) } ?? first.since
    }

    // MARK: Confirmation after a change of the network

    /// The idle connections that wait for their confirmation.
    public var unconfirmedConnections: [Connection] { unconfirmed.map(\.connection) }
    @inlinable
    public var hasUnconfirmed: Bool { !unconfirmed.isEmpty }

    /// Reports that the network has changed. The current idle connections are not used before ``confirm(_:)``.
    public mutating func distrustIdle() {
        unconfirmed = Deque((unconfirmed + idle).sorted { $0.since < $1.since })
        idle.removeAll()
    }

    /// Reports that the peer has responded on an idle connection, which can then be used again.
    public mutating func confirm(_ connection: Connection) {
        guard let index = unconfirmed.firstIndex(where: { $0.connection === connection }) else { return }
        let confirmed = unconfirmed.remove(at: index)
        idle.insert(confirmed, at: idle.firstIndex { $0.since > confirmed.since } ?? idle.endIndex)
    }

    // MARK: The wait queue

    /// The waiters in the order of their arrival.
    public var waiters: [Waiter] { queue.compactMap { $0 } }

    /// The waiter of a ticket. Nil if it does not wait any more.
    public func waiter(of ticket: Ticket) -> Waiter? {
        let index = ticket.number - firstNumber
        return queue.indices.contains(index) ? queue[index] : nil
    }

    @inlinable
    mutating func enqueue(_ waiter: Waiter) -> Ticket {
        queue.append(waiter)
        waiting += 1
        return Ticket(number: firstNumber + queue.count - 1)
    }

    @inlinable
    mutating func take(_ ticket: Ticket) -> Waiter? {
        let index = ticket.number - firstNumber
        guard queue.indices.contains(index), let waiter = queue[index] else { return nil }
        queue[index] = nil
        waiting -= 1
        dropEmptyPlaces()
        return waiter
    }

    @inlinable
    mutating func dropEmptyPlaces() {
        while let first = queue.first, first == nil {
            queue.removeFirst()
            firstNumber += 1
        }
    }

    @inlinable
    mutating func place() -> Placed {
        guard let first = queue.popFirst(), let waiter = first else { return .park }
        firstNumber += 1
        waiting -= 1
        dropEmptyPlaces()
        return .assign(waiter)
    }

    /// Returns an attempt to start if there are more waiters than attempts and the limit allows one more connection.
    /// Each attempt belongs to a different waiter if possible, because a failed attempt is reported to its waiter.
    @inlinable
    mutating func nextAttempt() -> Attempt? {
        guard waiting > connecting, open < limit, connecting == 0 || sharing == .never else { return nil }
        var before = connecting
        for (index, place) in queue.enumerated() {
            guard let waiter = place else { continue }
            guard before == 0 else {
                before -= 1
                continue
            }
            open += 1
            connecting += 1
            return Attempt(ticket: Ticket(number: firstNumber + index), waiter: waiter)
        }
        return nil
    }
}
