import CLua
import Nightjar
import NightjarHandles
import NightjarTesting
import Synchronization

// The logins of clients whose tokens come from the script, the notifications about required logins, pin mismatches and steps
// of calls, and the queue of all decision requests.

/// Passes decision requests and notifications from the clients' loops to the thread of one Lua state.
final class ScriptCallbacks: Sendable {
    private let pending = Mutex<[ScriptCallback]>([])
    private let queue: CompletionQueue

    init(_ queue: CompletionQueue) { self.queue = queue }

    /// Adds a decision request or a notification for the script. Any thread may call it.
    func add(_ callback: ScriptCallback) {
        pending.withLock { $0.append(callback) }
        queue.wake()
    }

    func next() -> ScriptCallback? { pending.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
}

/// A decision request of a client or a mock to the script, or a notification, which has no response.
final class ScriptCallback: Sendable {
    /// The number of the client or the mock.
    let client: Int64
    let token: TokenProvider.Request?
    let mocked: MockRequest?
    let challenge: Authentication.Challenge?
    let hooked: (any HookDecision)?
    /// The report of a pin mismatch or the challenge as JSON.
    let report: String?
    /// The steps that wait for the observer of the client.
    let steps: StepInbox?
    /// The number of the function to call, from 1, among the functions of the mock or the token functions of the
    /// client.
    let function: Int
    private let hasResponse = Atomic<Bool>(false)

    init(_ client: Int64, _ token: TokenProvider.Request?, function: Int = 0) {
        self.client = client
        self.token = token
        self.function = function
        mocked = nil
        challenge = nil
        hooked = nil
        report = nil
        steps = nil
    }

    init(_ client: Int64, report: String) {
        self.client = client
        self.report = report
        token = nil
        mocked = nil
        challenge = nil
        hooked = nil
        steps = nil
        function = 0
    }

    init(_ client: Int64, steps: StepInbox) {
        self.client = client
        self.steps = steps
        token = nil
        mocked = nil
        challenge = nil
        hooked = nil
        report = nil
        function = 0
    }

    init(_ client: Int64, challenge: Authentication.Challenge) {
        self.client = client
        self.challenge = challenge
        report = challenge.jsonText
        token = nil
        mocked = nil
        hooked = nil
        steps = nil
        function = 0
    }

    init(_ client: Int64, hooked: any HookDecision) {
        self.client = client
        self.hooked = hooked
        report = nil
        steps = nil
        token = nil
        mocked = nil
        challenge = nil
        function = 0
    }

    init(_ mock: Int64, mocked: MockRequest) {
        client = mock
        token = nil
        self.mocked = mocked
        challenge = nil
        hooked = nil
        report = nil
        steps = nil
        function = mocked.responder
    }

    deinit {
        // A challenge without a response uses the default.
        guard challenge == nil else { return }
        if let steps { return steps.stop() }
        if let hooked { return fail("the function \(hooked.name) was stopped before it returned") }
        fail(
            mocked == nil
                ? "auth.provider was stopped before it returned a token"
                : "the function of the mock's route was stopped before it returned a response")
    }

    var kind: njl_callback_kind {
        if mocked != nil { return NJL_MOCK_REQUEST }
        if challenge != nil { return NJL_CHALLENGE }
        if let hooked { return hooked.kind }
        if report != nil { return NJL_PIN_MISMATCH }
        if steps != nil { return NJL_STEPS }
        guard let token else { return NJL_LOGIN_REQUIRED }
        return token.wasRejected ? NJL_TOKEN_REJECTED : NJL_TOKEN_NEEDED
    }

    func fail(_ message: String) {
        guard challenge == nil else { return decide(.cancel(message)) }
        if let hooked {
            if !hasResponse.exchange(true, ordering: .relaxed) { hooked.fail(message) }
            return
        }
        let error = NightjarError(.script, message)
        if mocked == nil { respond(.failure(error)) } else { respond(mocked: .failure(error)) }
    }

    /// Responds to a decision of a hook. Has no effect after the first response.
    func decide(_ hooked: any HookDecision, _ choice: njl_choice, _ text: njl_bytes) {
        guard !hasResponse.exchange(true, ordering: .relaxed) else { return }
        hooked.decide(choice, text)
    }

    /// Responds to a challenge. If the response does not fit, the waiting calls fail.
    func decide(_ response: Authentication.Challenge.Response) {
        do throws(NightjarError) {
            try challenge?.respond(response)
        } catch {
            try? challenge?.respond(.cancel("on_challenge: \(error.message)"))
        }
    }

    func respond(mocked result: Result<MockResponse, NightjarError>) {
        guard !hasResponse.exchange(true, ordering: .relaxed) else { return }
        mocked?.respond(result)
    }

    /// Responds to a decision request for a token. Has no effect after the first response.
    func respond(_ result: Result<Token, NightjarError>) {
        guard !hasResponse.exchange(true, ordering: .relaxed) else { return }
        token?.respond(result)
    }
}

extension Configuration {
    /// Connects the client's login to the token functions and the login notification of the listener.
    mutating func attach(_ callbacks: ScriptCallbacks, of listener: njl_listener) throws(NightjarError) {
        guard listener.provided_count > 0 || listener.reports_logins else { return }
        guard mayHaveLogin else {
            throw NightjarError(
                .invalidArgument,
                "option \"auth.on_login_required\" requires type \"oauth2\", \"login\", or \"bearer\" with a provider"
            )
        }
        let number = listener.number
        for (index, scheme) in UnsafeBufferPointer(start: listener.provided, count: listener.provided_count)
            .enumerated()
        {
            let provider = TokenProvider { callbacks.add(ScriptCallback(number, $0, function: index + 1)) }
            if let scheme = try scheme.optionalText("the scheme") {
                tokenProviders[scheme] = provider
            } else if case .login(var login) = auth {
                login.source = .provider(provider)
                auth = .login(login)
            }
        }
        if listener.reports_logins { onLoginRequired = LoginHook { callbacks.add(ScriptCallback(number, nil)) } }
    }
}

extension njl_bytes {
    /// Returns the bytes as text; nil if `data` is NULL.
    fileprivate func optionalText(_ name: String) throws(NightjarError) -> String? {
        data == nil ? nil : try text(name)
    }
}

extension Token {
    /// Creates a token from the values of a script.
    ///
    /// - Parameter lifetime: in seconds; negative: unknown.
    fileprivate init(access: njl_bytes, refresh: njl_bytes, lifetime: Double) throws(NightjarError) {
        self.init(access: try access.text("the access token"))
        self.refresh = try refresh.optionalText("the refresh token")
        if let lifetime = Duration(seconds: lifetime) { self = withLifetime(lifetime) }
        guard authorization != nil else {
            throw NightjarError(
                .invalidArgument, "the access token is empty or contains a character that is not allowed in a header")
        }
    }
}

// MARK: Decision requests

@_cdecl("njl_engine_next_callback") @implementation
public func njl_engine_next_callback(
    _ engine: OpaquePointer?, _ client: UnsafeMutablePointer<Int64>?, _ kind: UnsafeMutablePointer<njl_callback_kind>?
) -> OpaquePointer? {
    guard let callback = Handle<Engine>.borrow(engine)?.callbacks.next() else { return nil }
    client?.pointee = callback.client
    kind?.pointee = callback.kind
    return Handle<ScriptCallback>.make(callback)
}

@_cdecl("njl_callback_provide") @implementation
public func njl_callback_provide(_ callback: OpaquePointer?, _ token: njl_bytes, _ lifetime: Double) {
    guard let callback = Handle<ScriptCallback>.borrow(callback) else { return }
    let none = njl_bytes(data: nil, length: 0)
    callback.respond(Result { () throws(NightjarError) in try Token(access: token, refresh: none, lifetime: lifetime) })
}

@_cdecl("njl_callback_end_login") @implementation
public func njl_callback_end_login(_ callback: OpaquePointer?) {
    Handle<ScriptCallback>.borrow(callback)?.respond(
        .failure(NightjarError(.unauthorized, "auth.provider returned no token")))
}

@_cdecl("njl_callback_fail") @implementation
public func njl_callback_fail(_ callback: OpaquePointer?, _ message: njl_bytes) {
    Handle<ScriptCallback>.borrow(callback)?.fail(String(decoding: message.buffer, as: UTF8.self))
}

@_cdecl("njl_callback_release") @implementation
public func njl_callback_release(_ callback: OpaquePointer?) {
    Handle<ScriptCallback>.release(callback)
}

// MARK: Tokens set by the script

@_cdecl("njl_client_set_token") @implementation
public func njl_client_set_token(
    _ client: OpaquePointer?, _ token: UnsafePointer<njl_token>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let client, let borrowed = Handle<Client>.borrow(client), let token = token?.pointee else {
            throw NightjarError(.closed, "the client is closed")
        }
        let scheme = try token.scheme.optionalText("the scheme")
        let providedToken = try Token(access: token.access, refresh: token.refresh, lifetime: token.lifetime)
        try borrowed.setToken(providedToken, scheme: scheme)
        return client
    } != nil
}

// MARK: Logging in and out

@_cdecl("njl_login_start") @implementation
public func njl_login_start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ wait: OpaquePointer?, _ scheme: njl_bytes,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let client = Handle<Client>.borrow(client), let wait else {
            throw NightjarError(.closed, "the client is closed")
        }
        return Handle<Future>.make(try engine.logIn(client, try scheme.optionalText("the scheme"), for: wait))
    }
}

@_cdecl("njl_logout_start") @implementation
public func njl_logout_start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ wait: OpaquePointer?, _ scheme: njl_bytes,
    _ clearsCookies: Bool, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let client = Handle<Client>.borrow(client), let wait else {
            throw NightjarError(.closed, "the client is closed")
        }
        let scheme = try scheme.optionalText("the scheme")
        return Handle<Future>.make(try engine.logOut(client, scheme, clearingCookies: clearsCookies, for: wait))
    }
}

@_cdecl("njl_drain_start") @implementation
public func njl_drain_start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ wait: OpaquePointer?, _ seconds: Double,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let client = Handle<Client>.borrow(client), let wait else {
            throw NightjarError(.closed, "the client is closed")
        }
        let limit = seconds > 0 ? Duration(seconds: seconds) : nil
        return Handle<Future>.make(try engine.drain(client, within: limit, for: wait))
    }
}

@_cdecl("njl_login_prompts") @implementation
public func njl_login_prompts(_ login: OpaquePointer?) -> Bool {
    Handle<Future>.borrow(login)?.takePrompt() ?? false
}

@_cdecl("njl_login_has_failed") @implementation
public func njl_login_has_failed(_ login: OpaquePointer?) -> Bool {
    Handle<Future>.borrow(login)?.error != nil
}
