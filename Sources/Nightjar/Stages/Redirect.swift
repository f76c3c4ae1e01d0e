import NIOCore
import NightjarHTTP

/// Follows redirects (RFC 9110 section 15.4). `RedirectPolicy` proposes the next request. If ``TaskHandlers/redirect``
/// is set, the caller decides whether this request is sent.
///
/// The body of a redirect response is read if its Content-Length is at most 64 KiB, so that the connection can be
/// reused. The body is also read if the caller decides about the redirect.
final class Redirect: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.incoming, .responded, .failed] }
    private let states = CallStateKey<Progress>()
    private let settings: RedirectSettings
    private let keepsCookies: Bool
    private let longestWait: Duration
    private let sensitive: [String]
    private let forwarded: ForwardedFields

    /// - Parameters:
    ///   - keepsCookies: Whether the client has a cookie jar; see ``RedirectSettings/keepsCookies``.
    ///   - longestWait: See ``RedirectSettings/longestWait``.
    ///   - sensitive: Names of fields that are never sent to another origin.
    ///   - forwarded: The fields that are also sent to another origin.
    init(
        _ settings: RedirectSettings, keepsCookies: Bool, longestWait: Duration, sensitive: [String],
        forwarded: ForwardedFields
    ) {
        self.settings = settings
        self.keepsCookies = keepsCookies
        self.longestWait = longestWait
        self.sensitive = sensitive
        self.forwarded = forwarded
    }

    /// The redirects of one call.
    private final class Progress: CallState {
        var policy: RedirectPolicy
        /// The redirect of the response in progress.
        var proposed: ProposedRedirect?

        init(_ policy: RedirectPolicy) { self.policy = policy }
    }

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        let known = call.states[states]
        // The previous attempt may have failed after it received the head of a redirect response.
        known?.proposed = nil
        guard 301...308 ~= head.status else { return .proceed }
        let progress = known ?? begin(call)
        let verdict = progress.policy.received(
            head, to: call.request.method, at: call.request.url, bodyIsReplayable: call.bodyIsReplayable,
            wallClock: WallClock.secondsSince1970())
        switch verdict {
        case .respond: return .proceed
        case .fail(let error): return .fail(error.mayHaveBeenProcessed)
        case .follow(let proposed):
            if known == nil { call.states[states] = progress }
            call.redirects = progress.policy.history
            let isNear = head.contentLength.map { $0 <= Redirect.largestDrained } ?? false
            guard isNear || call.task.handlers.redirect != nil else { return follow(proposed, progress, call) }
            progress.proposed = proposed
            call.collectsBody = true
            return .proceed
        }
    }

    private func begin(_ call: Call) -> Progress {
        var settings = call.options.redirect ?? settings
        settings.keepsCookies = keepsCookies && call.usesCookies
        settings.respectsRetryAfter = call.options.respectsRetryAfter
        settings.longestWait = call.options.retry?.longestWait ?? longestWait
        return Progress(RedirectPolicy(settings))
    }

    override func responded(_ response: Response, _ call: Call) -> Verdict {
        guard let progress = call.states[states], let proposed = progress.proposed.take() else { return .proceed }
        return requestDecision(proposed, progress, response, call)
    }

    /// Treats a redirect response as complete if its body failed with `connection_lost` or `protocol`, because the rest
    /// of the body is not needed.
    override func failed(_ error: NightjarError, _ call: Call) -> Verdict {
        guard let progress = call.states[states], error.kind == .connectionLost || error.kind == .protocol,
            let proposed = progress.proposed.take()
        else { return .proceed }
        return requestDecision(proposed, progress, nil, call)
    }

    private func requestDecision(
        _ proposed: ProposedRedirect, _ progress: Progress, _ response: Response?, _ call: Call
    ) -> Verdict {
        guard let handler = call.task.handlers.redirect else { return follow(proposed, progress, call) }
        return call.request(
            DecisionRequestOf { task in
                let decision = handler(task, proposed)
                if case .later = decision { return nil }
                return decision
            } resume: { [self] (decision: TaskHandlers.RedirectAction, call) in
                verdict(decision, proposed, response, progress, call)
            })
    }

    private func verdict(
        _ action: TaskHandlers.RedirectAction, _ proposed: ProposedRedirect, _ response: Response?,
        _ progress: Progress, _ call: Call
    ) -> Verdict {
        switch action {
        case .follow: return follow(proposed, progress, call)
        case .followTo(let url):
            do throws(NightjarError) {
                let isReplayable = call.bodyIsReplayable
                let changed = try progress.policy.changed(proposed, to: url, bodyIsReplayable: isReplayable)
                return follow(changed, progress, call)
            } catch {
                return .fail(error.mayHaveBeenProcessed)
            }
        case .stop:
            progress.policy.declined()
            call.redirects = progress.policy.history
            // If the response is not complete, its failure is passed to the stages above.
            return response.map { .respond(call.settle($0)) } ?? .proceed
        case .refuse(let message):
            let why = message.map { ": \($0)" } ?? ""
            return .fail(
                NightjarError(
                    .cancelled,
                    "the caller rejected the redirect (\(proposed.status)) to \(proposed.url.redacted)\(why)",
                    phase: .receive, requestMayHaveBeenProcessed: true))
        case .later: return .wait
        }
    }

    private func follow(_ proposed: ProposedRedirect, _ progress: Progress, _ call: Call) -> Verdict {
        progress.proposed = nil
        if proposed.wait > .zero, let total = call.limits.total,
            call.loop.clock.now + .nanoseconds(proposed.wait.nanosecondsClamped) >= total
        {
            return .fail(Redirect.exceedsTimeout(proposed))
        }
        do throws(NightjarError) {
            call.decide(.redirected(status: proposed.status, method: proposed.method, to: proposed.url.redacted))
            call.report(.redirected(status: proposed.status, to: proposed.url.redacted))
            call.request = try call.request.following(proposed, sensitive: sensitive, forwarded: forwarded)
            if proposed.dropsCredentials { call.credentialsAreDropped = true }
            if proposed.wait > .zero { call.decide(.waited(proposed.wait, for: "the redirect (Retry-After)")) }
            return .again(after: proposed.wait)
        } catch {
            return .fail(error)
        }
    }

    /// Returns the error for a redirect whose requested wait ends after the total timeout.
    private static func exceedsTimeout(_ proposed: ProposedRedirect) -> NightjarError {
        NightjarError(
            .timeout,
            "the redirect (\(proposed.status)) to \(proposed.url.redacted) requests a wait of \(proposed.wait.inSeconds) s "
                + "(Retry-After), "
                + "but the total timeout expires earlier; raise timeout.total, or set respect_retry_after to false",
            phase: .total, requestMayHaveBeenProcessed: true, retryAfter: proposed.wait)
    }

    /// The maximum number of body bytes that are read to reuse the connection. Reading more usually costs more than
    /// opening a connection.
    private static let largestDrained = 64 * 1024
}
