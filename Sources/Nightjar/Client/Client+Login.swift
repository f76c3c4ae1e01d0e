import NIOCore
import NightjarHTTP
import NightjarTransport
import Synchronization

/// Logins, and the current state of the limits.
extension Client {
    /// Replaces the current token with a token that the program has obtained, and saves it in the store.
    ///
    /// - Parameter scheme: The security scheme of the login, if the client has several logins. Nil: the only login.
    /// - Throws: `invalid_argument` for a token that cannot be sent; `invalid_request` if no login matches, or if
    ///   several logins match; `closed`; `forked`.
    public func setToken(_ token: Token, scheme: String? = nil) throws(NightjarError) {
        guard token.authorization != nil else {
            throw NightjarError(
                .invalidArgument, "the token is empty or contains a character that is not allowed in a header")
        }
        let number = try login(scheme).number
        try changeLogin { () throws(NightjarError) in
            try submit(.run { [sessions] in sessions[number]?.setToken(token) })
        }
    }

    /// Logs out: removes the token, also from the store, the cached responses of this login and, if requested, its
    /// cookies. Until a new login, calls that need the token fail with `unauthorized`. If the login has a store, this
    /// also applies to other clients that use the store, and after a restart. Passwords and client certificates that the
    /// challenge callback has provided are forgotten.
    ///
    /// The client is logged out when this function returns. `finished` is called when the store, the cache on disk and
    /// the cookie file have been changed. If a change fails, `finished` receives the error `storage`, and another client
    /// may still use the login. ``close()`` waits for the store.
    ///
    /// - Parameters:
    ///   - scheme: The security scheme of the login, if the client has several logins. Nil: the only login.
    ///   - clearingCookies: Whether the cookies of the login are deleted, also from the cookie file: the cookies that
    ///     responses to its requests have set, and the cookies for the host of the base URL that no login's request has
    ///     received. Cookies of other logins are kept. The client need not have a login.
    ///   - queue: Where `finished` is called, as for a call.
    /// - Throws: `invalid_request` if no login matches, or if several logins match; `closed`; `forked`.
    /// - Returns: The operation. Cancelling it ends the wait and does not undo the logout.
    @discardableResult
    public func logOut(
        scheme: String? = nil, clearingCookies: Bool = false, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientOperation {
        // Without a login, only cookies, and the passwords and certificates of the challenge callback, are forgotten.
        let needsLogin = requestPassword == nil && !clearingCookies || logins.contains { $0.tokenLogin != nil }
        let number = needsLogin || scheme != nil ? try login(scheme).number : nil
        let jar = clearingCookies ? cookies.map { Logout.Cookies(storage: $0, host: template.base?.origin.host) } : nil
        let logout = Logout(
            sessions[number], jar, on: loop, queue: queue, timeout: Client.logoutLimit, finished: finished)
        try changeLogin { () throws(NightjarError) in
            if let requestPassword {
                try submit(
                    .run { [network] in
                        requestPassword.forget()
                        network?.forgetChosenCertificates()
                    })
            }
            try start(logout)
        }
        return logout
    }

    /// Submits a change of the login to the loop. From now on, this thread receives no cached response of the previous
    /// login.
    private func changeLogin(_ submitChange: () throws(NightjarError) -> Void) throws(NightjarError) {
        fresh?.loginChangeBegan()
        // The loop carries out messages in the order of their submission.
        defer { if !loop.submit(.run { [fresh] in fresh?.loginChangeEnded() }) { fresh?.loginChangeEnded() } }
        try submitChange()
        repeated.forget()
    }

    /// Logs out as ``logOut(scheme:clearingCookies:on:finished:)`` does, and blocks this thread until the logout is
    /// complete.
    ///
    /// - Throws: Also the errors that `finished` receives, such as `storage`; `reentrant`. See
    ///   ``logOut(scheme:clearingCookies:on:finished:)``.
    public func logOutBlocking(scheme: String? = nil, clearingCookies: Bool = false) throws(NightjarError) {
        try checkMayWait()
        let queue = CompletionQueue()
        let outcome = Mutex<Result<Void, NightjarError>?>(nil)
        try logOut(scheme: scheme, clearingCookies: clearingCookies, on: queue) { result in
            outcome.withLock { $0 = result }
        }
        try wait(on: queue) { outcome.withLock { $0 } }.get()
    }

    /// Logs out as ``logOut(scheme:clearingCookies:on:finished:)`` does, and waits until the logout is complete.
    /// Cancelling the Swift task ends the wait and does not undo the logout.
    ///
    /// - Throws: Also the errors that `finished` receives, such as `storage`; `cancelled`.
    public func logOut(scheme: String? = nil, clearingCookies: Bool = false) async throws(NightjarError) {
        try await outcome { (finished) throws(NightjarError) in
            try logOut(scheme: scheme, clearingCookies: clearingCookies, on: nil, finished: finished)
        }
    }

    /// The timeout of a logout. A logout may wait for a token request in progress and for a store that another process
    /// uses.
    private static let logoutLimit = Duration.seconds(180)

    /// Logs in. If the grant is interactive, the user logs in with a device code or a browser. Otherwise the client
    /// obtains the token that a call would wait for.
    ///
    /// The token is saved before `finished` is called. If saving fails, the client uses the token nevertheless. An
    /// interactive login then reports the error `storage`; any other login succeeds, and the client logs the error.
    ///
    /// - Parameters:
    ///   - scheme: The security scheme of the login, if the client has several logins. Nil: the only login.
    ///   - queue: Where `prompt` and `finished` run, as for a call.
    ///   - prompt: Shows the user the page to open and, for a device code, the code to enter.
    ///   - limit: The timeout of the login. The server's own limit for a code may be shorter. Nil: unlimited.
    /// - Returns: The operation, which can be cancelled like a call.
    @discardableResult
    public func logIn(
        scheme: String? = nil, on queue: CompletionQueue?, within limit: Duration? = .seconds(900),
        prompt: @escaping @Sendable (LoginPrompt) -> Void,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientOperation {
        let (number, login) = try login(scheme)
        let operation = InteractiveLogin(
            login, sessions[number], try login.issuer(anonymousTemplate), on: loop, timeout: limit,
            InteractiveLogin.Handlers(queue: queue, prompt: prompt, finished: finished))
        try start(operation)
        return operation
    }

    /// Logs in as ``logIn(scheme:on:within:prompt:finished:)`` does, and waits until the user has logged in. Cancelling the
    /// Swift task cancels the login.
    ///
    /// - Parameter prompt: Called on the client's thread. Must not block. Not called if the grant is not interactive.
    /// - Throws: `unauthorized` if the login is rejected; `storage` if the token of an interactive login cannot be saved;
    ///   `timeout`; `cancelled`; `invalid_request` if no login matches, or if several logins match; the errors of a call.
    public func logIn(
        scheme: String? = nil, within limit: Duration? = .seconds(900),
        prompt: @escaping @Sendable (LoginPrompt) -> Void
    ) async throws(NightjarError) {
        try await outcome { (finished) throws(NightjarError) in
            try logIn(scheme: scheme, on: nil, within: limit, prompt: prompt, finished: finished)
        }
    }

    func start(_ operation: ClientOperation) throws(NightjarError) {
        guard !Fork.hasForked(since: forkGeneration) else { throw Client.forked }
        try operation.start()
    }

    /// Like ``logIn(scheme:on:within:prompt:finished:)``, but blocks the thread. `prompt` runs on this thread.
    public func logInBlocking(
        scheme: String? = nil, within limit: Duration? = .seconds(900),
        prompt: @escaping @Sendable (LoginPrompt) -> Void
    ) throws(NightjarError) {
        try checkMayWait()
        let queue = CompletionQueue()
        let outcome = Mutex<Result<Void, NightjarError>?>(nil)
        try logIn(scheme: scheme, on: queue, within: limit, prompt: prompt) { result in outcome.withLock { $0 = result }
        }
        try wait(on: queue) { outcome.withLock { $0 } }.get()
    }

    /// The current state of the limits of each origin and group, and of each resource that its server has paused with
    /// Retry-After. Origins and groups without any state are omitted.
    public func limitStates() -> [LimitState] {
        guard !Fork.hasForked(since: forkGeneration) else { return [] }
        guard let limit else { return [] }
        if loop.isOnLoop { return limit.states() }
        let response = LimitStatesResult()
        guard loop.submit(.run { response.set(limit.states()) }) else { return [] }
        return response.wait()
    }

    private func login(_ scheme: String?) throws(NightjarError) -> (number: Int, TokenLogin) {
        let known = logins.enumerated().compactMap { number, login in
            login.tokenLogin.map { (number: number, scheme: login.scheme, login: $0) }
        }
        guard let first = known.first else {
            throw NightjarError(
                .invalidRequest,
                "the client has no login; set its option auth with the type oauth2 or login")
        }
        guard let scheme else {
            guard known.count == 1 else {
                let names = known.map { quoted($0.scheme ?? "") }.joined(separator: ", ")
                throw NightjarError(
                    .invalidRequest, "the client has several logins: \(names); choose one with \"scheme\"")
            }
            return (first.number, first.login)
        }
        if let found = known.first(where: { $0.scheme?.isExactly(scheme) == true }) {
            return (found.number, found.login)
        }
        let near = nearestName(to: scheme, among: known.compactMap(\.scheme)).map { "; did you mean \(quoted($0))?" }
        throw NightjarError(.invalidRequest, "the client has no login for the scheme \(quoted(scheme))\(near ?? "")")
    }

    private func submit(_ message: ClientLoop.Message) throws(NightjarError) {
        guard !Fork.hasForked(since: forkGeneration) else { throw Client.forked }
        guard loop.submit(message) else { throw NightjarError(.closed, "the client is closed") }
    }
}

/// Passes the loop's reply to the waiting thread. The loop carries out every accepted message before it stops.
private final class LimitStatesResult: @unchecked Sendable {
    private let monitor = Monitor()
    private var states: [LimitState]?

    func set(_ states: [LimitState]) {
        monitor.withLock {
            self.states = states
            monitor.broadcast()
        }
    }

    func wait() -> [LimitState] {
        monitor.withLock {
            while states == nil { monitor.wait(until: nil) }
            return states ?? []
        }
    }
}
