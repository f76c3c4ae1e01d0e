import NightjarHTTP
import NightjarSystem

/// Stores one login in a file. Each save replaces the whole file. `PATH.lock` is the lock file. `PATH.new` exists while
/// the file is being written.
///
/// Between operations, only the lock file may be open. A forked child may therefore use the store.
public struct FileTokenStore: TokenStore {
    public let path: String
    private let key: EncryptionKey?
    private let file: PrivateFile

    /// Creates the store. Does not access the disk yet.
    ///
    /// - Parameter key: encrypts the file with AES-256-GCM. A copy of the file at another path is rejected. With a key,
    ///   an unencrypted file is rejected. Without a key, an encrypted file is rejected.
    public init(path: String, key: EncryptionKey? = nil) {
        self.path = path
        self.key = key
        file = PrivateFile(path, "token file")
    }

    public var name: String { "file \(quoted(path))" }

    public func load() throws(NightjarError) -> StoredLogin? {
        guard let content = try file.read(atMost: LoginRecord.largestSize) else { return nil }
        let place = try recordPlace()
        do throws(LoginRecord.Failure) {
            return try LoginRecord.decode(content, key: key, place: place)
        } catch {
            throw failure(error.fileReason)
        }
    }

    public func save(_ login: StoredLogin, replacing version: LoginVersion?) throws(NightjarError) -> Bool {
        guard let content = LoginRecord.encode(login, key: key, place: try recordPlace()) else {
            throw failure("cannot store the login: its record would be larger than 1 MiB")
        }
        // A separate lock, held only while writing: a login or logout does not wait for a token refresh.
        let lock = try writingLock()
        defer { lock.unlock() }
        // A record that cannot be read is not overwritten.
        guard login.mayReplace(try load(), of: version) else { return false }
        try file.replace(with: content)
        return true
    }

    public func tryLock() throws(NightjarError) -> (any TokenLock)? {
        try FileLock.take(lockPath(), byte: Byte.exchange)
    }

    private func writingLock() throws(NightjarError) -> FileLock {
        try FileLock.wait(lockPath(), byte: Byte.writing, lockTimeout: FileTokenStore.lockTimeout)
    }

    /// Returns the associated data of an encrypted record: its path.
    private func recordPlace() throws(NightjarError) -> String { "file\0" + (try file.place()) }

    private func lockPath() throws(NightjarError) -> String { try file.place() + ".lock" }

    /// Offsets in the lock file.
    private enum Byte {
        static let exchange: Int64 = 0
        static let writing: Int64 = 1
    }

    /// The maximum wait for the write lock. Other clients hold it only while they write to disk.
    private static let lockTimeout = Duration.seconds(10)
}
