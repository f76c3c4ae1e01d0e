import NIOCore

/// The timers of a client. Used on the loop.
extension ClientLoop {
    /// Runs `body` on the loop after `delay`, unless the client is closed first.
    ///
    /// - Returns: The number of the timer, for ``cancelTimer(_:)``.
    @discardableResult
    func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> Int {
        schedule(at: .now() + .nanoseconds(delay.nanosecondsClamped), body)
    }

    func cancelTimer(_ number: Int) { timers.removeValue(forKey: number)?.cancel() }

    @discardableResult
    private func schedule(at moment: NIODeadline, _ body: @escaping @Sendable () -> Void) -> Int {
        lastTimer += 1
        let timer = lastTimer
        guard !hasShutDown else { return timer }
        timers[timer] = thread.loop.scheduleTask(deadline: moment) {
            self.timers[timer] = nil
            body()
        }
        return timer
    }

    /// Ensures that timeouts are checked no later than at `moment`.
    ///
    /// One timer serves all calls: each call costs one comparison, and the timer fires about once per timeout period.
    func watch(until moment: NIODeadline) {
        guard alarm.arm(at: moment.uptimeNanoseconds) else { return }
        schedule(at: moment) { self.checkLimits(due: moment) }
    }

    private func checkLimits(due: NIODeadline) {
        guard alarm.rang(at: due.uptimeNanoseconds) else { return }
        let now = clock.now
        var earliest = NIODeadline.distantFuture
        var index = calls.count
        while index > 0 {
            index -= 1
            guard index < calls.count else { continue }
            if let limit = calls[index].checkLimits(now) { earliest = min(earliest, limit) }
        }
        if earliest < .distantFuture { watch(until: max(earliest, now + ClientLoop.finestWatch)) }
    }

    /// Timeouts that expire within this interval are checked together.
    private static let finestWatch = TimeAmount.milliseconds(2)
}
