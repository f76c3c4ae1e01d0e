import NIOCore
import NightjarHTTP
import NightjarStorage

/// A stored answer, wherever it is.
enum CachedEntry: Sendable {
    case memory(MemoryCache.Entry)
    /// Behind a pointer, so that both are one, and a copy is a retain.
    indirect case disk(DiskEntry)

    var response: StoredResponse {
        switch self {
        case .memory(let entry): entry.response
        case .disk(let entry): entry.response
        }
    }
}

extension CachedEntry {
    /// Whether both are for the same requests.
    func isVariant(of other: CachedEntry) -> Bool {
        response.selectsAs(other.response)
    }
}

extension CacheStorage {
    /// Asks the disk for the answers of a key. What is small enough for memory is there from then on.
    ///
    /// - Returns: false when there is no disk to ask; then nothing is delivered.
    func findOnDisk(
        _ key: CacheKey, on loop: any EventLoop, then deliver: @escaping @Sendable ([CachedEntry]) -> Void
    ) -> Bool {
        guard let disk else { return false }
        let memory = memory
        return disk.run(
            { cache in
                cache.find(key).map { entry in
                    guard entry.response.contentLength <= memory.maximumBody, let body = cache.open(entry),
                        let content = CacheStorage.content(body)
                    else { return .disk(entry) }
                    return memory.promote(key, entry.response, content).map { .memory($0) } ?? .disk(entry)
                }
            }, on: loop, then: deliver)
    }

    /// Opens the body of an answer that is on disk, and nowhere else.
    func open(
        _ entry: DiskEntry, on loop: any EventLoop, then deliver: @escaping @Sendable (BodyReader?) -> Void
    ) -> Bool {
        disk?.run({ cache in cache.open(entry) }, on: loop, then: deliver) ?? false
    }

    private static func content(_ body: BodyReader) -> ByteBuffer? {
        body.count == 0 ? ByteBuffer() : try? body.read(upTo: body.count)
    }

    /// Gives an answer the fields that a 304 has brought, here and on disk, or forgets it.
    func update(_ entry: CachedEntry, _ key: CacheKey, _ update: CacheUpdate) -> CachedEntry {
        let before = entry.response
        var updated = entry
        if case .memory(let known) = entry {
            if update.isKept {
                if let other = memory.update(known, update.response) { updated = .memory(other) }
            } else {
                memory.remove(known)
            }
        }
        disk?.run { cache in
            for entry in cache.find(key) where entry.response.isSameAnswer(as: before) {
                if update.isKept { cache.update(entry, update.response) } else { cache.remove(entry) }
            }
        }
        return updated
    }
}

extension StoredResponse {
    /// Not what has taken its place since, whose content is another's, nor what was taken back since.
    fileprivate func isSameAnswer(as other: StoredResponse) -> Bool {
        requested == other.requested && received == other.received && status == other.status
            && contentLength == other.contentLength && isInvalidated == other.isInvalidated
            && headers == other.headers && Set(selecting) == Set(other.selecting)
    }
}

extension MemoryCache {
    /// Puts an answer from the disk here, unless there is one by now that is as new.
    fileprivate func promote(_ key: CacheKey, _ response: StoredResponse, _ body: ByteBuffer) -> Entry? {
        let known = find(key).first {
            $0.response.selectsAs(response) && $0.response.received >= response.received
        }
        return known ?? store(key, response, body: body)
    }
}
