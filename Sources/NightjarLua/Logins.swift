import CLua
import Nightjar
import NightjarHandles

// The logins of clients: tokens that the script provides or sets, logging in and out, and draining.

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
            let provider = TokenProvider { callbacks.add(ScriptCallback(number, .token($0, function: index + 1))) }
            if let scheme = try scheme.optionalText("the scheme") {
                tokenProviders[scheme] = provider
            } else if case .login(var login) = auth {
                login.source = .provider(provider)
                auth = .login(login)
            }
        }
        if listener.reports_logins {
            onLoginRequired = LoginHook { callbacks.add(ScriptCallback(number, .loginRequired)) }
        }
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

// MARK: Token functions

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
