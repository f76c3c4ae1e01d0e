import Synchronization

/// What one call holds of an account: its request, and what it has received. Given back when nobody has the call, its
/// response or its error any more. Any thread.
package final class MemoryHold: Sendable {
    private let account: any MemoryAccount
    private let bytes = Atomic<Int>(0)

    package init(_ account: any MemoryAccount) { self.account = account }

    deinit { account.give(bytes.load(ordering: .relaxed)) }

    /// - Returns: false where there is no room.
    package func add(_ count: Int) -> Bool {
        guard account.take(count) else { return false }
        bytes.add(count, ordering: .relaxed)
        return true
    }

    /// Of what was added.
    package func remove(_ count: Int) {
        guard count > 0 else { return }
        bytes.subtract(count, ordering: .relaxed)
        account.give(count)
    }
}
