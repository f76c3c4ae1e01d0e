import Foundation
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct DiskCacheTests {
    private let parent: TemporaryDirectory
    private let folder: String

    init() throws {
        parent = try TemporaryDirectory()
        folder = parent.file("cache/http")
    }

    private func open(_ maximumBytes: Int = 8 << 20) -> DiskCache {
        DiskCache(folder: folder, maximumBytes: maximumBytes)
    }

    /// Sizes around the limits at which bodies are stored and read differently.
    private static let sizes = [0, 1, 8192, 8193, 65_536, 262_144, 262_145, 1 << 20]

    private var files: [String] {
        (FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []).filter {
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: folder + "/" + $0, isDirectory: &isFolder)
                && !isFolder.boolValue && !$0.hasPrefix("index.db")
        }
    }

    // MARK: Storing and finding

    @Test(arguments: sizes) func storedEntryIsFoundByAnotherCache(_ size: Int) throws {
        let variantFields = [StoredResponse.VariantField("accept", nil), StoredResponse.VariantField("b", "ü")]
        var response = try cachedResponse(variantFields: variantFields)
        try response.trailers.add("Sum", "1")
        response.isDecoded = true
        let first = open()
        #expect(first.store(cacheKey("/", 5), response, cachedBody(1, size)) != nil)
        response.contentLength = size
        for cache in [first, open()] {
            let entry = try #require(cache.find(cacheKey("/", 5)).first)
            #expect(entry.response == response && entry.key == cacheKey("/", 5))
            let reader = try #require(cache.open(entry))
            #expect(reader.count == size)
            #expect(try cache.body(cacheKey("/", 5)) == cachedBody(1, size))
            #expect(cache.find(cacheKey("/")).isEmpty && cache.find(cacheKey("/", 6)).isEmpty)
            #expect(cache.takeNotes().isEmpty)
        }
    }

    @Test func headersRoundTrip() throws {
        let bytes: [UInt8] = [0x80, 0xFF, 0x09, 0x20, 0x41]
        var response = try cachedResponse()
        bytes.withUnsafeBytes { value in
            "X-Odd".utf8.withContiguousStorageIfAvailable { name in
                _ = response.headers.restore(name: UnsafeRawBufferPointer(name), value: value)
            }
        }
        #expect(response.headers.count == 4)
        let cache = open()
        cache.store(cacheKey("/"), response, cachedBody(1, 10))
        #expect(cache.find(cacheKey("/")).first?.response.headers == response.headers)
    }

    @Test(arguments: [100, 20_000, 500_000]) func bodyIsWrittenAndReadInPieces(_ size: Int) throws {
        let cache = open()
        let writer = try #require(cache.beginBody(expecting: size))
        var body = cachedBody(3, size)
        let whole = body
        var step = 1
        while let part = body.readSlice(length: min(step, body.readableBytes)), part.readableBytes > 0 {
            #expect(writer.write(part))
            step = step * 3 % 10_007
        }
        #expect(writer.count == size)
        let entry = try #require(writer.commit(cacheKey("/"), cachedResponse(), displayURL: "https://a.example/"))
        #expect(entry.response.contentLength == size)
        let reader = try #require(cache.open(entry))
        var read = ByteBuffer()
        while var part = try reader.read(upTo: step) {
            #expect(part.readableBytes <= step)
            read.writeBuffer(&part)
            step = step * 3 % 10_007
        }
        #expect(read == whole)
        reader.seek(to: size - 10)
        #expect(try reader.read(upTo: 100) == whole.getSlice(at: size - 10, length: 10))
        reader.seek(to: .max)
        #expect(try reader.read(upTo: 100) == nil)
        reader.seek(to: -1)
        #expect(try reader.read(upTo: 1) == whole.getSlice(at: 0, length: 1))
    }

    @Test func uncommittedWriterLeavesNoEntry() throws {
        let cache = open()
        for isDiscarded in [true, false] {
            let writer = try #require(cache.beginBody())
            writer.write(cachedBody(1, 100_000))
            #expect(files.count == 1)
            if isDiscarded {
                writer.discard()
                #expect(!writer.write(cachedBody(1, 1)))
                #expect(try writer.commit(cacheKey("/"), cachedResponse(), displayURL: "") == nil)
            }
        }
        #expect(files.isEmpty && cache.find(cacheKey("/")).isEmpty)
    }

    @Test func entryIsAtMostAnEighth() throws {
        let cache = open(800_000)
        #expect(cache.beginBody(expecting: 100_001) == nil)
        #expect(cache.store(cacheKey("/"), try cachedResponse(), cachedBody(1, 100_001)) == nil)
        let writer = try #require(cache.beginBody())
        #expect(writer.write(cachedBody(1, 100_000)))
        #expect(!writer.write(cachedBody(1, 1)))
        #expect(try writer.commit(cacheKey("/"), cachedResponse(), displayURL: "") == nil)
        #expect(files.isEmpty && cache.takeNotes().isEmpty)
        #expect(open(0).store(cacheKey("/"), try cachedResponse(), cachedBody(1, 1)) == nil)
    }

    @Test func variantsCoexistAndAreBounded() throws {
        let cache = open()
        for number in 0..<50 {
            let fields = [
                StoredResponse.VariantField("a", "\(number % 40)"), StoredResponse.VariantField("b", nil),
            ]
            // The entry is replaced regardless of the order of the selecting fields.
            cache.store(
                cacheKey("/"), try cachedResponse("\(number)", variantFields: number < 40 ? fields : fields.reversed()),
                cachedBody(number, 10))
        }
        let found = cache.find(cacheKey("/"))
        #expect(found.count == 32)
        #expect(Set(found.compactMap { $0.response.headers["ETag"] }).count == 32)
        #expect(found.last?.response.headers["ETag"] == "\"49\"")
    }

    @Test func equalContentsShareAFileUntilTheLastIsRemoved() throws {
        let cache = open()
        for number in 0..<3 { cache.store(cacheKey("/\(number)"), try cachedResponse(), cachedBody(1, 50_000)) }
        #expect(files.count == 1)
        cache.remove(cacheKey("/0"))
        cache.store(cacheKey("/1"), try cachedResponse(), cachedBody(2, 50_000))
        #expect(files.count == 2)
        #expect(try cache.body(cacheKey("/2")) == cachedBody(1, 50_000))
        cache.remove(cacheKey("/2"))
        #expect(files.count == 1)
        #expect(try cache.body(cacheKey("/1")) == cachedBody(2, 50_000))
    }

    // MARK: Changing and removing

    @Test func updateChangesHeadersButNotTheBody() throws {
        let cache = open()
        let other = open()
        let entry = try #require(cache.store(cacheKey("/"), cachedResponse("1"), cachedBody(1, 20_000)))
        let updated = try #require(other.update(entry, cachedResponse("2")))
        #expect(updated.response.contentLength == 20_000)
        #expect(cache.find(cacheKey("/")).map(\.response) == [updated.response])
        #expect(try cache.body(cacheKey("/")) == cachedBody(1, 20_000))
        // An older version of an entry neither changes nor removes the entry.
        #expect(try cache.update(entry, cachedResponse("3")) == nil)
        #expect(cache.remove(entry) == 0)
        #expect(cache.find(cacheKey("/")).first?.response.headers["ETag"] == "\"2\"")
        #expect(cache.remove(updated) == 1 && cache.find(cacheKey("/")).isEmpty)
    }

    @Test func invalidationLastsUntilAnUpdateOrStore() throws {
        let cache = open()
        for user in 0..<3 as Range<UInt64> { cache.store(cacheKey("/", user), try cachedResponse(), cachedBody(1, 10)) }
        cache.store(cacheKey("/other"), try cachedResponse(), cachedBody(1, 10))
        let other = open()
        func invalidated() -> [Bool] {
            [cacheKey("/"), cacheKey("/", 1), cacheKey("/", 2), cacheKey("/other")].map {
                other.find($0).contains(where: \.response.isInvalidated)
            }
        }
        cache.invalidate(cacheKey("/", 1))
        #expect(invalidated() == [false, true, false, false])
        cache.invalidate(url: cacheKey("/").url)
        #expect(invalidated() == [true, true, true, false])
        cache.update(try #require(cache.find(cacheKey("/")).first), try cachedResponse())
        cache.store(cacheKey("/", 1), try cachedResponse(), cachedBody(1, 10))
        #expect(invalidated() == [false, false, true, false])
        // An update with an invalidated response leaves the entry invalidated.
        let entry = try #require(cache.find(cacheKey("/", 2)).first)
        cache.update(entry, entry.response)
        #expect(invalidated() == [false, false, true, false])
    }

    @Test func removalRemovesOnlyNamedEntries() throws {
        let cache = open()
        let keys = [
            cacheKey("/a/1"), cacheKey("/a/2", 7), cacheKey("/b%_?x=1"), cacheKey("/c", 7),
            cacheKey("/a/1", origin: "https://a.example:8443"), cacheKey("/a", origin: "https://a.example.net"),
            CacheKey(url: "https://a.example"), CacheKey(url: "https://a.example?q"),
        ]
        func fill() throws { for key in keys { cache.store(key, try cachedResponse(), cachedBody(1, 9000)) } }
        func left() -> [Int] { keys.indices.filter { !cache.find(keys[$0]).isEmpty } }
        try fill()
        #expect(cache.remove(keys[0]) == 1 && left() == [1, 2, 3, 4, 5, 6, 7])
        cache.store(cacheKey("/a/2", 8), try cachedResponse(), cachedBody(1, 10))
        #expect(cache.remove(url: keys[1].url) == 2 && left() == [2, 3, 4, 5, 6, 7])
        try fill()
        #expect(cache.remove(prefix: "https://a.example/a") == 2 && left() == [2, 3, 4, 5, 6, 7])
        try fill()
        #expect(cache.remove(prefix: "https://a.example/%") == 0 && left().count == 8)
        #expect(cache.remove(origin: "https://a.example") == 6 && left() == [4, 5])
        try fill()
        #expect(cache.remove(CachePartition(high: 7, low: 21)) == 2 && left() == [0, 2, 4, 5, 6, 7])
        try fill()
        #expect(cache.removeAll() == 8 && left().isEmpty && files.isEmpty)
        #expect(cache.statistics.entries == 0 && cache.statistics.bytes == 0)
    }

    @Test func manyEntriesAreRemovedInBatches() throws {
        let cache = open()
        for number in 0..<300 {
            cache.store(cacheKey("/\(number)", UInt64(number % 2)), try cachedResponse(), cachedBody(1, 10))
        }
        #expect(cache.remove(CachePartition(high: 1, low: 3)) == 150)
        #expect(cache.remove(prefix: "https://a.example/") == 150)
        #expect(cache.statistics.bytes == 0)
    }

    // MARK: Threads

    @Test func twoCachesOfOneFolderAreThreadSafe() throws {
        let caches = [open(600_000), DiskCache(folder: folder, maximumBytes: 600_000, lockTimeout: 5)]
        let response = try cachedResponse()
        DispatchQueue.concurrentPerform(iterations: 6) { thread in
            var random = SeededRandom(seed: UInt64(thread))
            let cache = caches[thread % 2]
            for _ in 0..<60 {
                let number = Int.random(in: 0..<12, using: &random)
                let key = cacheKey("/\(number)")
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    let body = try? cache.body(key)
                    #expect(body == nil || body == cachedBody(number, number * 3000))
                case 5..<8: cache.store(key, response, cachedBody(number, number * 3000))
                case 8: cache.evict(now: cacheMoment(Int64(number) * 100_000))
                case 9 where number == 0: cache.invalidate(url: key.url)
                default: cache.remove(key)
                }
            }
        }
        for cache in caches { #expect(cache.takeNotes().isEmpty && cache.statistics.damaged == 0) }
    }

    // MARK: Privacy

    @Test func filesAreReadableOnlyByTheirOwner() throws {
        let cache = open()
        cache.store(cacheKey("/"), try cachedResponse(), cachedBody(1, 10_000))
        let writer = try #require(cache.beginBody())
        writer.write(cachedBody(2, 10_000))
        var count = 0
        for name in FileManager.default.enumerator(atPath: parent.path)?.allObjects as? [String] ?? [] {
            let mode = try #require(permissions(parent.file(name)))
            #expect(mode == 0o600 || mode == 0o700, "\(name)")
            count += 1
        }
        #expect(count >= 8)
    }

    @Test func urlsAreNotStoredExceptForDisplay() throws {
        let cache = open()
        let key = CacheKey(url: "https://a.example/?token=hunter2")
        cache.store(key, try cachedResponse(), displayURL: "https://a.example/?token=***", body: cachedBody(1, 10))
        #expect(!cache.find(key).isEmpty)
        for name in ["index.db", "index.db-wal"] {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
            #expect(bytes.range(of: Data("hunter2".utf8)) == nil)
        }
        #expect(cache.remove(prefix: "https://a.example/?token=h") == 0)
        #expect(cache.remove(prefix: "https://a.example/?token=*") == 1)
    }

    // MARK: Keeping it small

    @Test func evictionRespectsTheLimit() throws {
        let cache = open(400_000)
        for number in 0..<200 {
            cache.store(cacheKey("/\(number)"), try cachedResponse(), cachedBody(number, number * 131 % 20_000))
            cache.evict(now: cacheMoment())
            #expect(cache.statistics.bytes <= 400_000)
        }
        let statistics = cache.statistics
        #expect(statistics.entries + statistics.evictions == 200 && statistics.entries > 20)
        var sum = 0
        for number in 0..<200 {
            guard let body = try cache.body(cacheKey("/\(number)")) else { continue }
            #expect(body == cachedBody(number, number * 131 % 20_000))
            sum += 1
        }
        #expect(sum == statistics.entries)
        #expect(files.count <= sum)
    }

    @Test func sizeIsBoundedWithoutExplicitEviction() throws {
        let cache = open(400_000)
        for number in 0..<300 { cache.store(cacheKey("/\(number)"), try cachedResponse(), cachedBody(number, 10_000)) }
        #expect(cache.statistics.bytes <= 520_000)
    }

    @Test func usedEntriesSurviveEviction() throws {
        let cache = open(400_000)
        cache.store(cacheKey("/kept"), try cachedResponse(), cachedBody(0, 10_000))
        for number in 0..<200 {
            _ = try cache.body(cacheKey("/kept"))
            cache.store(cacheKey("/\(number)"), try cachedResponse(), cachedBody(number, 10_000))
            cache.evict(now: cacheMoment())
        }
        #expect(try cache.body(cacheKey("/kept")) == cachedBody(0, 10_000))
        // Only the first three hits are counted and written.
        let before = try #require(cache.find(cacheKey("/kept")).first)
        #expect(before.uses > 0 && before.uses <= 3)
    }

    @Test func readerContinuesAfterEviction() throws {
        let cache = open()
        let entry = try #require(cache.store(cacheKey("/"), cachedResponse(), cachedBody(1, 1 << 20)))
        let reader = try #require(cache.open(entry))
        let first = try #require(try reader.read(upTo: 1000))
        open().removeAll()
        #expect(files.isEmpty)
        var read = first
        while var part = try reader.read(upTo: 100_000) { read.writeBuffer(&part) }
        #expect(read == cachedBody(1, 1 << 20))
        // The body of an entry that was found before its removal can no longer be opened.
        #expect(cache.open(entry) == nil && cache.statistics.damaged == 0)
    }

    // MARK: Sweeping

    @Test func sweepRemovesOrphanedFiles() throws {
        let cache = open()
        cache.store(cacheKey("/"), try cachedResponse(), cachedBody(1, 10_000))
        cache.store(cacheKey("/gone"), try cachedResponse(), cachedBody(2, 10_000))
        cache.evict(now: cacheMoment())
        // An orphaned file, temporary files of different ages, a damaged index of a killed process, and a missing body.
        mkdir(folder + "/00", 0o700)
        try parent.write("cache/http/00/" + String(repeating: "ab", count: 31), Bytes("x"))
        for (name, age) in [("old", Int64(4000)), ("new", 10), ("future", -4000)] {
            try parent.write("cache/http/new/" + name, Bytes("x"))
            var times = [timeval](repeating: timeval(tv_sec: Int(cacheStart + 90_000 - age), tv_usec: 0), count: 2)
            utimes(folder + "/new/" + name, &times)
        }
        try parent.write("cache/http/index.db.damaged-20260101T000000Z", Bytes("x"))
        let entry = try #require(cache.find(cacheKey("/gone")).first)
        unlink(BodyFolder(path: folder).file(entry.content))
        // Nothing is swept within a day of the last sweep.
        cache.evict(now: cacheMoment(80_000))
        #expect(files.count == 5)
        cache.evict(now: cacheMoment(90_000))
        #expect(files.sorted().last == "new/new" && files.count == 2)
        #expect(!FileManager.default.fileExists(atPath: folder + "/index.db.damaged-20260101T000000Z"))
        #expect(try cache.body(cacheKey("/")) == cachedBody(1, 10_000))
        #expect(cache.statistics.entries == 1)
    }

    @Test func wrongSumsAreRepaired() throws {
        let cache = open(400_000)
        for number in 0..<10 { cache.store(cacheKey("/\(number)"), try cachedResponse(), cachedBody(number, 10_000)) }
        let right = cache.statistics.bytes
        for wrong in ["small = 9000000000000", "small = -5, main = 77", "main = 9223372036854775807, small = 5"] {
            try run("UPDATE total SET \(wrong)")
            cache.evict(now: cacheMoment())
            cache.evict(now: cacheMoment(100_000))
            cache.evict(now: cacheMoment(200_000))
            for number in 0..<10 {
                cache.store(cacheKey("/\(number)"), try cachedResponse(), cachedBody(number, 10_000))
            }
            #expect(cache.statistics.bytes == right, "\(wrong)")
        }
    }

    private func run(_ sql: String) throws {
        try Database(existing: folder + "/index.db", lockTimeout: 5).execute(sql)
    }

    @Test func clockSetBackDoesNotDelaySweeps() throws {
        let cache = open()
        cache.store(cacheKey("/"), try cachedResponse(), cachedBody(1, 10_000))
        cache.evict(now: cacheMoment(1_000_000))
        mkdir(folder + "/00", 0o700)
        try parent.write("cache/http/00/" + String(repeating: "ab", count: 31), Bytes("x"))
        cache.evict(now: cacheMoment(1_000_100))
        #expect(files.count == 2)
        cache.evict(now: cacheMoment(-1_000_000))
        #expect(files.count == 1)
        #expect(try cache.body(cacheKey("/")) == cachedBody(1, 10_000))
    }
}
