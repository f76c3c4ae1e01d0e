import NIOCore
import NightjarHTTP

/// Follows redirects (RFC 9110 section 15.4). `RedirectPolicy` decides the next request and its fields; the caller
/// decides if ``TaskHandlers/redirect`` is set.
///
/// The body of the redirect response is read if it is short, so that its connection can be reused, and if the caller
/// decides.
final class Redirect: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.incoming, .answered, .failed] }
    private let states = CallStateKey<Progress>()
    private let settings: RedirectSettings
    private let keepsCookies: Bool
    private let longestWait: Duration
    private let sensitive: [String]
    private let forwarded: ForwardedFields

    /// - Parameters:
    ///   - keepsCookies: Whether the client has a cookie jar; see ``RedirectSettings/keepsCookies``.
    ///   - longestWait: See ``RedirectSettings/longestWait``.
    ///   - sensitive: Names of fields that are sent to no other origin.
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
        var hop: RedirectHop?

        init(_ policy: RedirectPolicy) { self.policy = policy }
    }

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        let known = call.states[states]
        // The previous attempt may have failed after its head.
        known?.hop = nil
        guard 301...308 ~= head.status else { return .proceed }
        let progress = known ?? begin(call)
        let verdict = progress.policy.received(
            head, to: call.request.method, at: call.request.url, bodyIsReplayable: call.bodyIsReplayable,
            wallClock: WallClock.secondsSince1970())
        switch verdict {
        case .answer: return .proceed
        case .fail(let error): return .fail(error.mayHaveBeenProcessed)
        case .follow(let hop):
            if known == nil { call.states[states] = progress }
            call.redirects = progress.policy.history
            let isNear = head.contentLength.map { $0 <= Redirect.largestDrained } ?? false
            guard isNear || call.task.handlers.redirect != nil else { return follow(hop, progress, call) }
            progress.hop = hop
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

    override func answered(_ response: Response, _ call: Call) -> Verdict {
        guard let progress = call.states[states], let hop = progress.hop.take() else { return .proceed }
        return ask(hop, progress, response, call)
    }

    /// The rest of the redirect response is not needed.
    override func failed(_ error: NightjarError, _ call: Call) -> Verdict {
        guard let progress = call.states[states], error.kind == .connectionLost || error.kind == .protocol,
            let hop = progress.hop.take()
        else { return .proceed }
        return ask(hop, progress, nil, call)
    }

    private func ask(_ hop: RedirectHop, _ progress: Progress, _ response: Response?, _ call: Call) -> Verdict {
        guard let handler = call.task.handlers.redirect else { return follow(hop, progress, call) }
        return call.request(
            DecisionRequestOf { task in
                let decision = handler(task, hop)
                if case .later = decision { return nil }
                return decision
            } resume: { [self] (decision: RedirectAnswer, call) in
                verdict(decision, hop, response, progress, call)
            })
    }

    private func verdict(
        _ answer: RedirectAnswer, _ hop: RedirectHop, _ response: Response?, _ progress: Progress, _ call: Call
    ) -> Verdict {
        switch answer {
        case .follow: return follow(hop, progress, call)
        case .followTo(let url):
            do throws(NightjarError) {
                let isReplayable = call.bodyIsReplayable
                let changed = try progress.policy.changed(hop, to: url, bodyIsReplayable: isReplayable)
                return follow(changed, progress, call)
            } catch {
                return .fail(error.mayHaveBeenProcessed)
            }
        case .stop:
            progress.policy.declined()
            call.redirects = progress.policy.history
            // Without a complete response, the failure is passed on.
            return response.map { .answer(call.settle($0)) } ?? .proceed
        case .refuse(let message):
            let why = message.map { ": \($0)" } ?? ""
            return .fail(
                NightjarError(
                    .cancelled, "the caller rejected the redirect (\(hop.status)) to \(hop.url.redacted)\(why)",
                    phase: .receive, requestMayHaveBeenProcessed: true))
        case .later: return .wait
        }
    }

    private func follow(_ hop: RedirectHop, _ progress: Progress, _ call: Call) -> Verdict {
        progress.hop = nil
        if hop.wait > .zero, let total = call.limits.total,
            call.loop.clock.now + .nanoseconds(hop.wait.nanosecondsClamped) >= total
        {
            return .fail(Redirect.outlasting(hop))
        }
        do throws(NightjarError) {
            call.decide(.redirected(status: hop.status, method: hop.method, to: hop.url.redacted))
            call.request = try call.request.following(hop, sensitive: sensitive, forwarded: forwarded)
            if hop.dropsCredentials { call.credentialsAreDropped = true }
            if hop.wait > .zero { call.decide(.waited(hop.wait, for: "the redirect (Retry-After)")) }
            return .again(after: hop.wait)
        } catch {
            return .fail(error)
        }
    }

    /// The wait that the redirect requests ends after the call's deadline.
    private static func outlasting(_ hop: RedirectHop) -> NightjarError {
        NightjarError(
            .timeout,
            "the redirect (\(hop.status)) to \(hop.url.redacted) requests a wait of \(hop.wait.inSeconds) s "
                + "(Retry-After), "
                + "but the total timeout expires earlier; raise timeout.total, or set respect_retry_after to false",
            phase: .total, requestMayHaveBeenProcessed: true, retryAfter: hop.wait)
    }

    /// The maximum number of body bytes that are read to reuse the connection. For more, a new connection costs less.
    private static let largestDrained = 64 * 1024
}
