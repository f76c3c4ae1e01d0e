import NightjarHTTP
import NightjarStorage
import Synchronization

/// How a client shows who it is. It does so to the origin of its base URL and to no other.
public enum Authentication: Sendable, CustomStringConvertible, CustomReflectable {
    /// A token that somebody else looks after. RFC 6750.
    case bearer(String)
    /// RFC 7617.
    case basic(user: String, password: String)
    /// RFC 7616.
    case digest(user: String, password: String)
    case apiKey(APIKey)
    /// A token that runs out and is renewed.
    case login(TokenLogin)
    /// Several, by the names of security schemes: an endpoint is sent those that it names (``Operation/security``), a request
    /// those it is given (``Request/schemes``), and what names none goes without.
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

/// A login whose token is renewed before it runs out, and when a server refuses it: once for all calls of the client, and
/// once for all clients and processes that share its store.
public struct TokenLogin: Sendable, CustomStringConvertible, CustomReflectable {
    /// Where new tokens come from.
    public enum Source: Sendable {
        case oauth2(OAuth2)
        /// A call that takes the user's credentials, and one that takes the refresh token; nil: logs in anew each time.
        case call(LoginCall, refresh: RefreshCall?)
        /// The program's own code.
        case provider(TokenProvider)
    }

    public var source: Source
    /// What to begin with where the store has none. An expiry that is not known is found out by a 401.
    public var token: Token?
    /// Where the token is kept; nil: in the memory of this client.
    public var store: (any TokenStore)?
    public var refresh = TokenRefresh.Settings()
    /// Told that the login has ended and somebody has to log in again: once each time it ends.
    public var onLoginRequired: LoginHook?

    public init(_ source: Source, token: Token? = nil, store: (any TokenStore)? = nil) {
        self.source = source
        self.token = token
        self.store = store
    }

    public var description: String { "login ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A client of an OAuth 2.0 server. RFC 6749.
public struct OAuth2: Sendable, CustomStringConvertible, CustomReflectable {
    /// How a token is got where there is none to refresh.
    public enum Grant: Sendable, Equatable {
        /// Not at all: somebody logs in, or gives one.
        case refreshToken
        /// For the client itself. RFC 6749 section 4.4.
        case clientCredentials
        /// A person lets the program in on another device; see `Client.logIn`. RFC 8628.
        case deviceCode
        /// A person lets the program in with the browser; see `Client.logIn`. RFC 6749 section 4.1, RFC 7636, RFC 8252.
        case authorizationCode
    }

    /// Absolute, or joined with the base URL.
    public var tokenURL: String
    public var client = OAuthRequest.ClientAuthentication.unnamed
    public var grant = Grant.refreshToken
    public var scope: String?
    /// For ``Grant/deviceCode``.
    public var deviceURL: String?
    /// For ``Grant/authorizationCode``.
    public var authorizeURL: String?
    /// Who the server must say it is, where it says so. RFC 9207.
    public var issuer: String?

    public init(tokenURL: String) { self.tokenURL = tokenURL }

    public var description: String { "OAuth 2.0 client ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The program's own way to a token.
public final class TokenProvider: Sendable {
    let provide: @Sendable (TokenQuestion) -> Void
    let runsOnLoop: Bool

    /// - Parameters:
    ///   - runsOnLoop: true: on the client's loop thread, where it must not block; false: where the handlers of a call run
    ///     that waits for the token: on the first of their queues that is polled.
    ///   - provide: answers the question, now or later.
    public init(runsOnLoop: Bool = true, _ provide: @escaping @Sendable (TokenQuestion) -> Void) {
        self.runsOnLoop = runsOnLoop
        self.provide = provide
    }
}

/// Asks for a token, once.
public final class TokenQuestion: Sendable {
    /// Whether the server has refused the last one, rather than its time being over.
    public let wasRefused: Bool
    private let submit: @Sendable (Result<Token, NightjarError>) -> Void
    let number: UInt64
    private let birth = Fork.generation
    private let wasTaken = Atomic<Bool>(false)

    /// Whether the client that asks belongs to the parent of this forked process. An answer then reaches nobody.
    public var isOfParentProcess: Bool { Fork.hasHappened(since: birth) }

    /// - Parameter submit: submits the program's token to the client's loop.
    init(
        _ number: UInt64, wasRefused: Bool, submit: @escaping @Sendable (Result<Token, NightjarError>) -> Void
    ) {
        self.number = number
        self.wasRefused = wasRefused
        self.submit = submit
    }

    /// Whoever gets true, and no other, puts it to the program. Any thread.
    func take() -> Bool { !wasTaken.exchange(true, ordering: .relaxed) }

    var isTaken: Bool { wasTaken.load(ordering: .relaxed) }

    /// From any thread; what comes behind the first is dropped. A failure of kind `unauthorized` ends the login, any other
    /// keeps it.
    public func answer(_ token: Result<Token, NightjarError>) { submit(token) }
}

/// Told that somebody has to log in.
public final class LoginHook: Sendable {
    let call: @Sendable () -> Void
    let runsOnLoop: Bool

    /// - Parameter runsOnLoop: true: on the client's loop thread, where it must not block; false: where the handlers of the
    ///   call run that wanted a token last.
    public init(runsOnLoop: Bool = true, _ call: @escaping @Sendable () -> Void) {
        self.runsOnLoop = runsOnLoop
        self.call = call
    }
}
