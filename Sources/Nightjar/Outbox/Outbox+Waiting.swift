import NightjarHTTP
import NightjarSystem

extension Outbox {
    /// Waits until an entry is done. Cancelling the Swift task ends the wait, and not the write.
    ///
    /// - Throws: The error of an entry that is held; `invalid_argument` if there is no entry with this id; `cancelled` if the
    ///   Swift task is cancelled.
    @discardableResult
    public func wait(_ id: String) async throws(NightjarError) -> Entry {
        while true {
            if let entry = try settled(id) { return entry }
            do {
                try await Task.sleep(for: Outbox.pause)
            } catch {
                throw NightjarError(.cancelled, "the wait for the outbox entry \(quoted(id)) was cancelled")
            }
        }
    }

    /// Like ``wait(_:)``, but blocks this thread.
    ///
    /// - Parameter timeout: Nil: unlimited.
    /// - Throws: The errors of ``wait(_:)``; `timeout`.
    package func waitBlocking(_ id: String, timeout: Duration?) throws(NightjarError) -> Entry {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        while true {
            if let entry = try settled(id) { return entry }
            if let timeout, let deadline, ContinuousClock.now >= deadline {
                throw NightjarError(
                    .timeout,
                    "the outbox entry \(quoted(id)) was not done within \(timeout.rounded) s; it is sent in the background",
                    phase: .total)
            }
            usleep(useconds_t(Outbox.pause.nanosecondsClamped / 1000))
        }
    }

    /// Checks that an entry is not held.
    ///
    /// - Throws: The error of an entry that is held; `invalid_argument` if there is no entry with this id.
    package func check(_ id: String) throws(NightjarError) { _ = try settled(id) }

    /// Returns an entry that is done. Nil if it will be sent.
    private func settled(_ id: String) throws(NightjarError) -> Entry? {
        guard let entry = try entry(id) else { throw Outbox.unknown(id) }
        if entry.state.isHeld {
            throw entry.error ?? NightjarError(.contentChanged, "the outbox entry \(quoted(id)) waits for a decision")
        }
        return entry.state == .done ? entry : nil
    }

    /// The time between two reads of the journal.
    private static let pause = Duration.milliseconds(25)
}
