import DequeModule

/// A first-in, first-out queue of waiters. Removing a waiter takes amortized constant time at every position.
struct WaitQueue: Sendable {
    struct Waiter: Sendable {
        let id: UInt64
        let deadline: UInt64?
        fileprivate let ticket: UInt64
    }

    /// The waiters and removed entries. The first entry is always a waiter. Removed entries are dropped when they reach
    /// the front or when there are too many of them.
    private var queue: Deque<Waiter> = []
    private var tickets: [UInt64: UInt64] = [:]
    private var next: UInt64 = 0

    var count: Int { tickets.count }
    var isEmpty: Bool { queue.isEmpty }
    var first: Waiter? { queue.first }

    /// Appends a waiter. If `id` is already waiting, the waiter moves to the end.
    mutating func append(_ id: UInt64, deadline: UInt64?) {
        next &+= 1
        tickets[id] = next
        queue.append(Waiter(id: id, deadline: deadline, ticket: next))
        compact()
    }

    mutating func removeFirst() {
        guard let waiter = queue.popFirst() else { return }
        tickets[waiter.id] = nil
        compact()
    }

    /// Removes a waiter.
    ///
    /// - Returns: false if `id` is not waiting.
    mutating func remove(_ id: UInt64) -> Bool {
        guard tickets.removeValue(forKey: id) != nil else { return false }
        compact()
        return true
    }

    /// Removes the waiters for which `leaves` returns true. Calls `leaves` in queue order. `place` is the number of
    /// waiters that stay in the queue before the waiter.
    ///
    /// - Returns: the removed waiters.
    mutating func removeAll(where leaves: (_ place: Int, Waiter) -> Bool) -> [Waiter] {
        var left: [Waiter] = []
        var stay: Deque<Waiter> = []
        for waiter in queue where isWaiting(waiter) {
            if leaves(stay.count, waiter) {
                tickets[waiter.id] = nil
                left.append(waiter)
            } else {
                stay.append(waiter)
            }
        }
        queue = stay
        return left
    }

    private func isWaiting(_ waiter: Waiter) -> Bool { tickets[waiter.id] == waiter.ticket }

    private mutating func compact() {
        // Limit the queue to about twice the number of waiters, at amortized constant cost.
        if queue.count > 2 * tickets.count + 16 {
            queue = Deque(queue.filter(isWaiting))
        }
        while let first = queue.first, !isWaiting(first) { queue.removeFirst() }
    }
}
