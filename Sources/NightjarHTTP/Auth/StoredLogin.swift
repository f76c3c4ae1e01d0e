/// The version of a record in a credential store. Two records have different versions unless the store was deleted
/// between their saves.
public struct LoginVersion: Sendable, Hashable, CustomStringConvertible {
    /// The login: a random number that is chosen at login and kept by every refresh.
    public var lineage: UInt64
    /// Incremented by each save, across logins and logouts.
    public var generation: UInt64
    /// True if the record is a tombstone. Distinguishes a tombstone from an earlier login with the same generation,
    /// because generations restart when the store is deleted.
    public var hasEnded: Bool

    public init(lineage: UInt64, generation: UInt64, hasEnded: Bool = false) {
        self.lineage = lineage
        self.generation = generation
        self.hasEnded = hasEnded
    }

    public var description: String { "\(generation) of login \(String(lineage, radix: 16))" }
}

/// The record of a credential store: a login, or the tombstone of a login that has ended. Its description contains no
/// secrets.
///
/// A tombstone prevents a client with an older token from restoring the login. It also distinguishes a store after a
/// logout from a store that was never used.
public struct StoredLogin: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The version of a stored record.
    public typealias Version = LoginVersion
    /// The intent to send a refresh token to the server.
    public typealias PendingExchange = NightjarHTTP.PendingExchange

    /// The reason why a login has ended.
    public enum Ending: UInt8, Sendable {
        /// The user logged out. Only a new login starts a session again.
        case loggedOut = 1
        /// The server no longer accepts the login (`invalid_grant`). A client may log in again without a person.
        case refused = 2
    }

    public private(set) var version: LoginVersion
    /// The token. Nil if the login has ended.
    public private(set) var token: Token?
    /// The reason why the login has ended. Nil if the login has not ended.
    public private(set) var ending: Ending?
    /// An exchange of the refresh token whose result is unknown.
    public var pending: PendingExchange?
    /// The `ConfiguredToken/identity` of the configured token that was last stored. Nil if there is none.
    public var configured: UInt64?

    public var lineage: UInt64 { version.lineage }
    public var generation: UInt64 { version.generation }

    /// - Parameter lineage: the lineage of the login. Nil uses the lineage of the token, or 0.
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

    /// Creates the tombstone of a login.
    public init(_ ending: Ending, lineage: UInt64, generation: UInt64, configured: UInt64? = nil) {
        version = LoginVersion(lineage: lineage, generation: generation, hasEnded: true)
        self.ending = ending
        self.configured = configured
    }

    /// Returns the generation of a record that replaces `stored`. The number may wrap, because versions are only
    /// compared for equality.
    public static func generation(after stored: StoredLogin?) -> UInt64 { (stored?.generation ?? 0) &+ 1 }

    /// Returns true if a client that replaces `version` may save this record over `stored`.
    ///
    /// If `stored` equals this record, an earlier save has written the record but failed later, for example in fsync.
    /// The record is written again to make it durable.
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

/// The intent to send a refresh token to the server. If the process ends before it removes the intent, the server may
/// or may not have received the token.
public struct PendingExchange: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The idempotency key with which the exchange can be repeated.
    public var key: String
    public var began: Timestamp

    public init(key: String, began: Timestamp) {
        self.key = key
        self.began = began
    }

    public var description: String { "exchange *** since \(began)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The token in a client's configuration. Used only while the store holds no login, and not if the record shows that
/// the token was used before.
public struct ConfiguredToken: Sendable, Equatable {
    public var token: Token
    /// A digest of the token. The store records the digest to show that the token was used.
    public var identity: UInt64

    public init(token: Token, identity: UInt64) {
        self.token = token
        self.identity = identity
    }
}
