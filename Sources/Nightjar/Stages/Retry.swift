import NIOCore
import NightjarHTTP

/// Retries transient failures, as decided by `RetryPolicy`, or by the caller if ``TaskHandlers/retry`` is set.
///
/// An error is retried only if its attempt reached the transport. A rejection by a stage below is final.
final class Retry: Stage, @unchecked Sendable {
    private typealias FailedAttempt = TaskHandlers.FailedAttempt
    private typealias RetryAction = TaskHandlers.RetryAction

    override var hooks: StageHooks { [.responded, .failed, .ended] }
    private let states = CallStateKey<Progress>()
    private let settings: RetrySettings
    private var budget: RetryBudget
    private var random = SystemRandomNumberGenerator()

    init(_ settings: RetrySettings, budget: RetryBudget.Settings) {
        self.settings = settings
        self.budget = RetryBudget(budget)
    }

    /// The attempts of one call.
    private final class Progress: CallState {
        var policy: RetryPolicy
        /// The number of the last attempt that the policy has judged.
        var evaluated = 0
        /// The number of retries that the budget was charged for.
        var charged = 0
        /// Whether the result of the last charged retry is still unknown. If this retry has not started when the call
        /// ends, it is refunded.
        var isPending = false

        init(_ policy: RetryPolicy) { self.policy = policy }
    }

    override func responded(_ response: Response, _ call: Call) -> Verdict {
        guard RetryPolicy.Outcome.isTransient(response.status),
            !call.options.expectedStatuses.expects(response.status)
        else {
            let progress = call.states[states]
            budget.succeeded(retries: progress?.charged ?? 0)
            progress?.isPending = false
            return .proceed
        }
        let error = NightjarError(unexpected: response, to: call.request.method)
        let wait = call.options.respectsRetryAfter ? error.retryAfter : nil
        return evaluate(error, .init(status: response.status, retryAfter: wait), call)
    }

    override func failed(_ error: NightjarError, _ call: Call) -> Verdict {
        guard error.kind != .cancelled, call.attempts > call.states[states]?.evaluated ?? 0 else { return .proceed }
        return evaluate(error, .init(error), call)
    }

    /// Refunds a charged retry that has not started. The call may end while its caller decides or before the retry
    /// begins.
    override func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        guard let progress = call.states[states], progress.isPending, call.attempts == progress.evaluated else {
            return
        }
        refund(progress)
    }

    private func refund(_ progress: Progress) {
        progress.isPending = false
        progress.charged -= 1
        budget.refundRetry()
    }

    private func evaluate(_ error: NightjarError, _ outcome: RetryPolicy.Outcome, _ call: Call) -> Verdict {
        let progress = call.states[states] ?? begin(call)
        progress.evaluated = call.attempts
        let attempt = RetryPolicy.Attempt(
            call.request.method,
            hasIdempotencyKey: call.options.isIdempotent || call.request.hasField(IdempotencyKey.fieldName),
            bodyIsReplayable: call.bodyIsReplayable, responseWasDelivered: call.responseWasDelivered)
        let verdict = progress.policy.ended(
            outcome, attempt, now: NIODeadline.now().uptimeNanoseconds, budget: &budget, using: &random)
        progress.isPending = false
        if case .again = verdict {
            progress.charged += 1
            progress.isPending = true
        }
        let failedAttempt = FailedAttempt(
            error: error.of(call.request, attempts: call.attempts, on: call.timing.connection),
            attempt: call.attempts, verdict: verdict)
        call.wasRejectedByLimit = !outcome.mayHaveBeenProcessed
        // A partly delivered response is never followed by another response, regardless of the caller's decision. The
        // caller also does not decide about a connection that the pins forbid: a callback that retries every failure
        // would give an attacker further attempts.
        guard let handler = call.task.handlers.retry, !call.responseWasDelivered, error.kind != .pinMismatch else {
            return act(failedAttempt, .asDecided, call)
        }
        return call.request(
            DecisionRequestOf { task in
                let decision = handler(task, failedAttempt)
                if case .later = decision { return nil }
                return decision
            } resume: { [self] (decision: RetryAction, call) in
                act(failedAttempt, decision, call)
            })
    }

    private func begin(_ call: Call) -> Progress {
        let policy = RetryPolicy(call.options.retry ?? settings, deadline: call.limits.total?.uptimeNanoseconds)
        let progress = Progress(policy)
        call.states[states] = progress
        return progress
    }

    private func act(_ failedAttempt: FailedAttempt, _ action: RetryAction, _ call: Call) -> Verdict {
        let verdict = verdict(failedAttempt, action, call)
        if case .proceed = verdict, let progress = call.states[states], progress.isPending { refund(progress) }
        return verdict
    }

    private func verdict(_ failedAttempt: FailedAttempt, _ action: RetryAction, _ call: Call) -> Verdict {
        let cause = "\(failedAttempt.error.kind.name): \(failedAttempt.error.message)"
        switch (bounded(action, failedAttempt, call), failedAttempt.verdict) {
        case (.again(let wait), _) where call.bodyIsReplayable:
            return again(failedAttempt, cause, after: wait, call)
        case (.asDecided, .again(let wait)):
            return again(failedAttempt, cause, after: wait, call)
        case (.again, _):
            call.decide(.notRetried(cause: cause, because: RetryPolicy.Reason.bodyWasConsumed.description))
        case (.stop, .again):
            call.decide(.notRetried(cause: cause, because: "not retried: the retry callback rejected the retry"))
        case (.asDecided, .stop(let reason)), (.stop, .stop(let reason)), (.later, .stop(let reason)):
            // No decision is recorded for a failure that is not transient.
            if reason != .notTransient { call.decide(.notRetried(cause: cause, because: reason.description)) }
        case (.later, .again): return .wait
        }
        return .proceed
    }

    /// A sandboxed script cannot force a retry that the client has rejected, and cannot retry sooner than the client
    /// has decided.
    private func bounded(_ action: RetryAction, _ failedAttempt: FailedAttempt, _ call: Call) -> RetryAction {
        guard case .again(let wait) = action, call.options.confinement?.isSandbox == true else { return action }
        guard case .again(let decided) = failedAttempt.verdict else { return .asDecided }
        return .again(after: max(wait, decided))
    }

    private func again(_ failedAttempt: FailedAttempt, _ cause: String, after wait: Duration, _ call: Call) -> Verdict {
        call.failures.append(failedAttempt.error.withoutBody)
        call.decide(.retried(cause: cause, after: wait))
        call.report(.retried(because: failedAttempt.error.kind, after: wait))
        call.note(.info, "\(call.request.method) \(call.request.url.redacted) is retried: \(cause)")
        return .again(after: wait)
    }
}
