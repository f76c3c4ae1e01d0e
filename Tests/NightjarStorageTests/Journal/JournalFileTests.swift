import Foundation
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

/// The file of a journal: damage, versions, permissions and limits.
@Suite struct JournalFileTests {
    private let example: JournalExample
    private var path: String { example.path }

    init() throws { example = try JournalExample() }

    /// The names of the files that were moved aside.
    private var movedAside: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: example.folder.path)) ?? []
        return names.filter { $0.hasPrefix("journal.db.damaged-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    }

    /// Closes the journal and changes bytes of its file.
    private func damage(_ change: (inout [UInt8]) -> Void) throws {
        var content = try example.folder.read("journal.db")
        change(&content)
        try example.folder.write("journal.db", Bytes(content))
        chmod(path, 0o600)
    }

    @Test func filesAreAccessibleOnlyToTheirOwner() throws {
        let path = example.folder.file("a/b/journal.db")
        let journal = Journal(path: path)
        _ = try journal.add(newEntry("a"))
        for suffix in ["", "-wal", "-shm", ".lock"] { #expect(permissions(path + suffix) == 0o600, "\(suffix)") }
        #expect(permissions(example.folder.file("a")) == 0o700 && permissions(example.folder.file("a/b")) == 0o700)
        // The objects of one file may use different names for it.
        symlink(path, example.folder.file("link"))
        #expect(try Journal(path: example.folder.file("link")).entry("a") != nil)
    }

    @Test(
        arguments: [
            (["XDG_STATE_HOME": "/state", "HOME": "/home/me"], "/state/nightjar/journal.db"),
            (["XDG_STATE_HOME": "state", "HOME": "/home/me"], "/home/me/.local/state/nightjar/journal.db"),
            (["HOME": "/home/me"], "/home/me/.local/state/nightjar/journal.db"), (["HOME": ""], nil), ([:], nil),
        ] as [([String: String], String?)])
    func standardPathFollowsXDG(_ variables: [String: String], _ expected: String?) {
        #expect(JournalPath.standard { variables[$0] } == expected)
    }

    // MARK: Damage

    @Test(arguments: ["header", "page", "short", "text"])
    func corruptFileIsMovedAsideAndReported(_ kind: String) throws {
        let journal = example.open()
        for number in 0..<200 { _ = try journal.add(newEntry("\(number)")) }
        journal.close()
        try damage { content in
            switch kind {
            case "header": content.replaceSubrange(0..<100, with: repeatElement(0x41, count: 100))
            case "page": content.replaceSubrange(4096..<20_000, with: repeatElement(0x41, count: 20_000 - 4096))
            case "short": content.removeLast(content.count / 2)
            default: content = Array("a text\n".utf8)
            }
        }
        #expect(try journal.entries().isEmpty)
        let notes = journal.takeNotes()
        let moved = try #require(movedAside.first)
        #expect(notes.count == 1 && notes[0].contains(moved) && notes[0].contains("a new journal was created"))
        #expect(journal.takeNotes().isEmpty && permissions(example.folder.file(moved)) == 0o600)
        _ = try journal.add(newEntry("next"))
        #expect(try example.open().entry("next") != nil)
    }

    /// A process has the file open. Its lease is of the file that was moved aside.
    @Test func damageDuringUseIsReportedAndEndsLeases() throws {
        let journal = example.open()
        for number in 0..<200 { _ = try journal.add(newEntry("\(number)")) }
        let lease = try journal.taken("7")
        let other = try Database(existing: path, lockTimeout: 1)
        try other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let descriptor = Glibc.open(path, O_WRONLY)
        let garbage = [UInt8](repeating: 0x41, count: 40_000)
        #expect(pwrite(descriptor, garbage, garbage.count, 4096) == garbage.count)
        let reader = example.open()
        #expect(try reader.entries().isEmpty)
        #expect(reader.takeNotes().count == 1)
        close(descriptor)
        // The other object recognizes that the file was replaced.
        #expect(journalError { try journal.finish(lease, as: .done) }?.name == "leaseLost")
        #expect(journal.takeNotes().first?.contains("was removed or replaced") == true)
        _ = try reader.add(newEntry("7"))
        #expect(try reader.taken("7").fence != lease.fence)
        #expect(journalError { try journal.finish(lease, as: .done) }?.name == "leaseLost")
        #expect(movedAside.count == 1)
        withExtendedLifetime(other) {}
    }

    /// Another program has written a value that the tables do not allow.
    @Test(
        arguments: [
            "UPDATE entry SET phase = 77", "UPDATE entry SET due = 9223372036854775807",
            "UPDATE entry SET bytes = 9223372036854775807", "UPDATE journal SET uptime = -9223372036854775807",
            "DELETE FROM journal", "DELETE FROM value", "UPDATE entry SET id = CAST(x'ff' AS TEXT)",
            "CREATE TABLE more (n INTEGER)",
        ])
    func foreignValuesAreDamage(_ statement: String) throws {
        let journal = example.open()
        _ = try journal.add(newEntry("a"))
        journal.close()
        let writer = try Database(existing: path, lockTimeout: 1)
        try writer.execute("PRAGMA ignore_check_constraints = ON; " + statement)
        // The damage is found when the file is opened, or when the row is read.
        for _ in 0..<2 { _ = journalError { _ = try journal.entries() } }
        #expect(try journal.add(newEntry("b")).id == "b" && journal.entries().map(\.id) == ["b"])
        #expect(movedAside.count == 1 && journal.takeNotes().count == 1)
        withExtendedLifetime(writer) {}
    }

    /// Any changed byte is harmless or damage. Nothing traps.
    @Test func randomDamageEndsInAnErrorOrANewFile() throws {
        let journal = example.open()
        for number in 0..<20 { _ = try journal.add(newEntry("\(number)")) }
        let lease = try journal.taken("3")
        _ = try journal.recordIntent("post", lease)
        journal.close()
        let content = try example.folder.read("journal.db")
        var random = SeededRandom(seed: 5)
        for round in 0..<150 {
            for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
            try damage { bytes in
                bytes = content
                for _ in 0..<(1 + round % 4) {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
            }
            let journal = example.open()
            for use in [
                { _ = try journal.entries() }, { _ = try journal.take(kind: "upload", for: .seconds(1)) },
                { _ = try journal.take(id: "3", for: .seconds(1)) }, { _ = try journal.add(newEntry("new")) },
                { _ = try journal.intents("3") }, { _ = try journal.cancel("4") },
            ] { _ = journalError(use) }
            journal.close()
        }
    }

    // MARK: Versions and owners

    @Test func laterVersionIsRejectedAndUnchanged() throws {
        let journal = example.open()
        _ = try journal.add(newEntry("a"))
        journal.close()
        try Database(existing: path, lockTimeout: 1).execute("PRAGMA user_version = 9")
        let content = try example.folder.read("journal.db")
        for use in [{ _ = try journal.add(newEntry("b")) }, { _ = try journal.entries() }] {
            let error = journalError(use)
            #expect(error?.name == "newer")
            let version = "has version 9, written by a later release; this release supports up to version 1"
            #expect(error?.message.contains(version) == true)
            #expect(error?.message.hasSuffix("update this program, or use another path") == true)
        }
        #expect(try example.folder.read("journal.db") == content && movedAside.isEmpty)
    }

    @Test func fileOfAnotherProgramIsRejectedAndUnchanged() throws {
        _ = try CookieFile(path).load(at: 1)
        let error = journalError { _ = try example.open().add(newEntry("a")) }
        #expect(error?.name == "foreign" && error?.failure.kind == .storage && movedAside.isEmpty)
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        try example.folder.write("journal.db", "")
        chmod(path, 0o666)
        let shared = journalError { _ = try example.open().entries() }
        #expect(shared?.message.contains("is accessible to other users (mode 666)") == true)
    }

    @Test func unusableFolderIsAnError() throws {
        try example.folder.write("file", "")
        for path in [example.folder.file("file/journal.db"), "", example.folder.path + "/"] {
            let error = journalError { _ = try Journal(path: path).entries() }
            #expect(error?.failure.kind == .storage && error?.message.contains("journal") == true, "\(path)")
        }
    }

    @Test func busyFileIsAwaitedUntilATimeout() throws {
        var options = JournalOptions()
        options.lockTimeout = 0.1
        let journal = example.open(options)
        _ = try journal.add(newEntry("a"))
        let other = try Database(existing: path, lockTimeout: 1)
        try other.execute("BEGIN IMMEDIATE")
        let error = journalError { _ = try journal.taken("a") }
        #expect(error?.name == "busy" && error?.message.contains("try again") == true)
        // Reading does not wait for a writer.
        #expect(try journal.entry("a")?.phase == .pending)
        try other.execute("ROLLBACK")
        _ = try journal.taken("a")
    }

    @Test func eachCommitIsDurable() throws {
        let journal = example.open()
        try journal.read { (rows, _) throws(JournalError) in
            let modes = ["journal_mode", "synchronous", "secure_delete"].map { name in
                try? rows.connection.database.prepare("PRAGMA \(name)").first { $0.text(0) ?? "\($0.integer(0) ?? -1)" }
            }
            #expect(modes == ["wal", "2", "1"])
        }
    }

    // MARK: Limits

    @Test func limitsAreErrorsThatNameThem() throws {
        var options = JournalOptions()
        options.limits.maximumEntries = 3
        options.limits.maximumBytes = 10_000
        options.limits.maximumValue = 4000
        options.limits.maximumIntents = 2
        options.limits.maximumIntentValue = 100
        let journal = example.open(options)
        func rejected(_ name: String, _ text: String, _ body: () throws -> Void) {
            let error = journalError(body)
            #expect(error?.name == name && error?.message.contains(text) == true, "\(error?.message ?? "no error")")
            #expect(error?.failure.kind == (name == "invalidArgument" ? .invalidArgument : .tooLarge))
        }
        let large = String(repeating: "x", count: 4001)
        rejected("maximum_value", "entry \"a\" must have at most 4000 bytes (maximum_value), got 4001") {
            _ = try journal.add(newEntry("a", input: large))
        }
        for id in ["a", "b"] { _ = try journal.add(newEntry(id, input: String(repeating: "x", count: 4000))) }
        rejected("maximum_bytes", "uses 9024 bytes, and maximum_bytes is 10000") {
            _ = try journal.add(newEntry("c", input: "1234567890" + String(repeating: "x", count: 1000)))
        }
        _ = try journal.add(newEntry("c", input: ""))
        rejected("maximum_entries", "has 3 entries, and maximum_entries is 3") { _ = try journal.add(newEntry("d")) }
        // A worker can record its results although the journal is full.
        let lease = try journal.taken("a")
        try journal.update(lease, state: [UInt8](repeating: 1, count: 4000))
        rejected("maximum_value", "the state of") { try journal.update(lease, state: bytes(large)) }
        rejected("maximum_intent_value", "payload of an intent") {
            _ = try journal.recordIntent("1", payload: bytes(large), lease)
        }
        for name in ["1", "2"] { _ = try journal.recordIntent(name, payload: [UInt8](repeating: 0, count: 100), lease) }
        rejected("maximum_intents", "has 2 intents, and maximum_intents is 2") {
            _ = try journal.recordIntent("3", lease)
        }
        rejected("maximum_intent_value", "result of an intent") { try journal.recordResult(bytes(large), of: 1, lease) }
        for number in [1, 2] as [Int64] { try journal.recordResult(bytes("r"), of: number, lease) }
        rejected("maximum_value", "the result of") { try journal.finish(lease, as: .done, result: bytes(large)) }
        try journal.finish(lease, as: .done, result: [UInt8](repeating: 1, count: 4000))
        // The entry counts until it is acknowledged.
        rejected("maximum_entries", "acknowledge finished entries") { _ = try journal.add(newEntry("d")) }
        try journal.acknowledge("a")
        _ = try journal.add(newEntry("d"))
    }

    @Test func invalidArgumentsAreErrors() throws {
        let journal = example.open()
        for entry in [
            newEntry(""), newEntry("a", ""), newEntry(String(repeating: "x", count: 257)), newEntry("a\0b"),
            newEntry("a", key: ""),
        ] { #expect(journalError { _ = try journal.add(entry) }?.name == "invalidArgument") }
        var late = newEntry("a")
        for delay in [Duration.seconds(-1), .seconds(Int64.max / 2)] {
            late.delay = delay
            #expect(journalError { _ = try journal.add(late) }?.name == "invalidArgument")
        }
        _ = try journal.add(newEntry("a"))
        for duration in [Duration.zero, .seconds(-5), .seconds(86_401), .seconds(Int64.max / 2)] {
            #expect(journalError { _ = try journal.take(id: "a", for: duration) }?.name == "invalidArgument")
        }
        #expect(journalError { _ = try journal.take(id: "b", for: .seconds(1)) }?.name == "notFound")
        #expect(try journal.entries(after: .max, limit: .min).isEmpty)
    }

    /// The sizes of entries are those of their values, also after changes.
    @Test func totalCountsTheBytesOfValuesAndIntents() throws {
        let journal = example.open()
        _ = try journal.add(newEntry("a", input: "12345"))
        let lease = try journal.taken("a")
        #expect(try journal.total() == (1, 517))
        try journal.update(lease, state: bytes("1234567890"))
        try journal.update(lease, state: bytes("123"))
        #expect(try journal.total().bytes == 520)
        _ = try journal.recordIntent("post", key: "key", payload: bytes("12"), lease)
        #expect(try journal.total().bytes == 520 + 73)
        try journal.recordResult(bytes("1234"), of: 1, state: bytes("1"), lease)
        #expect(try journal.total().bytes == 518 + 77)
        _ = try journal.recordIntent("second", lease)
        try journal.recordResult([], of: 2, keepsIntent: false, lease)
        _ = try journal.recordIntent("third", lease)
        try journal.finish(lease, as: .inDoubt, result: bytes("123456"))
        #expect(try journal.total().bytes == 518 + 77 + 69 + 6)
        try journal.retry("a")
        #expect(try journal.total().bytes == 518 + 77)
    }
}
