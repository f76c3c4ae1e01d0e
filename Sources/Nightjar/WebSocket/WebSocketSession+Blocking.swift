import NightjarHTTP
import NightjarSystem
import NightjarTransport

/// Functions that block the thread. Any thread but the loop's.
extension WebSocketSession {
    /// Sends a message. Blocks while the send queue is full.
    ///
    /// - Parameters:
    ///   - isFirst: As for ``send(_:isFirst:)``.
    ///   - timeout: Nil: unlimited.
    /// - Throws: `timeout` if the queue stayed full; nothing was sent. Otherwise as ``send(_:isFirst:)``; `reentrant`;
    ///   `forked`.
    package func sendBlocking(
        _ message: WebSocketMessage, isFirst: Bool = false, within timeout: Duration?
    ) throws(NightjarError) {
        try client.checkMayWait()
        let deadline = timeout.map { Monitor.deadline(after: $0) }
        while try !send(message, isFirst: isFirst) {
            guard sendLimit.waitForRoom(for: WebSocketConnection.queuedSize(message), until: deadline) else {
                throw NightjarError(
                    .timeout, "sending a WebSocket message failed: the send queue is full; the server reads too slowly",
                    phase: .send)
            }
        }
    }

    /// Sends a Ping, and blocks until its Pong has arrived. Returns the time between both.
    ///
    /// - Parameter timeout: Nil: unlimited.
    /// - Throws: `timeout`; `reentrant`; `forked`. Otherwise as ``ping(completion:)``.
    package func pingBlocking(within timeout: Duration?) throws(NightjarError) -> Duration {
        try client.checkMayWait()
        let pong = Pong()
        try ping { pong.set($0) }
        guard let result = pong.wait(until: timeout.map { Monitor.deadline(after: $0) }) else {
            throw NightjarError(.timeout, "no Pong arrived in time; the WebSocket is still open", phase: .receive)
        }
        return try result.get()
    }
}

/// The result of a Ping, for which a thread waits.
private final class Pong: @unchecked Sendable {
    private let monitor = Monitor()
    private var result: Result<Duration, NightjarError>?

    func set(_ new: Result<Duration, NightjarError>) {
        monitor.withLock {
            result = new
            monitor.broadcast()
        }
    }

    /// Returns nil after `deadline`.
    func wait(until deadline: timespec?) -> Result<Duration, NightjarError>? {
        monitor.withLock {
            while result == nil, deadline?.hasPassed != true { monitor.wait(until: deadline) }
            return result
        }
    }
}
