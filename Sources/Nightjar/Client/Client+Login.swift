import NIOCore
import NightjarHTTP
import NightjarTransport
import Synchronization

/// The login of a client whose ``Configuration/auth`` is one.
extension Client {
    /// Begins to use a token that a login has brought, in place of the one there is, and keeps it in the store.
    ///
    /// - Parameter scheme: which login, of a client that has several; nil: the only one.
    /// - Throws: `invalid_request` when the client has no such login.
    public func signIn(_ token: Token, scheme: String? = nil) throws(NightjarError) {
        guard token.authorization != nil else {
            throw NightjarError(
                .invalidArgument, "the token is empty, or has a character that cannot stand in a header")
        }
        let number = try login(scheme).number
        try submit(.run { [sessions] in sessions[number]?.signIn(token) })
        repeated.forget()
    }

    /// Logs out: removes the token, also from the store, and the cached responses to this login. From now on calls fail
    /// with `unauthorized`, in every client of the store and after a restart, until a new login.
    ///
    /// The client is logged out when this function returns. `finished` is called when the store and the cache on disk
    /// have been changed. If a change fails, `finished` gets the error `storage`, and another client may still use the
    /// login. ``close()`` waits for the store.
    ///
    /// - Parameters:
    ///   - scheme: the security scheme of the login, if the client has several logins; nil: the only login.
    ///   - queue: where `finished` is called, as for a call.
    /// - Throws: `invalid_request` if the client has no such login.
    /// - Returns: the operation. Cancelling it ends the wait and does not undo the logout.
    @discardableResult
    public func signOut(
        scheme: String? = nil, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientOperation {
        let (number, _) = try login(scheme)
        let logout = Logout(sessions[number], on: loop, queue: queue, timeout: Client.logoutLimit, finished: finished)
        try start(logout)
        repeated.forget()
        return logout
    }

    /// Logs out as ``signOut(scheme:on:finished:)`` does, and blocks this thread until the logout is complete.
    ///
    /// - Throws: also `storage`; see ``signOut(scheme:on:finished:)``.
    public func signOutBlocking(scheme: String? = nil) throws(NightjarError) {
        try checkMayWait()
        let queue = CompletionQueue()
        let outcome = Mutex<Result<Void, NightjarError>?>(nil)
        try signOut(scheme: scheme, on: queue) { result in outcome.withLock { $0 = result } }
        try wait(on: queue) { outcome.withLock { $0 } }.get()
    }

    /// The timeout of a logout: a token exchange in progress ends first, and the store may be busy.
    private static let logoutLimit = Duration.seconds(180)

    /// Logs in: by a device code or with the browser where the grant is one for persons, else by what a call would wait
    /// for. The token is in its store before `finished` hears of it.
    ///
    /// - Parameters:
    ///   - scheme: which login, of a client that has several; nil: the only one.
    ///   - queue: where `prompt` and `finished` run, as for a call.
    ///   - prompt: shows a person what to do.
    ///   - limit: how long the login may take; the server's own limit for a code may be shorter. Nil: unlimited.
    /// - Returns: the login, which can be cancelled as a call can.
    @discardableResult
    public func logIn(
        scheme: String? = nil, on queue: CompletionQueue?, within limit: Duration? = .seconds(900),
        prompt: @escaping @Sendable (LoginPrompt) -> Void,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientOperation {
        let (number, login) = try login(scheme)
        let operation = PersonalLogin(
            login, sessions[number], try login.issuer(anonymousTemplate), on: loop, queue: queue, timeout: limit,
            prompt: prompt,
            finished: finished)
        try start(operation)
        return operation
    }

    func start(_ operation: ClientOperation) throws(NightjarError) {
        guard !Fork.hasHappened(since: birth) else { throw Client.forked }
        try operation.start()
    }

    /// The same, waiting on this thread, where `prompt` runs.
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

    /// How each origin and group stands with its limits, as of now; those of which there is nothing to say are left out.
    public func limitStates() -> [LimitState] {
        guard !Fork.hasHappened(since: birth) else { return [] }
        guard let limit else { return [] }
        if loop.isOnLoop { return limit.states() }
        let answer = LimitAnswer()
        guard loop.submit(.run { answer.give(limit.states()) }) else { return [] }
        return answer.wait()
    }

    private func login(_ scheme: String?) throws(NightjarError) -> (number: Int, TokenLogin) {
        let known = logins.enumerated().compactMap { number, login in
            login.tokenLogin.map { (number: number, scheme: login.scheme, login: $0) }
        }
        guard let first = known.first else {
            throw NightjarError(.invalidRequest, "the client has no login: its auth is none, or does not run out")
        }
        guard let scheme else {
            guard known.count == 1 else {
                let names = known.map { quoted($0.scheme ?? "") }.joined(separator: ", ")
                throw NightjarError(
                    .invalidRequest, "the client has several logins: \(names); say by \"scheme\" which one")
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
        guard !Fork.hasHappened(since: birth) else { throw Client.forked }
        guard loop.submit(message) else { throw NightjarError(.closed, "the client is closed") }
    }
}

/// Comes from the loop to the thread that waits. What a loop has accepted it carries out before it ends.
private final class LimitAnswer: @unchecked Sendable {
    private let monitor = Monitor()
    private var states: [LimitState]?

    func give(_ states: [LimitState]) {
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
