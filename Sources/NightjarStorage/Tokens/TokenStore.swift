import NightjarHTTP

/// Keeps one login for any number of clients and processes.
///
/// A client that is about to redeem the refresh token takes the lock, loads, saves its intent (the same token with
/// ``StoredLogin/pending``), and after the exchange saves the result and unlocks. A login and a logout are saved without the
/// lock. Each call blocks, but not for long. A reader needs no lock and sees a whole record.
///
/// A record that is damaged, belongs to another program or cannot be decrypted is an error and is never overwritten.
public protocol TokenStore: Sendable {
    /// For messages: `file "x"`. Contains no secret.
    var name: String { get }

    /// - Returns: nil when nobody has logged in or out yet.
    func load() throws(NightjarError) -> StoredLogin?

    /// Replaces the record of this version with `login`, as one atomic step between processes; durable when it returns true.
    /// A logout is a save, too: of a tombstone. When it throws, the store holds the old record or `login`; saving `login`
    /// again is then correct in both cases.
    ///
    /// - Parameter version: nil: the store is unused.
    /// - Returns: false when the store holds another version: another client has saved since. Nothing has changed then.
    func save(_ login: StoredLogin, replacing version: LoginVersion?) throws(NightjarError) -> Bool

    /// - Returns: nil while another process or client has the lock. It ends with `unlock` or with the process.
    func tryLock() throws(NightjarError) -> (any TokenLock)?
}

/// Unlocks by itself when nobody holds it any more.
public protocol TokenLock: Sendable {
    /// Does nothing the second time, and in the child of a fork: the lock is the parent's.
    func unlock()
}

extension TokenStore {
    func failure(_ reason: String, code: Int32 = 0) -> NightjarError {
        NightjarError(.storage, "the token \(name) \(reason)", code: code)
    }
}
