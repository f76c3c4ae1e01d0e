import NIOCore
import NightjarHTTP

/// The limits of time of a call: total for all attempts, idle while bytes should move.
final class Deadline: Stage, @unchecked Sendable {
    override var hooks: StageHooks { .outgoing }

    override func outgoing(_ call: Call) -> Verdict {
        let limits = call.options.limits
        if call.attempts == 0, let total = limits.total { call.limits.total = call.started + total }
        if let idle = limits.idle { call.limits.idle = idle }
        call.watchLimits()
        return .proceed
    }

    /// What ran out, said in a sentence.
    static func error(_ phase: ErrorPhase, _ call: Call) -> NightjarError {
        let limit = phase == .idle ? call.options.timeouts.idle : call.options.timeouts.total
        let seconds = limit.map { "\(Double($0.nanosecondsClamped / 1_000_000) / 1000) s" } ?? "the limit"
        let awaited = call.isReceiving ? "the rest of the response" : "a response"
        let message =
            phase == .idle
            ? "nothing moved on the connection for \(seconds) while waiting for \(awaited); raise timeout.idle, or set it to 0"
            : "no complete response within \(seconds); raise timeout.total, or set it to 0"
        return NightjarError(
            .timeout, message, phase: phase, requestMayHaveBeenProcessed: call.isOnConnection)
    }
}
