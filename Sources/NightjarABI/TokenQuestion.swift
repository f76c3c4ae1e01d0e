import CNightjar
import Nightjar
import NightjarHandles
import Synchronization

/// A question that C answers once, or lets go.
final class TokenQuestionBox: Sendable {
    private let question: TokenQuestion
    private let isAnswered = Atomic<Bool>(false)

    init(_ question: TokenQuestion) { self.question = question }

    var wasRefused: Bool { question.wasRefused }

    func answer(_ answer: Result<Token, NightjarError>) throws(NightjarError) {
        guard !question.isOfParentProcess else {
            throw NightjarError(.forked, "this question belongs to the parent process")
        }
        guard !isAnswered.exchange(true, ordering: .relaxed) else {
            throw NightjarError(.invalidArgument, "the question has its answer already")
        }
        question.answer(answer)
    }

    deinit {
        guard !isAnswered.load(ordering: .relaxed) else { return }
        question.answer(.failure(.noToken(endsLogin: false, "the token provider let its question go unanswered")))
    }
}

extension NightjarError {
    fileprivate static func noToken(endsLogin: Bool, _ message: String) -> NightjarError {
        NightjarError(endsLogin ? .unauthorized : .cancelled, message)
    }
}

@_cdecl("nj_config_set_token_provider") @implementation
public func nj_config_set_token_provider(
    _ config: OpaquePointer?, _ scheme: UnsafePointer<CChar>?, _ provide: nj_token_fn?,
    _ context: UnsafeMutableRawPointer?
) -> nj_status {
    let provider = provide.map { tokenProvider($0, CallbackContext(pointer: context)) }
    return changeConfig(config) { configuration throws(NightjarError) in
        if let scheme = try optional(scheme, "scheme") {
            configuration.tokenProviders[scheme] = provider
        } else {
            configuration.auth = provider.map { .login(TokenLogin(.provider($0))) }
        }
    }
}

private func tokenProvider(_ provide: @escaping nj_token_fn, _ context: CallbackContext) -> TokenProvider {
    TokenProvider(runsOnLoop: false) { question in
        let box = TokenQuestionBox(question)
        withExtendedLifetime(box) { provide(context.pointer, Handle.lend(box)) }
    }
}

@_cdecl("nj_token_question_was_refused") @implementation
public func nj_token_question_was_refused(_ question: OpaquePointer?) -> Bool {
    Handle<TokenQuestionBox>.borrow(question)?.wasRefused ?? false
}

@_cdecl("nj_token_question_answer") @implementation
public func nj_token_question_answer(
    _ question: OpaquePointer?, _ accessToken: UnsafePointer<CChar>?, _ expiresIn: Double
) -> nj_status {
    setting { () throws(NightjarError) in
        let question = try required(Handle<TokenQuestionBox>.borrow(question), "question")
        var token = Token(access: try required(text(accessToken), "access_token"))
        guard token.authorization != nil else {
            throw NightjarError(.invalidArgument, "access_token cannot stand in a header")
        }
        if let lifetime = try limit(expiresIn) { token = token.lasting(lifetime) }
        try question.answer(.success(token))
    }
}

@_cdecl("nj_token_question_fail") @implementation
public func nj_token_question_fail(
    _ question: OpaquePointer?, _ endsLogin: Bool, _ message: UnsafePointer<CChar>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let question = try required(Handle<TokenQuestionBox>.borrow(question), "question")
        let message = message == nil ? "the token provider has none" : try required(text(message), "message")
        try question.answer(.failure(.noToken(endsLogin: endsLogin, message)))
    }
}

@_cdecl("nj_token_question_retain") @implementation
public func nj_token_question_retain(_ question: OpaquePointer?) -> OpaquePointer? {
    Handle<TokenQuestionBox>.borrow(question).map { Handle.make($0) }
}

@_cdecl("nj_token_question_release") @implementation
public func nj_token_question_release(_ question: OpaquePointer?) {
    _ = Handle<TokenQuestionBox>.take(question)
}
