import Glibc
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct TokensSQLiteTests {
    private let folder: TemporaryDirectory
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("tokens.db")
    }

    private func store(_ account: String, key: UInt8? = nil, lockTimeout: Double = 5) -> SQLiteTokenStore {
        SQLiteTokenStore(
            path: path, account: account, key: key.flatMap { EncryptionKey(bytes: [UInt8](repeating: $0, count: 32)) },
            lockTimeout: lockTimeout)
    }

    @Test func accountsAreSeparate() throws {
        let (a, b) = (store("a"), store("b"))
        try a.put(exampleLogin(7))
        #expect(try b.load() == nil)
        try b.put(exampleLogin(1))
        let lock = try #require(try a.tryLock())
        let other = try #require(try b.tryLock())
        #expect(try store("a").tryLock() == nil)
        lock.unlock()
        #expect(try store("a").tryLock() != nil)
        #expect(try store("b").tryLock() == nil)
        other.unlock()
        try a.logOut()
        #expect(try a.load()?.ending == .loggedOut)
        #expect(try b.load() == exampleLogin(1))
        #expect(permissions(path) == 0o600)
        #expect(permissions(path + ".lock") == 0o600)
    }

    @Test func otherKeyIsAnErrorAndTheLoginIsKept() throws {
        try store("a", key: 1).put(exampleLogin())
        for (other, reason) in [(store("a", key: 2), "with a different key"), (store("a"), "no key is set")] {
            #expect(failure { _ = try other.load() }?.message.contains(reason) == true)
            #expect(failure { try other.put(exampleLogin(2)) }?.message.contains(reason) == true)
            #expect(failure { try other.logOut() }?.message.contains(reason) == true)
        }
        #expect(try store("a", key: 1).load() == exampleLogin())
        // The key does not affect other accounts in the file.
        try store("b").put(exampleLogin())
    }

    /// An encrypted record is bound to its account and its file. A copy of admin's row cannot be used as mallory's
    /// login.
    @Test func encryptedRowIsBoundToItsAccountAndFile() throws {
        try store("admin", key: 1).put(exampleLogin())
        try store("mallory", key: 1).put(exampleLogin(2))
        let database = try Database(existing: path, lockTimeout: 1)
        try database.execute(
            "UPDATE login SET record = (SELECT record FROM login WHERE account = 'admin') WHERE account = 'mallory'")
        let error = failure { _ = try store("mallory", key: 1).load() }
        #expect(error?.message.contains("was copied from another path or account") == true)
        #expect(try store("admin", key: 1).load() == exampleLogin())
        try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let copy = try folder.write("copy.db", Bytes(try folder.read("tokens.db")))
        chmod(copy, 0o600)
        let moved = SQLiteTokenStore(
            path: copy, account: "admin", key: EncryptionKey(bytes: [UInt8](repeating: 1, count: 32)))
        #expect(failure { _ = try moved.load() }?.message.contains("was copied from another path or account") == true)
    }

    /// Simulates a process that was killed after its last write to the write-ahead log, before it updated the log's
    /// index. SQLite may recover the log at any time.
    @Test func interruptedSaveIsResolvedUnderTheLock() throws {
        let store = store("a")
        try store.put(exampleLogin(1))
        let manager = try Database(existing: path, lockTimeout: 1)
        #expect(try manager.number("SELECT count(*) FROM login") == 1)
        let marks = Bytes(try folder.read("tokens.db-shm"))
        try store.put(exampleLogin(2))
        try overwrite("tokens.db-shm", marks)
        let lock = try #require(try store.tryLock())
        let seen = try #require(try store.load())
        try overwrite("tokens.db-shm", Bytes(repeatElement(0, count: marks.array.count)))
        #expect(try store.load() == seen)
        try store.put(exampleLogin(seen.generation + 1))
        #expect(try store.load() == exampleLogin(seen.generation + 1))
        lock.unlock()
        withExtendedLifetime(manager) {}
    }

    /// Overwrites a file in place, because SQLite has mapped the file.
    private func overwrite(_ name: String, _ bytes: Bytes) throws {
        let descriptor = open(folder.file(name), O_WRONLY)
        try #require(descriptor >= 0)
        #expect(pwrite(descriptor, bytes.array, bytes.array.count, 0) == bytes.array.count)
        close(descriptor)
    }

    @Test func fileReadableByOthersIsRejected() throws {
        try store("a").put(exampleLogin())
        chmod(path, 0o640)
        #expect(failure { _ = try store("a").load() }?.message.contains("chmod 600") == true)
        #expect(failure { try store("a").put(exampleLogin(2)) }?.message.contains("chmod 600") == true)
    }

    /// If any byte is changed, the login is intact, or there is an error and the file is unchanged.
    @Test func corruptFileIsNotOverwritten() throws {
        try store("a").put(exampleLogin())
        let content = try folder.read("tokens.db")
        var random = SeededRandom(seed: 4)
        var errors = 0
        for index in Array(0..<100) + (0..<60).map({ _ in Int.random(in: 100..<content.count, using: &random) }) {
            var damaged = content
            damaged[index] ^= 0x41
            try folder.write("tokens.db", Bytes(damaged))
            chmod(path, 0o600)
            do {
                // Some bytes of SQLite's own data are unused.
                #expect(try store("a").load() == exampleLogin(), "byte \(index)")
            } catch {
                errors += 1
                #expect(error.kind == .storage && error.message.hasPrefix("the token database"), "\(error)")
                #expect(failure { try store("a").put(exampleLogin(2)) } != nil, "byte \(index)")
                #expect(try folder.read("tokens.db") == damaged, "byte \(index)")
            }
            for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        }
        #expect(errors > 30)
        for count in [99, 512, 4096, content.count / 2] {
            let cut = Array(content[..<count])
            try folder.write("tokens.db", Bytes(cut))
            chmod(path, 0o600)
            #expect(failure { try store("a").put(exampleLogin(2)) } != nil, "\(count) bytes")
            #expect(try folder.read("tokens.db") == cut)
            for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        }
    }

    @Test func databaseOfAnotherProgramIsNotChanged() throws {
        _ = try CookieFile(path).load(at: 1)
        let error = failure { try store("a").put(exampleLogin()) }
        let isForeign = error?.message.contains("belongs to another program or has another purpose; it was not changed")
        #expect(isForeign == true)
        #expect(failure { _ = try store("a").load() } != nil)
        try folder.write("text", "secret text that is no database\n")
        chmod(folder.file("text"), 0o600)
        let other = failure { try SQLiteTokenStore(path: folder.file("text"), account: "a").put(exampleLogin()) }
        #expect(other?.kind == .storage)
        #expect(other?.message.contains("secret") == false)
    }

    @Test func foreignFileIsReportedWithOneAdvice() throws {
        func advice() -> String? {
            failure { _ = try store("a").load() }?.message.split(separator: ";", maxSplits: 1).last.map(String.init)
        }
        try store("a").put(exampleLogin())
        mkdir(path + "-journal", 0o700)
        #expect(advice() == " use another path")
        rmdir(path + "-journal")
        try folder.write("tokens.db-journal", "")
        chmod(path + "-journal", 0o666)
        #expect(advice() == " remove it, or run chmod 600 on it")
        unlink(path + "-journal")
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        _ = try CookieFile(path).load(at: 1)
        #expect(advice() == " it was not changed; use another path")
    }

    /// The message advises to remove the file that is not private. The database contains the login.
    @Test func fileBesideTheDatabaseIsNamed() throws {
        try store("a").put(exampleLogin())
        try folder.write("tokens.db-journal", "")
        chmod(path + "-journal", 0o666)
        let message = failure { _ = try store("a").load() }?.message
        #expect(message?.contains("cannot be opened: \"") == true)
        #expect(message?.contains("/tokens.db-journal\" is accessible to other users (mode 666)") == true)
    }

    @Test func busyDatabaseIsAwaitedUntilATimeout() throws {
        try store("a").put(exampleLogin())
        let database = try Database(existing: path, lockTimeout: 1)
        try database.execute("BEGIN IMMEDIATE")
        let start = ContinuousClock.now
        let error = failure { try store("a", lockTimeout: 0.2).put(exampleLogin(2)) }
        #expect(error?.kind == .storage)
        #expect(error?.message.contains("another process or client kept it locked for too long") == true)
        #expect(ContinuousClock.now - start < .seconds(5))
        // Reading does not wait for the writer.
        #expect(try store("a", lockTimeout: 0.2).load() == exampleLogin())
        try database.execute("ROLLBACK")
        try store("a").put(exampleLogin(2))
    }

    @Test func linkIsKeptAndSharesTheLock() throws {
        symlink("tokens.db", folder.file("link"))
        let link = SQLiteTokenStore(path: folder.file("link"), account: "a")
        try link.put(exampleLogin())
        #expect(try store("a").load() == exampleLogin())
        let lock = try link.tryLock()
        #expect(try store("a").tryLock() == nil)
        lock?.unlock()
    }
}
