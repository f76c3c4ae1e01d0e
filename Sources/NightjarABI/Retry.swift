import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A failed attempt as C sees it. Belongs to the thread that runs the callback.
final class FailedAttemptBox {
    let error: ErrorBox
    let attempt: Int
    /// The delay before the client's own retry. Nil: the client would not retry; `reason` explains why.
    let wait: Duration?
    let reason: CString?
    /// The delay that C has set for the next attempt.
    var chosenWait: Duration?

    init(_ failedAttempt: TaskHandlers.FailedAttempt) {
        error = ErrorBox(failedAttempt.error)
        attempt = failedAttempt.attempt
        switch failedAttempt.verdict {
        case .again(let after): (wait, reason) = (after, nil)
        case .stop(let why): (wait, reason) = (nil, CString(why.description))
        }
    }

    func action(_ action: nj_retry_action) -> TaskHandlers.RetryAction {
        TaskHandlers.RetryAction(action, after: chosenWait ?? wait ?? .zero) ?? .stop
    }
}

extension TaskHandlers.RetryAction {
    fileprivate init?(_ action: nj_retry_action, after wait: Duration) {
        switch action {
        case NJ_RETRY_DEFAULT: self = .asDecided
        case NJ_RETRY_AGAIN: self = .again(after: wait)
        case NJ_RETRY_STOP: self = .stop
        case NJ_RETRY_PENDING: self = .later
        default: return nil
        }
    }
}

private func attempts(_ count: Int) throws(NightjarError) -> Int {
    guard 1...100 ~= count else {
        throw NightjarError(
            .invalidArgument, "the number of attempts must be between 1 and 100, got \(UInt(bitPattern: count))")
    }
    return count
}

@_cdecl("nj_config_set_retry_attempts") @implementation
public func nj_config_set_retry_attempts(_ config: OpaquePointer?, _ count: Int) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.retry.maximumAttempts = try attempts(count)
    }
}

@_cdecl("nj_config_set_retry_backoff") @implementation
public func nj_config_set_retry_backoff(_ config: OpaquePointer?, _ base: Double, _ cap: Double) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        (configuration.retry.base, configuration.retry.cap) = (try lifetime(base), try lifetime(cap))
    }
}

@_cdecl("nj_config_set_respect_retry_after") @implementation
public func nj_config_set_respect_retry_after(_ config: OpaquePointer?, _ respect: Bool) -> nj_status {
    changeConfig(config) { $0.respectsRetryAfter = respect }
}

@_cdecl("nj_config_set_pause_header") @implementation
public func nj_config_set_pause_header(_ config: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        var changed = configuration
        changed.pauseHeader = try optional(name, "name")
        try changed.checkPauseHeader()
        configuration = changed
    }
}

@_cdecl("nj_request_set_respect_retry_after") @implementation
public func nj_request_set_respect_retry_after(_ request: OpaquePointer?, _ respect: Bool) -> nj_status {
    changeRequest(request) { $0.request.respectsRetryAfter = respect }
}

@_cdecl("nj_config_set_retry_max_wait") @implementation
public func nj_config_set_retry_max_wait(_ config: OpaquePointer?, _ seconds: Double) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.retry.longestWait = try lifetime(seconds)
    }
}

@_cdecl("nj_request_set_retry_attempts") @implementation
public func nj_request_set_retry_attempts(_ request: OpaquePointer?, _ count: Int) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        var changes = box.request.retry ?? RetryChanges()
        changes.maximumAttempts = try attempts(count)
        box.request.retry = changes
    }
}

@_cdecl("nj_request_on_retry") @implementation
public func nj_request_on_retry(
    _ request: OpaquePointer?, _ retry: nj_retry_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { $0.onRetry(retry, CallbackContext(pointer: context)) }
}

@_cdecl("nj_request_set_body_rewind") @implementation
public func nj_request_set_body_rewind(_ request: OpaquePointer?, _ rewind: nj_rewind_fn?) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in try box.rewind(rewind) }
}

@_cdecl("nj_failed_attempt_error") @implementation
public func nj_failed_attempt_error(_ failedAttempt: OpaquePointer?) -> OpaquePointer? {
    Handle<FailedAttemptBox>.borrow(failedAttempt).map { Handle.lend($0.error) }
}

@_cdecl("nj_failed_attempt_number") @implementation
public func nj_failed_attempt_number(_ failedAttempt: OpaquePointer?) -> Int {
    Handle<FailedAttemptBox>.borrow(failedAttempt)?.attempt ?? 0
}

@_cdecl("nj_failed_attempt_delay") @implementation
public func nj_failed_attempt_delay(_ failedAttempt: OpaquePointer?) -> Double {
    Handle<FailedAttemptBox>.borrow(failedAttempt)?.wait?.inSeconds ?? -1
}

@_cdecl("nj_failed_attempt_reason") @implementation
public func nj_failed_attempt_reason(_ failedAttempt: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<FailedAttemptBox>.borrow(failedAttempt)?.reason?.pointer
}

@_cdecl("nj_failed_attempt_set_delay") @implementation
public func nj_failed_attempt_set_delay(_ failedAttempt: OpaquePointer?, _ seconds: Double) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<FailedAttemptBox>.borrow(failedAttempt), "attempt").chosenWait = try lifetime(seconds)
    }
}

@_cdecl("nj_task_retry") @implementation
public func nj_task_retry(_ task: OpaquePointer?, _ action: nj_retry_action, _ seconds: Double) -> nj_status {
    setting { () throws(NightjarError) in
        let task = try required(Handle<ClientWork>.borrow(task) as? ClientTask, "task")
        let wait = action == NJ_RETRY_AGAIN ? try lifetime(seconds) : .zero
        guard action != NJ_RETRY_PENDING, let action = TaskHandlers.RetryAction(action, after: wait) else {
            throw NightjarError(.invalidArgument, "decision must be NJ_RETRY_DEFAULT, NJ_RETRY_AGAIN or NJ_RETRY_STOP")
        }
        guard !task.isOfParent else {
            throw NightjarError(.forked, "this task belongs to the parent process")
        }
        task.retry(action)
    }
}

// MARK: Idempotency keys

@_cdecl("nj_request_set_idempotency_key") @implementation
public func nj_request_set_idempotency_key(_ request: OpaquePointer?, _ key: UnsafePointer<CChar>?) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        guard key != nil else { return box.request.idempotencyKey = .generated }
        guard let key = IdempotencyKey(try required(text(key), "key")) else {
            throw NightjarError(.invalidArgument, "key must be 1 to 255 printable ASCII characters without spaces")
        }
        box.request.idempotencyKey = .key(key)
    }
}

@_cdecl("nj_request_set_idempotent") @implementation
public func nj_request_set_idempotent(_ request: OpaquePointer?, _ isIdempotent: Bool) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.request.isIdempotent = isIdempotent }
}

@_cdecl("nj_idempotency_key_new") @implementation
public func nj_idempotency_key_new(_ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int) -> nj_status {
    setting { () throws(NightjarError) in
        var random = SystemRandomNumberGenerator()
        let key = IdempotencyKey(using: &random).text.utf8
        let buffer = try required(buffer, "buffer")
        // A capacity above Int.max is negative here and always sufficient.
        guard capacity < 0 || capacity > key.count else {
            throw NightjarError(
                .invalidArgument, "the capacity must be at least \(key.count + 1) bytes, got \(capacity)")
        }
        for (index, byte) in key.enumerated() { buffer[index] = CChar(bitPattern: byte) }
        buffer[key.count] = 0
    }
}
