import Glibc
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct JournalWorkerSocketTests {
    private let folder: TemporaryDirectory
    private var socket: String { folder.file("run/nightjar/transferd.sock") }

    init() throws {
        folder = try TemporaryDirectory()
        mkdir(folder.file("run"), 0o700)
    }

    @Test func pathDependsOnTheJournal() throws {
        mkdir(folder.file("nightjar"), 0o700)
        let variables = ["XDG_RUNTIME_DIR": folder.file("run"), "XDG_STATE_HOME": folder.path]
        func path(_ journal: String, _ variables: [String: String]) -> String? {
            JournalWorkerSocket.path(journal: folder.file(journal)) { variables[$0] }
        }
        #expect(path("nightjar/journal.db", variables) == socket)
        let other = try #require(path("other.db", variables))
        #expect(other.hasPrefix(folder.file("run/nightjar/transferd-")) && other.hasSuffix(".sock"))
        #expect(path("more.db", variables) != other && path("other.db", variables) == other)
        // A symbolic link is the same journal.
        symlink("other.db", folder.file("link.db"))
        #expect(path("link.db", variables) == other)
        #expect(path("other.db", [:])?.hasSuffix("/other.db.sock") == true)
        #expect(path("other.db", ["XDG_RUNTIME_DIR": "relative"])?.hasSuffix("/other.db.sock") == true)
        #expect(path("missing/journal.db", variables) == nil)
        let long = String(repeating: "x", count: 107)
        #expect(path("other.db", ["XDG_RUNTIME_DIR": "/\(long)"]) == nil)
    }

    @Test func peersConnect() throws {
        #expect(JournalWorkerSocket.connect(socket) == nil)
        let listener = try JournalWorkerSocket.listen(socket)
        defer { close(listener) }
        var status = stat()
        #expect(stat(socket, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(stat(folder.file("run/nightjar"), &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(try JournalWorkerSocket.accept(listener) == nil)
        let client = try #require(JournalWorkerSocket.connect(socket))
        defer { close(client) }
        let accepted = try #require(try JournalWorkerSocket.accept(listener))
        defer { close(accepted) }
        #expect(write(client, "x", 1) == 1)
        var byte: UInt8 = 0
        #expect(read(accepted, &byte, 1) == 1 && byte == UInt8(ascii: "x"))
        #expect(
            JournalWorkerSocket.adopt(listener) && !JournalWorkerSocket.adopt(client) && !JournalWorkerSocket.adopt(-1))
    }

    @Test func socketOfAKilledWorkerIsReplaced() throws {
        close(try JournalWorkerSocket.listen(socket))
        #expect(JournalWorkerSocket.connect(socket) == nil)
        let listener = try JournalWorkerSocket.listen(socket)
        defer { close(listener) }
        let client = try #require(JournalWorkerSocket.connect(socket))
        close(client)
    }

    @Test func foreignPathsAreRejected() throws {
        mkdir(folder.file("run/nightjar"), 0o700)
        try folder.write("run/nightjar/transferd.sock", "text")
        let file = #expect(throws: NightjarError.self) { try JournalWorkerSocket.listen(socket) }
        #expect(file?.kind == .storage && file?.message.contains("not a socket") == true)
        #expect(try folder.read("run/nightjar/transferd.sock") == Array("text".utf8))
        unlink(socket)
        chmod(folder.file("run/nightjar"), 0o770)
        let shared = #expect(throws: NightjarError.self) { try JournalWorkerSocket.listen(socket) }
        #expect(shared?.message.contains("other users") == true)
        rmdir(folder.file("run/nightjar"))
        symlink(folder.path, folder.file("run/nightjar"))
        #expect(throws: NightjarError.self) { try JournalWorkerSocket.listen(socket) }
        #expect(throws: NightjarError.self) { try JournalWorkerSocket.listen(folder.file("missing/a/b.sock")) }
    }
}
