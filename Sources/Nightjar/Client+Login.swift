import NIOCore
import NightjarHTTP
import Synchronization

/// The login of a client whose ``Configuration/auth`` is one.
extension Client {
    /// Begins to use a token that a login has brought, in place of the one there is, and keeps it in the store.
    ///
    /// - Throws: `invalid_request` when the client has no login.
    public func signIn(_ token: Token) throws(NightjarError) {
        guard token.authorization != nil else {
            throw NightjarError(
                .invalidArgument, "the token is empty, or has a character that cannot stand in a header")
        }
        _ = try login()
        try submit(.signedIn(token))
        repeated.forget()
    }

    /// Forgets the token, in the store too. Calls fail as `unauthorized` from now on.
    ///
    /// - Throws: `invalid_request` when the client has no login.
    public func signOut() throws(NightjarError) {
        _ = try login()
        try submit(.signedOut)
        repeated.forget()
    }

    /// Logs in: by a device code or with the browser where the grant is one for persons, else by what a call would wait
    /// for. The token is in its store before `finished` hears of it.
    ///
    /// - Parameters:
    ///   - queue: where `prompt` and `finished` run, as for a call.
    ///   - prompt: shows a person what to do.
    ///   - limit: how long the login may take; the server's own limit for a code may be shorter.
    /// - Returns: the login, which can be cancelled as a call can.
    @discardableResult
    public func logIn(
        on queue: CompletionQueue?, within limit: Duration = .seconds(900),
        prompt: @escaping @Sendable (LoginPrompt) -> Void,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientTask {
        let login = try login()
        guard !Fork.hasHappened(since: birth) else { throw Client.forked }
        // Of the call that stands for the login; it is never sent.
        let request = try PreparedRequest(Request(.post, ""), anonymousTemplate)
        let options = CallOptions(
            timeouts: Timeouts(total: limit), maximumBody: 0, expectedStatuses: [], decompresses: false,
            usesCookies: false, usesLogin: false)
        let handlers = TaskHandlers { _, result in finished(result.map { _ in () }) }
        let task = ClientTask(request, options, handlers: handlers, queue: queue, client: loop)
        if let queue, !queue.register(task) { throw NightjarError(.closed, "the queue is closed") }
        let person = PersonalLogin(login, try login.issuer(anonymousTemplate), prompt: prompt)
        guard loop.submit(.standIn(task, person)) else {
            queue?.forget(task)
            throw NightjarError(.closed, "the client is closed")
        }
        return task
    }

    /// The same, waiting on this thread, where `prompt` runs.
    public func logInBlocking(
        within limit: Duration = .seconds(900), prompt: @escaping @Sendable (LoginPrompt) -> Void
    ) throws(NightjarError) {
        try checkMayWait()
        let queue = CompletionQueue()
        let outcome = Mutex<Result<Void, NightjarError>?>(nil)
        try logIn(on: queue, within: limit, prompt: prompt) { result in outcome.withLock { $0 = result } }
        try wait(on: queue) { outcome.withLock { $0 } }.get()
    }

    /// How each origin and group stands with its limits, as of now; those of which there is nothing to say are left out.
    public func limitStates() -> [LimitState] {
        guard !Fork.hasHappened(since: birth) else { return [] }
        if loop.isOnLoop { return loop.limitStates() }
        let answer = LimitAnswer()
        guard loop.submit(.run { [loop] in answer.give(loop.limitStates()) }) else { return [] }
        return answer.wait()
    }

    private func login() throws(NightjarError) -> TokenLogin {
        guard case .login(let login) = auth else {
            throw NightjarError(.invalidRequest, "the client has no login: its auth is none, or does not run out")
        }
        return login
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
