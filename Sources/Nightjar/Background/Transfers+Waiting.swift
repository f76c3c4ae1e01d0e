import Glibc
import NightjarHTTP

extension Transfers {
    /// Waits for the end of a transfer. Cancelling the Swift task ends the wait, and not the transfer.
    ///
    /// - Throws: The errors of ``check(_:)``; `cancelled` if the Swift task is cancelled.
    public func wait(_ id: String) async throws(NightjarError) -> BackgroundTransfer {
        while true {
            if let transfer = try ended(id) { return transfer }
            do {
                try await Task.sleep(for: Transfers.pause)
            } catch {
                throw NightjarError(.cancelled, "the wait for the transfer \(quoted(id)) was cancelled")
            }
        }
    }

    /// Waits for the end of a transfer, and blocks this thread meanwhile.
    ///
    /// - Parameter timeout: Nil: unlimited.
    /// - Throws: The errors of ``check(_:)``; `timeout`.
    package func waitBlocking(_ id: String, timeout: Duration?) throws(NightjarError) -> BackgroundTransfer {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        while true {
            if let transfer = try ended(id) { return transfer }
            if let timeout, let deadline, ContinuousClock.now >= deadline {
                throw NightjarError(
                    .timeout,
                    "the transfer \(quoted(id)) did not end within \(timeout.rounded) s; it continues in the background",
                    phase: .total)
            }
            usleep(useconds_t(Transfers.pause.nanosecondsClamped / 1000))
        }
    }

    /// Returns a transfer that has succeeded. Nil if the transfer has not ended.
    private func ended(_ id: String) throws(NightjarError) -> BackgroundTransfer? {
        let transfer = try get(id)
        if let transfer, !transfer.state.isFinished { return nil }
        try check(id)
        return transfer
    }

    /// The time between two reads of the journal.
    private static let pause = Duration.milliseconds(100)
}
