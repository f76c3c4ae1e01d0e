import NIOCore
import NightjarHTTP

/// Starts the timeouts of a call: total for all attempts, idle while the call waits for the server.
final class Deadline: Stage, @unchecked Sendable {
    override var hooks: StageHooks { .outgoing }

    override func outgoing(_ call: Call) -> Verdict {
        let limits = call.options.limits
        if call.attempts == 0, let total = limits.total { call.limits.total = call.started + total }
        if let idle = limits.idle { call.limits.idle = idle }
        call.watchLimits()
        return .proceed
    }
}
