import Synchronization

/// An event that happens once and that threads can wait for. Any thread.
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
