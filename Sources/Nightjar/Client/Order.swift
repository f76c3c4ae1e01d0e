import NightjarHTTP

/// The stages of a call, from the caller to the network. Requests pass them downwards and responses upwards.
///
/// Mocks, cassettes and network profiles are not stages. They replace or wrap the transport below all stages
/// (``Configuration/openTransport(_:_:on:base:)``). Retries, redirects, cache, cookies and authentication therefore
/// apply to their responses, and the exchanges of internal calls are recorded, too.
enum StageKind: CaseIterable {
    /// The total timeout and the idle timeout.
    case deadline
    /// Log lines with secrets masked.
    case observe
    /// The program's hooks before and after each call.
    case hooks
    /// Decides whether a response is a success or an error. Validates the response body.
    case validate
    /// Identical calls share one exchange.
    case coalesce
    /// Retries failed attempts by the retry policy.
    case retry
    /// Requests a user name and a password of the caller after a 401 response that the stages below could not handle.
    case requestPassword
    /// Attaches the token. After a 401 response, refreshes the token once for all calls and repeats the call once if
    /// possible.
    case authenticate
    /// Responds to Digest challenges.
    case challenge
    /// Follows redirects: changes the method, removes credentials across origins, limits the number of redirects.
    case redirect
    /// Rejects calls to http URLs.
    case requireHTTPS
    /// Waits for the network instead of failing with `offline`.
    case awaitNetwork
    /// Stores and sends cookies.
    case cookies
    /// Responds from the cache, revalidates stale entries, or sends the request and stores the response.
    case cache
    /// Rejects calls on metered or constrained networks.
    case restrictNetwork
    /// Rate limit, concurrency limit and circuit breaker.
    case limit
    /// Decodes content codings.
    case decode
    /// Logs that TLS certificates are not verified.
    case warnAboutTLS
    /// Reports each exchange to observers.
    case trace

    static let standard: [StageKind] = [
        .deadline, .observe, .hooks,  // the whole call, all attempts
        .validate,  // the final response
        .coalesce,  // stages below run once for all calls that share an exchange
        .retry, .requestPassword, .authenticate, .challenge, .redirect,  // may request another attempt
        .requireHTTPS, .awaitNetwork,  // a call that the cache can respond to does not wait
        .cookies, .cache, .restrictNetwork, .limit, .decode,  // stages above see decoded content
        .warnAboutTLS, .trace,  // each exchange
    ]

    /// The stages of token requests, which must not wait for a token.
    static let inner: [StageKind] = [
        .deadline, .observe, .retry, .requireHTTPS, .awaitNetwork, .restrictNetwork, .decode, .warnAboutTLS, .trace,
    ]

    /// Returns the stages of this kind for a client with this configuration. Empty if the client does not need this
    /// kind.
    ///
    /// - Parameter base: The origin of the base URL.
    func stages(for configuration: Configuration, base: Origin?) -> [Stage] {
        if case .challenge = self { return challengeStages(configuration, base) }
        return stage(for: configuration, base: base).map { [$0] } ?? []
    }

    /// Returns one stage for each login with Digest authentication.
    private func challengeStages(_ configuration: Configuration, _ base: Origin?) -> [Stage] {
        guard let base else { return [] }
        return configuration.logins.enumerated().compactMap { number, login in
            guard case .digest(let user, let password) = login.auth else { return nil }
            return RespondToChallenge(base, login: number, user: user, password: password)
        }
    }

    private func stage(for configuration: Configuration, base: Origin?) -> Stage? {
        switch self {
        case .deadline: Deadline()
        case .observe: configuration.log.flatMap(Observe.init)
        case .hooks: configuration.hooks.map(Hooks.init)
        case .validate: Validate(configuration.responseValidation)
        case .coalesce: Coalesce(configuration.sessions)
        case .retry: Retry(configuration.retry, budget: configuration.retryBudget)
        case .requestPassword: configuration.onChallenge.map(RequestPassword.init)
        case .authenticate:
            configuration.logins.contains { $0.tokenLogin != nil }
                ? base.map { Authenticate($0, configuration.sessions) } : nil
        case .challenge: nil
        case .redirect:
            Redirect(
                configuration.redirect, keepsCookies: configuration.cookies != nil,
                longestWait: configuration.retry.longestWait, sensitive: configuration.sensitiveHeaders,
                forwarded: configuration.forwardedFields)
        case .requireHTTPS: configuration.httpsOnly.map(RequireHTTPS.init)
        case .awaitNetwork: AwaitNetwork(configuration.connectivity, configuration.clientNetwork)
        case .cookies: configuration.cookies.map(Cookies.init)
        case .cache:
            configuration.cache.map {
                Cache($0, configuration.freshResponses, configuration.loginCookies, configuration.hooks)
            }
        case .restrictNetwork:
            configuration.transport.unixSocket == nil
                ? RestrictNetwork(configuration.connectivity, configuration.clientNetwork) : nil
        case .limit:
            Limit(
                configuration.limits, groups: configuration.limitGroups, longestWait: configuration.retry.longestWait,
                pauseHeader: configuration.pauseHeader.flatMap(PauseHeader.init))
        case .decode: Decode()
        case .warnAboutTLS: configuration.transport.tls.verifiesCertificates ? nil : WarnAboutTLS()
        case .trace: Trace(configuration.observers)
        }
    }
}

/// The stages of a client's calls, and the stages that the client uses directly.
struct ClientChain {
    let chain: Chain
    /// The chain of token requests.
    let inner: Chain
    let limit: Limit?
    let cache: Cache?
    let requestPassword: RequestPassword?

    init(_ configuration: Configuration, base: Origin?) {
        let stages = StageKind.standard.flatMap { $0.stages(for: configuration, base: base) }
        chain = Chain(stages)
        inner = Chain(StageKind.inner.flatMap { $0.stages(for: configuration, base: nil) })
        limit = stages.lazy.compactMap { $0 as? Limit }.first
        cache = stages.lazy.compactMap { $0 as? Cache }.first
        requestPassword = stages.lazy.compactMap { $0 as? RequestPassword }.first
    }
}
