import Glibc
import NightjarHTTP

/// One login in one file, which is replaced as a whole with each save. Beside it, `PATH.lock` excludes others, and
/// `PATH.new` is there while it is written.
///
/// It holds nothing open but its lock, so the child of a fork may go on with it.
public struct FileTokenStore: TokenStore {
    public let path: String
    private let key: EncryptionKey?
    private let file: PrivateFile

    /// Touches nothing yet.
    ///
    /// - Parameter key: encrypts the file with AES-256-GCM. A file without encryption is then refused, and one with it
    ///   where there is no key.
    public init(path: String, key: EncryptionKey? = nil) {
        self.path = path
        self.key = key
        file = PrivateFile(path, "token file")
    }

    public var name: String { "file \(quoted(path))" }

    public func load() throws(NightjarError) -> StoredLogin? {
        guard let content = try file.read(atMost: LoginRecord.largestSize) else { return nil }
        do throws(LoginRecord.Failure) {
            return try LoginRecord.decode(content, key: key)
        } catch {
            throw failure(error.reason)
        }
    }

    public func save(_ login: StoredLogin) throws(NightjarError) {
        guard let content = LoginRecord.encode(login, key: key) else {
            throw failure("has no room for so long a token")
        }
        // Its own short lock: who saves a first login does not hold the one for exchanges.
        let lock = try writingLock()
        defer { lock.unlock() }
        // What cannot be read is not written over.
        try check(login, follows: load())
        try file.replace(with: content)
    }

    public func clear() throws(NightjarError) {
        let lock = try writingLock()
        defer { lock.unlock() }
        guard try load() != nil else { return }
        try file.remove()
    }

    public func tryLock() throws(NightjarError) -> (any TokenLock)? {
        try FileLock.take(lockPath(), byte: Byte.exchange)
    }

    private func writingLock() throws(NightjarError) -> FileLock {
        try FileLock.wait(lockPath(), byte: Byte.writing, patience: FileTokenStore.patience)
    }

    private func lockPath() throws(NightjarError) -> String { try file.place() + ".lock" }

    /// Of the lock file.
    private enum Byte {
        static let exchange: Int64 = 0
        static let writing: Int64 = 1
    }

    /// Others hold the lock for writing for as long as a disk takes.
    private static let patience = Duration.seconds(10)
}
