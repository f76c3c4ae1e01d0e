/// The client's knowledge of the record in its credential store.
package enum KnownLogin: Sendable, Equatable {
    /// The store has not been read.
    case unknown
    /// The version that was last read or saved. Nil: the store was unused.
    case version(LoginVersion?)
}

/// A token that a client uses and could not save.
package struct UnsavedLogin: Sendable, Equatable {
    enum Origin: Sendable, Equatable {
        /// A login. `before` is what the store held at that time. `mayBeStored`: a save was reported as failed but may
        /// have taken place.
        case login(before: KnownLogin, mayBeStored: Bool)
        /// A refresh of the stored login. `key` is the key of the intent, `base` the version that the token replaces.
        case refresh(key: String?, base: LoginVersion?)

        var afterFailedSave: Origin {
            if case .login(let before, _) = self { .login(before: before, mayBeStored: true) } else { self }
        }
    }

    /// How the token relates to the current record of the store.
    enum Precedence: Sendable, Equatable {
        /// The store does not contain it: it replaces the record.
        case missing
        /// The store has a later state: the token is discarded.
        case superseded
        /// The store holds a login that this client had not seen before its own login. It is unknown which of the two
        /// is later. Neither replaces the other, and the client uses its own login without the store.
        case separate
    }

    package let token: Token
    let origin: Origin
    /// The identity in the record that could not be saved (``StoredLogin/configured``). Without it, another client
    /// would spend the configured token again.
    var configured: UInt64?
    /// The idempotency key of an exchange without the store whose response was lost. With another key the refresh token
    /// would be spent twice.
    var key: String?

    var lineage: UInt64 { token.lineage ?? 0 }

    var afterFailedSave: UnsavedLogin {
        UnsavedLogin(token: token, origin: origin.afterFailedSave, configured: configured, key: key)
    }

    func precedence(over stored: StoredLogin?) -> Precedence {
        switch origin {
        case .refresh(let key, let base):
            // The login is missing in the store: another program has deleted it.
            guard let stored, stored.lineage == lineage, stored.token != nil else { return .superseded }
            // Another process may have taken over the intent. Its exchange has not succeeded either.
            if let key { return stored.pending?.key == key ? .missing : .superseded }
            return stored.version == base ? .missing : .superseded
        case .login(let before, let mayBeStored):
            guard let stored else { return .missing }
            // The save was reported as failed but took place.
            if stored.lineage == lineage { return .superseded }
            if case .version(let version?) = before {
                // A refresh of the login that this one replaces is not a later login. A logout may be.
                let isPredecessor = stored.lineage == version.lineage && stored.token != nil
                if stored.version == version || isPredecessor { return .missing }
            }
            // A login that was in the store for some time may have been refreshed by another client.
            return mayBeStored ? .superseded : .separate
        }
    }
}
