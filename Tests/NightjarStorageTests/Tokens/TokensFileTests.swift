import Glibc
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct TokensFileTests {
    private let folder: TemporaryDirectory
    private let path: String
    private let store: FileTokenStore

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("login")
        store = FileTokenStore(path: path)
    }

    private func error(_ store: FileTokenStore, _ login: StoredLogin = exampleLogin(9)) -> (load: String, save: String)
    {
        (
            failure { _ = try store.load() }?.message ?? "none",
            failure { try store.put(login) }?.message ?? "none"
        )
    }

    // MARK: Others

    @Test func fileAndLockAreReadableOnlyByTheirOwner() throws {
        // The umask applies to the whole process. Concurrent tests set the permissions that they need explicitly.
        let mask = umask(0)
        defer { umask(mask) }
        let lock = try store.tryLock()
        try store.put(exampleLogin())
        lock?.unlock()
        #expect(permissions(path) == 0o600)
        #expect(permissions(path + ".lock") == 0o600)
        #expect(permissions(path + ".new") == nil)
    }

    @Test(arguments: [0o644, 0o640, 0o606, 0o610]) func fileReadableByOthersIsRejected(_ mode: Int) throws {
        try store.put(exampleLogin())
        chmod(path, mode_t(mode))
        let found = error(store)
        #expect(found.load.contains("accessible to other users (mode \(String(mode, radix: 8)))"))
        #expect(found.load == found.save)
        #expect(failure { try store.logOut() } != nil)
        chmod(path, 0o600)
        #expect(try store.load() == exampleLogin())
    }

    @Test func fileOfAnotherUserIsRejected() throws {
        try store.put(exampleLogin())
        // Only root can change the owner of a file.
        guard geteuid() == 0 else { return }
        chown(path, 65534, 65534)
        #expect(error(store).load.contains("belongs to another user (uid 65534)"))
        #expect(error(store).save.contains("belongs to another user (uid 65534)"))
    }

    @Test func otherFileTypesAreRejected() throws {
        mkdir(path, 0o700)
        #expect(error(store).load.contains("is not a regular file"))
        #expect(error(store).save.contains("is not a regular file"))
        rmdir(path)
        mkfifo(path, 0o600)
        #expect(error(store).load.contains("is not a regular file"))
        #expect(error(FileTokenStore(path: folder.file("none/login"))).load.contains("check that its folder exists"))
        for path in ["", "a/", "a\0b"] {
            #expect(failure { _ = try FileTokenStore(path: path).load() }?.kind == .invalidArgument)
        }
    }

    // MARK: Links

    @Test func linkIsKeptAndItsTargetReplaced() throws {
        mkdir(folder.file("real"), 0o700)
        let target = folder.file("real/target")
        symlink("real/target", path)
        symlink("login", folder.file("second"))
        let second = FileTokenStore(path: folder.file("second"))
        // The target does not need to exist.
        try second.put(exampleLogin())
        #expect(FileIdentity(target) != nil)
        try store.put(exampleLogin(2))
        #expect(try second.load() == exampleLogin(2))
        #expect(try FileTokenStore(path: target).load() == exampleLogin(2))
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        // All names of the file have the same lock.
        let lock = try #require(try store.tryLock())
        #expect(try second.tryLock() == nil)
        #expect(try FileTokenStore(path: target).tryLock() == nil)
        lock.unlock()
        try store.logOut()
        #expect(try second.load()?.ending == .loggedOut)
        #expect(lstat(path, &status) == 0)
    }

    @Test func cyclicLinksAreAnError() {
        symlink("login", folder.file("second"))
        symlink("second", path)
        #expect(error(store).load.contains("Too many levels of symbolic links"))
    }

    // MARK: Content

    @Test func corruptFileIsAnErrorAndKept() throws {
        try store.put(exampleLogin())
        let record = try folder.read("login")
        for index in [0, 8, 9, 12, 16, 24, 100, record.count - 1] {
            for damaged in [Array(record[..<index]), record.enumerated().map { $0 == index ? $1 ^ 1 : $1 }] {
                try folder.write("login", Bytes(damaged))
                let found = error(store)
                #expect(found.load.hasPrefix("the token file \"\(path)\" "))
                #expect(found.load == found.save)
                #expect(failure { try store.logOut() }?.message == found.load)
                #expect(try folder.read("login") == damaged)
            }
        }
        try folder.write("login", "{\"access_token\": \"secret\"}")
        #expect(error(store).load.contains("is not a token store"))
        #expect(!error(store).load.contains("secret"))
        try folder.write("login", Bytes(Array("NJLOGIN\n".utf8) + [3] + [UInt8](repeating: 0, count: 100)))
        #expect(error(store).save.contains("has version 3, written by a later release"))
    }

    @Test func otherKeyIsAnErrorAndTheFileIsKept() throws {
        let first = FileTokenStore(path: path, key: EncryptionKey(bytes: [UInt8](repeating: 1, count: 32)))
        let other = FileTokenStore(path: path, key: EncryptionKey(bytes: [UInt8](repeating: 2, count: 32)))
        try first.put(exampleLogin())
        let record = try folder.read("login")
        for (store, reason) in [(other, "with a different key"), (store, "no key is set")] {
            #expect(error(store).load.contains(reason))
            #expect(error(store).save.contains(reason))
            #expect(failure { try store.logOut() }?.message.contains(reason) == true)
        }
        #expect(try folder.read("login") == record)
        #expect(try first.load() == exampleLogin())
        unlink(path)
        try store.put(exampleLogin())
        #expect(error(first).save.contains("is not encrypted"))
    }

    /// An encrypted record is bound to its path. A copy cannot be used as another login.
    @Test func encryptedFileIsInvalidAtAnotherPath() throws {
        let key = EncryptionKey(bytes: [UInt8](repeating: 1, count: 32))
        let first = FileTokenStore(path: path, key: key)
        try first.put(exampleLogin())
        let copy = try folder.write("copy", Bytes(try folder.read("login")))
        chmod(copy, 0o600)
        #expect(error(FileTokenStore(path: copy, key: key)).load.contains("was copied from another path or account"))
        #expect(error(FileTokenStore(path: copy, key: key)).save.contains("was copied from another path or account"))
        // A symbolic link to the file loads the same login.
        symlink("login", folder.file("link"))
        #expect(try FileTokenStore(path: folder.file("link"), key: key).load() == exampleLogin())
    }

    /// A record in the previous format causes an error and is kept.
    @Test func olderRecordIsAnError() throws {
        try folder.write("login", Bytes(Array("NJLOGIN\n".utf8) + [1] + [UInt8](repeating: 0, count: 100)))
        chmod(path, 0o600)
        #expect(error(store).load.contains("has version 1, written by an earlier release; move it away"))
        #expect(error(store).save == error(store).load)
    }

    @Test func temporaryFileOfAKilledProcessIsReplaced() throws {
        try store.put(exampleLogin())
        try folder.write("login.new", "half a rec")
        try store.put(exampleLogin(2))
        #expect(try store.load() == exampleLogin(2))
        #expect(permissions(path + ".new") == nil)
        try folder.write("login.new", "half a rec")
        try store.logOut()
        #expect(permissions(path + ".new") == nil)
    }

    @Test func lockFileOfOthersIsRejected() throws {
        try folder.write("login.lock", "")
        chmod(path + ".lock", 0o666)
        try #require(try store.tryLock()).unlock()
        #expect(permissions(path + ".lock") == 0o600)
        unlink(path + ".lock")
        symlink("elsewhere", path + ".lock")
        #expect(failure { _ = try store.tryLock() }?.message.contains("lock file") == true)
        #expect(permissions(folder.file("elsewhere")) == nil)
    }

    @Test func removedLockFileIsNotALock() throws {
        let lock = try #require(try store.tryLock())
        unlink(path + ".lock")
        let next = try #require(try store.tryLock())
        #expect(try store.tryLock() == nil)
        lock.unlock()
        #expect(try store.tryLock() == nil)
        next.unlock()
    }
}
