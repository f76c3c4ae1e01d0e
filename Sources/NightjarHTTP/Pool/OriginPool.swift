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
        fileprivate let number: Int
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
    }

    /// Connections that are open, in use or being made; never more than ``limit``.
    public private(set) var openCount = 0
    public private(set) var connectingCount = 0
    public private(set) var waitingCount = 0
    public let limit: Int

    private var idle = Deque<(connection: Connection, since: Moment)>()
    private var line = Deque<Waiter?>()
    /// The ticket number of the first place in `line`.
    private var firstNumber = 0

    public init(limit: Int) {
        self.limit = max(1, limit)
    }

    public var idleCount: Int { idle.count }
    public var isUnused: Bool { openCount == 0 && waitingCount == 0 }

    /// - Parameter fresh: passes the idle connections over, because one of their age has just proved dead.
    public mutating func acquire(_ waiter: Waiter, fresh: Bool = false) -> Acquired {
        if !fresh, let (connection, _) = idle.popLast() { return .use(connection) }
        let ticket = enqueue(waiter)
        guard openCount < limit else { return .wait(ticket) }
        openCount += 1
        connectingCount += 1
        return .connect(ticket)
    }

    /// Takes out an idle connection, to be closed, so that a fresh one may be made in its place under the limit.
    public mutating func replaceOldestIdle() -> (Connection, Attempt?)? {
        guard openCount >= limit, let (connection, _) = idle.popFirst() else { return nil }
        openCount -= 1
        return (connection, nextAttempt())
    }

    /// The attempt succeeded.
    public mutating func connected() -> Placed {
        assert(connectingCount > 0)
        connectingCount -= 1
        return place()
    }

    /// The attempt made for `ticket` failed.
    ///
    /// - Returns: the waiter to tell, if it still waits, and an attempt to make for others who wait.
    public mutating func connectFailed(for ticket: Ticket) -> (failed: Waiter?, next: Attempt?) {
        assert(connectingCount > 0)
        connectingCount -= 1
        openCount -= 1
        let failed = take(ticket)
        return (failed, nextAttempt())
    }

    /// A call has finished with its connection, which can carry another.
    public mutating func released() -> Placed { place() }

    /// The connection given to nobody waits for the next call.
    public mutating func park(_ connection: Connection, now: Moment) {
        idle.append((connection, now))
    }

    /// A connection in use is gone.
    ///
    /// - Returns: an attempt to make for those who wait.
    public mutating func lost() -> Attempt? {
        openCount -= 1
        return nextAttempt()
    }

    /// An idle connection is gone. False: it was not idle here.
    public mutating func lostIdle(_ connection: Connection) -> Bool {
        guard let index = idle.firstIndex(where: { $0.connection === connection }) else { return false }
        idle.remove(at: index)
        openCount -= 1
        return true
    }

    /// The waiter no longer wants a connection. Its attempt, if any, goes on for the others.
    public mutating func cancel(_ ticket: Ticket) {
        _ = take(ticket)
    }

    /// Takes out the connections that have been idle since `moment` or longer.
    public mutating func expire(idleSince moment: Moment) -> [Connection] {
        var expired: [Connection] = []
        while let first = idle.first, first.since <= moment {
            idle.removeFirst()
            openCount -= 1
            expired.append(first.connection)
        }
        return expired
    }

    /// Since when the connection that expires next has been idle.
    public var oldestIdle: Moment? { idle.first?.since }

    /// Takes out every idle connection.
    public mutating func removeAllIdle() -> [Connection] {
        defer {
            openCount -= idle.count
            idle.removeAll()
        }
        return idle.map(\.connection)
    }

    // MARK: The line

    private mutating func enqueue(_ waiter: Waiter) -> Ticket {
        line.append(waiter)
        waitingCount += 1
        return Ticket(number: firstNumber + line.count - 1)
    }

    private mutating func take(_ ticket: Ticket) -> Waiter? {
        let index = ticket.number - firstNumber
        guard line.indices.contains(index), let waiter = line[index] else { return nil }
        line[index] = nil
        waitingCount -= 1
        dropEmptyPlaces()
        return waiter
    }

    private mutating func dropEmptyPlaces() {
        while let first = line.first, first == nil {
            line.removeFirst()
            firstNumber += 1
        }
    }

    private mutating func place() -> Placed {
        guard let first = line.popFirst(), let waiter = first else { return .park }
        firstNumber += 1
        waitingCount -= 1
        dropEmptyPlaces()
        return .assign(waiter)
    }

    /// Keeps as many attempts under way as calls wait, within the limit.
    private mutating func nextAttempt() -> Attempt? {
        guard waitingCount > connectingCount, openCount < limit, let first = line.first, let waiter = first else {
            return nil
        }
        openCount += 1
        connectingCount += 1
        return Attempt(ticket: Ticket(number: firstNumber), waiter: waiter)
    }
}
