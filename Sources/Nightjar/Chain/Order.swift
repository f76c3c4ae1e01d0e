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
    /// Tells observers what the wire saw.
    case trace

    static let standard: [StageKind] = [
        .deadline, .observe, .hooks,  // the whole call, all attempts
        .validate,  // the final answer
        .coalesce,  // what is below happens once for all who wait for it
        .retry, .authenticate, .redirect,  // may ask for another attempt
        .cookies, .cache, .limit, .decode,  // what is above sees content as it was meant
        .trace,
    ]

    /// What calls of the client's own pass: the refresh of a token cannot wait for itself.
    static let inner: [StageKind] = [.deadline, .observe, .retry, .decode, .trace]

    /// The stage for a client of this configuration; nil where the client does not use it, so that it costs nothing.
    ///
    /// - Parameter base: the origin of the base URL.
    func stage(for configuration: Configuration, base: Origin?) -> (any Stage)? {
        switch self {
        case .deadline: Deadline()
        case .observe: configuration.log.flatMap(Observe.init)
        case .hooks: configuration.hooks.map(Hooks.init)
        case .validate: Validate(configuration.responseValidation)
        case .coalesce: Coalesce()
        case .retry: Retry(configuration.retry, budget: configuration.retryBudget)
        case .authenticate:
            base.flatMap { base -> (any Stage)? in
                switch configuration.auth {
                case .login: Authenticate(base)
                case .digest(let user, let password): AnswerChallenge(base, user: user, password: password)
                case nil, .bearer, .basic, .apiKey: nil
                }
            }
        case .redirect:
            Redirect(
                configuration.redirect, keepsCookies: configuration.cookies != nil,
                sensitive: configuration.sensitiveHeaders)
        case .cookies: configuration.cookies.map(Cookies.init)
        case .cache: configuration.cache.map { Cache($0, configuration.freshAnswers) }
        case .limit:
            Limit(
                configuration.limits, groups: configuration.limitGroups, longestWait: configuration.retry.longestWait)
        case .decode: Decode()
        case .trace: Trace(configuration.observers)
        }
    }
}
