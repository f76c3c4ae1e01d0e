/// The stages a call passes: downwards on the way out, upwards on the way back. Reading this is reading the client.
///
/// Mocks, cassettes and network profiles are no stages. They stand below all of these, where the network is
/// (``Configuration/staged(_:_:on:base:)``), so that what they bring is retried, followed, cached and logged in for, and so
/// that each exchange is recorded, those of the client's own among them.
enum StageKind: CaseIterable {
    /// One total deadline for everything below, and the idle limit.
    case deadline
    /// Log lines, secrets removed.
    case observe
    /// The caller's own code before and after each call.
    case hooks
    /// Which statuses are an answer and which an error: here, once, for every response.
    case validate
    /// Calls that are alike share one exchange.
    case coalesce
    /// What may be repeated, when and how often.
    case retry
    /// Attaches the token; where it is refused, one new one for all, then one replay.
    case authenticate
    /// Answers what servers ask of who logs in by a password.
    case challenge
    /// Follows, changes the method, strips credentials across origins, stops loops.
    case redirect
    /// What servers set is sent back.
    case cookies
    /// What was answered before is answered again, validated, or fetched and kept.
    case cache
    /// Rate, concurrency and circuit of an origin.
    case limit
    /// Content codings.
    case decode
    /// Reports that TLS certificates are not verified.
    case warnOfTLS
    /// Tells observers what the wire saw.
    case trace

    static let standard: [StageKind] = [
        .deadline, .observe, .hooks,  // the whole call, all attempts
        .validate,  // the final answer
        .coalesce,  // what is below happens once for all who wait for it
        .retry, .authenticate, .challenge, .redirect,  // may ask for another attempt
        .cookies, .cache, .limit, .decode,  // what is above sees content as it was meant
        .warnOfTLS, .trace,  // each exchange
    ]

    /// What calls of the client's own pass: the refresh of a token cannot wait for itself.
    static let inner: [StageKind] = [.deadline, .observe, .retry, .decode, .warnOfTLS, .trace]

    /// The stages for a client of this configuration; none where the client does not use it, so that it costs nothing.
    ///
    /// - Parameter base: the origin of the base URL.
    func stages(for configuration: Configuration, base: Origin?) -> [Stage] {
        if case .challenge = self { return challengeStages(configuration, base) }
        return stage(for: configuration, base: base).map { [$0] } ?? []
    }

    /// One for each login by a password, which are few.
    private func challengeStages(_ configuration: Configuration, _ base: Origin?) -> [Stage] {
        guard let base else { return [] }
        return configuration.logins.enumerated().compactMap { number, login in
            guard case .digest(let user, let password) = login.auth else { return nil }
            return AnswerChallenge(base, login: number, user: user, password: password)
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
        case .authenticate:
            configuration.logins.contains { $0.tokenLogin != nil }
                ? base.map { Authenticate($0, configuration.sessions) } : nil
        case .challenge: nil
        case .redirect:
            Redirect(
                configuration.redirect, keepsCookies: configuration.cookies != nil,
                longestWait: configuration.retry.longestWait, sensitive: configuration.sensitiveHeaders,
                forwarded: configuration.forwardedFields)
        case .cookies: configuration.cookies.map(Cookies.init)
        case .cache: configuration.cache.map { Cache($0, configuration.freshAnswers, configuration.loginCookies) }
        case .limit:
            Limit(
                configuration.limits, groups: configuration.limitGroups, longestWait: configuration.retry.longestWait)
        case .decode: Decode()
        case .warnOfTLS: configuration.transport.verifiesCertificates ? nil : WarnOfTLS()
        case .trace: Trace(configuration.observers)
        }
    }
}

/// The stages of a client's calls, and those among them that the client addresses itself.
struct ClientChain {
    let chain: Chain
    let limit: Limit?
    let cache: Cache?

    init(_ configuration: Configuration, base: Origin?) {
        let stages = StageKind.standard.flatMap { $0.stages(for: configuration, base: base) }
        chain = Chain(stages)
        limit = stages.lazy.compactMap { $0 as? Limit }.first
        cache = stages.lazy.compactMap { $0 as? Cache }.first
    }
}
