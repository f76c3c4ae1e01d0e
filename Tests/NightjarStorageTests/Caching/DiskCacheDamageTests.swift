import Foundation
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

/// Damaged files and unexpected folders.
@Suite struct DiskCacheDamageTests {
    private let parent: TemporaryDirectory
    private let folder: String
    private var index: String { folder + "/index.db" }

    init() throws {
        parent = try TemporaryDirectory()
        folder = parent.file("cache")
    }

    private func open() -> DiskCache { DiskCache(folder: folder, maximumBytes: 64 << 20, lockTimeout: 0.05) }

    private static let count = 12

    private static func size(_ number: Int) -> Int { number % 4 == 3 ? 300_000 : number * 1500 }

    /// Stores a dozen entries and closes the cache.
    private func fill(_ cache: DiskCache) throws {
        for number in 0..<Self.count {
            cache.store(cacheKey("/\(number)"), try cachedResponse("\(number)"), cachedBody(number, Self.size(number)))
        }
        cache.close()
    }

    /// Checks that the existing entries are complete.
    ///
    /// - Returns: The number of existing entries.
    private func read(_ cache: DiskCache) throws -> Int {
        var count = 0
        for number in 0..<Self.count {
            guard let body = try cache.body(cacheKey("/\(number)")) else { continue }
            #expect(body == cachedBody(number, Self.size(number)), "wrong body of \(number)")
            #expect(cache.find(cacheKey("/\(number)")).first?.response.headers["ETag"] == "\"\(number)\"")
            count += 1
        }
        return count
    }

    private func change(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        change(&bytes)
        // The file is changed in place, like by a disk error.
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: UInt64(bytes.count))
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    private func sql(_ line: String) throws { try Database(existing: index, lockTimeout: 5).execute(line) }

    // MARK: The index

    enum IndexDamage: CaseIterable { case garbage, empty, truncated, header, bytes, page, shuffled }

    @Test(arguments: IndexDamage.allCases, 1...6)
    func corruptIndexReturnsNoWrongEntriesAndIsReplaced(_ damage: IndexDamage, _ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try fill(open())
        try change(index) { bytes in
            let pages = bytes.count / 4096
            switch damage {
            case .garbage: bytes = (0..<10_000).map { _ in UInt8.random(in: 0...255, using: &random) }
            case .empty: bytes = []
            case .truncated: bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random))
            case .header: bytes[Int.random(in: 0..<100, using: &random)] ^= 0x5A
            case .bytes:
                for _ in 0..<20 { bytes[Int.random(in: 100..<bytes.count, using: &random)] ^= 0x5A }
            case .page:
                let page = Int.random(in: 1..<pages, using: &random) * 4096
                for offset in 0..<4096 { bytes[page + offset] = 0 }
            case .shuffled:
                let (a, b) = (Int.random(in: 1..<pages, using: &random), Int.random(in: 1..<pages, using: &random))
                for offset in 0..<4096 { bytes.swapAt(a * 4096 + offset, b * 4096 + offset) }
            }
        }
        let cache = open()
        _ = try read(cache)
        for number in 0..<Self.count {
            cache.store(cacheKey("/\(number)"), try cachedResponse("\(number)"), cachedBody(number, Self.size(number)))
        }
        cache.evict(now: cacheMoment())
        cache.evict(now: cacheMoment(100_000))
        // By now, damage that was found late is repaired.
        for number in 0..<Self.count {
            cache.store(cacheKey("/\(number)"), try cachedResponse("\(number)"), cachedBody(number, Self.size(number)))
        }
        if cache.statistics.isOff {
            // The damage changed the version or the application ID, so the file seems to belong to a later release or
            // another program.
            #expect(damage == .header && cache.takeNotes().count == 1)
        } else {
            #expect(try read(cache) == Self.count, "\(cache.takeNotes())")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).allSatisfy { !$0.contains("damaged") })
        }
    }

    @Test(arguments: [
        "UPDATE entry SET head = x'00'", "UPDATE entry SET head = zeroblob(500000)",
        "UPDATE entry SET content = (SELECT hash FROM content ORDER BY hash LIMIT 1)",
        "UPDATE entry SET digest = x''", "UPDATE entry SET url = x'01'", "UPDATE entry SET shown = 'x'",
        "UPDATE content SET size = size + 1", "UPDATE content SET body = x'00' WHERE body IS NOT NULL",
        "UPDATE content SET body = NULL", "DELETE FROM content", "UPDATE entry SET bytes = -9223372036854775808",
        "UPDATE entry SET position = 9223372036854775807", "UPDATE entry SET uses = -5, main = 99", "DELETE FROM total",
        "UPDATE entry SET valid = 0, bytes = 9223372036854775807", "DROP INDEX entry_url",
        "UPDATE ghost SET position = 9223372036854775807", "UPDATE entry SET variant = randomblob(16)",
        "UPDATE entry SET key = (SELECT key FROM entry LIMIT 1), variant = randomblob(16)", "DELETE FROM journal",
        "UPDATE journal SET latest = -1, horizon = 9223372036854775807",
    ])
    func foreignRowsAreIgnored(_ line: String) throws {
        try fill(open())
        try sql(line)
        let cache = open()
        _ = try read(cache)
        cache.evict(now: cacheMoment())
        for number in 0..<Self.count {
            cache.store(cacheKey("/\(number)"), try cachedResponse("\(number)"), cachedBody(number, Self.size(number)))
            cache.evict(now: cacheMoment(Int64(number)))
        }
        cache.evict(now: cacheMoment(100_000))
        for number in 0..<Self.count {
            cache.store(cacheKey("/\(number)"), try cachedResponse("\(number)"), cachedBody(number, Self.size(number)))
        }
        #expect(try read(cache) == Self.count, "\(cache.takeNotes())")
    }

    @Test func indexOfALaterReleaseIsNotChanged() throws {
        try fill(open())
        try sql("PRAGMA user_version = 3")
        let before = try Data(contentsOf: URL(fileURLWithPath: index))
        let cache = open()
        for _ in 0..<3 {
            #expect(try read(cache) == 0 && cache.store(cacheKey("/"), cachedResponse(), cachedBody(1, 10)) == nil)
            #expect(cache.beginBody() == nil && cache.removeAll() == nil)
            cache.invalidate(cacheKey("/"))
            cache.evict(now: cacheMoment())
        }
        #expect(cache.statistics.isOff)
        let notes = cache.takeNotes()
        #expect(notes.count == 1 && notes.first?.contains("later release") ?? false, "\(notes)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: index)) == before)
    }

    @Test func indexOfAnotherProgramIsNotChanged() throws {
        try fill(open())
        try sql("PRAGMA application_id = 7")
        let before = try Data(contentsOf: URL(fileURLWithPath: index))
        let cache = open()
        #expect(try read(cache) == 0 && cache.takeNotes().count == 1)
        #expect(try Data(contentsOf: URL(fileURLWithPath: index)) == before)
    }

    @Test func removedFolderIsCreatedAgain() throws {
        let cache = open()
        try fill(cache)
        #expect(try read(cache) == Self.count)
        try FileManager.default.removeItem(atPath: folder)
        #expect(try read(cache) == 0)
        try fill(cache)
        #expect(try read(cache) == Self.count && read(open()) == Self.count)
    }

    // MARK: Bodies

    enum BodyDamage: CaseIterable {
        case first, middle, last, zeros, truncated, empty, longer, gone, folder, link, pipe
    }

    @Test(arguments: BodyDamage.allCases, [10_000, 300_000])
    func corruptBodyIsAMiss(_ damage: BodyDamage, _ size: Int) throws {
        let cache = open()
        let entry = try #require(cache.store(cacheKey("/"), cachedResponse(), cachedBody(1, size)))
        // Damage must also be detected after the body has been verified.
        #expect(try cache.body(cacheKey("/")) == cachedBody(1, size))
        let file = BodyFolder(path: folder).file(entry.content)
        switch damage {
        case .first: try change(file) { $0[0] ^= 1 }
        case .middle: try change(file) { $0[size / 2] ^= 0x80 }
        case .last: try change(file) { $0[size - 1] ^= 1 }
        case .zeros: try change(file) { for index in 4096..<8192 { $0[index] = 0 } }
        case .truncated: try change(file) { $0.removeLast() }
        case .empty: try change(file) { $0 = [] }
        case .longer: try change(file) { $0.append(0) }
        case .gone: unlink(file)
        case .folder:
            unlink(file)
            mkdir(file, 0o700)
        case .link:
            rename(file, file + "x")
            symlink(file + "x", file)
        case .pipe:
            unlink(file)
            mkfifo(file, 0o600)
        }
        #expect(try cache.body(cacheKey("/")) == nil)
        #expect(cache.find(cacheKey("/")).isEmpty)
        #expect(cache.statistics.damaged == (damage == .gone ? 0 : 1))
        if damage == .folder { rmdir(file) }
        cache.store(cacheKey("/"), try cachedResponse(), cachedBody(1, size))
        #expect(try cache.body(cacheKey("/")) == cachedBody(1, size))
        #expect(cache.takeNotes().isEmpty)
    }

    @Test func readerOfATruncatedFileFails() throws {
        let cache = open()
        let entry = try #require(cache.store(cacheKey("/"), cachedResponse(), cachedBody(1, 300_000)))
        let reader = try #require(cache.open(entry))
        _ = try reader.read(upTo: 1000)
        try change(BodyFolder(path: folder).file(entry.content)) { $0.removeLast(200_000) }
        _ = try reader.read(upTo: 1000)
        #expect(throws: NightjarError.self) { while try reader.read(upTo: 50_000) != nil {} }
    }

    // MARK: Folders

    @Test func pathThatIsNotAFolderIsNotAnError() throws {
        try parent.write("cache", Bytes("x"))
        try expectOff(open(), "not a folder")
        try expectOff(DiskCache(folder: folder + "/below", maximumBytes: 1 << 20), "Not a directory")
        try expectOff(DiskCache(folder: "", maximumBytes: 1 << 20), "No such file")
        try expectOff(DiskCache(folder: "/proc/none", maximumBytes: 1 << 20), "No such file")
        try expectOff(DiskCache(folder: folder + "\0x", maximumBytes: 1 << 20), "folder")
    }

    @Test func folderOfOthersIsNotUsed() throws {
        mkdir(folder, 0o700)
        chmod(folder, 0o777)
        try expectOff(open(), "is writable by other users")
        chmod(folder, 0o755)
        #expect(try open().store(cacheKey("/"), cachedResponse(), cachedBody(1, 10)) != nil)
        guard geteuid() == 0 else { return }
        chown(folder, 65534, 65534)
        try expectOff(open(), "belongs to another user (uid 65534)")
    }

    private func expectOff(_ cache: DiskCache, _ reason: String) throws {
        for _ in 0..<2 {
            #expect(try cache.store(cacheKey("/"), cachedResponse(), cachedBody(1, 10)) == nil)
            #expect(cache.find(cacheKey("/")).isEmpty && cache.beginBody() == nil && cache.removeAll() == nil)
            cache.evict(now: cacheMoment())
            cache.close()
        }
        let notes = cache.takeNotes()
        #expect(notes.count == 1 && notes.first?.contains(reason) ?? false, "\(notes)")
        #expect(cache.statistics.isOff)
    }

    // MARK: Locks of other processes

    @Test func lockedIndexDefersRequiredChanges() throws {
        let cache = open()
        cache.store(cacheKey("/"), try cachedResponse(), cachedBody(1, 10))
        cache.store(cacheKey("/gone"), try cachedResponse(), cachedBody(1, 10))
        do {
            let other = try Database(existing: index, lockTimeout: 0)
            try other.execute("BEGIN IMMEDIATE")
            #expect(cache.find(cacheKey("/")).count == 1)
            #expect(try cache.store(cacheKey("/new"), cachedResponse(), cachedBody(1, 10)) == nil)
            #expect(cache.statistics.skipped == 1 && cache.takeNotes().isEmpty)
            cache.invalidate(cacheKey("/"))
            cache.remove(cacheKey("/gone"))
            // While the invalidation is pending, the entry is not found.
            #expect(cache.find(cacheKey("/")).isEmpty)
            try other.execute("ROLLBACK")
        }
        #expect(cache.find(cacheKey("/")).map(\.response.isInvalidated) == [true])
        #expect(cache.find(cacheKey("/gone")).isEmpty)
        #expect(cache.takeNotes().isEmpty)
    }
}
