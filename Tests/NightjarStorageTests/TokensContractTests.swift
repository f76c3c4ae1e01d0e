import Glibc
import NightjarHTTP
import NightjarStorage
import NightjarTestSupport
import Testing

/// What holds for every store.
@Suite struct TokensContractTests {
    private let folder: TemporaryDirectory
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("login")
    }

    @Test(arguments: TokenStoreKind.allCases) func whatIsSavedIsLoaded(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        #expect(try store.load() == nil)
        for login in [
            exampleLogin(), exampleLogin(2, pending: true),
            StoredLogin(token: Token(access: ""), generation: 3),
            StoredLogin(token: Token(access: String(repeating: "a", count: 100_000)), generation: .max),
        ] {
            try store.save(login)
            #expect(try store.load() == login)
        }
        try store.clear()
        #expect(try store.load() == nil)
        try store.clear()
        try store.save(exampleLogin())
        #expect(try store.load() == exampleLogin())
    }

    @Test(arguments: TokenStoreKind.lasting) func anotherStoreOfTheSameNameSeesIt(_ kind: TokenStoreKind) throws {
        try kind.store(path).save(exampleLogin())
        #expect(try kind.store(path).load() == exampleLogin())
    }

    @Test(arguments: TokenStoreKind.allCases) func whoHasNotSeenTheNewestDoesNotSave(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        try store.save(exampleLogin(5))
        for generation: UInt64 in [0, 4, 5] {
            let error = failure { try store.save(exampleLogin(generation)) }
            #expect(error?.kind == .storage)
            #expect(error?.message.contains("another has saved since") == true)
        }
        #expect(try store.load() == exampleLogin(5))
        try store.save(exampleLogin(6))
    }

    @Test(arguments: TokenStoreKind.allCases) func oneHasTheLock(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        let second = kind == .memory ? store : kind.store(path)
        let lock = try #require(try store.tryLock())
        #expect(try store.tryLock() == nil)
        #expect(try second.tryLock() == nil)
        // Who reads, and who saves a first login, does not need it.
        #expect(try second.load() == nil)
        try second.save(exampleLogin())
        lock.unlock()
        let next = try #require(try second.tryLock())
        lock.unlock()
        #expect(try store.tryLock() == nil)
        next.unlock()
        #expect(try store.tryLock() != nil)
        // That one was let go of without a word.
        #expect(try store.tryLock() != nil)
    }

    @Test(arguments: TokenStoreKind.allCases) func secretsAreInNoText(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        let login = exampleLogin(3, pending: true)
        try store.save(login)
        var text = ""
        dump(login, to: &text)
        dump(store, to: &text)
        dump(login.pending, to: &text)
        var key = ""
        dump(EncryptionKey(bytes: [UInt8](repeating: 77, count: 32)), to: &key)
        #expect(!key.contains("77"))
        text +=
            "\(login) \(String(reflecting: login)) \(store.name) \(failure { try store.save(login) }?.message ?? "")"
        text += "\(String(reflecting: login.pending)) \(String(describing: login.pending))"
        #expect(kind == .memory || !text.contains("secret"))
        #expect(!text.contains("access-secret") && !text.contains("refresh-secret") && !text.contains("key-secret"))
    }

    /// Threads of one process that take turns lose no save.
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
                        try store.save(exampleLogin((store.load()?.generation ?? 0) + 1))
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
