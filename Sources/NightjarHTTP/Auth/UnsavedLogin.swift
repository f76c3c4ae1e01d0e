/// The client's knowledge of the record in its credential store.
public enum KnownLogin: Sendable, Equatable {
    /// The store has not been read.
    case unknown
    /// The version that was last read or saved. Nil if the store had no record.
    case version(LoginVersion?)
}

/// A token that a client uses and could not save.
public struct UnsavedLogin: Sendable, Equatable {
    enum Origin: Sendable, Equatable {
        /// A login. `before` is what the client knew about the store's record before it tried to save this login.
        /// `mayBeStored` is true if a save was reported as failed but may have succeeded.
        case login(before: KnownLogin, mayBeStored: Bool)
        /// A refresh of the stored login. `key` is the idempotency key of the intent. `base` is the version that the
        /// token replaces.
        case refresh(key: String?, base: LoginVersion?)

        var afterFailedSave: Origin {
            if case .login(let before, _) = self { .login(before: before, mayBeStored: true) } else { self }
        }
    }

    /// The relation between the token and the current record of the store.
    enum Precedence: Sendable, Equatable {
        /// The store does not contain the token. The token replaces the record.
        case missing
        /// The record of the store takes precedence. The token is discarded.
        case superseded
        /// The store holds another login or a tombstone, and either that record or the client's own login may be the
        /// later one. The client uses its own login without the store.
        case separate
    }

    public let token: Token
    let origin: Origin
    /// The value for ``StoredLogin/configured`` in the record that could not be saved. Without this value, another
    /// client could spend the configured token again.
    var configured: UInt64?
    /// The idempotency key of an exchange whose response was lost and whose intent was not saved. The next exchange
    /// uses this key again, because another key would spend the refresh token twice.
    var key: String?

    var lineage: UInt64 { token.lineage ?? 0 }

    var afterFailedSave: UnsavedLogin {
        UnsavedLogin(token: token, origin: origin.afterFailedSave, configured: configured, key: key)
    }

    func precedence(over stored: StoredLogin?) -> Precedence {
        switch origin {
        case .refresh(let key, let base):
            // The store no longer holds this login: it was replaced, ended or deleted.
            guard let stored, stored.lineage == lineage, stored.token != nil else { return .superseded }
            // If the intent is still pending, no process has saved a newer token.
            if let key { return stored.pending?.key == key ? .missing : .superseded }
            return stored.version == base ? .missing : .superseded
        case .login(let before, let mayBeStored):
            guard let stored else { return .missing }
            // The save was reported as failed but succeeded.
            if stored.lineage == lineage { return .superseded }
            if case .version(let version?) = before {
                // This login takes precedence over a refresh of the login that it replaces, but not over a logout,
                // which may have followed this login.
                let isPredecessor = stored.lineage == version.lineage && stored.token != nil
                if stored.version == version || isPredecessor { return .missing }
            }
            // If this login was stored, another client may have used and replaced it. The stored login then takes
            // precedence.
            return mayBeStored ? .superseded : .separate
        }
    }
}
