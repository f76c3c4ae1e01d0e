import Glibc
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct CookieFileTests {
    private static let start = 1_750_000_000.0
    private let folder: TemporaryDirectory
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("cookies.db")
    }

    /// A program with a jar and the file.
    private final class Program {
        var jar = CookieJar()
        let file: CookieFile
        var now: Double

        init(_ path: String, keepsSession: Bool = false, now: Double = CookieFileTests.start) throws {
            file = CookieFile(path, keepsSession: keepsSession, lockTimeout: 1)
            self.now = now
            jar.merge(try file.load(at: now), at: now)
        }

        func set(_ text: String, from url: String = "https://example.com/") throws {
            #expect(jar.store(setCookie: text, from: try RequestURL(url), at: now) != .refused(.disabled))
        }

        func save() throws { jar.merge(try file.exchange(jar.snapshot(), at: now), at: now) }

        var all: [String] { jar.list(at: now).map { "\($0.name)=\($0.value)" } }
    }

    private static let withLifetime = "; Max-Age=86400"

    // MARK: One program after another

    @Test func savedCookiesAreLoaded() throws {
        let first = try Program(path)
        try first.set("a=1; Secure; HttpOnly; SameSite=Strict; Path=/x; Domain=example.com" + Self.withLifetime)
        try first.save()
        let next = try Program(path, now: Self.start + 5)
        #expect(next.jar.list(at: next.now) == first.jar.list(at: first.now))
    }

    @Test func fileIsReadableOnlyByItsOwner() throws {
        let program = try Program(path)
        try program.set("a=1" + Self.withLifetime)
        try program.save()
        for suffix in ["", "-wal", "-shm"] {
            var status = stat()
            #expect(stat(path + suffix, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
        }
    }

    /// Other users may have changed a file that they can write.
    @Test func fileWritableByOthersIsRejected() throws {
        let program = try Program(path)
        try program.set("a=1" + Self.withLifetime)
        try program.save()
        program.file.close()
        chmod(path, 0o666)
        let open = { _ = try Program(self.path) }
        #expect(throws: DatabaseError.self, performing: open)
        #expect(throws: DatabaseError.self) { _ = try CookieFile(path).loadWithoutLocks() }
        // A file that other users can only read is made private.
        chmod(path, 0o644)
        try open()
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test(.enabled(if: geteuid() == 0), arguments: ["", "-wal", "-journal"])
    func fileOfAnotherUserIsRejected(suffix: String) throws {
        let program = try Program(path)
        try program.set("a=1" + Self.withLifetime)
        try program.save()
        program.file.close()
        try folder.write("cookies.db" + suffix + ".planted", Bytes([]))
        rename(path + suffix + ".planted", path + suffix)
        chmod(path + suffix, 0o600)
        chown(path + suffix, 4711, 4711)
        let error = #expect(throws: DatabaseError.self) { _ = try Program(self.path) }
        #expect(error?.cause == .foreign && error?.reason.contains("4711") == true)
    }

    @Test(.enabled(if: geteuid() == 0)) func linkOfAnotherUserIsRejected() throws {
        symlink("elsewhere.db", path)
        lchown(path, 4711, 4711)
        #expect(throws: DatabaseError.self) { _ = try Program(self.path) }
        #expect(access(folder.file("elsewhere.db"), F_OK) != 0)
    }

    @Test func sessionCookiesAreNotSaved() throws {
        let first = try Program(path)
        try first.set("s=1")
        try first.save()
        #expect(first.all == ["s=1"])
        #expect(try Program(path).all == [])
        #expect(try Program(path, keepsSession: true).all == [])
    }

    @Test func sessionCookiesAreSavedOnRequest() throws {
        let first = try Program(path, keepsSession: true)
        try first.set("s=1")
        try first.save()
        #expect(try Program(path, keepsSession: true).all == ["s=1"])
        // A program without session cookies does not load them, and does not remove them for other programs.
        let other = try Program(path)
        #expect(other.all == [])
        try other.set("t=1" + Self.withLifetime)
        try other.save()
        #expect(try Program(path, keepsSession: true).all == ["s=1", "t=1"])
    }

    @Test func sessionCookieDeletesThePersistentOne() throws {
        let first = try Program(path)
        try first.set("a=1" + Self.withLifetime)
        try first.save()
        try first.set("a=2")
        try first.save()
        #expect(first.all == ["a=2"])
        try first.save()
        #expect(first.all == ["a=2"])
        #expect(try Program(path).all == [])
    }

    @Test func expiredCookiesAreNotLoaded() throws {
        let first = try Program(path)
        try first.set("a=1; Max-Age=10")
        try first.save()
        #expect(try Program(path, now: Self.start + 9).all == ["a=1"])
        #expect(try Program(path, now: Self.start + 11).all == [])
    }

    // MARK: Programs at once

    @Test func cookiesAreMergedIndividually() throws {
        let a = try Program(path)
        let b = try Program(path)
        try a.set("x=1" + Self.withLifetime)
        try b.set("y=1" + Self.withLifetime)
        try a.save()
        try b.save()
        #expect(b.all == ["x=1", "y=1"])
        #expect(try a.file.mayHaveChanged())
        #expect(try !b.file.mayHaveChanged())
        try a.save()
        #expect(a.all == ["x=1", "y=1"])
        #expect(try !a.file.mayHaveChanged())
    }

    @Test func olderCopyOverwritesNothing() throws {
        let a = try Program(path)
        try a.set("x=old" + Self.withLifetime)
        try a.save()
        let b = try Program(path, now: Self.start + 10)
        try b.set("x=new" + Self.withLifetime)
        try b.save()
        try a.set("y=1" + Self.withLifetime)
        try a.save()
        #expect(a.all == ["x=new", "y=1"])
        #expect(try Program(path, now: Self.start + 20).all == ["x=new", "y=1"])
    }

    @Test func deletionIsNotUndoneByAnOlderCopy() throws {
        let a = try Program(path)
        try a.set("x=1" + Self.withLifetime)
        try a.set("y=1" + Self.withLifetime)
        try a.save()
        let b = try Program(path, now: Self.start + 10)
        b.jar.delete(name: "x", at: b.now)
        try b.save()
        let copy = a.jar.snapshot()
        try a.save()
        #expect(a.all == ["y=1"])
        // A program that never saw the deletion does not restore the cookie either.
        _ = try CookieFile(path).exchange(copy, at: Self.start + 20)
        #expect(try Program(path).all == ["y=1"])
        b.jar.clear(at: b.now)
        try b.save()
        _ = try CookieFile(path).exchange(copy, at: Self.start + 20)
        #expect(try Program(path).all == [])
    }

    @Test func deletionsBeyondTheLimitUndoNothing() throws {
        let a = try Program(path)
        for round in 0..<4 {
            for domain in 0..<30 {
                for name in 0..<50 {
                    try a.set("n\(round)-\(name)=1" + Self.withLifetime, from: "https://h\(domain).example.com/")
                }
            }
            try a.save()
            let old = a.jar.snapshot()
            a.now += 1
            a.jar.clear(at: a.now)
            try a.save()
            #expect(try Program(path, now: a.now).all == [])
            _ = try CookieFile(path).exchange(old, at: a.now)
            #expect(try Program(path, now: a.now).all == [])
        }
    }

    /// The jar remembers 3000 deletions. This test deletes more cookies between two saves.
    @Test func deletionForgottenByTheJarReachesTheFile() throws {
        let a = try Program(path)
        try a.set("sid=1" + Self.withLifetime)
        try a.save()
        a.now += 1
        a.jar.delete(name: "sid", at: a.now)
        for host in 0..<70 {
            a.now += 1
            for name in 0..<50 {
                try a.set("n\(name)=; Max-Age=0", from: "https://h\(host).example.org/")
            }
        }
        #expect(a.jar.snapshot().deletions.keys.allSatisfy { $0.name != "sid" })
        try a.save()
        #expect(try Program(path, now: a.now).all == [])
    }

    @Test func deletionForgottenByTheFileReachesOtherPrograms() throws {
        let a = try Program(path)
        try a.set("sid=1" + Self.withLifetime)
        try a.save()
        let b = try Program(path)
        #expect(b.all == ["sid=1"])
        a.jar.delete(name: "sid", at: a.now)
        for host in 0..<70 {
            a.now += 1
            for name in 0..<50 {
                try a.set("n\(name)=; Max-Age=0", from: "https://h\(host).example.org/")
            }
        }
        try a.save()
        try b.save()
        #expect(b.all == [])
    }

    @Test func unseenCookieIsNotDeleted() throws {
        let a = try Program(path)
        let b = try Program(path)
        try b.set("b=1" + Self.withLifetime)
        try b.save()
        try a.set("a=1" + Self.withLifetime)
        try a.save()
        try a.save()
        #expect(a.all == ["a=1", "b=1"])
        try b.save()
        #expect(b.all == ["a=1", "b=1"])
    }

    // MARK: Damaged files

    private func asides() throws -> [String] {
        var names: [String] = []
        guard let directory = opendir(folder.path) else { return [] }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.contains(".damaged-") { names.append(name) }
        }
        return names.sorted()
    }

    @Test(arguments: [2, 10, 511, 512, 5000, 100_000])
    func garbageIsMovedAside(size: Int) throws {
        let garbage = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ 7) }
        try folder.write("cookies.db", Bytes(garbage))
        let file = CookieFile(path)
        #expect(try file.load(at: Self.start).cookies.isEmpty)
        let notes = file.takeNotes()
        #expect(notes.count == 1)
        #expect(notes.first?.contains("was moved to") == true)
        #expect(notes.first?.contains(path) == true)
        let moved = try asides()
        #expect(moved.count == 1)
        #expect(try folder.read(moved.first ?? "") == garbage)
        let next = try Program(path)
        try next.set("a=1" + Self.withLifetime)
        try next.save()
        #expect(try Program(path).all == ["a=1"])
    }

    @Test func laterVersionIsMovedAside() throws {
        _ = try Program(path)
        let database = try Database(existing: path, lockTimeout: 0)
        try database.execute("PRAGMA user_version = 99")
        let file = CookieFile(path)
        #expect(try file.load(at: Self.start).cookies.isEmpty)
        #expect(file.takeNotes().first?.contains("version 99") == true)
        #expect(try asides().contains { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") })
    }

    @Test func databaseOfAnotherProgramIsNotChanged() throws {
        try folder.write("cookies.db", Bytes([]))
        let database = try Database(existing: path, lockTimeout: 0)
        try database.execute("CREATE TABLE moz_cookies (id INTEGER)")
        #expect(throws: DatabaseError.self) { try CookieFile(path).load(at: Self.start) }
        #expect(try asides() == [])
        #expect(try database.number("SELECT count(*) FROM moz_cookies") == 0)
    }

    @Test func corruptionDuringUseLosesNothing() throws {
        let program = try Program(path)
        try program.set("a=1" + Self.withLifetime)
        try program.save()
        let other = open(path, O_RDWR)
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        let page = [UInt8](repeating: 0xAA, count: 4096)
        for at in 0..<8 { pwrite(other, page, page.count, off_t(at * 4096)) }
        close(other)
        try program.set("b=1" + Self.withLifetime)
        // Another program finds the damage and recreates the file.
        _ = try Program(path)
        try program.save()
        #expect(try Program(path).all == ["a=1", "b=1"])
    }

    @Test func foreignTablesAreCorruption() throws {
        for change in [
            "CREATE TRIGGER t AFTER INSERT ON cookie BEGIN DELETE FROM cookie; END", "CREATE VIEW v AS SELECT 1",
            "ALTER TABLE cookie DROP COLUMN value", "DROP TABLE deletion", "CREATE TABLE more (a)",
        ] {
            let program = try Program(path)
            try Database(existing: path, lockTimeout: 0).execute(change)
            try program.set("a=1" + Self.withLifetime)
            let file = CookieFile(path)
            #expect(try file.load(at: Self.start).cookies.isEmpty)
            #expect(file.takeNotes().first?.contains("its tables were changed") == true)
            try program.save()
            #expect(try Program(path).all == ["a=1"])
            for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        }
    }

    /// The lineage of a login is kept, but not that of a login that ends with its process.
    @Test func ownersOfCookiesAreKept() throws {
        let program = try Program(path)
        for (name, owner) in [
            ("a", Cookie.Owner(lineage: .max, isStored: true)), ("b", Cookie.Owner(lineage: 7, isStored: false)),
        ] {
            try Array((name + "=1" + Self.withLifetime).utf8).withUnsafeBytes { bytes in
                _ = program.jar.store(
                    setCookie: bytes, from: try RequestURL("https://example.com/"), at: Self.start, owner: owner)
            }
        }
        try program.save()
        #expect(program.jar.list(at: Self.start).map(\.owner?.lineage) == [.max, 7])
        let other = try Program(path)
        #expect(other.jar.list(at: Self.start).map(\.owner) == [Cookie.Owner(lineage: .max, isStored: true), nil])
    }

    @Test func filesOfTheFirstVersionAreUpgraded() throws {
        do {
            let program = try Program(path)
            try program.set("a=1" + Self.withLifetime)
            try program.save()
        }
        try Database(existing: path, lockTimeout: 0).execute(
            "ALTER TABLE cookie DROP COLUMN login; PRAGMA user_version = 1")
        let program = try Program(path)
        #expect(program.all == ["a=1"] && program.file.takeNotes() == [])
        try program.set("b=1" + Self.withLifetime)
        try program.save()
        #expect(try Program(path).all == ["a=1", "b=1"])
    }

    @Test func tooManyRowsAreCorruption() throws {
        _ = try Program(path)
        try Database(existing: path, lockTimeout: 0).execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 11000)
            INSERT INTO cookie SELECT 'h.test', '/', 'n' || i, 1, 'v', 1e10, 0, 0, 'lax', 1, 1, 1, NULL FROM n
            """)
        let file = CookieFile(path)
        #expect(try file.load(at: Self.start).cookies.isEmpty)
        #expect(file.takeNotes().first?.contains("more rows than a cookie jar can write") == true)
    }

    @Test func foreignRowsAreIgnored() throws {
        let program = try Program(path)
        try program.set("a=1" + Self.withLifetime)
        try program.save()
        try Database(existing: path, lockTimeout: 0).execute(
            """
            INSERT INTO cookie VALUES ('b d', '/', 'x', 1, 'v', 1e10, 0, 0, 'lax', 1, 1, 1, NULL);
            INSERT INTO cookie VALUES ('H.test', '/', 'x', 1, 'v', 1e10, 0, 0, 'lax', 1, 1, 1, NULL);
            INSERT INTO cookie VALUES ('h.test', '/', 'x', 1, 'v', 1e10, 0, 0, 'lax', 1, 1, 2, NULL);
            INSERT INTO cookie VALUES ('h.test', 'p', 'x', 1, 'v', 1e10, 0, 0, 'lax', 1, 1, 1, NULL);
            INSERT INTO cookie VALUES ('h.test', '/', 'y', 1, char(10), 1e10, 0, 0, 'lax', 1, 1, 1, NULL);
            INSERT INTO cookie VALUES ('h.test', '/', 'z', 1, 'v', 9e999, 0, 0, 'so', 1, 1, 1, NULL);
            INSERT INTO cookie VALUES ('h.test', '/', 'i', 7, 'v', 9e999, 0, 0, 'none', -9e999, 9e999, 9e999, NULL);
            INSERT INTO cookie VALUES ('h.test', '/', CAST(x'FF' AS TEXT), 1, 'v', 1e10, 0, 0, 'none', 1, 1, 1, NULL);
            INSERT INTO deletion VALUES ('h.test', '/', 'q', 1, 9e999);
            INSERT INTO moment VALUES ('horizon', 0), ('other', 9e999);
            """)
        let next = try Program(path)
        #expect(next.all == ["a=1", "x=v"])
        try next.set("b=1" + Self.withLifetime)
        try next.save()
        #expect(try Program(path).all == ["a=1", "b=1", "x=v"])
    }

    /// After a change of a few bytes, the file is either loaded or moved aside, and cookies can be saved again.
    @Test(arguments: 7...9 as ClosedRange<UInt64>)
    func corruptionAnywhereIsHandled(seed: UInt64) throws {
        let whole: [UInt8]
        do {
            let program = try Program(path)
            for number in 0..<40 {
                try program.set("n\(number)=\(String(repeating: "v", count: 300))" + Self.withLifetime)
            }
            try program.save()
            program.file.close()
            whole = try folder.read("cookies.db")
        }
        var random = SeededRandom(seed: seed)
        for round in 0..<100 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let place = Int.random(in: 0..<(round % 2 == 0 ? 200 : bytes.count), using: &random)
                bytes[place] = UInt8.random(in: .min ... .max, using: &random)
            }
            if round % 5 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
            try folder.write("cookies.db", Bytes(bytes))
            do {
                let program = try Program(path)
                try program.set("new=1" + Self.withLifetime)
                try program.save()
                #expect(try Program(path).all.contains("new=1"), "round \(round)")
            } catch let error as DatabaseError {
                // By chance, the file seems to belong to another program.
                #expect(error.cause == .foreign, "round \(round): \(error)")
            }
        }
    }

    @Test func removedFileIsWrittenAgain() throws {
        let program = try Program(path)
        try program.set("a=1" + Self.withLifetime)
        try program.save()
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        #expect(try program.file.mayHaveChanged())
        try program.save()
        #expect(try Program(path).all == ["a=1"])
    }

    @Test func missingFolderIsAnErrorWithThePath() throws {
        let path = folder.file("none/cookies.db")
        let error = #expect(throws: DatabaseError.self) { try CookieFile(path).load(at: Self.start) }
        #expect(error?.failure.kind == .storage)
        #expect(error?.failure.message.contains(path) == true)
        #expect(error?.failure.message.contains("No such file or directory") == true)
        #expect(throws: DatabaseError.self) { try CookieFile(folder.path).load(at: Self.start) }
    }

    @Test func lockedFileIsAwaitedUntilATimeout() throws {
        let program = try Program(path)
        let holder = try Database(existing: path, lockTimeout: 0)
        try holder.execute("BEGIN IMMEDIATE")
        try program.set("a=1" + Self.withLifetime)
        let clock = ContinuousClock()
        let waited = clock.measure {
            #expect(throws: DatabaseError.self) { try program.save() }
        }
        #expect(waited > .milliseconds(900) && waited < .seconds(10))
        try holder.execute("COMMIT")
        try program.save()
        #expect(try Program(path).all == ["a=1"])
    }
}
