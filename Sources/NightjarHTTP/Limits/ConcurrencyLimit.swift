import DequeModule

/// How many calls are under way at once. Who comes first goes first, and the queue has an end.
public struct ConcurrencyLimit: Sendable {
    /// A place in the queue, never given twice.
    public struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    public enum Admission: Sendable, Equatable {
        /// Leave with ``left()``.
        case enter
        /// Until ``left()`` or ``change(limit:)`` names the ticket, or it is given up.
        case wait(Ticket)
        /// The queue is full.
        case refuse
    }

    public private(set) var limit: Int
    public private(set) var inside = 0
    public let maximumWaiting: Int
    /// With those who gave up; they are dropped when their turn comes, or when they are the most.
    private var queue: Deque<Ticket> = []
    private var tickets: Set<Ticket> = []
    private var next: UInt64 = 0

    /// - Parameters:
    ///   - limit: at least 1, or nobody would ever go.
    public init(limit: Int, maximumWaiting: Int) {
        self.limit = max(limit, 1)
        self.maximumWaiting = max(maximumWaiting, 0)
    }

    public var waiting: Int { tickets.count }

    public mutating func enter() -> Admission {
        // Nobody overtakes who waits.
        if tickets.isEmpty, inside < limit {
            inside += 1
            return .enter
        }
        guard tickets.count < maximumWaiting else { return .refuse }
        let ticket = Ticket(number: next)
        next &+= 1
        queue.append(ticket)
        tickets.insert(ticket)
        return .wait(ticket)
    }

    /// One who was inside is done.
    ///
    /// - Returns: who enters in its place.
    public mutating func left() -> Ticket? {
        assert(inside > 0, "more have left than entered")
        inside = max(inside - 1, 0)
        return admitNext()
    }

    /// Who waits does so no longer.
    ///
    /// - Returns: false when it has entered already, and has to leave.
    public mutating func gaveUp(_ ticket: Ticket) -> Bool {
        guard tickets.remove(ticket) != nil else { return false }
        // Keeps the queue within twice those who wait, at a constant cost for each.
        if queue.count > 2 * tickets.count + 16 { queue.removeAll { !tickets.contains($0) } }
        return true
    }

    /// A smaller limit sends nobody away.
    ///
    /// - Returns: who enters now, first to last.
    public mutating func change(limit: Int) -> [Ticket] {
        self.limit = max(limit, 1)
        var admitted: [Ticket] = []
        while let ticket = admitNext() { admitted.append(ticket) }
        return admitted
    }

    private mutating func admitNext() -> Ticket? {
        while inside < limit, let ticket = queue.popFirst() {
            guard tickets.remove(ticket) != nil else { continue }
            inside += 1
            return ticket
        }
        return nil
    }
}
