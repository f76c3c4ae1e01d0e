import Glibc
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar
@testable import NightjarStorage

/// Cookie files that clients and programs use.
@Suite(.serialized) struct CookieStorageTests {
    private let folder: TemporaryDirectory
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("cookies.db")
    }

    private func open(_ policy: CookiePolicy = .all, keepsSession: Bool = false) throws -> CookieStorage {
        try CookieStorage(file: path, policy: policy, keepsSession: keepsSession)
    }

    private func set(_ text: String, in storage: CookieStorage, from: String = "https://example.com/") throws {
        try storage.set(text, for: try RequestURL(from))
    }

    private func names(_ storage: CookieStorage) -> [String] { storage.all.map(\.name) }

    @Test func cookiesAreSavedInTheBackground() throws {
        let storage = try open()
        try set("a=1; Max-Age=100", in: storage)
        try set("s=1", in: storage)
        try eventually("the cookie was saved") { try namesInFile() == ["a"] }
        #expect(names(storage) == ["a", "s"])
    }

    private func namesInFile() throws -> [String] {
        var names: [String] = []
        try Database(existing: path, lockTimeout: 5).prepare("SELECT name FROM cookie ORDER BY name").each {
            names.append($0.text(0) ?? "?")
            return true
        }
        return names
    }

    @Test func lastOwnerSavesAtItsEnd() throws {
        do {
            let storage = try open()
            for number in 0..<40 { try set("n\(number)=1; Max-Age=100", in: storage) }
        }
        #expect(names(try open()).count == 40)
    }

    @Test func storagesOfOneFileShareTheirCookies() throws {
        let a = try open()
        symlink(path, folder.file("link"))
        let b = try CookieStorage(file: folder.file("link"), policy: .firstParty)
        try set("a=1", in: a)
        #expect(names(b) == ["a"])
        b.clear()
        #expect(names(a) == [])
        #expect(throws: NightjarError.self) { try open(keepsSession: true) }
    }

    @Test func ephemeralClientRejectsACookieFile() throws {
        var configuration = Configuration()
        try configuration.merge(json: #"{"cookies": {"file": "\#(path)"}, "ephemeral": true}"#)
        let error = #expect(throws: NightjarError.self) { try Client(configuration) }
        #expect(error?.kind == .invalidArgument)
        #expect(access(path, F_OK) != 0)
        configuration.cookieFile = nil
        configuration.cookies = try open()
        #expect(throws: NightjarError.self) { try Client(configuration) }
        configuration.cookies = CookieStorage()
        try Client(configuration).close()
    }

    @Test func optionsSelectFileAndPolicy() throws {
        var configuration = Configuration()
        try configuration.merge(json: #"{"cookies": {"file": "f", "policy": "first_party", "keep_session": true}}"#)
        #expect(configuration.cookieFile == Configuration.CookieFile("f", policy: .firstParty, keepsSession: true))
        try configuration.merge(json: #"{"cookies": true}"#)
        #expect(configuration.cookieFile == nil && configuration.cookies?.isPersistent == false)
        try configuration.merge(json: #"{"cookies": {"policy": "none", "file": "f"}}"#)
        #expect(configuration.cookieFile == nil && configuration.cookies == nil)
    }

    @Test func movedFileIsLogged() throws {
        try folder.write("cookies.db", Bytes(repeatElement(7, count: 5000)))
        let lines = Mutex<[String]>([])
        var configuration = Configuration()
        configuration.cookieFile = Configuration.CookieFile(path)
        configuration.log = LogSink(level: .warning) { line in lines.withLock { $0.append(line.message) } }
        let client = try Client(configuration)
        defer { client.close() }
        try eventually("the move was logged") { lines.withLock { $0.contains { $0.contains("moved to") } } }
    }

    /// Another process may lock the file for a long time. That must not delay calls.
    @Test func lockedFileDoesNotDelayCalls() throws {
        let storage = try open()
        try set("a=1; Max-Age=100", in: storage)
        try storage.flush()
        let holder = try Database(existing: path, lockTimeout: 0)
        try holder.execute("BEGIN IMMEDIATE")
        let url = try RequestURL("https://example.com/")
        let clock = ContinuousClock()
        var longest = Duration.zero
        for number in 0..<200 {
            let elapsed = try clock.measure {
                try set("n\(number % 50)=\(number); Max-Age=100", in: storage)
                _ = storage.field(for: url, isSafeMethod: true, firstParty: nil)
            }
            longest = max(longest, elapsed)
            usleep(2000)
        }
        try holder.execute("ROLLBACK")
        #expect(longest < .milliseconds(200))
        try storage.flush()
        #expect(try namesInFile().count == 50)
    }

    /// The cookies pass through a client into the file. The storage keeps at most 3000 of them.
    @Test func tenThousandCookiesAreHandled() throws {
        let storage = try open()
        let transport = ScriptedTransport(
            (0..<200).map { host in
                [.head(200, (0..<50).map { ("Set-Cookie", "n\($0)=h\(host); Max-Age=1000") }), .end]
            })
        var configuration = Configuration()
        configuration.cookies = storage
        let client = try Client(configuration, transport: { _ in transport })
        for host in 0..<200 {
            let response = try client.sendBlocking(Request(.get, "https://h\(host).example.com/"))
            #expect(response.status == 200)
        }
        let kept = storage.all
        #expect(kept.count <= 3000 && kept.count > 2600)
        // The newest cookies are present.
        #expect(kept.contains { $0.domain == "h199.example.com" })
        #expect(!kept.contains { $0.domain == "h0.example.com" })
        client.close()
        #expect(try namesInFile().count == storage.all.count)
    }

    /// Opening a named pipe would block until another process opens it, and writing would replace it with a file.
    @Test(.timeLimit(.minutes(1))) func namedPipeIsNeitherReadNorReplaced() throws {
        let storage = CookieStorage()
        let pipe = folder.file("pipe")
        mkfifo(pipe, 0o600)
        for use in [{ _ = try storage.importFile(pipe) }, { try storage.exportFile(pipe) }] {
            let error = #expect(throws: NightjarError.self) { try use() }
            #expect(error?.kind == .storage && error?.message.contains("is not a regular file") == true)
        }
        var status = stat()
        #expect(stat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    }
}
