import NightjarHTTP
import NightjarSystem
import NightjarTransport
import Synchronization

/// Limits the bytes that wait to be sent over a WebSocket. Any thread.
final class WebSocketSendLimit: Sendable {
    private let maximum: Int
    /// The bytes that were accepted and not sent.
    private let queued = Atomic<Int>(0)
    /// Whether ``wanted`` has a value.
    private let isRoomWanted = Atomic<Bool>(false)
    /// The number of queued bytes at which rejected senders are notified of room.
    private let wanted = Mutex<Int?>(nil)
    private let refusal = Mutex<Refusal?>(nil)
    private let isRefusing = Atomic<Bool>(false)
    /// Threads that wait for room.
    private let waiters = Monitor()

    private struct Refusal {
        let error: NightjarError
        var isFinal = false
    }

    /// - Parameter maximum: In bytes. A larger message is accepted if no other bytes wait.
    init(_ maximum: Int) { self.maximum = maximum }

    var queuedBytes: Int { queued.load(ordering: .relaxed) }

    /// Makes the next sends fail with an error, until ``accept()``.
    func refuse(_ error: NightjarError) { set(Refusal(error: error)) }

    /// Accepts sends again, except after ``end(_:)``.
    func accept() { set(nil) }

    /// Makes all further sends fail with an error.
    func end(_ error: NightjarError) { set(Refusal(error: error, isFinal: true)) }

    private func set(_ new: Refusal?) {
        refusal.withLock { refusal in
            if refusal?.isFinal != true { refusal = new }
            isRefusing.store(refusal != nil, ordering: .releasing)
        }
        wakeWaiters()
    }

    /// - Throws: the error of ``refuse(_:)`` or ``end(_:)``.
    func check() throws(NightjarError) {
        if isRefusing.load(ordering: .acquiring), let refusal = refusal.withLock({ $0 }) { throw refusal.error }
    }

    /// Accepts `count` bytes. Returns false if there is no room; ``roomIsWanted()`` then returns true later.
    func reserve(_ count: Int) -> Bool {
        if add(count) { return true }
        want(count)
        // The loop may have sent bytes before the request was recorded.
        return add(count)
    }

    /// Whether a sender of `count` bytes should be notified: the message fits, and half of the queue is free.
    func hasRoom(for count: Int) -> Bool { queued.load(ordering: .sequentiallyConsistent) <= limit(for: count) }

    /// Makes ``roomIsWanted()`` return true when there is room for `count` bytes.
    func want(_ count: Int) {
        wanted.withLock { wanted in
            wanted = min(wanted ?? .max, limit(for: count))
            isRoomWanted.store(true, ordering: .sequentiallyConsistent)
        }
    }

    private func limit(for count: Int) -> Int { max(min(maximum / 2, maximum - count), 0) }

    private func add(_ count: Int) -> Bool {
        var now = queued.load(ordering: .sequentiallyConsistent)
        while now == 0 || count <= maximum - now {
            let result = queued.compareExchange(
                expected: now, desired: now + count, ordering: .sequentiallyConsistent)
            if result.exchanged { return true }
            now = result.original
        }
        return false
    }

    /// Blocks until there is room for `count` bytes, or until sends are refused. Returns false after `deadline`.
    func waitForRoom(for count: Int, until deadline: timespec?) -> Bool {
        waiters.withLock {
            while true {
                // Another thread may have taken the room of the last notification.
                want(count)
                if hasRoom(for: count) || isRefusing.load(ordering: .acquiring) { return true }
                if deadline?.hasPassed == true { return false }
                waiters.wait(until: deadline)
            }
        }
    }

    private func wakeWaiters() { waiters.withLock { waiters.broadcast() } }

    // MARK: On the loop

    func release(_ count: Int) { queued.subtract(count, ordering: .sequentiallyConsistent) }

    /// Returns true once if a sender was rejected and there is room for its message now.
    func roomIsWanted() -> Bool {
        guard isRoomWanted.load(ordering: .sequentiallyConsistent) else { return false }
        let isNotified = wanted.withLock { wanted in
            guard let limit = wanted, queued.load(ordering: .sequentiallyConsistent) <= limit else { return false }
            wanted = nil
            isRoomWanted.store(false, ordering: .sequentiallyConsistent)
            return true
        }
        if isNotified { wakeWaiters() }
        return isNotified
    }
}
