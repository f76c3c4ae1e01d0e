import Glibc
import NightjarHTTP
import NightjarStorage
import NightjarTestSupport
import Testing

/// The contract of every store.
@Suite struct TokensContractTests {
    private let folder: TemporaryDirectory
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("login")
    }

    @Test(arguments: TokenStoreKind.allCases) func savedLoginIsLoaded(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        #expect(try store.load() == nil)
        for login in [
            exampleLogin(), exampleLogin(2, pending: true),
            StoredLogin(token: Token(access: ""), generation: 3, configured: .max),
            StoredLogin(token: Token(access: String(repeating: "a", count: 100_000)), generation: .max),
        ] {
            try store.put(login)
            #expect(try store.load() == login)
        }
        let tombstone = StoredLogin(.loggedOut, lineage: 77, generation: 4, configured: 5)
        try store.put(tombstone)
        #expect(try store.load() == tombstone)
        try store.put(exampleLogin())
        #expect(try store.load() == exampleLogin())
    }

    @Test(arguments: TokenStoreKind.persistent) func otherStoreOfTheSameNameLoadsIt(_ kind: TokenStoreKind) throws {
        try kind.store(path).put(exampleLogin())
        #expect(try kind.store(path).load() == exampleLogin())
    }

    /// A save is a compare-and-swap: no client overwrites a record that it has not seen.
    @Test(arguments: TokenStoreKind.allCases) func saveReplacesOnlyTheExpectedVersion(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        #expect(try store.save(exampleLogin(5), replacing: nil))
        let other = StoredLogin(token: Token(access: "other"), lineage: 78, generation: 6)
        for version in [
            nil, LoginVersion(lineage: 77, generation: 4), LoginVersion(lineage: 77, generation: 6),
            LoginVersion(lineage: 78, generation: 5),
        ] {
            #expect(try !store.save(other, replacing: version))
            #expect(try store.load() == exampleLogin(5))
        }
        #expect(try store.save(other, replacing: exampleLogin(5).version))
        #expect(try store.load() == other)
    }

    /// A save that failed after its rename, for example in fsync, can be repeated without a conflict.
    @Test(arguments: TokenStoreKind.allCases) func saveIsIdempotent(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        #expect(try store.save(exampleLogin(1), replacing: nil))
        #expect(try store.save(exampleLogin(1), replacing: nil))
        #expect(try store.save(exampleLogin(2), replacing: exampleLogin(1).version))
        #expect(try store.save(exampleLogin(2), replacing: exampleLogin(1).version))
        #expect(try !store.save(exampleLogin(1), replacing: nil))
        #expect(try store.load() == exampleLogin(2))
    }

    @Test(arguments: TokenStoreKind.allCases) func lockIsExclusive(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        let second = kind == .memory ? store : kind.store(path)
        let lock = try #require(try store.tryLock())
        #expect(try store.tryLock() == nil)
        #expect(try second.tryLock() == nil)
        // Loading, and saving a first login, do not need the lock.
        #expect(try second.load() == nil)
        try second.put(exampleLogin())
        lock.unlock()
        let next = try #require(try second.tryLock())
        lock.unlock()
        #expect(try store.tryLock() == nil)
        next.unlock()
        #expect(try store.tryLock() != nil)
        // The preceding lock was released when it was deallocated.
        #expect(try store.tryLock() != nil)
    }

    @Test(arguments: TokenStoreKind.allCases) func descriptionsContainNoSecrets(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        let login = exampleLogin(3, pending: true)
        try store.put(login)
        var text = ""
        dump(login, to: &text)
        dump(store, to: &text)
        dump(login.pending, to: &text)
        var key = ""
        dump(EncryptionKey(bytes: [UInt8](repeating: 77, count: 32)), to: &key)
        #expect(!key.contains("77"))
        text +=
            "\(login) \(String(reflecting: login)) \(store.name) \(failure { try store.put(login) }?.message ?? "")"
        text += "\(String(reflecting: login.pending)) \(String(describing: login.pending))"
        #expect(kind == .memory || !text.contains("secret"))
        #expect(!text.contains("access-secret") && !text.contains("refresh-secret") && !text.contains("key-secret"))
    }

    /// Concurrent threads of one process lose no save.
    @Test(arguments: TokenStoreKind.allCases) func clientsOfOneProcessTakeTurns(_ kind: TokenStoreKind) async throws {
        let shared = kind.store(path)
        let path = path
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let store = kind == .memory ? shared : kind.store(path)
                    var saves = 0
                    while saves < 10 {
                        guard let lock = try store.tryLock() else {
                            await Task.yield()
                            continue
                        }
                        try store.put(exampleLogin((store.load()?.generation ?? 0) + 1))
                        lock.unlock()
                        saves += 1
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try shared.load() == exampleLogin(40))
    }
}
