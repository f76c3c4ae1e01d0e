extension LoginRenewal {
    /// A request for a token.
    struct Exchange {
        var token: Token?
        /// Nil: spends nothing.
        var key: String?
        /// The record in the store.
        var over: StoredLogin?
        var lineage: UInt64
        /// The intent is of a process that is gone: whatever comes of this try, nobody knows what came of the first.
        var takesOver: Bool
        /// The origin of a token that is used without the store; nil: the store is used.
        var separate: UnsavedLogin.Origin?
        var configured: UInt64?

        /// Of a token that cannot be saved. One whose lineage is in the store continues that login.
        var origin: UnsavedLogin.Origin {
            over?.lineage == lineage
                ? .refresh(key: key, base: over?.version) : .login(before: .version(over?.version), mayBeStored: false)
        }
    }

    /// The credentials with which a new token is requested.
    struct Basis {
        var token: Token?
        /// Nil: what comes of it is a new login.
        var lineage: UInt64?
        /// Of an earlier exchange of the token, which may have reached the server.
        var key: String?
        var separate: UnsavedLogin.Origin?
        var configured: UInt64?

        init(_ token: Token?, _ lineage: UInt64?, key: String? = nil) {
            (self.token, self.lineage, self.key) = (token, lineage, key)
        }

        init(_ separate: UnsavedLogin) {
            self.init(separate.token, separate.lineage, key: separate.key)
            self.separate = separate.origin
            configured = separate.configured
        }

        init(_ configured: ConfiguredToken) {
            self.init(configured.token, nil)
            self.configured = configured.identity
        }
    }

    indirect enum State {
        case idle, loading, locking, ended
        case savingIntent(Exchange, StoredLogin)
        case exchanging(Exchange)
        case savingToken(StoredLogin, UnsavedLogin.Origin)
        case savingEnd(StoredLogin)
        /// The server has refused the login; then the other ways to a token are tried.
        case savingRefusal(Exchange, StoredLogin)
        /// Takes back an intent that came to nothing.
        case settling(TokenRefresh.Failure)
    }
}
