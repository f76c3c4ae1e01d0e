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
    /// - Parameter key: encrypts the file with AES-256-GCM, for this path: a copy at another path is refused. A file without
    ///   encryption is refused when there is a key, and an encrypted one when there is none.
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
            throw failure(error.reason)
        }
    }

    public func save(_ login: StoredLogin, replacing version: LoginVersion?) throws(NightjarError) -> Bool {
        guard let content = LoginRecord.encode(login, key: key, place: try recordPlace()) else {
            throw failure("has no room for so long a token")
        }
        // A short lock of its own: a login and a logout do not wait for an exchange.
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
        try FileLock.wait(lockPath(), byte: Byte.writing, patience: FileTokenStore.patience)
    }

    /// The data that an encrypted record is bound to: its path.
    private func recordPlace() throws(NightjarError) -> String { "file\0" + (try file.place()) }

    private func lockPath() throws(NightjarError) -> String { try file.place() + ".lock" }

    /// Of the lock file.
    private enum Byte {
        static let exchange: Int64 = 0
        static let writing: Int64 = 1
    }

    /// Others hold the lock for writing for as long as a disk takes.
    private static let patience = Duration.seconds(10)
}
