import CLua
import NIOCore
import Nightjar
import NightjarHandles
import NightjarTesting
import Synchronization

// The queue of the decision requests and notifications of clients and mocks, whose functions the script runs.

/// Passes decision requests and notifications from the clients' loops to the thread of one Lua state.
final class ScriptCallbacks: Sendable {
    /// Nil after ``close()``.
    private let pending = Mutex<[ScriptCallback]?>([])
    private let queue: CompletionQueue

    init(_ queue: CompletionQueue) { self.queue = queue }

    /// Adds a decision request or a notification for the script. After ``close()``, the request fails. Any thread may call
    /// it.
    func add(_ callback: ScriptCallback) {
        pending.withLock { $0?.append(callback) }
        queue.wake()
    }

    func next() -> ScriptCallback? { pending.withLock { $0?.isEmpty == false ? $0?.removeFirst() : nil } }

    /// Fails the requests that the script has not taken: it runs no function any more.
    func close() {
        // The requests fail when they are released, which may call functions of this object.
        let left = pending.withLock { $0.take() }
        withExtendedLifetime(left) {}
    }
}

/// A decision request of a client, a mock or a token store to the script, or a notification, which has no response.
final class ScriptCallback: Sendable {
    enum Subject: Sendable {
        /// A request for a token, and the number of the function among the token functions of the client, from 1.
        case token(TokenProvider.Request, function: Int)
        case loginRequired
        case mocked(MockRequest)
        /// A challenge, also as JSON.
        case challenge(Authentication.Challenge, text: String)
        case hooked(any HookDecision)
        /// The report as JSON.
        case pinMismatch(String)
        /// The steps that wait for the observer of the client.
        case steps(StepInbox)
    }

    /// The number of the client, the mock or the token store.
    let listener: Int64
    let subject: Subject
    /// Whether the request has a response, or whether the observer has taken the last step.
    private let hasEnded = Atomic<Bool>(false)

    init(_ listener: Int64, _ subject: Subject) {
        self.listener = listener
        self.subject = subject
    }

    deinit {
        switch subject {
        case .token: fail("auth.provider was stopped before it returned a token")
        case .mocked: fail("the function of the mock's route was stopped before it returned a response")
        case .hooked(let decision): fail("the function \(decision.name) was stopped before it returned")
        // After the last step, a newer notification may exist, whose steps belong to its task.
        case .steps(let inbox): if isOpen { inbox.stop() }
        // A challenge without a response uses the default.
        case .challenge, .loginRequired, .pinMismatch: break
        }
    }

    var kind: njl_callback_kind {
        switch subject {
        case .token(let request, _): request.wasRejected ? NJL_TOKEN_REJECTED : NJL_TOKEN_NEEDED
        case .loginRequired: NJL_LOGIN_REQUIRED
        case .mocked: NJL_MOCK_REQUEST
        case .challenge: NJL_CHALLENGE
        case .hooked(let decision): decision.kind
        case .pinMismatch: NJL_PIN_MISMATCH
        case .steps: NJL_STEPS
        }
    }

    /// The number of the function to call, from 1, among the functions of the mock or the token functions of the client.
    var function: Int {
        switch subject {
        case .token(_, let function): function
        case .mocked(let request): request.responder
        default: 0
        }
    }

    /// The request or the report, as JSON.
    var text: BorrowedText? {
        switch subject {
        case .mocked(let request): request.text
        case .hooked(let decision): decision.text
        case .challenge(_, let text), .pinMismatch(let text): BorrowedText(text)
        case .token, .loginRequired, .steps: nil
        }
    }

    var body: ByteBuffer? {
        switch subject {
        case .mocked(let request): request.request.body
        case .hooked(let decision): decision.body
        default: nil
        }
    }

    // MARK: Responding

    /// Whether the request has no response yet.
    var isOpen: Bool { !hasEnded.load(ordering: .relaxed) }

    /// Returns whether this is the first response.
    private func end() -> Bool { !hasEnded.exchange(true, ordering: .relaxed) }

    func fail(_ message: String) {
        let error = NightjarError(.script, message)
        switch subject {
        case .token: respond(.failure(error))
        case .mocked: respond(mocked: .failure(error))
        case .challenge: decide(.cancel(message))
        case .hooked(let decision): if end() { decision.fail(message) }
        case .loginRequired, .pinMismatch, .steps: break
        }
    }

    /// Responds to a decision request for a token. Has no effect after the first response.
    func respond(_ result: Result<Token, NightjarError>) {
        if case .token(let request, _) = subject, end() { request.respond(result) }
    }

    func respond(mocked result: Result<MockResponse, NightjarError>) {
        if case .mocked(let request) = subject, end() { request.respond(result) }
    }

    /// Responds to a challenge. If the response does not fit, the waiting calls fail.
    func decide(_ response: Authentication.Challenge.Response) {
        guard case .challenge(let challenge, _) = subject else { return }
        do throws(NightjarError) {
            try challenge.respond(response)
        } catch {
            try? challenge.respond(.cancel("on_challenge: \(error.message)"))
        }
    }

    /// Responds to a decision of a hook. Has no effect after the first response.
    func decide(_ decision: any HookDecision, _ choice: njl_choice, _ text: njl_bytes) {
        if end() { decision.decide(choice, text) }
    }

    /// Removes the oldest step that waits for the observer. After nil, the next step makes a new notification.
    func takeStep() -> CallObserver.Step? {
        guard case .steps(let inbox) = subject, isOpen else { return nil }
        let step = inbox.take()
        if step == nil { hasEnded.store(true, ordering: .relaxed) }
        return step
    }
}

// MARK: For the script

@_cdecl("njl_engine_next_callback") @implementation
public func njl_engine_next_callback(
    _ engine: OpaquePointer?, _ listener: UnsafeMutablePointer<Int64>?, _ kind: UnsafeMutablePointer<njl_callback_kind>?
) -> OpaquePointer? {
    guard let callback = Handle<Engine>.borrow(engine)?.callbacks.next() else { return nil }
    listener?.pointee = callback.listener
    kind?.pointee = callback.kind
    return Handle<ScriptCallback>.make(callback)
}

@_cdecl("njl_callback_fail") @implementation
public func njl_callback_fail(_ callback: OpaquePointer?, _ message: njl_bytes) {
    Handle<ScriptCallback>.borrow(callback)?.fail(String(decoding: message.buffer, as: UTF8.self))
}

@_cdecl("njl_callback_release") @implementation
public func njl_callback_release(_ callback: OpaquePointer?) {
    Handle<ScriptCallback>.release(callback)
}

@_cdecl("njl_callback_function") @implementation
public func njl_callback_function(_ callback: OpaquePointer?) -> Int64 {
    Int64(Handle<ScriptCallback>.borrow(callback)?.function ?? 0)
}

@_cdecl("njl_callback_kind_of") @implementation
public func njl_callback_kind_of(_ callback: OpaquePointer?) -> njl_callback_kind {
    Handle<ScriptCallback>.borrow(callback)?.kind ?? NJL_LOGIN_REQUIRED
}

@_cdecl("njl_callback_is_open") @implementation
public func njl_callback_is_open(_ callback: OpaquePointer?) -> Bool {
    Handle<ScriptCallback>.borrow(callback)?.isOpen == true
}

@_cdecl("njl_callback_listener") @implementation
public func njl_callback_listener(_ callback: OpaquePointer?) -> Int64 {
    Handle<ScriptCallback>.borrow(callback)?.listener ?? 0
}

@_cdecl("njl_callback_request") @implementation
public func njl_callback_request(_ callback: OpaquePointer?) -> OpaquePointer? {
    (Handle<ScriptCallback>.borrow(callback)?.text).map { Handle.make($0) }
}

@_cdecl("njl_callback_body") @implementation
public func njl_callback_body(_ callback: OpaquePointer?) -> OpaquePointer? {
    (Handle<ScriptCallback>.borrow(callback)?.body).map { Handle.make(BorrowedText($0)) }
}
