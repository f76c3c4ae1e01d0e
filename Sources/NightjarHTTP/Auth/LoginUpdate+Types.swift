extension LoginUpdate {
    public indirect enum Purpose: Sendable, Equatable {
        /// A call needs another token.
        case refresh
        /// The session has ended. Adopts a login that another client has made after the end.
        case adoptLogin(EndedLogin)
        /// The caller logs in without a person. An earlier logout in the store does not prevent this login.
        case logIn
        /// A login has returned this token, which must be saved.
        case saveToken(Token)
        case logOut

        public var changesLogin: Bool {
            switch self {
            case .refresh, .adoptLogin, .logIn: false
            case .saveToken, .logOut: true
            }
        }
    }

    /// The login that an ended session had.
    public enum EndedLogin: Sendable, Equatable {
        case none
        /// The lineages of earlier logins, which must not be adopted: the client's own, and the one that its logout
        /// found in the store. `mustEnd`: the logout did not reach the store and must be saved.
        case lineages([UInt64], mustEnd: Bool)
        /// The user logged out while the store could not be read. The logout is saved as soon as the store can be read,
        /// unless the store then holds a login whose lineage is not in this list. That login is neither adopted nor
        /// ended. The list contains the client's earlier logins.
        case unknown([UInt64])
    }

    /// How the client can obtain a token without a person.
    public struct Capabilities: Sendable {
        /// True if the client can use a refresh token.
        public var refreshes: Bool
        /// True if the client has credentials of its own.
        public var logsInByItself: Bool

        public init(refreshes: Bool, logsInByItself: Bool) {
            self.refreshes = refreshes
            self.logsInByItself = logsInByItself
        }
    }

    public indirect enum Action: Sendable, Equatable {
        /// Load the record. Report with ``loaded(_:at:using:)`` or ``loadFailed()``.
        case load
        /// Take the lock and hold it until the update ends. Report with ``locked()`` or ``lockFailed(_:)``.
        case lock
        /// Save the record if the store still holds the version `replacing`. Report with ``saved(at:using:)``,
        /// ``conflicted(afterFailure:)`` or ``saveFailed()``. `isCritical`: retry before reporting a failure, because
        /// an unsaved token is lost.
        case save(StoredLogin, replacing: LoginVersion?, isCritical: Bool)
        /// Request a token with this refresh token, or with the client's own credentials if there is none. Report with
        /// ``exchanged(_:at:using:)``. `key` is set if the exchange spends the refresh token.
        case exchange(Token?, key: String?)
        case end(Outcome)
    }

    public indirect enum Outcome: Sendable, Equatable {
        /// A token that was found in the store.
        case adopted(Token)
        /// A new token, which was saved in the store.
        case refreshed(Token)
        /// A token that is in use but could not be saved.
        case unsaved(UnsavedLogin)
        case ended
        case failed(TokenRefresh.Failure)
    }

    /// The result of an exchange.
    public enum Result: Sendable, Equatable {
        case token(Token)
        case invalidGrant
        /// Another refusal, which does not spend the refresh token.
        case refused
        /// The server cannot have received the request.
        case notSent
        /// It is unknown whether the server has spent the token.
        case unknown(TokenRefresh.Failure)
    }
}
