import Synchronization

/// The bytes that one call counts on a memory account, such as those of its request and of the received data. The bytes
/// are returned to the account when the call, its response and its error have all been released. Thread-safe.
package final class MemoryReservation: Sendable {
    private let account: any MemoryAccount
    private let bytes = Atomic<Int>(0)

    package init(_ account: any MemoryAccount) { self.account = account }

    deinit { account.release(bytes.load(ordering: .relaxed)) }

    /// Counts `count` more bytes. If the limit would be exceeded, counts nothing and returns false.
    package func add(_ count: Int) -> Bool {
        guard account.take(count) else { return false }
        bytes.add(count, ordering: .relaxed)
        return true
    }

    /// Returns `count` bytes, added earlier, to the account.
    package func remove(_ count: Int) {
        guard count > 0 else { return }
        bytes.subtract(count, ordering: .relaxed)
        account.release(count)
    }
}
