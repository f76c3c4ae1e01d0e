import CNightjar
import Nightjar
import NightjarHandles
import Synchronization

/// A decision request for a token, to which C responds at most once. If C releases it without a response, the waiting
/// calls fail.
final class TokenRequestBox: Sendable {
    private let tokenRequest: TokenProvider.Request
    private let hasResponse = Atomic<Bool>(false)

    init(_ tokenRequest: TokenProvider.Request) { self.tokenRequest = tokenRequest }

    var wasRejected: Bool { tokenRequest.wasRejected }

    func respond(_ result: Result<Token, NightjarError>) throws(NightjarError) {
        guard !tokenRequest.isOfParentProcess else {
            throw NightjarError(.forked, "this token request belongs to the parent process")
        }
        guard !hasResponse.exchange(true, ordering: .relaxed) else {
            throw NightjarError(.invalidArgument, "the token request already has a response")
        }
        tokenRequest.respond(result)
    }

    deinit {
        guard !hasResponse.load(ordering: .relaxed) else { return }
        tokenRequest.respond(.failure(.noToken(endsLogin: false, "the token provider did not respond to the request")))
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
    TokenProvider.onQueues { tokenRequest in
        let box = TokenRequestBox(tokenRequest)
        withExtendedLifetime(box) { provide(context.pointer, Handle.lend(box)) }
    }
}

@_cdecl("nj_token_request_was_rejected") @implementation
public func nj_token_request_was_rejected(_ tokenRequest: OpaquePointer?) -> Bool {
    Handle<TokenRequestBox>.borrow(tokenRequest)?.wasRejected ?? false
}

@_cdecl("nj_token_request_respond") @implementation
public func nj_token_request_respond(
    _ tokenRequest: OpaquePointer?, _ accessToken: UnsafePointer<CChar>?, _ expiresIn: Double
) -> nj_status {
    setting { () throws(NightjarError) in
        let tokenRequest = try required(Handle<TokenRequestBox>.borrow(tokenRequest), "request")
        var token = Token(access: try required(text(accessToken), "access_token"))
        guard token.authorization != nil else {
            throw NightjarError(
                .invalidArgument, "access_token is empty or contains a character that is not allowed in a header")
        }
        if let lifetime = try limit(expiresIn) { token = token.withLifetime(lifetime) }
        try tokenRequest.respond(.success(token))
    }
}

@_cdecl("nj_token_request_fail") @implementation
public func nj_token_request_fail(
    _ tokenRequest: OpaquePointer?, _ endsLogin: Bool, _ message: UnsafePointer<CChar>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let tokenRequest = try required(Handle<TokenRequestBox>.borrow(tokenRequest), "request")
        let message = message == nil ? "the token provider has no token" : try required(text(message), "message")
        try tokenRequest.respond(.failure(.noToken(endsLogin: endsLogin, message)))
    }
}

@_cdecl("nj_token_request_retain") @implementation
public func nj_token_request_retain(_ tokenRequest: OpaquePointer?) -> OpaquePointer? {
    Handle<TokenRequestBox>.borrow(tokenRequest).map { Handle.make($0) }
}

@_cdecl("nj_token_request_release") @implementation
public func nj_token_request_release(_ tokenRequest: OpaquePointer?) {
    _ = Handle<TokenRequestBox>.take(tokenRequest)
}
