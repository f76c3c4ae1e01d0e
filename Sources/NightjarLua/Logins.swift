import CLua
import Nightjar
import NightjarHandles
import Synchronization

// The logins of clients whose tokens come from the script, and the notifications about required logins.

/// Passes decision requests of the clients from their loops to the thread of one Lua state.
final class Questions: Sendable {
    private let asked = Mutex<[Question]>([])
    private let queue: CompletionQueue

    init(_ queue: CompletionQueue) { self.queue = queue }

    /// Callable from any thread.
    func ask(_ question: Question) {
        asked.withLock { $0.append(question) }
        queue.wake()
    }

    func next() -> Question? { asked.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
}

/// A decision request for a token or for the response of a mock's route, or the notification that a login is required,
/// which has no answer.
final class Question: Sendable {
    /// The number of the client or the mock.
    let client: Int64
    let token: TokenQuestion?
    let mocked: MockQuestion?
    /// Which function is asked, counted from 1: of the mock, or of the client's token functions.
    let function: Int
    private let isAnswered = Atomic<Bool>(false)

    init(_ client: Int64, _ token: TokenQuestion?, function: Int = 0) {
        self.client = client
        self.token = token
        self.function = function
        mocked = nil
    }

    init(_ mock: Int64, mocked: MockQuestion) {
        client = mock
        token = nil
        self.mocked = mocked
        function = mocked.responder
    }

    deinit {
        fail(
            mocked == nil
                ? "auth.provider was stopped before it returned a token"
                : "the function of the mock's route was stopped before it returned a response")
    }

    var kind: njl_question_kind {
        if mocked != nil { return NJL_MOCK_ASKED }
        guard let token else { return NJL_LOGIN_REQUIRED }
        return token.wasRefused ? NJL_TOKEN_REFUSED : NJL_TOKEN_WANTED
    }

    func fail(_ message: String) {
        let error = NightjarError(.script, message)
        if mocked == nil { answer(.failure(error)) } else { answer(mocked: .failure(error)) }
    }

    func answer(mocked result: Result<MockAnswer, NightjarError>) {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
        mocked?.answer(result)
    }

    /// Only the first answer counts.
    func answer(_ result: Result<Token, NightjarError>) {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
        token?.answer(result)
    }
}

extension Configuration {
    /// Connects the login with the functions that the listener has.
    mutating func tell(_ questions: Questions, of listener: njl_listener) throws(NightjarError) {
        guard listener.provided_count > 0 || listener.hears_of_logins else { return }
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
            let provider = TokenProvider { questions.ask(Question(number, $0, function: index + 1)) }
            if let scheme = try scheme.optionalText("the scheme") {
                tokenProviders[scheme] = provider
            } else if case .login(var login) = auth {
                login.source = .provider(provider)
                auth = .login(login)
            }
        }
        if listener.hears_of_logins { onLoginRequired = LoginHook { questions.ask(Question(number, nil)) } }
    }
}

extension njl_bytes {
    /// Returns nil if `data` is NULL.
    fileprivate func optionalText(_ name: String) throws(NightjarError) -> String? {
        data == nil ? nil : try text(name)
    }
}

extension Token {
    /// - Parameter lifetime: in seconds; negative: unknown.
    fileprivate init(access: njl_bytes, refresh: njl_bytes, lifetime: Double) throws(NightjarError) {
        self.init(access: try access.text("the access token"))
        self.refresh = try refresh.optionalText("the refresh token")
        if let lifetime = Duration(seconds: lifetime) { self = lasting(lifetime) }
        guard authorization != nil else {
            throw NightjarError(
                .invalidArgument, "the access token is empty or contains a character that is not allowed in a header")
        }
    }
}

// MARK: Questions

@_cdecl("njl_engine_next_question") @implementation
public func njl_engine_next_question(
    _ engine: OpaquePointer?, _ client: UnsafeMutablePointer<Int64>?, _ kind: UnsafeMutablePointer<njl_question_kind>?
) -> OpaquePointer? {
    guard let question = Handle<Engine>.borrow(engine)?.questions.next() else { return nil }
    client?.pointee = question.client
    kind?.pointee = question.kind
    return Handle<Question>.make(question)
}

@_cdecl("njl_question_provide") @implementation
public func njl_question_provide(_ question: OpaquePointer?, _ token: njl_bytes, _ lifetime: Double) {
    guard let question = Handle<Question>.borrow(question) else { return }
    let none = njl_bytes(data: nil, length: 0)
    question.answer(Result { () throws(NightjarError) in try Token(access: token, refresh: none, lifetime: lifetime) })
}

@_cdecl("njl_question_end_login") @implementation
public func njl_question_end_login(_ question: OpaquePointer?) {
    Handle<Question>.borrow(question)?.answer(
        .failure(NightjarError(.unauthorized, "auth.provider returned no token")))
}

@_cdecl("njl_question_fail") @implementation
public func njl_question_fail(_ question: OpaquePointer?, _ message: njl_bytes) {
    Handle<Question>.borrow(question)?.fail(String(decoding: message.buffer, as: UTF8.self))
}

@_cdecl("njl_question_release") @implementation
public func njl_question_release(_ question: OpaquePointer?) {
    Handle<Question>.release(question)
}

// MARK: Tokens set by the script

@_cdecl("njl_client_sign_in") @implementation
public func njl_client_sign_in(
    _ client: OpaquePointer?, _ token: UnsafePointer<njl_token>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let client, let borrowed = Handle<Client>.borrow(client), let token = token?.pointee else {
            throw NightjarError(.closed, "the client is closed")
        }
        let scheme = try token.scheme.optionalText("the scheme")
        let brought = try Token(access: token.access, refresh: token.refresh, lifetime: token.lifetime)
        try borrowed.signIn(brought, scheme: scheme)
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
        return Handle<Outcome>.make(try engine.logIn(client, try scheme.optionalText("the scheme"), for: wait))
    }
}

@_cdecl("njl_logout_start") @implementation
public func njl_logout_start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ wait: OpaquePointer?, _ scheme: njl_bytes,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let client = Handle<Client>.borrow(client), let wait else {
            throw NightjarError(.closed, "the client is closed")
        }
        return Handle<Outcome>.make(try engine.signOut(client, try scheme.optionalText("the scheme"), for: wait))
    }
}

@_cdecl("njl_login_prompts") @implementation
public func njl_login_prompts(_ login: OpaquePointer?) -> Bool {
    Handle<Outcome>.borrow(login)?.takePrompt() ?? false
}

@_cdecl("njl_login_has_failed") @implementation
public func njl_login_has_failed(_ login: OpaquePointer?) -> Bool {
    Handle<Outcome>.borrow(login)?.error != nil
}
