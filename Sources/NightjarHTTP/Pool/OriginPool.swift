import DequeModule

/// Which connection serves which call, for one origin and a protocol that carries one exchange at a time.
///
///     acquire ──▶ use       an idle connection, the most recently used first, so that surplus ones grow old and expire
///             ──▶ connect   none is idle and the limit allows one more; the caller also waits, and is served by
///                           whichever comes first, the new connection or one that another call gives back
///             ──▶ wait      the limit is reached; first come, first served
///
/// No I/O and no clock: it takes events and returns what is to be done. `Moment` is any clock's reading.
public struct OriginPool<Connection: AnyObject, Waiter: AnyObject, Moment: Comparable> {
    /// A place in the waiting line.
    public struct Ticket: Hashable, Sendable {
        @usableFromInline let number: Int

        @inlinable
        init(number: Int) { self.number = number }
    }

    public enum Acquired {
        case use(Connection)
        case connect(Ticket)
        case wait(Ticket)
    }

    /// What to do with a connection that has become free.
    public enum Placed {
        case assign(Waiter)
        case park
    }

    /// A connection to make, and the call on whose behalf.
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

    /// Connections that are open, in use or being made; never more than ``limit``.
    @inlinable
    public var openCount: Int { open }
    @inlinable
    public var connectingCount: Int { connecting }
    @inlinable
    public var waitingCount: Int { waiting }
    public let limit: Int

    @usableFromInline var open = 0
    @usableFromInline var connecting = 0
    @usableFromInline var waiting = 0
    @usableFromInline var idle = Deque<Idle>()
    @usableFromInline var line = Deque<Waiter?>()
    /// The ticket number of the first place in `line`.
    @usableFromInline var firstNumber = 0

    @inlinable
    public init(limit: Int) {
        self.limit = max(1, limit)
    }

    @inlinable
    public var idleCount: Int { idle.count }
    @inlinable
    public var isUnused: Bool { open == 0 && waiting == 0 }

    /// - Parameter fresh: passes the idle connections over, because one of their age has just proved dead.
    @inlinable
    public mutating func acquire(_ waiter: Waiter, fresh: Bool = false) -> Acquired {
        if !fresh, let idle = idle.popLast() { return .use(idle.connection) }
        let ticket = enqueue(waiter)
        guard open < limit else { return .wait(ticket) }
        open += 1
        connecting += 1
        return .connect(ticket)
    }

    /// Takes out an idle connection, to be closed, so that a fresh one may be made in its place under the limit.
    @inlinable
    public mutating func replaceOldestIdle() -> (Connection, Attempt?)? {
        guard open >= limit, let oldest = idle.popFirst() else { return nil }
        open -= 1
        return (oldest.connection, nextAttempt())
    }

    /// The attempt succeeded.
    @inlinable
    public mutating func connected() -> Placed {
        assert(connecting > 0)
        connecting -= 1
        return place()
    }

    /// The attempt made for `ticket` failed.
    ///
    /// - Returns: the waiter to tell, if it still waits, and an attempt to make for others who wait.
    @inlinable
    public mutating func connectFailed(for ticket: Ticket) -> (failed: Waiter?, next: Attempt?) {
        assert(connecting > 0)
        connecting -= 1
        open -= 1
        let failed = take(ticket)
        return (failed, nextAttempt())
    }

    /// A call has finished with its connection, which can carry another.
    @inlinable
    public mutating func released() -> Placed { place() }

    /// The connection given to nobody waits for the next call.
    @inlinable
    public mutating func park(_ connection: Connection, now: Moment) {
        idle.append(Idle(connection, since: now))
    }

    /// A connection in use is gone.
    ///
    /// - Returns: an attempt to make for those who wait.
    @inlinable
    public mutating func lost() -> Attempt? {
        open -= 1
        return nextAttempt()
    }

    /// An idle connection is gone. False: it was not idle here.
    @inlinable
    public mutating func lostIdle(_ connection: Connection) -> Bool {
        guard let index = idle.firstIndex(where: { $0.connection === connection }) else { return false }
        idle.remove(at: index)
        open -= 1
        return true
    }

    /// The waiter no longer wants a connection. Its attempt, if any, goes on for the others.
    @inlinable
    public mutating func cancel(_ ticket: Ticket) {
        _ = take(ticket)
    }

    /// Takes out the connections that have been idle since `moment` or longer.
    @inlinable
    public mutating func expire(idleSince moment: Moment) -> [Connection] {
        var expired: [Connection] = []
        while let first = idle.first, first.since <= moment {
            idle.removeFirst()
            open -= 1
            expired.append(first.connection)
        }
        return expired
    }

    /// Since when the connection that expires next has been idle.
    @inlinable
    public var oldestIdle: Moment? { idle.first?.since }

    /// Takes out every idle connection.
    @inlinable
    public mutating func removeAllIdle() -> [Connection] {
        defer {
            open -= idle.count
            idle.removeAll()
        }
        return idle.map(\.connection)
    }

    // MARK: The line

    @inlinable
    mutating func enqueue(_ waiter: Waiter) -> Ticket {
        line.append(waiter)
        waiting += 1
        return Ticket(number: firstNumber + line.count - 1)
    }

    @inlinable
    mutating func take(_ ticket: Ticket) -> Waiter? {
        let index = ticket.number - firstNumber
        guard line.indices.contains(index), let waiter = line[index] else { return nil }
        line[index] = nil
        waiting -= 1
        dropEmptyPlaces()
        return waiter
    }

    @inlinable
    mutating func dropEmptyPlaces() {
        while let first = line.first, first == nil {
            line.removeFirst()
            firstNumber += 1
        }
    }

    @inlinable
    mutating func place() -> Placed {
        guard let first = line.popFirst(), let waiter = first else { return .park }
        firstNumber += 1
        waiting -= 1
        dropEmptyPlaces()
        return .assign(waiter)
    }

    /// Keeps as many attempts under way as calls wait, within the limit: each on behalf of another, as far as that can be
    /// told, so that each failure has somebody to tell.
    @inlinable
    mutating func nextAttempt() -> Attempt? {
        guard waiting > connecting, open < limit else { return nil }
        var before = connecting
        for (index, place) in line.enumerated() {
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
