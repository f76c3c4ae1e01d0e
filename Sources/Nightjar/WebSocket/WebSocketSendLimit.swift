import Glibc
import NightjarHTTP
import NightjarTransport
import Synchronization

/// Limits the bytes that wait to be sent over a WebSocket. Any thread.
final class WebSocketSendLimit: Sendable {
    private let maximum: Int
    /// The bytes that were accepted and not sent.
    private let queued = Atomic<Int>(0)
    /// Whether a sender was refused, and must be notified of room.
    private let isRoomWanted = Atomic<Bool>(false)
    private let refusal = Mutex<NightjarError?>(nil)
    private let isRefusing = Atomic<Bool>(false)
    /// Threads that wait for room.
    private let waiters = Monitor()

    /// - Parameter maximum: In bytes. A larger message is accepted if no other bytes wait.
    init(_ maximum: Int) { self.maximum = maximum }

    var queuedBytes: Int { queued.load(ordering: .relaxed) }

    /// Makes the next sends fail with an error. Nil: sends are accepted.
    func refuse(_ error: NightjarError?) {
        refusal.withLock { $0 = error }
        isRefusing.store(error != nil, ordering: .releasing)
        wakeWaiters()
    }

    /// - Throws: the error of ``refuse(_:)``.
    func check() throws(NightjarError) {
        if isRefusing.load(ordering: .acquiring), let error = refusal.withLock({ $0 }) { throw error }
    }

    /// Accepts `count` bytes. Returns false if there is no room; ``roomIsWanted()`` then returns true later.
    func reserve(_ count: Int) -> Bool {
        if add(count) { return true }
        isRoomWanted.store(true, ordering: .sequentiallyConsistent)
        // The loop may have sent bytes before the flag was set.
        return add(count)
    }

    var hasRoom: Bool { queued.load(ordering: .sequentiallyConsistent) <= maximum / 2 }

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

    /// Blocks until there is room, or until sends are refused. Returns false after `deadline`.
    func waitForRoom(until deadline: timespec?) -> Bool {
        waiters.withLock {
            while !hasRoom, !isRefusing.load(ordering: .acquiring) {
                if deadline?.hasPassed == true { return false }
                waiters.wait(until: deadline)
            }
            return true
        }
    }

    private func wakeWaiters() { waiters.withLock { waiters.broadcast() } }

    // MARK: On the loop

    func release(_ count: Int) { queued.subtract(count, ordering: .sequentiallyConsistent) }

    /// Returns true once if a sender was refused and half of the room is free again.
    func roomIsWanted() -> Bool {
        guard hasRoom, isRoomWanted.exchange(false, ordering: .sequentiallyConsistent) else { return false }
        wakeWaiters()
        return true
    }
}
