import Synchronization

/// An event that happens once and for which threads can wait. Thread-safe.
package final class OneShotEvent: Sendable {
    private let monitor = Monitor()
    private let hasHappened = Atomic<Bool>(false)

    package init() {}

    package func signal() {
        monitor.withLock {
            hasHappened.store(true, ordering: .relaxed)
            monitor.broadcast()
        }
    }

    package func wait() {
        monitor.withLock { while !hasHappened.load(ordering: .relaxed) { monitor.wait(until: nil) } }
    }
}
