import NightjarHTTP

/// Stores one login for any number of clients and processes.
///
/// A client that is about to redeem the refresh token takes the lock, loads the login, saves its intent (the same token
/// with ``StoredLogin/pending``), and after the exchange saves the result and unlocks. New logins and logouts are saved
/// without the lock. Each call blocks, but not for long. Readers need no lock and always read a complete record.
///
/// A record that is damaged, belongs to another program or cannot be decrypted is an error and is never overwritten.
public protocol TokenStore: Sendable {
    /// The name of the store for messages, such as `file "x"`. Contains no secret.
    var name: String { get }

    /// Returns the stored login or logout. Returns nil if none was ever saved.
    func load() throws(NightjarError) -> StoredLogin?

    /// Replaces the record of this version with `login`, atomically between processes; durable when it returns true. A
    /// logout is saved as a tombstone. If it throws, the store contains the old record or `login`; saving `login` again
    /// is then correct in both cases.
    ///
    /// - Parameter version: the version of the record to replace. Nil: the store must be unused.
    /// - Returns: false, without any change, if the store contains another version, because another client has saved a
    ///   login since the caller loaded it.
    func save(_ login: StoredLogin, replacing version: LoginVersion?) throws(NightjarError) -> Bool

    /// Takes the lock without waiting. Returns nil while another process or client holds it. The lock is released by
    /// `unlock` or when the process ends.
    func tryLock() throws(NightjarError) -> (any TokenLock)?
}

/// The lock of a ``TokenStore``. Unlocks when the object is deallocated.
public protocol TokenLock: Sendable {
    /// Releases the lock. Does nothing if called again, or in a forked child, because the lock belongs to the parent.
    func unlock()
}

extension TokenStore {
    func failure(_ reason: String, code: Int32 = 0) -> NightjarError {
        NightjarError(.storage, "the token \(name) \(reason)", code: code)
    }
}
