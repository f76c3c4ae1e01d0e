import Foundation
import NightjarHTTP
import NightjarStorage
import NightjarTestSupport
import Testing

/// Processes that are killed, forked, limited or denied access.
@Suite(.serialized) struct TokensFaultTests {
    private let folder: TemporaryDirectory
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("login")
    }

    /// Four processes rotate one login, and every few milliseconds one of them is killed.
    @Test(arguments: TokenStoreKind.persistent) func killedProcessesLeaveACompleteLogin(_ kind: TokenStoreKind)
        throws
    {
        var random = SeededRandom(seed: 3)
        let store = kind.store(path)
        let workers = TokenStoreWorkers()
        func start(_ index: Int) throws -> ChildProcess {
            try workers.start(["loop", kind.rawValue, path], output: folder.file("output-\(index)"))
        }
        func failureMessage(_ index: Int) -> String {
            (try? String(contentsOfFile: folder.file("output-\(index)"), encoding: .utf8)) ?? "no output"
        }
        var processes = try (0..<4).map(start)
        var newest: UInt64 = 0
        var generations: Set<UInt64> = []
        var round = 0
        // A busy machine needs more rounds for the same work.
        while round < 120 || (newest <= 120 || generations.count <= 60) && round < 5_000 {
            round += 1
            let end = ContinuousClock.now + .milliseconds(Int.random(in: 5...40, using: &random))
            while ContinuousClock.now < end {
                guard let login = try store.load() else { continue }
                #expect(login.generation >= newest, "round \(round)")
                newest = max(newest, login.generation)
                generations.insert(newest)
                let rotated = login.pending == nil ? login.generation : login.generation - 1
                #expect(login.token?.refresh == "refresh-\(rotated)")
                usleep(200)
            }
            let index = Int.random(in: 0..<4, using: &random)
            // The process has not ended by itself because of an error.
            #expect(workers.end(processes[index]), "round \(round): \(failureMessage(index))")
            processes[index] = try start(index)
        }
        for index in 0..<4 { #expect(workers.end(processes[index]), "\(failureMessage(index))") }
        #expect(newest > 120 && generations.count > 60)
        // Killed processes do not keep the lock.
        let lock = try #require(try store.tryLock())
        let last = try #require(try store.load())
        try store.put(exampleLogin(last.generation + 1))
        lock.unlock()
    }

    @Test(arguments: TokenStoreKind.persistent) func lockEndsWithItsProcess(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        let workers = TokenStoreWorkers()
        let output = folder.file("output")
        let process = try workers.start(["hold", kind.rawValue, path], output: output)
        #expect(try TokenStoreWorkers.line(of: output) == "held")
        #expect(try store.tryLock() == nil)
        workers.end(process)
        #expect(try store.tryLock() != nil)
    }

    /// A process forks while it holds the lock. The child does not own the lock, and does not keep it after the parent
    /// has ended.
    @Test(arguments: TokenStoreKind.persistent) func forkedChildDoesNotHaveTheLock(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        try store.put(exampleLogin(3))
        let workers = TokenStoreWorkers()
        let output = folder.file("output")
        let process = try workers.start(["fork", kind.rawValue, path], output: output)
        let line = try TokenStoreWorkers.line(of: output)
        let words = line.split(whereSeparator: \.isWhitespace)
        let child = words.count > 1 ? pid_t(words[1]) ?? 0 : 0
        defer { if child > 1 { kill(child, SIGKILL) } }
        try #require(words.count == 5, "\(line)")
        // The child cannot take the lock and can load the login. The memory store belongs to the parent.
        #expect(words[2...] == ["true", "3", "forked"])
        #expect(try store.tryLock() == nil)
        process.send(SIGKILL)
        try eventually("the lock was free") { try store.tryLock() != nil }
        #expect(kill(child, 0) == 0)
    }

    @Test(arguments: TokenStoreKind.persistent) func fullDiskIsAnErrorAndKeepsTheLogin(_ kind: TokenStoreKind) throws {
        let store = kind.store(path)
        try store.put(exampleLogin(3))
        for limit in ["1000", "2000", "4000"] {
            let result = try run(TokenStoreWorkers.path, ["save", kind.rawValue, path, limit])
            // SIGXFSZ has not ended the process.
            #expect(result.status == 1)
            #expect(result.text.contains("storage") && result.text.contains("the token"), "\(result.text)")
            #expect(try store.load() == exampleLogin(3))
        }
        #expect(permissions(path + ".new") == nil)
        try store.put(exampleLogin(4))
    }

    @Test(arguments: TokenStoreKind.persistent) func readOnlyFolderIsAnError(_ kind: TokenStoreKind)
        throws
    {
        let store = kind.store(path)
        try store.put(exampleLogin(3))
        unlink(path + ".lock")
        if geteuid() == 0 { chown(path, 65534, 65534) }
        chmod(folder.path, geteuid() == 0 ? 0o755 : 0o555)
        defer { chmod(folder.path, 0o700) }
        let result = try run(TokenStoreWorkers.path, ["save", kind.rawValue, path, "nobody"])
        #expect(result.status == 1)
        #expect(result.text.contains("the token") || result.text.contains("the lock file"), "\(result.text)")
        if geteuid() == 0 { chown(path, 0, 0) }
        #expect(try store.load() == exampleLogin(3))
    }
}
