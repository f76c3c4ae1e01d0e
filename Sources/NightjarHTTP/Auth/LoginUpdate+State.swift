extension LoginUpdate {
    /// A token request.
    struct Exchange {
        var token: Token?
        /// The idempotency key. Nil if the request does not spend a refresh token.
        var key: String?
        /// The record in the store, which the new token replaces unless `separate` is set. Nil if the store has no
        /// record.
        var over: StoredLogin?
        var lineage: UInt64
        /// True if this exchange repeats an earlier exchange with the same key. The earlier exchange may have spent the
        /// refresh token, even if the repetition is refused or not sent.
        var replacesUnsaved: Bool
        /// The origin of a token that is used without the store. Nil if the store is used.
        var separate: UnsavedLogin.Origin?
        var configured: UInt64?

        /// The origin of the new token, for the case that the token cannot be saved. A refresh if the store holds the
        /// same login, otherwise a new login.
        var origin: UnsavedLogin.Origin {
            over?.lineage == lineage
                ? .refresh(key: key, base: over?.version) : .login(before: .version(over?.version), mayBeStored: false)
        }
    }

    /// The credentials with which a new token is requested.
    struct Basis {
        var token: Token?
        /// The login that the new token continues. Nil if the exchange starts a new login.
        var lineage: UInt64?
        /// The idempotency key of an earlier exchange of this token that may have reached the server.
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
        /// Saves a tombstone, because the server has refused the login. The update may then try other ways to obtain a
        /// token.
        case savingRefusal(Exchange, StoredLogin)
        /// Saves the record without its intent, because the exchange did not spend the refresh token.
        case finishing(TokenRefresh.Failure)
    }
}
