import NIOCore
import NightjarHTTP

/// The timeouts of a call, which ``TimeLimits`` computes.
extension Call {
    /// Whether the server has to act next, rather than the caller, the pool or a limit.
    private var waitsForPeer: Bool { isOnConnection && !isPaused && feed?.isAwaited != true }

    func watchLimits() {
        if let next = limits.next(waitsForPeer: waitsForPeer) { loop.watch(until: next) }
    }

    /// Ends the call or its current attempt when a timeout has expired.
    ///
    /// - Returns: The time of the next check. Nil if no timeout is running or the call has ended.
    func checkLimits(_ now: NIODeadline) -> NIODeadline? {
        switch limits.check(now: now, waitsForPeer: waitsForPeer, unsentBytes: exchange?.unsentBytes ?? 0) {
        case .running(let next): return next
        case .totalExpired: return expire(now)
        case .idleExpired:
            ascend(timeoutError(.idle), from: entryStage)
            // If the attempt is retried, the call and its total timeout continue.
            return state == .finished ? nil : limits.next(waitsForPeer: waitsForPeer)
        }
    }

    /// Handles the expiry of the total timeout. A stage may respond with a stored response, which must be delivered
    /// within one second. Otherwise the call fails.
    ///
    /// - Returns: The time of the next check, or nil if the call has ended.
    private func expire(_ now: NIODeadline) -> NIODeadline? {
        let error = timeoutError(.total)
        if !hasExpired, !responseWasDelivered {
            hasExpired = true
            var response: (verdict: Verdict, stage: Int)?
            for link in chain.expired where link.position > above {
                reachedStage = link.position
                let verdict = link.withStage { $0.expired(error, self) }
                if response == nil, !verdict.isProceed { response = (verdict, link.position) }
            }
            if let (verdict, stage) = response {
                limits.total = now + Call.momentAfterExpiry
                interrupt(with: verdict, from: stage)
                return state == .finished ? nil : limits.total
            }
        }
        finish(.failure(error))
        return nil
    }

    /// Posts an event to each caller: the call, or the exchange that several calls share, waits for the network.
    func reportWaiting(_ reason: OfflineReason) {
        if let waiters {
            for call in waiters() { call.reportWaiting(reason) }
            return
        }
        guard task.handlers.waiting != nil else { return }
        loop.post(.run { [task] in task.deliver(waiting: reason) }, to: task.queue)
    }

    private func timeoutError(_ phase: ErrorPhase) -> NightjarError {
        let limit = phase == .idle ? options.timeouts.idle : options.timeouts.total
        let seconds = limit.map { "\(Double($0.nanosecondsClamped / 1_000_000) / 1000) s" } ?? "the limit"
        let awaited = isReceiving ? "the rest of the response" : "a response"
        let message =
            phase == .idle
            ? "no data was transferred for \(seconds) while waiting for \(awaited); raise timeout.idle, or set it to 0"
            : "no complete response within \(seconds); raise timeout.total, or set it to 0"
        return NightjarError(.timeout, message, phase: phase, requestMayHaveBeenProcessed: isOnConnection)
    }

    /// The time to deliver a response from disk after the total timeout.
    private static let momentAfterExpiry = TimeAmount.seconds(1)
}
