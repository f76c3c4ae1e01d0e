extension LoginUpdate {
    public indirect enum Purpose: Sendable, Equatable {
        /// A call needs another token.
        case refresh
        /// The session has ended. The update adopts a login that another client has saved since then.
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

    /// The logins that an ended session must not adopt.
    public enum EndedLogin: Sendable, Equatable {
        case none
        /// The lineages of the client's earlier logins and of the logins that its logouts have ended. If `mustEnd` is
        /// true, the last logout was not saved and must be saved.
        case lineages([UInt64], mustEnd: Bool)
        /// The lineages of the client's earlier logins. The user logged out while the store could not be read, or while
        /// the store had no record and the logout could not be saved.
        ///
        /// The logout is saved as soon as the store can be read. If the store then holds a login with another lineage,
        /// that login is neither adopted nor ended.
        case unknown([UInt64])
    }

    /// The ways in which the client can obtain a token without a person.
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
        /// ``conflicted(afterFailure:)`` or ``saveFailed()``. If `isCritical` is true, retry before reporting a
        /// failure.
        case save(StoredLogin, replacing: LoginVersion?, isCritical: Bool)
        /// Request a token with the refresh token of this token, or with the client's own credentials. Report with
        /// ``exchanged(_:at:using:)``. `key` is not nil if the exchange spends the refresh token.
        case exchange(Token?, key: String?)
        case end(Outcome)
    }

    public indirect enum Outcome: Sendable, Equatable {
        /// A token that was found in the store, or the token of a login whose failed save may have succeeded.
        case adopted(Token)
        /// A token that this update has saved in the store.
        case refreshed(Token)
        /// A token that is used although it is not in the store: its save failed, or its login is used without the
        /// store.
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
        /// The server may have spent the refresh token, but no usable response arrived.
        case unknown(TokenRefresh.Failure)
    }
}
