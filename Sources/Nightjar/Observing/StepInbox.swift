import Synchronization

/// The steps that wait until their receiver takes them. The bound is that of ``CallObserver/steps(on:_:)``.
///
/// ```
///           a step: notify            no step is left, or the receiver stops
/// idle ──────────────────────▶ taking ──────────────────────▶ idle
/// ```
///
/// The receiver takes all steps after one notification, so it is notified once for many steps.
package final class StepInbox: Sendable {
    private let notify: @Sendable (StepInbox) -> Void
    private let state = Mutex(State())

    private struct State {
        var backlog = StepBacklog()
        var isTaking = false
    }

    /// - Parameter notify: Called on the client's loop thread when the first step waits. Must not block.
    package init(_ notify: @escaping @Sendable (StepInbox) -> Void) { self.notify = notify }

    /// Adds a step. Notifies the receiver unless it is taking steps.
    func add(_ step: CallObserver.Step) {
        let isFirst = state.withLock { state in
            state.backlog.append(step)
            return !exchange(&state.isTaking, with: true)
        }
        if isFirst { notify(self) }
    }

    /// Removes the oldest step. After nil, the receiver is notified about the next step.
    package func take() -> CallObserver.Step? {
        state.withLock { state in
            let step = state.backlog.popFirst()
            if step == nil { state.isTaking = false }
            return step
        }
    }

    /// The receiver takes no more steps after this notification. The next step notifies it again.
    package func stop() { state.withLock { $0.isTaking = false } }
}

extension StepInbox: StepReceiver {
    func post(_ step: ClientTask.Step, from loop: ClientLoop) { add(step) }
}
