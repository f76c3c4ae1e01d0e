import NightjarHTTP
import NightjarSystem

extension Transfers {
    /// Waits for the end of a transfer. Cancelling the Swift task ends the wait, and not the transfer.
    ///
    /// - Throws: The errors of ``check(_:)``; `cancelled` if the Swift task is cancelled.
    public func wait(_ id: String) async throws(NightjarError) -> BackgroundTransfer {
        try wakeForWait(of: id)
        return try await poll { () throws(NightjarError) in try ended(id) }
    }

    /// Waits for the end of a transfer, and blocks this thread meanwhile.
    ///
    /// - Parameter timeout: Nil: unlimited.
    /// - Throws: The errors of ``check(_:)``; `timeout`.
    package func waitBlocking(_ id: String, timeout: Duration?) throws(NightjarError) -> BackgroundTransfer {
        try wakeForWait(of: id)
        return try pollBlocking("the transfer \(quoted(id)) did not end", timeout) { () throws(NightjarError) in
            try ended(id)
        }
    }

    /// Waits for the next transfer that has ended, and returns it. Nil if no transfer is left: each one that has ended was
    /// returned.
    ///
    /// This object returns the end of a transfer once. Another object, also in another process, returns it again, until it
    /// is acknowledged; see ``acknowledge(_:)``. Cancelling the Swift task ends the wait.
    ///
    /// - Throws: `cancelled` if the Swift task is cancelled; `storage`.
    public func nextEnded() async throws(NightjarError) -> BackgroundTransfer? {
        try wakeForWait(of: nil)
        return try await poll { () throws(NightjarError) in try nextDelivery() }.transfer
    }

    /// Like ``nextEnded()``, but blocks this thread.
    ///
    /// - Parameter timeout: Nil: unlimited.
    /// - Throws: `timeout`; `storage`.
    package func nextEndedBlocking(timeout: Duration?) throws(NightjarError) -> BackgroundTransfer? {
        try wakeForWait(of: nil)
        return try pollBlocking("no background transfer ended", timeout) { () throws(NightjarError) in
            try nextDelivery()
        }.transfer
    }

    /// The next end, or nil if no transfer is left.
    private struct Delivery {
        let transfer: BackgroundTransfer?
    }

    /// Returns nil if the next transfer has not ended yet.
    private func nextDelivery() throws(NightjarError) -> Delivery? {
        let all = try list()
        if let transfer = nextDelivery(of: all) { return Delivery(transfer: transfer) }
        return all.allSatisfy(\.state.isFinished) ? Delivery(transfer: nil) : nil
    }

    /// Wakes the worker if a transfer has not ended.
    ///
    /// - Parameter id: Nil: any transfer.
    private func wakeForWait(of id: String?) throws(NightjarError) {
        let awaited = if let id { try get(id).map { [$0] } ?? [] } else { try list() }
        if !awaited.allSatisfy(\.state.isFinished) { try wake() }
    }

    /// Returns a transfer that has succeeded. Nil if the transfer has not ended.
    private func ended(_ id: String) throws(NightjarError) -> BackgroundTransfer? {
        let transfer = try get(id)
        if let transfer, !transfer.state.isFinished { return nil }
        try check(id)
        return transfer
    }

    // MARK: Polling

    /// Calls `body` until it returns a value.
    private func poll<Value>(_ body: () throws(NightjarError) -> Value?) async throws(NightjarError) -> Value {
        while true {
            if let value = try body() { return value }
            do {
                try await Task.sleep(for: Transfers.pause)
            } catch {
                throw NightjarError(.cancelled, "the wait for background transfers was cancelled")
            }
        }
    }

    /// Calls `body` until it returns a value, and blocks this thread meanwhile.
    ///
    /// - Parameter failure: The start of the message of the error `timeout`.
    private func pollBlocking<Value>(
        _ failure: String, _ timeout: Duration?, _ body: () throws(NightjarError) -> Value?
    ) throws(NightjarError) -> Value {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        while true {
            if let value = try body() { return value }
            if let timeout, let deadline, ContinuousClock.now >= deadline {
                throw NightjarError(
                    .timeout, "\(failure) within \(timeout.rounded) s; the work continues in the background",
                    phase: .total)
            }
            usleep(useconds_t(Transfers.pause.nanosecondsClamped / 1000))
        }
    }

    /// The time between two reads of the journal.
    private static let pause = Duration.milliseconds(100)
}
