import NightjarHTTP
import NightjarTransport

/// The network of this process.
///
/// Observing the network needs one thread for the process, which exists only while something observes the network, and
/// for a few seconds after ``status`` was read.
public enum Network {
    /// The current status. Waits up to half a second for NetworkManager or the desktop portal if the status is not known,
    /// for example at the first use.
    public static var status: NetworkStatus { NetworkMonitor.shared.status() }

    /// The current status, and then the status after each change, without end. If the reader falls behind, it receives
    /// only the latest statuses.
    public static var changes: AsyncStream<NetworkStatus> {
        AsyncStream(bufferingPolicy: .bufferingNewest(16)) { continuation in
            let observer = NetworkMonitor.shared.observe { continuation.yield($0.status) }
            continuation.onTermination = { _ in NetworkMonitor.shared.remove(observer) }
        }
    }

    /// Sets ``NetworkStatus/isConstrained``, for all clients of the process. A program sets it to request low data
    /// usage.
    public static func setConstrained(_ flag: Bool) { NetworkMonitor.shared.setConstrained(flag) }
}

/// Delivers changes of the network on a queue.
package final class NetworkObserver: @unchecked Sendable {
    private let number: Int
    private let isOpen: Flag

    /// - Parameter handler: Called with the current status and after each change, where the queue's callbacks run.
    package init(on queue: CompletionQueue, _ handler: @escaping @Sendable (NetworkStatus) -> Void) {
        let isOpen = Flag()
        self.isOpen = isOpen
        number = NetworkMonitor.shared.observe { change in
            queue.run { if isOpen.isSet { handler(change.status) } }
        }
    }

    deinit { cancel() }

    /// Stops the delivery. Events that are still in the queue are discarded.
    package func cancel() {
        isOpen.clear()
        NetworkMonitor.shared.remove(number)
    }
}
