import NIOCore
import NightjarHTTP

/// Observes the network for one client, on the client's loop.
package final class NetworkWatch: @unchecked Sendable {
    private let loop: any EventLoop
    private var observer: Int?
    /// The number of times that the watch was started, so that a change that was posted before ``stop()`` is ignored.
    private var generation = 0

    package init(_ loop: any EventLoop) { self.loop = loop }

    /// Whether the watch has started and has not been stopped.
    package var isActive: Bool { observer != nil }

    /// Calls `handler` on the loop with the status as soon as it is known, and then for each change, until ``stop()`` is
    /// called. Has no effect if the watch has started.
    package func start(_ handler: @escaping (NetworkChange) -> Void) {
        guard observer == nil else { return }
        generation += 1
        let target = Target(handler, generation)
        // The monitor calls no handler after `stop`, so the loop still runs. The monitor retains this object
        // until then.
        observer = NetworkMonitor.shared.observe { [self] change in
            loop.execute { [self] in
                if observer != nil, generation == target.generation { target.handler(change) }
            }
        }
    }

    package func stop() {
        guard let observer else { return }
        self.observer = nil
        NetworkMonitor.shared.remove(observer)
    }

    /// A handler that is called on the loop only.
    private final class Target: @unchecked Sendable {
        let handler: (NetworkChange) -> Void
        let generation: Int

        init(_ handler: @escaping (NetworkChange) -> Void, _ generation: Int) {
            self.handler = handler
            self.generation = generation
        }
    }
}
