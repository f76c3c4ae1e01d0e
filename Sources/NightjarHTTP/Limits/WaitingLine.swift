import DequeModule

/// Who waits, first to last. Giving up costs the same whatever the place.
struct WaitingLine: Sendable {
    struct Waiter: Sendable {
        let id: UInt64
        let deadline: UInt64?
        fileprivate let ticket: UInt64
    }

    /// With those who gave up, though never at the front; they are dropped when their turn comes, or when they are the
    /// most.
    private var queue: Deque<Waiter> = []
    private var tickets: [UInt64: UInt64] = [:]
    private var next: UInt64 = 0

    var count: Int { tickets.count }
    var isEmpty: Bool { queue.isEmpty }
    var first: Waiter? { queue.first }

    /// Who waits already goes to the end.
    mutating func append(_ id: UInt64, deadline: UInt64?) {
        next &+= 1
        tickets[id] = next
        queue.append(Waiter(id: id, deadline: deadline, ticket: next))
        tidy()
    }

    mutating func removeFirst() {
        guard let waiter = queue.popFirst() else { return }
        tickets[waiter.id] = nil
        tidy()
    }

    /// - Returns: false for one who does not wait.
    mutating func remove(_ id: UInt64) -> Bool {
        guard tickets.removeValue(forKey: id) != nil else { return false }
        tidy()
        return true
    }

    /// - Parameter leaves: is asked in order, with the place each would have behind those who stay.
    /// - Returns: who has left.
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

    private mutating func tidy() {
        // Keeps the queue within twice those who wait, at a constant cost for each.
        if queue.count > 2 * tickets.count + 16 {
            queue = Deque(queue.filter(isWaiting))
        }
        while let first = queue.first, !isWaiting(first) { queue.removeFirst() }
    }
}
