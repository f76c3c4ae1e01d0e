import NightjarHTTP

/// Stores one login, which any number of clients can share. Unless the store is in memory, processes can share it, too.
///
/// To redeem the refresh token, a client takes the lock, loads the login and saves its intent: the same token with
/// ``StoredLogin/pending``. After the token exchange, the client saves the result and releases the lock. New logins and
/// logouts are saved without the lock.
///
/// Each call blocks while it accesses the file or keyring. Readers need no lock and always read a complete record.
///
/// A record that is damaged, belongs to another program or cannot be decrypted causes an error and is never
/// overwritten.
public protocol TokenStore: Sendable {
    /// The name of the store for messages, such as `file "x"`. Contains no secret.
    var name: String { get }

    /// Returns the stored login or logout. Returns nil if the store contains neither.
    func load() throws(NightjarError) -> StoredLogin?

    /// Replaces the stored record with `login` if the stored record has the given version.
    ///
    /// The replacement is atomic between processes. In a file, it is durable when the call returns true. A logout is
    /// saved as a tombstone. If the call throws, the store contains the old record or `login`, and the caller may save
    /// `login` again.
    ///
    /// - Parameter version: the version of the record to replace. Nil if the store must not contain a record.
    /// - Returns: false, without any change, if the store contains another version: another client has saved a record
    ///   since the caller loaded it.
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

extension TokenStore where Self == MemoryTokenStore {
    /// A store in memory. The login is lost when the process ends. Clients that use the same store share its login.
    public static func memory(_ login: StoredLogin? = nil) -> MemoryTokenStore { MemoryTokenStore(login) }
}

extension TokenStore where Self == FileTokenStore {
    /// A store in a file, for any number of processes. Each save replaces the whole file.
    ///
    /// - Parameter key: encrypts the file with AES-256-GCM. A copy of the file at another path is rejected. With a key,
    ///   an unencrypted file is rejected. Without a key, an encrypted file is rejected.
    public static func file(_ path: String, key: EncryptionKey? = nil) -> FileTokenStore {
        FileTokenStore(path: path, key: key)
    }
}

extension TokenStore where Self == SQLiteTokenStore {
    /// A store in an SQLite file, for any number of processes. The file may contain the logins of several accounts.
    ///
    /// - Parameters:
    ///   - account: the name of the login in the file; any text.
    ///   - key: encrypts this login with AES-256-GCM. A record that is copied to another file or account is rejected.
    ///   - lockTimeout: seconds that one statement waits for other processes.
    public static func sqlite(
        _ path: String, account: String, key: EncryptionKey? = nil, lockTimeout: Double = 5
    ) -> SQLiteTokenStore {
        SQLiteTokenStore(path: path, account: account, key: key, lockTimeout: lockTimeout)
    }
}

extension TokenStore where Self == SecretServiceTokenStore {
    /// A store in the desktop's keyring (the Secret Service of freedesktop.org). Never prompts: a locked keyring is an
    /// error. The service and the account together identify the login.
    public static func keyring(service: String, account: String) -> SecretServiceTokenStore {
        SecretServiceTokenStore(service: service, account: account)
    }
}

extension TokenStore {
    func failure(_ reason: String, code: Int32 = 0) -> NightjarError {
        NightjarError(.storage, "the token \(name) \(reason)", code: code)
    }
}
