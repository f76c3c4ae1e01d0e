import NightjarHTTP

/// Follows redirects (RFC 9110 section 15.4): what is asked next, and what goes along, `RedirectPolicy` decides.
///
/// The answer that redirects is read to its end where that is near, so that its connection can be used again.
final class Redirect: Stage, @unchecked Sendable {
    let hooks: StageHooks = [.incoming, .answered, .failed]
    private let settings: RedirectSettings
    private let keepsCookies: Bool
    private let sensitive: [String]

    /// - Parameters:
    ///   - keepsCookies: the client does; see ``RedirectSettings/keepsCookies``.
    ///   - sensitive: names of fields that go to no other origin.
    init(_ settings: RedirectSettings, keepsCookies: Bool, sensitive: [String]) {
        self.settings = settings
        self.keepsCookies = keepsCookies
        self.sensitive = sensitive
    }

    /// The redirects of one call.
    final class Progress {
        fileprivate var policy: RedirectPolicy
        /// Where the answer that is being read leads.
        fileprivate var hop: RedirectHop?

        fileprivate init(_ policy: RedirectPolicy) { self.policy = policy }

        var history: [RedirectPolicy.Visit] { policy.history }
    }

    func incoming(_ head: ResponseHead, _ call: Call) -> Verdict {
        guard 301...308 ~= head.status else { return .proceed }
        let progress = call.redirects ?? begin(call)
        let verdict = progress.policy.received(
            head, to: call.request.method, at: call.request.url, bodyIsReplayable: call.request.body.isReplayable)
        switch verdict {
        case .answer: return .proceed
        case .fail(let error): return .fail(error.mayHaveBeenProcessed)
        case .follow(let hop):
            call.redirects = progress
            guard let body = head.contentLength, body <= Redirect.largestDrained else {
                return follow(hop, call)
            }
            progress.hop = hop
            call.collectsBody = true
            return .proceed
        }
    }

    private func begin(_ call: Call) -> Progress {
        var settings = call.options.redirect ?? settings
        settings.keepsCookies = keepsCookies && call.usesCookies
        return Progress(RedirectPolicy(settings))
    }

    func answered(_ response: Response, _ call: Call) -> Verdict {
        guard let hop = call.redirects?.hop else { return .proceed }
        return follow(hop, call)
    }

    /// The answer that redirects has broken off: it has said what matters.
    func failed(_ error: NightjarError, _ call: Call) -> Verdict {
        guard let hop = call.redirects?.hop, error.kind == .connectionLost || error.kind == .protocol else {
            return .proceed
        }
        return follow(hop, call)
    }

    private func follow(_ hop: RedirectHop, _ call: Call) -> Verdict {
        call.redirects?.hop = nil
        do throws(NightjarError) {
            call.request = try call.request.following(hop, sensitive: sensitive)
            return .again(after: .zero)
        } catch {
            return .fail(error)
        }
    }

    /// Bytes of a redirecting answer's content that are read to keep the connection; beyond, a new one costs less.
    private static let largestDrained = 64 * 1024
}
