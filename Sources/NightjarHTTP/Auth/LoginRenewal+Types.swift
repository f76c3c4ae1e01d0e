extension LoginRenewal {
    public indirect enum Purpose: Sendable, Equatable {
        /// A call needs another token.
        case renew
        /// The session has ended: adopts a login that somebody else has made since.
        case look(Former)
        /// The caller logs in, in the way of a call that needs a token; also after a logout.
        case logIn
        /// A login has brought this token.
        case keep(Token)
        case logOut

        public var changesLogin: Bool {
            switch self {
            case .renew, .look, .logIn: false
            case .keep, .logOut: true
            }
        }
    }

    /// The login that an ended session had.
    public enum Former: Sendable, Equatable {
        case none
        /// Logins of these lineages are not new ones: the one that the client had, and the one that its logout has found in
        /// the store. `mustEnd`: the logout did not reach the store and is saved now.
        case lineages([UInt64], mustEnd: Bool)
        /// The user logged out while the store could not be read: the login that it holds now is not taken for a new one. Those
        /// that the client had are ended there.
        case unknown([UInt64])
    }

    /// How the client can get a token without a person.
    public struct Abilities: Sendable {
        /// With a refresh token.
        public var refreshes: Bool
        /// With credentials of its own.
        public var logsInByItself: Bool

        public init(refreshes: Bool, logsInByItself: Bool) {
            self.refreshes = refreshes
            self.logsInByItself = logsInByItself
        }
    }

    public indirect enum Action: Sendable, Equatable {
        /// Report with ``loaded(_:at:using:)`` or ``loadFailed()``.
        case load
        /// Take the lock and keep it until the end. Report with ``locked()`` or ``lockFailed(_:)``.
        case lock
        /// Compare-and-swap. Report with ``saved(at:using:)``, ``conflicted(afterFailure:)`` or ``saveFailed()``; `isCritical`: try again
        /// before a failure is reported, because what is not saved is lost.
        case save(StoredLogin, replacing: LoginVersion?, isCritical: Bool)
        /// Request a token with this one, or with the client's own credentials where it has no refresh token. Report with
        /// ``exchanged(_:at:using:)``. A key says that the refresh token is spent.
        case exchange(Token?, key: String?)
        case end(Outcome)
    }

    public indirect enum Outcome: Sendable, Equatable {
        /// Found in the store.
        case adopted(Token)
        /// New, and in the store.
        case renewed(Token)
        /// In use, but not in the store.
        case unsaved(UnsavedLogin)
        case ended
        case failed(TokenRefresh.Failure)
    }

    /// The result of an exchange.
    public enum Result: Sendable, Equatable {
        case token(Token)
        case invalidGrant
        /// Another refusal, which spends nothing.
        case refused
        /// The server cannot have seen the request.
        case notSent
        /// It is unknown whether the server has spent the token.
        case unknown(TokenRefresh.Failure)
    }
}
