import Foundation
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct MemoryCacheTests {
    private let cache = MemoryCache(maximumBytes: 1 << 20)

    private func variantFields(_ language: String?) -> [StoredResponse.VariantField] {
        [StoredResponse.VariantField("accept-language", language)]
    }

    // MARK: Looking up

    @Test func storedEntryIsFound() throws {
        let stored = try #require(cache.store(cacheKey("/"), cachedResponse(), body: cachedBody(1, 100)))
        let found = try #require(cache.find(cacheKey("/")).first)
        #expect(found === stored && found.body == cachedBody(1, 100))
        #expect(try found.response == cachedResponse() && found.key == cacheKey("/"))
    }

    @Test func otherURLOrUserIsAMiss() throws {
        cache.store(cacheKey("/", 1), try cachedResponse(), body: cachedBody(1, 100))
        for key in [cacheKey("/"), cacheKey("/", 2), cacheKey("/a", 1)] { #expect(cache.find(key).isEmpty) }
    }

    @Test func variantsAreOrderedByAge() throws {
        for language in ["de", "en", nil] {
            cache.store(
                cacheKey("/"), try cachedResponse(variantFields: variantFields(language)), body: cachedBody(1, 10))
        }
        #expect(cache.find(cacheKey("/")).map { $0.response.variantFields[0].value } == ["de", "en", nil])
    }

    @Test func sameVariantIsReplacedForAnyFieldOrder() throws {
        let fields = ["a", "b"].map { StoredResponse.VariantField($0, "1") }
        cache.store(cacheKey("/"), try cachedResponse("1", variantFields: fields), body: cachedBody(1, 10))
        cache.store(cacheKey("/"), try cachedResponse("2", variantFields: fields.reversed()), body: cachedBody(2, 10))
        #expect(cache.find(cacheKey("/")).map(\.body) == [cachedBody(2, 10)])
        #expect(cache.statistics.entries == 1)
    }

    @Test func variantsPerKeyAreBounded() throws {
        for number in 0..<100 {
            cache.store(
                cacheKey("/"), try cachedResponse(variantFields: variantFields("\(number)")), body: ByteBuffer())
        }
        let found = cache.find(cacheKey("/"))
        #expect(found.count == 32 && found.first?.response.variantFields[0].value == "68")
    }

    // MARK: Bounds

    @Test func sizeIsBounded() throws {
        for number in 0..<2000 {
            cache.store(cacheKey("/\(number)"), try cachedResponse(), body: cachedBody(number, number * 7 % 9000))
            #expect(cache.statistics.bytes <= 1 << 20)
        }
        #expect(cache.statistics.evictions > 1000)
        #expect(cache.statistics.entries + cache.statistics.evictions == 2000)
    }

    @Test func tooLargeEntryIsNotStoredAndRemovesTheOldOne() throws {
        cache.store(cacheKey("/"), try cachedResponse("1"), body: cachedBody(1, 10))
        #expect(try cache.store(cacheKey("/"), cachedResponse("2"), body: cachedBody(2, (1 << 17) + 1)) == nil)
        #expect(cache.find(cacheKey("/")).isEmpty && cache.statistics.bytes == 0)
        let large = MemoryCache(maximumBytes: 1 << 30)
        #expect(try large.store(cacheKey("/"), cachedResponse(), body: cachedBody(1, (1 << 20) + 1)) == nil)
        #expect(try large.store(cacheKey("/"), cachedResponse(), body: cachedBody(1, 1 << 20)) != nil)
    }

    @Test func cacheWithoutCapacityStoresNothing() throws {
        for room in [0, -1, Int.min, 1000] {
            let cache = MemoryCache(maximumBytes: room)
            #expect(try cache.store(cacheKey("/"), cachedResponse(), body: cachedBody(1, 10)) == nil)
            #expect(cache.statistics == MemoryCache.Statistics())
        }
    }

    @Test func sliceDoesNotRetainItsBuffer() throws {
        let large = ByteBuffer(repeating: 1, count: 1 << 20)
        let slice = try #require(large.getSlice(at: 5, length: 100))
        let entry = try #require(cache.store(cacheKey("/"), cachedResponse(), body: slice))
        #expect(entry.body == slice && entry.body.storageCapacity < 1000)
    }

    @Test func usedEntriesSurviveEviction() throws {
        cache.store(cacheKey("/kept"), try cachedResponse(), body: cachedBody(0, 1000))
        for number in 0..<5000 {
            _ = cache.find(cacheKey("/kept"))
            cache.store(cacheKey("/\(number)"), try cachedResponse(), body: cachedBody(number, 1000))
        }
        #expect(!cache.find(cacheKey("/kept")).isEmpty)
    }

    // MARK: Changing

    @Test func updateChangesHeadersButNotTheBody() throws {
        let entry = try #require(cache.store(cacheKey("/"), cachedResponse("1"), body: cachedBody(1, 100)))
        let updated = try #require(cache.update(entry, cachedResponse("2")))
        #expect(cache.find(cacheKey("/")).map(\.response.headers) == [try cachedResponse("2").headers])
        #expect(updated.body == entry.body)
        // The old entry stays unchanged, and an update of the old entry fails.
        #expect(try entry.response == cachedResponse("1"))
        #expect(try cache.update(entry, cachedResponse("3")) == nil)
        #expect(cache.find(cacheKey("/")).first === updated)
    }

    @Test func invalidationLastsUntilAnUpdate() throws {
        for user in 0..<3 as Range<UInt64> {
            cache.store(cacheKey("/", user), try cachedResponse(), body: cachedBody(1, 10))
        }
        cache.store(cacheKey("/other"), try cachedResponse(), body: cachedBody(1, 10))
        func invalidated() -> [Bool] {
            [cacheKey("/"), cacheKey("/", 1), cacheKey("/", 2), cacheKey("/other")].map {
                cache.find($0).contains(where: \.response.isInvalidated)
            }
        }
        cache.invalidate(cacheKey("/", 1))
        #expect(invalidated() == [false, true, false, false])
        cache.invalidate(url: cacheKey("/").url)
        #expect(invalidated() == [true, true, true, false])
        cache.update(try #require(cache.find(cacheKey("/")).first), try cachedResponse())
        #expect(invalidated() == [false, true, true, false])
    }

    // MARK: Removing

    @Test func removalRemovesOnlyNamedEntries() throws {
        let keys = [
            cacheKey("/a/1"), cacheKey("/a/2", 7), cacheKey("/b?x=1"), cacheKey("/c", 7),
            cacheKey("/a/1", origin: "https://a.example:8443"), cacheKey("/a", origin: "https://a.example.net"),
            CacheKey(url: "https://a.example"), CacheKey(url: "https://a.example?q"),
        ]
        func fill() throws { for key in keys { cache.store(key, try cachedResponse(), body: ByteBuffer()) } }
        func left() -> [Int] { keys.indices.filter { !cache.find(keys[$0]).isEmpty } }
        try fill()
        #expect(cache.remove(keys[0]) == 1 && left() == [1, 2, 3, 4, 5, 6, 7])
        cache.store(cacheKey("/a/2", 8), try cachedResponse(), body: ByteBuffer())
        #expect(cache.remove(url: keys[1].url) == 2 && left() == [2, 3, 4, 5, 6, 7])
        try fill()
        #expect(cache.remove(prefix: "https://a.example/a") == 2 && left() == [2, 3, 4, 5, 6, 7])
        try fill()
        #expect(cache.remove(origin: "https://a.example") == 6 && left() == [4, 5])
        try fill()
        #expect(cache.remove(CachePartition(high: 7, low: 21)) == 2 && left() == [0, 2, 4, 5, 6, 7])
        try fill()
        let entry = try #require(cache.find(keys[2]).first)
        cache.remove(entry)
        cache.remove(entry)
        #expect(left() == [0, 1, 3, 4, 5, 6, 7])
        #expect(cache.removeAll() == 7 && left().isEmpty)
        #expect(cache.statistics.bytes == 0 && cache.statistics.entries == 0)
    }

    // MARK: Threads

    @Test func cacheIsThreadSafe() throws {
        let cache = MemoryCache(maximumBytes: 200_000)
        let response = try cachedResponse()
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            var random = SeededRandom(seed: UInt64(thread))
            for _ in 0..<1000 {
                let number = Int.random(in: 0..<50, using: &random)
                let key = cacheKey("/\(number)", UInt64(number % 3))
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    for entry in cache.find(key) {
                        #expect(entry.key == key && entry.body == cachedBody(number, number * 100))
                    }
                case 5..<8: cache.store(key, response, body: cachedBody(number, number * 100))
                case 8: if let entry = cache.find(key).first { cache.update(entry, response) }
                default: number == 0 ? cache.invalidate(url: key.url) : cache.invalidate(key)
                }
            }
        }
        #expect(cache.statistics.bytes <= 200_000)
    }
}
