import Synchronization

/// A flag that is set until it is cleared. Thread-safe.
final class Flag: Sendable {
    private let value = Atomic<Bool>(true)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func clear() { value.store(false, ordering: .releasing) }
}
