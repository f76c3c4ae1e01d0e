import Synchronization

/// The memory that one call holds on an account: its request and what it has received. Released when the call, its
/// response and its error are all released. Thread-safe.
package final class MemoryReservation: Sendable {
    private let account: any MemoryAccount
    private let bytes = Atomic<Int>(0)

    package init(_ account: any MemoryAccount) { self.account = account }

    deinit { account.release(bytes.load(ordering: .relaxed)) }

    /// - Returns: false if the limit would be exceeded.
    package func add(_ count: Int) -> Bool {
        guard account.take(count) else { return false }
        bytes.add(count, ordering: .relaxed)
        return true
    }

    /// Removes bytes that were added before.
    package func remove(_ count: Int) {
        guard count > 0 else { return }
        bytes.subtract(count, ordering: .relaxed)
        account.release(count)
    }
}
