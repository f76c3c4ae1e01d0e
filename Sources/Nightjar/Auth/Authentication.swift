import NightjarHTTP
import NightjarStorage

/// How a client authenticates. Calls carry credentials only to the origin of the client's base URL.
public enum Authentication: Sendable, CustomStringConvertible, CustomReflectable {
    /// A bearer token that the caller manages. RFC 6750.
    case bearer(String)
    /// HTTP Basic authentication. RFC 7617.
    case basic(user: String, password: String)
    /// HTTP Digest authentication. RFC 7616.
    case digest(user: String, password: String)
    case apiKey(APIKey)
    /// A token that expires and is refreshed.
    case login(TokenLogin)
    /// Several credentials, keyed by security scheme name. An endpoint uses the schemes that it declares
    /// (``Request/security``). A request uses the schemes that it lists (``Request/schemes``). Other requests carry
    /// no credentials.
    case schemes(ExactDictionary<Authentication>)

    public var description: String {
        switch self {
        case .bearer: "bearer ***"
        case .basic: "basic ***"
        case .digest: "digest ***"
        case .apiKey: "API key ***"
        case .login: "login ***"
        case .schemes(let schemes):
            schemes.names.compactMap { name in schemes[name].map { "\(quoted(name)): \($0)" } }.joined(separator: ", ")
        }
    }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A login whose token is refreshed before it expires and after a 401 response. One refresh serves all calls of the
/// client and, except with a token provider, all clients and processes that share the store.
public struct TokenLogin: Sendable, CustomStringConvertible, CustomReflectable {
    /// The settings for token refreshes.
    public typealias RefreshSettings = TokenRefresh.Settings

    /// The source of new tokens.
    public enum Source: Sendable {
        case oauth2(OAuth2)
        /// Endpoints of the API: the login call sends the user's credentials, and `refresh` sends the refresh token. If
        /// `refresh` is nil, each refresh repeats the login call.
        case call(LoginCall, refresh: RefreshCall?)
        /// A callback of the program.
        case provider(TokenProvider)
    }

    public var source: Source
    /// The initial token, used if the store has no token. Not used after a logout, or if a client has stored this token
    /// before. If its expiry is unknown, the first 401 response starts a refresh.
    public var token: Token?
    /// The credential store. Nil keeps the token in the memory of this client.
    public var store: (any TokenStore)?
    public var refresh = TokenRefresh.Settings()
    /// Called once each time the login has ended and a new login is needed. Not called after `Client.logOut`.
    public var onLoginRequired: LoginHook?

    public init(_ source: Source, token: Token? = nil, store: (any TokenStore)? = nil) {
        self.source = source
        self.token = token
        self.store = store
    }

    public var description: String { "login ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The settings of an OAuth 2.0 client. RFC 6749.
public struct OAuth2: Sendable, CustomStringConvertible, CustomReflectable {
    /// The client's method of authentication.
    public typealias ClientAuthentication = OAuthRequest.ClientAuthentication
    /// The unit of the lifetimes that the server reports.
    public typealias LifetimeUnit = TokenLifetimeUnit

    /// How a token is obtained if there is no refresh token.
    public enum Grant: Sendable, Equatable {
        /// No grant: the refresh token comes from ``TokenLogin/token``, the store or `Client.setToken`.
        case refreshToken
        /// The client credentials grant. RFC 6749 section 4.4.
        case clientCredentials
        /// A person authorizes the program on another device; see `Client.logIn`. RFC 8628.
        case deviceCode
        /// A person authorizes the program in a browser; see `Client.logIn`. RFC 6749 section 4.1, RFC 7636, RFC 8252.
        case authorizationCode
    }

    /// The token endpoint: an absolute URL, or a URL relative to the base URL.
    public var tokenURL: String
    public var client = ClientAuthentication.unnamed
    public var grant = Grant.refreshToken
    public var scope: String?
    /// The device authorization endpoint, for ``Grant/deviceCode``.
    public var deviceURL: String?
    /// The authorization endpoint, for ``Grant/authorizationCode``.
    public var authorizeURL: String?
    /// The expected issuer, for ``Grant/authorizationCode``. The login fails if the issuer in the redirect is missing
    /// or different. Nil: the issuer is not checked. RFC 9207.
    public var issuer: String?

    /// The unit of `expires_in` in token responses.
    public var lifetimeUnit = LifetimeUnit.seconds

    public init(tokenURL: String) { self.tokenURL = tokenURL }

    public var description: String { "OAuth 2.0 client ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A callback that provides tokens.
public final class TokenProvider: Sendable {
    let provide: @Sendable (Request) -> Void
    let place: DecisionPlace

    /// - Parameters:
    ///   - runsOnLoop: If true, the callback runs on the client's loop thread and must not block. If false, it runs on
    ///     the first polled queue of the calls that wait for the token. If a waiting call
    ///     has no queue, the callback runs on the loop thread.
    ///   - provide: Responds to the request, at once or later.
    public init(runsOnLoop: Bool = true, _ provide: @escaping @Sendable (Request) -> Void) {
        place = runsOnLoop ? .loop : .queues
        self.provide = provide
    }

    private init(at place: DecisionPlace, _ provide: @escaping @Sendable (Request) -> Void) {
        self.place = place
        self.provide = provide
    }

    /// Creates a callback that never runs on the loop thread. For a call that the client sends itself, it runs on the first
    /// polled queue of the client's calls.
    package static func onQueues(_ provide: @escaping @Sendable (Request) -> Void) -> TokenProvider {
        TokenProvider(at: .queuesOnly(nil), provide)
    }
}

extension TokenProvider {
    /// The client's request for one token, passed to a ``TokenProvider``.
    public final class Request: Sendable {
        /// Whether the server rejected the last token. False if the token expired or there was no token.
        public let wasRejected: Bool
        private let submit: @Sendable (Result<Token, NightjarError>) -> Void
        private let forkGeneration = Fork.generation

        /// Whether the client belongs to the parent of this forked process. The client then ignores the response.
        public var isOfParentProcess: Bool { Fork.hasForked(since: forkGeneration) }

        /// - Parameter submit: Submits the program's token to the client's loop.
        init(wasRejected: Bool, submit: @escaping @Sendable (Result<Token, NightjarError>) -> Void) {
            self.wasRejected = wasRejected
            self.submit = submit
        }

        /// Responds to the request. Any thread may call this method; calls after the first have no effect. A failure of
        /// kind `unauthorized` ends the login. After any other failure, the login continues.
        public func respond(_ token: Result<Token, NightjarError>) { submit(token) }
    }
}

/// A callback for the end of a login.
public final class LoginHook: Sendable {
    let call: @Sendable () -> Void
    let place: DecisionPlace

    /// - Parameter runsOnLoop: If true, the callback runs on the client's loop thread and must not block. If false, it
    ///   runs with the callbacks of the last call that had no usable token, because it waited for a token or the server
    ///   rejected its token.
    public init(runsOnLoop: Bool = true, _ call: @escaping @Sendable () -> Void) {
        place = runsOnLoop ? .loop : .queues
        self.call = call
    }

    /// Creates a callback that never runs on the loop thread. If the last call has no queue, it runs on the first polled
    /// queue of the client's calls.
    package static func onQueues(_ call: @escaping @Sendable () -> Void) -> LoginHook {
        LoginHook(at: .queuesOnly(nil), call)
    }

    private init(at place: DecisionPlace, _ call: @escaping @Sendable () -> Void) {
        self.place = place
        self.call = call
    }
}
