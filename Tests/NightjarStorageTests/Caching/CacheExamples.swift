import Glibc
import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarTestSupport

/// The time at which cache tests begin.
let cacheStart: Int64 = 1_750_000_000

func cacheMoment(_ seconds: Int64 = 0) -> Timestamp {
    Timestamp(secondsSince1970: cacheStart + seconds, nanoseconds: 123_456_789) ?? .epoch
}

func cacheKey(_ path: String, _ user: UInt64 = 0, origin: String = "https://a.example") -> CacheKey {
    CacheKey(url: origin + path, partition: CachePartition(high: user, low: user &* 3))
}

func cachedResponse(
    _ etag: String = "v", variantFields: [StoredResponse.VariantField] = []
) throws -> StoredResponse {
    var headers = Headers()
    try headers.add("ETag", "\"\(etag)\"")
    try headers.add("Content-Type", "text/plain; charset=utf-8")
    try headers.add("X-Name", "Käse")
    var response = StoredResponse(
        ResponseHead(status: 200, reason: "OK", headers: headers), requested: cacheMoment(), received: cacheMoment(1))
    response.variantFields = variantFields
    return response
}

/// Returns different bytes for each number and length.
func cachedBody(_ number: Int, _ count: Int) -> ByteBuffer {
    // The block is repeated. Its position precedes each repetition.
    var random = SeededRandom(seed: UInt64(truncatingIfNeeded: number &* 10_000_000 &+ count))
    var block = ByteBuffer()
    for _ in 0..<64 { block.writeInteger(random.next()) }
    var body = ByteBufferAllocator().buffer(capacity: count + 1024)
    while body.readableBytes < count {
        body.writeInteger(body.readableBytes)
        body.writeImmutableBuffer(block)
    }
    return body.getSlice(at: 0, length: count) ?? body
}

extension DiskCache {
    @discardableResult
    func store(_ key: CacheKey, _ response: StoredResponse, _ body: ByteBuffer) -> DiskEntry? {
        store(key, response, displayURL: key.url, body: body)
    }

    /// Returns the body of the first variant.
    func body(_ key: CacheKey) throws -> ByteBuffer? {
        guard let entry = find(key).first, let reader = open(entry) else { return nil }
        var body = ByteBuffer()
        while var part = try reader.read(upTo: 10_000) { body.writeBuffer(&part) }
        return body
    }
}
