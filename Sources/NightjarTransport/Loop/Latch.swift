import Synchronization

/// Closed until it is opened, once. Any thread.
package final class Latch: Sendable {
    private let monitor = Monitor()
    private let isOpen = Atomic<Bool>(false)

    package init() {}

    package func open() {
        monitor.withLock {
            isOpen.store(true, ordering: .relaxed)
            monitor.broadcast()
        }
    }

    package func wait() {
        monitor.withLock { while !isOpen.load(ordering: .relaxed) { monitor.wait(until: nil) } }
    }
}
