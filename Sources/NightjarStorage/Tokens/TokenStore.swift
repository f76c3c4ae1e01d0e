import NightjarHTTP

/// Where one login is kept, for any number of clients and processes.
///
/// Whoever is about to redeem the refresh token takes the lock, loads, saves its intent (the same token with
/// ``StoredLogin/pending``), and after the exchange saves what came of it and unlocks. Each of these blocks, and not for
/// long. Who only wants the newest token loads without the lock and sees a whole record.
///
/// What is damaged, of another program or not to be opened with the key at hand is an error, and is never written over.
public protocol TokenStore: Sendable {
    /// For messages: `file "x"`. No secret is in it.
    var name: String { get }

    /// - Returns: nil when there is no login.
    func load() throws(NightjarError) -> StoredLogin?

    /// Keeps `login` in place of what there was; durable when it returns. When it throws, what there was is still there,
    /// or `login` is, and a ``load()`` tells which.
    ///
    /// - Throws: also when the store has this generation or a later one already: somebody has saved since it was loaded.
    func save(_ login: StoredLogin) throws(NightjarError)

    /// Forgets the login, durably. Nothing when there is none.
    func clear() throws(NightjarError)

    /// - Returns: nil while another process or client has it. Released by `unlock` or by the death of the process.
    func tryLock() throws(NightjarError) -> (any TokenLock)?
}

/// Lets go by itself when nobody holds it any more.
public protocol TokenLock: Sendable {
    /// A second time does nothing, and so it does in the child of a fork: the lock is its parent's.
    func unlock()
}

extension TokenStore {
    func failure(_ reason: String, code: Int32 = 0) -> NightjarError {
        NightjarError(.storage, "the token \(name) \(reason)", code: code)
    }

    /// That `login` follows on `stored`: the order of saves does not depend on the locks alone.
    func check(_ login: StoredLogin, follows stored: StoredLogin?) throws(NightjarError) {
        guard let stored, stored.generation >= login.generation else { return }
        throw failure(
            "has login \(stored.generation) already, and \(login.generation) was to be saved: another has saved since; "
                + "load it again")
    }
}
