/// Which record a credential store holds. Two records of one store never have the same version.
public struct LoginVersion: Sendable, Hashable, CustomStringConvertible {
    /// The login: a random number drawn when somebody logs in and kept by every refresh.
    public var lineage: UInt64
    /// One more with each save, across logins and logouts: the number never restarts.
    public var generation: UInt64
    /// Whether the record is a tombstone. Generations restart when somebody deletes the store: a client that has loaded the
    /// login before must not take the tombstone that another client saves after that for the login.
    public var hasEnded: Bool

    public init(lineage: UInt64, generation: UInt64, hasEnded: Bool = false) {
        self.lineage = lineage
        self.generation = generation
        self.hasEnded = hasEnded
    }

    public var description: String { "\(generation) of login \(String(lineage, radix: 16))" }
}

/// The record of a credential store: a login, or the tombstone of one that has ended. Its description shows no secrets.
///
/// A tombstone stays in the store so that a client with an older token cannot bring the login back, and so that a store
/// whose user has logged out differs from one that nobody has used.
public struct StoredLogin: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// Why a login has ended.
    public enum Ending: UInt8, Sendable {
        /// The user logged out. Only another login starts a session again.
        case loggedOut = 1
        /// The server no longer accepts the login (`invalid_grant`). A client that can log in by itself may do so.
        case refused = 2
    }

    public private(set) var version: LoginVersion
    /// Nil once the login has ended.
    public private(set) var token: Token?
    /// Nil while the login lasts.
    public private(set) var ending: Ending?
    /// An exchange of the refresh token that was started and is not known to have ended.
    public var pending: PendingExchange?
    /// Identifies the configured token (``ConfiguredToken``) that a client has put into the store last; nil: none.
    public var configured: UInt64?

    public var lineage: UInt64 { version.lineage }
    public var generation: UInt64 { version.generation }

    /// - Parameter lineage: nil takes that of the token, or 0.
    public init(
        token: Token, lineage: UInt64? = nil, generation: UInt64, pending: PendingExchange? = nil,
        configured: UInt64? = nil
    ) {
        version = LoginVersion(lineage: lineage ?? token.lineage ?? 0, generation: generation)
        self.token = token
        self.token?.lineage = version.lineage
        self.pending = pending
        self.configured = configured
    }

    /// The tombstone of a login.
    public init(_ ending: Ending, lineage: UInt64, generation: UInt64, configured: UInt64? = nil) {
        version = LoginVersion(lineage: lineage, generation: generation, hasEnded: true)
        self.ending = ending
        self.configured = configured
    }

    /// The generation of a record that replaces `stored`. Versions are compared for equality, so that the number may wrap.
    public static func generation(after stored: StoredLogin?) -> UInt64 { (stored?.generation ?? 0) &+ 1 }

    /// Whether this may be saved over `stored` by a client that replaces `version`. A record that is there already was saved
    /// by a call that failed after that, such as one whose fsync failed: it is written again, to be durable.
    public func mayReplace(_ stored: StoredLogin?, of version: LoginVersion?) -> Bool {
        stored?.version == version || stored == self
    }

    public var description: String {
        switch ending {
        case nil: "login \(version), \(token.map(String.init(describing:)) ?? "")\(pending.map { ", \($0)" } ?? "")"
        case .loggedOut: "login \(version), logged out"
        case .refused: "login \(version), refused by the server"
        }
    }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A refresh token on its way to the server. A client that finds one of a process that died cannot know whether it arrived.
public struct PendingExchange: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The idempotency key, with which the same exchange can be requested again.
    public var key: String
    public var began: Timestamp

    public init(key: String, began: Timestamp) {
        self.key = key
        self.began = began
    }

    public var description: String { "exchange *** since \(began)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The token of a client's configuration, with which an unused store begins.
public struct ConfiguredToken: Sendable, Equatable {
    public var token: Token
    /// A digest of the token, by which a store remembers that the token was used up.
    public var identity: UInt64

    public init(token: Token, identity: UInt64) {
        self.token = token
        self.identity = identity
    }
}
