/// The stages a call passes: downwards on the way out, upwards on the way back. Reading this is reading the client.
enum StageKind: CaseIterable {
    /// One total deadline for everything below, and the idle limit.
    case deadline
    /// Log lines, secrets removed.
    case observe
    /// The caller's own code before and after each call.
    case hooks
    /// Which statuses are an answer and which an error: here, once, for every response.
    case validate
    /// Follows, changes the method, strips credentials across origins, stops loops.
    case redirect
    /// What servers set is sent back.
    case cookies
    /// Content codings.
    case decode
    /// Tells observers what the wire saw.
    case trace

    static let standard: [StageKind] = [
        .deadline, .observe, .hooks,  // the whole call, all attempts
        .validate,  // the final answer
        .redirect,  // may ask for another attempt
        .cookies, .decode,  // what is above sees content as it was meant
        .trace,
    ]

    /// The stage for a client of this configuration; nil where the client does not use it, so that it costs nothing.
    func stage(for configuration: Configuration) -> (any Stage)? {
        switch self {
        case .deadline: Deadline()
        case .observe: configuration.log.flatMap(Observe.init)
        case .hooks: configuration.hooks.map(Hooks.init)
        case .validate: Validate()
        case .redirect:
            Redirect(
                configuration.redirect, keepsCookies: configuration.cookies != nil,
                sensitive: configuration.sensitiveHeaders)
        case .cookies: configuration.cookies.map(Cookies.init)
        case .decode: Decode()
        case .trace: Trace(configuration.observers)
        }
    }
}
