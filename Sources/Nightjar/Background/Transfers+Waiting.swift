import Glibc
import NightjarHTTP

extension Transfers {
    /// Waits for the end of a transfer. Cancelling the Swift task ends the wait, and not the transfer.
    ///
    /// - Throws: The errors of ``check(_:)``; `cancelled` if the Swift task is cancelled.
    public func wait(_ id: String) async throws(NightjarError) -> BackgroundTransfer {
        if try get(id)?.state.isFinished == false { try wake() }
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
        if try get(id)?.state.isFinished == false { try wake() }
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

    /// Waits for the next transfer that has ended, and returns it. Nil if no transfer is left: each one that has ended was
    /// returned.
    ///
    /// This object returns the end of a transfer once. Another object, also in another process, returns it again, until it
    /// is acknowledged; see ``acknowledge(_:)``. Cancelling the Swift task ends the wait.
    ///
    /// - Throws: `cancelled` if the Swift task is cancelled; `storage`.
    public func nextEnded() async throws(NightjarError) -> BackgroundTransfer? {
        try wakeUnfinished()
        while true {
            switch try nextDelivery() {
            case .ended(let transfer): return transfer
            case .nothingLeft: return nil
            case .later: break
            }
            do {
                try await Task.sleep(for: Transfers.pause)
            } catch {
                throw NightjarError(.cancelled, "the wait for background transfers was cancelled")
            }
        }
    }

    /// Like ``nextEnded()``, but blocks this thread.
    ///
    /// - Parameter timeout: Nil: unlimited.
    /// - Throws: `timeout`; `storage`.
    package func nextEndedBlocking(timeout: Duration?) throws(NightjarError) -> BackgroundTransfer? {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        try wakeUnfinished()
        while true {
            switch try nextDelivery() {
            case .ended(let transfer): return transfer
            case .nothingLeft: return nil
            case .later: break
            }
            if let timeout, let deadline, ContinuousClock.now >= deadline {
                throw NightjarError(
                    .timeout, "no background transfer ended within \(timeout.rounded) s; they continue", phase: .total)
            }
            usleep(useconds_t(Transfers.pause.nanosecondsClamped / 1000))
        }
    }

    private enum Delivery {
        case ended(BackgroundTransfer)
        case nothingLeft
        case later
    }

    private func nextDelivery() throws(NightjarError) -> Delivery {
        let all = try list()
        for transfer in all where transfer.state.isFinished && deliver(transfer) { return .ended(transfer) }
        return all.contains { !$0.state.isFinished } ? .later : .nothingLeft
    }

    private func wakeUnfinished() throws(NightjarError) {
        if try list().contains(where: { !$0.state.isFinished }) { try wake() }
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
