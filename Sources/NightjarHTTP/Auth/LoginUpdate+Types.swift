extension LoginUpdate {
    package indirect enum Purpose: Sendable, Equatable {
        /// A call needs another token.
        case refresh
        /// The session has ended. Adopts a login that another client has made since.
        case look(EndedLogin)
        /// The caller logs in without a person, also after a logout.
        case logIn
        /// A login has returned this token.
        case keep(Token)
        case logOut

        package var changesLogin: Bool {
            switch self {
            case .refresh, .look, .logIn: false
            case .keep, .logOut: true
            }
        }
    }

    /// The login that an ended session had.
    package enum EndedLogin: Sendable, Equatable {
        case none
        /// The lineages of earlier logins, which must not be adopted: the client's own, and the one that its logout
        /// found in the store. `mustEnd`: the logout did not reach the store and must be saved.
        case lineages([UInt64], mustEnd: Bool)
        /// The user logged out while the store could not be read. The login that it holds must not be adopted. The
        /// client's earlier logins are ended there.
        case unknown([UInt64])
    }

    /// How the client can obtain a token without a person.
    package struct Capabilities: Sendable {
        /// With a refresh token.
        package var refreshes: Bool
        /// With credentials of its own.
        package var logsInByItself: Bool

        package init(refreshes: Bool, logsInByItself: Bool) {
            self.refreshes = refreshes
            self.logsInByItself = logsInByItself
        }
    }

    package indirect enum Action: Sendable, Equatable {
        /// Report with ``loaded(_:at:using:)`` or ``loadFailed()``.
        case load
        /// Take the lock and keep it until the end. Report with ``locked()`` or ``lockFailed(_:)``.
        case lock
        /// Compare-and-swap. Report with ``saved(at:using:)``, ``conflicted(afterFailure:)`` or ``saveFailed()``.
        /// `isCritical`: retry before reporting a failure, because an unsaved token is lost.
        case save(StoredLogin, replacing: LoginVersion?, isCritical: Bool)
        /// Request a token with this refresh token, or with the client's own credentials if there is none. Report with
        /// ``exchanged(_:at:using:)``. A key means that the exchange spends the refresh token.
        case exchange(Token?, key: String?)
        case end(Outcome)
    }

    package indirect enum Outcome: Sendable, Equatable {
        /// Found in the store.
        case adopted(Token)
        /// New, and in the store.
        case refreshed(Token)
        /// In use, but not in the store.
        case unsaved(UnsavedLogin)
        case ended
        case failed(TokenRefresh.Failure)
    }

    /// The result of an exchange.
    package enum Result: Sendable, Equatable {
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
