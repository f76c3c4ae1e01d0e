import Foundation
import NightjarHTTP
import NightjarStorage
import NightjarTestSupport
import Testing

@testable import Nightjar
@testable import NightjarDaemon

/// The records of background transfers. Tests/Transfers/background.lua tests the worker.
@Suite struct BackgroundTransferTests {
    private let folder: TemporaryDirectory
    private var journal: String { folder.file("journal.db") }

    init() throws { folder = try TemporaryDirectory() }

    private func options(_ more: String = "") -> String {
        "{\"download\": \"http://localhost:1/file?token=secret\", \"to\": \"\(folder.file("file"))\"\(more)}"
    }

    @Test func transferIsRecorded() throws {
        let transfers = try Transfers(journal: journal)
        let started = try transfers.start("one", json: options())
        #expect(started.id == "one" && started.kind == .download && started.state == .waiting)
        #expect(started.path == folder.file("file") && started.attempts == 0 && started.total == nil)
        #expect(!started.url.contains("secret") && started.url.hasPrefix("http://localhost:1/file"))
        // Another object is like another process.
        let other = try Transfers(journal: journal)
        #expect(try other.get("one")?.state == .waiting)
        #expect(try other.list().map(\.id) == ["one"])
        #expect(try other.get("two") == nil)
    }

    /// The order of options, and options with their default values, make no difference.
    @Test func equalOptionsAreTheSameTransfer() throws {
        let transfers = try Transfers(journal: journal)
        let more = ", \"client\": {\"user_agent\": \"a\", \"timeout\": {\"idle\": 5, \"connect\": 3}}"
        let same = ", \"priority\": 0, \"client\": {\"timeout\": {\"connect\": 3, \"idle\": 5}, \"user_agent\": \"a\"}"
        try transfers.start("one", json: options(more))
        try transfers.start("one", json: options(same))
        let error = #expect(throws: NightjarError.self) { try transfers.start("one", json: options()) }
        #expect(error?.kind == .invalidArgument && error?.message.contains("\"one\"") == true)
    }

    @Test func stateFollowsTheJournal() throws {
        let transfers = try Transfers(journal: journal)
        try transfers.start("one", json: options())
        try transfers.pause("one")
        #expect(try transfers.get("one")?.state == .paused)
        try transfers.resume("one")
        #expect(try transfers.get("one")?.state == .waiting)
        #expect(throws: NightjarError.self) { try transfers.check("one") }
        let worker = Journal(path: journal)
        let lease = try #require(try worker.take(id: "one", for: .seconds(60)))
        #expect(try transfers.get("one")?.state == .running)
        #expect(throws: NightjarError.self) { try transfers.remove("one") }
        try lease.end(.failed(NightjarError(.notFound, "no such file")), in: worker)
        let failed = try #require(try transfers.get("one"))
        #expect(failed.state == .failed && failed.error?.kind == .notFound && failed.error?.message == "no such file")
        let error = #expect(throws: NightjarError.self) { try transfers.check("one") }
        #expect(error?.kind == .notFound)
        try transfers.retry("one")
        try transfers.cancel("one")
        #expect(try transfers.get("one")?.state == .cancelled)
        try transfers.remove("one")
        #expect(try transfers.get("one") == nil)
    }

    @Test func waitEndsWithTheTransfer() async throws {
        let transfers = try Transfers(journal: journal)
        try transfers.start("one", json: options())
        async let waited = transfers.wait("one")
        let worker = Journal(path: journal)
        let lease = try #require(try worker.take(id: "one", for: .seconds(60)))
        try worker.finish(lease, as: .done, result: Array(#"{"path": "/a", "size": 5}"#.utf8))
        let transfer = try await waited
        #expect(transfer.state == .done && transfer.path == "/a" && transfer.transferred == 5)
        let task = Task { try await transfers.wait("two") }
        let missing = await #expect(throws: NightjarError.self) { try await task.value }
        #expect(missing?.kind == .invalidArgument)
    }

    @Test func waitIsCancelledWithItsTask() async throws {
        let transfers = try Transfers(journal: journal)
        try transfers.start("one", json: options())
        let task = Task { try await transfers.wait("one") }
        task.cancel()
        let error = await #expect(throws: NightjarError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
        #expect(try transfers.get("one")?.state == .waiting)
        let late = #expect(throws: NightjarError.self) { try transfers.waitBlocking("one", timeout: .milliseconds(10)) }
        #expect(late?.kind == .timeout)
    }

    /// Entries of foreground transfers, and of later versions.
    @Test func otherEntriesAreNotShown() throws {
        let worker = Journal(path: journal)
        _ = try worker.add(NewJournalEntry(id: "upload", kind: "upload", input: Array("{}".utf8)))
        _ = try worker.add(NewJournalEntry(id: "later", kind: Transfers.kind, input: Array(#"{"version": 2}"#.utf8)))
        let transfers = try Transfers(journal: journal)
        #expect(try transfers.list().isEmpty)
        #expect(try transfers.get("upload") == nil)
        let error = #expect(throws: NightjarError.self) { try transfers.get("later") }
        #expect(error?.message.contains("another version") == true)
        // Every entry can be removed.
        try transfers.cancel("later")
        try transfers.remove("later")
        #expect(try worker.entry("later") == nil)
        for damaged in ["", "[]", "{}", #"{"version": 1, "download": 5}"#, #"{"version": 1, "download": "x"}"#] {
            #expect(throws: NightjarError.self) { try TransferDescription(bytes: Array(damaged.utf8)) }
        }
    }

    @Test func descriptionSurvivesTheJournal() throws {
        let more =
            #", "not_before": 1700000000.5, "unmetered": true, "discretionary": true, "priority": -3, "#
            + #""time_limit": 60, "connections": 3, "headers": {"X-Team": "blue"}"#
        let text = options(more)
        let description = try text.withCString {
            try TransferDescription(json: .init(start: $0, count: text.utf8.count)) { _ in "" }
        }
        let read = try TransferDescription(bytes: try description.bytes)
        #expect(read == description)
        #expect(try read.makeDownloadSettings().connections == 3)
        #expect(try read.makeRequest().headers["x-team"] == "blue")
        #expect(read.constraints.priority == -3 && read.constraints.timeLimit == .seconds(60))
        #expect(read.constraints.notBefore?.nanoseconds == 500_000_000)
    }

    /// The URLs of a login may have a password, too.
    @Test func userInfoOfALoginIsRejected() throws {
        let transfers = try Transfers(journal: journal)
        func login(_ url: String) -> String {
            options(#", "client": {"auth": {"type": "oauth2", "store": "file:/tmp/a@b", "token_url": "\#(url)"}}"#)
        }
        let error = #expect(throws: NightjarError.self) {
            try transfers.start("one", json: login("https://user:password@localhost/token"))
        }
        #expect(error?.kind == .invalidArgument && error?.message.contains("client.auth.token_url") == true)
        try transfers.start("one", json: login("https://localhost/token?user=a@b"))
    }

    @Test(
        arguments: [
            ([:], nil), (["BAT0": ["type": "Battery"]], false),
            (["BAT0": ["type": "Battery", "scope": "Device"]], nil),
            (["AC": ["type": "Mains", "online": "1"], "BAT0": ["type": "Battery"]], true),
            (["AC": ["type": "Mains", "online": "0"], "BAT0": ["type": "Battery"]], false),
            (["ucsi": ["type": "USB", "online": "1"], "BAT0": ["type": "Battery"]], true),
        ] as [([String: [String: String]], Bool?)])
    func powerSupplyIsRead(supplies: [String: [String: String]], expected: Bool?) throws {
        for (name, files) in supplies {
            #expect(mkdir(folder.file(name), 0o700) == 0)
            for (file, text) in files { try folder.write("\(name)/\(file)", Bytes("\(text)\n".utf8)) }
        }
        #expect(PowerSupply.hasMainsPower(in: folder.path) == expected)
    }

    private func upload(_ content: String) -> String { "{\"upload\": \"http://localhost:1/x\", \(content)}" }

    @Test(arguments: [
        (#""body": "tëxt""#, "tëxt", nil), (#""json": {"b": [1, null]}"#, #"{"b":[1,null]}"#, "application/json"),
        (#""form": {"a b": "ä&", "n": [1, true]}"#, "a+b=%C3%A4%26&n=1&n=true", "application/x-www-form-urlencoded"),
        (#""json": 1, "type": "text/x""#, "1", "text/x"), (#""body": """#, "", nil),
        (#""body_base64": "dGV4dA==""#, "text", nil),
    ])
    func contentIsWrittenBesideTheJournal(options: String, content: String, type: String?) throws {
        let transfers = try Transfers(journal: journal)
        let started = try transfers.start("one", json: upload(options))
        #expect(started.path.hasPrefix(journal + ".spool/"))
        let file = String(started.path.dropFirst(folder.path.utf8.count + 1))
        #expect(String(decoding: try folder.read(file), as: UTF8.self) == content)
        var status = stat()
        #expect(stat(started.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(stat(journal + ".spool", &status) == 0 && status.st_mode & 0o777 == 0o700)
        let entry = try #require(try Journal(path: journal).entry("one"))
        #expect(try TransferDescription(bytes: entry.input).makeUploadSettings().contentType == type)
        // The same content is the same transfer, and another one is not. The file of the first one is kept.
        #expect(try transfers.start("one", json: upload(options)).path == started.path)
        #expect(throws: NightjarError.self) { try transfers.start("one", json: upload(#""body": "other""#)) }
        #expect(throws: NightjarError.self) {
            try transfers.start("one", json: upload(options + #", "priority": 3"#))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: journal + ".spool").count == 1)
        try transfers.cancel("one")
        #expect(access(started.path, F_OK) == 0)
        try transfers.acknowledge("one")
        #expect(access(started.path, F_OK) != 0)
    }

    @Test(arguments: [
        #""body": "x", "from": "/x""#, #""body": "x", "json": 1"#, #""body": 1"#, #""form": [1]"#,
        #""form": {"a": {}}"#, #""body_base64": "x""#, #""body": "x", "body_base64": "eA==""#, #""multipart": 1"#,
        #""multipart": [{"name": "a"}]"#, #""multipart": [{"value": "x"}]"#, #""multipart": {"a": []}"#,
        #""multipart": [{"name": "a", "value": "x", "file": "/etc/hostname"}]"#,
        #""multipart": [{"name": "a", "bytes_base64": "x"}]"#, #""multipart": [{"name": "a", "valeu": "x"}]"#,
        #""multipart": {"a": 1}, "type": "multipart/form-data""#, "",
    ])
    func invalidContentIsRejected(options: String) throws {
        let transfers = try Transfers(journal: journal)
        let more = options.isEmpty ? #""priority": 1"# : options
        let error = #expect(throws: NightjarError.self) { try transfers.start("one", json: upload(more)) }
        #expect(error?.kind == .invalidArgument || error?.kind == .decoding)
        #expect(try transfers.list().isEmpty && access(journal + ".spool", F_OK) != 0)
    }

    private func parts(_ parts: String) -> String { upload(#""protocol": "post", "multipart": \#(parts)"#) }

    @Test func formIsWrittenWithItsFiles() throws {
        try folder.write("file.txt", "content")
        let transfers = try Transfers(journal: journal)
        let options = parts(#"{"a": "x", "b": {"file": "\#(folder.file("file.txt"))"}, "c": {"bytes_base64": "AP8="}}"#)
        let started = try transfers.start("one", json: options)
        let form = try Data(contentsOf: URL(filePath: started.path))
        let boundary = String(decoding: form.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        var expected = Data(
            """
            \(boundary)\r
            Content-Disposition: form-data; name="a"\r
            \r
            x\r
            \(boundary)\r
            Content-Disposition: form-data; name="b"; filename="file.txt"\r
            Content-Type: text/plain\r
            \r
            content\r
            \(boundary)\r
            Content-Disposition: form-data; name="c"\r
            \r

            """.utf8)
        expected += [0, 255] + Data("\r\n\(boundary)--\r\n".utf8)
        #expect(form == expected)
        let entry = try #require(try Journal(path: journal).entry("one"))
        let type = try TransferDescription(bytes: entry.input).makeUploadSettings().contentType
        #expect(type == "multipart/form-data; boundary=\(boundary.dropFirst(2))")
    }

    /// Bytes that move from one part or file to another make another form.
    @Test func differentFormsAreDifferentTransfers() throws {
        for (name, content) in [("a", "12"), ("b", "3"), ("c", "1"), ("d", "23")] {
            try folder.write(name, Bytes(content.utf8))
        }
        let transfers = try Transfers(journal: journal)
        func file(_ name: String) -> String { #"{"file": "\#(folder.file(name))", "filename": "x"}"# }
        var paths: Set<String> = []
        for (index, parts) in [
            #"{"p": "12", "q": "3"}"#, #"{"p": "1", "q": "23"}"#, #"{"q": "3", "p": "12"}"#,
            #"{"p": \#(file("a")), "q": \#(file("b"))}"#, #"{"p": \#(file("c")), "q": \#(file("d"))}"#,
        ].enumerated() {
            let started = try transfers.start("one", json: self.parts(parts))
            #expect(try transfers.start("one", json: self.parts(parts)).path == started.path)
            paths.insert(started.path)
            #expect(paths.count == index + 1)
            try transfers.remove("one")
        }
        // A JSON text that describes a form is not that form.
        let text = #"[{"name":"a","value":"x"}]"#
        let json = try transfers.start("json", json: upload("\"json\": \(text)"))
        try transfers.remove("json")
        #expect(try transfers.start("json", json: parts(text)).path != json.path)
    }

    /// Programs can name the journal by different paths.
    @Test(arguments: ["./journal.db", "link/journal.db", "link.db"]) func contentIsRecognizedByOtherPathsOfTheJournal(
        name: String
    ) throws {
        try folder.write("journal.db", Bytes())
        #expect(symlink(folder.path, folder.file("link")) == 0)
        #expect(symlink(journal, folder.file("link.db")) == 0)
        let options = upload(#""body": "x""#)
        let first = try Transfers(journal: journal)
        let other = try Transfers(journal: folder.file(name))
        for (starter, remover) in [(first, other), (other, first)] {
            let path = try starter.start("one", json: options).path
            #expect(try remover.start("one", json: options).path == path)
            try starter.pause("one")
            var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
            #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
            for journal in [journal, folder.file(name)] {
                var options = TransferDaemon.Options()
                options.idleTimeout = .zero
                try TransferDaemon(journal: journal, options).run()
            }
            #expect(access(path, F_OK) == 0)
            try remover.remove("one")
            #expect(access(path, F_OK) != 0)
        }
    }

    /// Two programs start the same transfer at the same time.
    @Test func contentIsNotTorn() throws {
        let spool = JournalSpool(journal: journal)
        let path = try spool.path(of: [1], id: "one")
        var second: JournalSpool.NewContent?
        var first: JournalSpool.NewContent? = try spool.write { write throws(NightjarError) in
            try write([1])
            second = try spool.write { write throws(NightjarError) in try write([1, 2]) }
            try spool.withLock { () throws(NightjarError) in try second?.move(to: path) }
            #expect((try? Bytes(contentsOf: path)) == [1, 2])
            try write([2])
        }
        try spool.withLock { () throws(NightjarError) in try first?.move(to: path) }
        #expect((try? Bytes(contentsOf: path)) == [1, 2])
        (first, second) = (nil, nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: journal + ".spool").count == 1)
        // After an error, no file is left.
        #expect(throws: NightjarError.self) {
            _ = try spool.write { write throws(NightjarError) in
                try write([1])
                throw NightjarError(.contentChanged, "")
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: journal + ".spool").count == 1)
    }

    /// A worker removes the content of a transfer that is done, while a program starts the same transfer again.
    @Test func contentOfATransferThatWasStartedAgainIsKept() throws {
        let transfers = try Transfers(journal: journal)
        let options = upload(#""body": "x""#)
        let path = try transfers.start("one", json: options).path
        let worker = Journal(path: journal)
        try #require(try worker.take(id: "one", for: .seconds(60))).end(.done([]), in: worker)
        try transfers.acknowledge("one")
        try transfers.start("one", json: options)
        JournalSpool(journal: journal).remove(path) { worker.usesContent(path, id: "one") }
        #expect(access(path, F_OK) == 0)
        try #require(try worker.take(id: "one", for: .seconds(60))).end(.done([]), in: worker)
        JournalSpool(journal: journal).remove(path) { worker.usesContent(path, id: "one") }
        #expect(access(path, F_OK) != 0)
        // The transfer is done, so that its content is not needed.
        #expect(try transfers.start("one", json: options).state == .done)
        #expect(access(path, F_OK) != 0)
    }

    /// The form is either complete, or an error is thrown and nothing is recorded.
    @Test(arguments: [1, 100_000]) func formWithAChangingFileIsNotTorn(size: Int) throws {
        func bytes(_ byte: UInt8, _ count: Int) -> Bytes { Bytes([UInt8](repeating: byte, count: count)) }
        try folder.write("file", bytes(1, size))
        let form = try TransferForm(
            JSONValue(parsing: #"[{"name": "a", "file": "\#(folder.file("file"))"}]"#), "multipart")
        func written() throws(NightjarError) -> [UInt8] {
            var bytes: [UInt8] = []
            try form.write { bytes += $0 }
            return bytes
        }
        #expect(try written().count { $0 == 1 } == size)
        for content in [bytes(2, size), bytes(1, size + 1), []] {
            try folder.write("file", content)
            let error = #expect(throws: NightjarError.self) { try written() }
            #expect(error?.kind == .contentChanged && error?.message.contains("multipart") == true)
        }
        try FileManager.default.removeItem(atPath: folder.file("file"))
        let error = #expect(throws: NightjarError.self) { try written() }
        #expect(error?.kind == .invalidRequest && error?.message.contains(folder.file("file")) == true)
    }

    @Test(arguments: ["missing", ""]) func formWithAFileThatCannotBeReadIsRejected(name: String) throws {
        let transfers = try Transfers(journal: journal)
        let error = #expect(throws: NightjarError.self) {
            try transfers.start("one", json: parts(#"{"a": {"file": "\#(folder.file(name))"}}"#))
        }
        #expect(error?.kind == .invalidRequest && error?.message.contains(folder.path) == true)
        #expect(try transfers.list().isEmpty)
    }

    /// The worker has another working folder.
    @Test func pathsOfTheClientAreAbsolute() throws {
        let transfers = try Transfers(journal: journal)
        let auth = #"{"type": "oauth2", "token_url": "/t", "client_id": "x", "store": "#
        let client = #""tls": {"ca_file": "ca", "hosts": {"file": {"client_certificate": {"file": "/c", "key": "k"}}}}"#
        for (index, (store, expected)) in [
            (#""file:a""#, "file:FOLDER/a"), (#""sqlite:/a""#, "sqlite:/a"), (#"{"sqlite": "a"}"#, "FOLDER/a"),
            (#""keyring:file""#, "keyring:file"),
        ].enumerated() {
            let more = #", "client": {"auth": \#(auth)\#(store)}, \#(client)}"#
            try transfers.start("\(index)", json: options(more))
            let entry = try #require(try Journal(path: journal).entry("\(index)"))
            let text = String(decoding: entry.input, as: UTF8.self)
            let current = FileManager.default.currentDirectoryPath
            #expect(text.contains("\"\(expected.replacing("FOLDER", with: current))\""))
            #expect(text.contains(#""ca_file":"\#(current)/ca""#) && text.contains(#""key":"\#(current)/k""#))
            #expect(text.contains(#""file":"/c""#))
        }
    }

    /// Only the files of contents are removed with their transfers.
    @Test(arguments: ["file", "../file"]) func ownFileIsKept(name: String) throws {
        try folder.write("file", "x")
        let spool = JournalSpool(journal: journal)
        mkdir(journal + ".spool", 0o700)
        try folder.write("journal.db.spool/file", "x")
        let path = journal + ".spool/" + name
        let transfers = try Transfers(journal: journal)
        try transfers.start("one", json: upload("\"from\": \"\(path)\""))
        try transfers.remove("one")
        spool.remove(path)
        #expect(access(path, F_OK) == 0)
    }

    /// The worker removes the files of contents that no transfer uses, after an hour.
    @Test func unusedContentsAreRemoved() throws {
        let transfers = try Transfers(journal: journal)
        let used = try transfers.start("one", json: upload(#""body": "x""#)).path
        for name in ["old", "new"] { try folder.write("journal.db.spool/\(name)", "x") }
        for path in [used, journal + ".spool/old"] {
            var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
            #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
        }
        try transfers.pause("one")
        var options = TransferDaemon.Options()
        options.idleTimeout = .zero
        try TransferDaemon(journal: journal, options).run()
        #expect(access(used, F_OK) == 0)
        #expect(access(journal + ".spool/old", F_OK) != 0 && access(journal + ".spool/new", F_OK) == 0)
    }

    @Test func endsAreReturnedUntilTheyAreAcknowledged() async throws {
        let transfers = try Transfers(journal: journal)
        #expect(try await transfers.nextEnded() == nil)
        for id in ["a", "b"] {
            try transfers.start(id, json: options())
            try transfers.cancel(id)
        }
        for _ in 0..<2 {
            let other = try Transfers(journal: journal)
            #expect(try await other.nextEnded()?.id == "a")
            #expect(try await other.nextEnded()?.id == "b")
            #expect(try await other.nextEnded() == nil)
        }
        try transfers.acknowledge("a")
        #expect(try await transfers.nextEnded()?.id == "b")
        try transfers.retry("b")
        #expect(throws: NightjarError.self) { try transfers.acknowledge("b") }
        let error = #expect(throws: NightjarError.self) { try transfers.nextEndedBlocking(timeout: .milliseconds(1)) }
        #expect(error?.kind == .timeout)
        let task = Task { try await transfers.nextEnded() }
        task.cancel()
        let cancelled = await #expect(throws: NightjarError.self) { try await task.value }
        #expect(cancelled?.kind == .cancelled)
        try transfers.acknowledge("missing")
    }

    @Test func workerProgramMustBeExecutable() throws {
        let error = #expect(throws: NightjarError.self) {
            try Transfers(journal: journal, transferd: folder.path + "/x")
        }
        #expect(error?.kind == .invalidArgument && error?.message.contains("transferd") == true)
    }

    @Test func onlyOneWorkerHasTheLock() throws {
        let lock = try #require(try JournalWorkerLock(journal: journal))
        #expect(try JournalWorkerLock(journal: journal) == nil)
        withExtendedLifetime(lock) {}
    }
}
