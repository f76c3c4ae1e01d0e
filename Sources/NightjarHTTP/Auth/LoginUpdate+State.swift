extension LoginUpdate {
    /// A token request.
    struct Exchange {
        var token: Token?
        /// The idempotency key. Nil if the request does not spend a refresh token.
        var key: String?
        /// The record in the store.
        var over: StoredLogin?
        var lineage: UInt64
        /// The intent was recorded by a process that has ended. Even if this attempt succeeds, the result of the first
        /// one is unknown.
        var replacesUnsaved: Bool
        /// The origin of a token that is used without the store; nil: the store is used.
        var separate: UnsavedLogin.Origin?
        var configured: UInt64?

        /// The origin of a token that cannot be saved. If its lineage is in the store, it continues that login.
        var origin: UnsavedLogin.Origin {
            over?.lineage == lineage
                ? .refresh(key: key, base: over?.version) : .login(before: .version(over?.version), mayBeStored: false)
        }
    }

    /// The credentials with which a new token is requested.
    struct Basis {
        var token: Token?
        /// Nil: the result is a new login.
        var lineage: UInt64?
        /// The key of an earlier exchange of this token that may have reached the server.
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
        /// The server has refused the login. The other ways to obtain a token are tried after the save.
        case savingRefusal(Exchange, StoredLogin)
        /// Withdraws an intent that was not carried out.
        case finishing(TokenRefresh.Failure)
    }
}
