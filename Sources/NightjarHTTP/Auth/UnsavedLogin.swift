/// The client's knowledge of the record in its credential store.
public enum SeenLogin: Sendable, Equatable {
    /// The store has not been read.
    case unknown
    /// The version that was read or saved last; nil: the store was unused.
    case version(LoginVersion?)
}

/// A token that a client uses and could not save.
public struct UnsavedLogin: Sendable, Equatable {
    enum Origin: Sendable, Equatable {
        /// Somebody logged in; `before` is what the store held then. `mayBeStored`: a save has failed, and took place or not.
        case login(before: SeenLogin, mayBeStored: Bool)
        /// A refresh of the stored login: `key` is that of the intent, `base` the version that the token replaces.
        case refresh(key: String?, base: LoginVersion?)

        var afterFailedSave: Origin {
            if case .login(let before, _) = self { .login(before: before, mayBeStored: true) } else { self }
        }
    }

    /// Decides what to do with the token, given the present record of the store.
    enum Standing: Sendable, Equatable {
        /// The store still lacks it: it replaces the record.
        case missing
        /// The store has a later state: the token is dropped.
        case superseded
        /// The store holds a login that this client has not seen before its own. Which of the two is later cannot be known:
        /// neither replaces the other, and the client uses its own without the store.
        case separate
    }

    public let token: Token
    let origin: Origin
    /// Of the record that could not be saved (``StoredLogin/configured``): without it, another client would spend the configured
    /// token again.
    var configured: UInt64?
    /// The idempotency key of an exchange without the store whose response was lost: with another key the refresh token would
    /// be spent twice.
    var key: String?

    var lineage: UInt64 { token.lineage ?? 0 }

    var afterFailedSave: UnsavedLogin {
        UnsavedLogin(token: token, origin: origin.afterFailedSave, configured: configured, key: key)
    }

    func standing(over stored: StoredLogin?) -> Standing {
        switch origin {
        case .refresh(let key, let base):
            // A store without the login: somebody has removed it.
            guard let stored, stored.lineage == lineage, stored.token != nil else { return .superseded }
            // The intent may have been taken over by another process, whose exchange has not succeeded either.
            if let key { return stored.pending?.key == key ? .missing : .superseded }
            return stored.version == base ? .missing : .superseded
        case .login(let before, let mayBeStored):
            guard let stored else { return .missing }
            // The save was reported as failed and took place.
            if stored.lineage == lineage { return .superseded }
            if case .version(let version?) = before {
                // A refresh of the login that this one replaces is no later login; a logout may be.
                let isPredecessor = stored.lineage == version.lineage && stored.token != nil
                if stored.version == version || isPredecessor { return .missing }
            }
            // A login that was in the store for a while may have been refreshed by another client.
            return mayBeStored ? .superseded : .separate
        }
    }
}
