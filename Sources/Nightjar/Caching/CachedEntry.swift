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

extension [CachedEntry] {
    /// What was found on disk, joined by what is in memory now: what the disk did not take, and what has been changed or
    /// stored since the disk was read.
    func joined(by inMemory: [CachedEntry]) -> [CachedEntry] {
        filter { found in
            guard case .memory = found else { return true }
            return !inMemory.contains { $0.isVariant(of: found) }
        }
            + inMemory.filter { known in
                !contains { if case .disk = $0 { $0.isVariant(of: known) } else { false } }
            }
    }
}

extension CacheStorage {
    /// Opens the body of an answer that is on disk, and nowhere else.
    func open(
        _ entry: DiskEntry, on gate: LoopGate, then deliver: @escaping @Sendable (BodyReader?) -> Void
    ) -> Bool {
        disk?.run({ cache in cache.open(entry) }, on: gate, then: deliver) ?? false
    }
}

extension StoredResponse {
    /// Not what has taken its place since, whose content is another's, nor what was taken back since.
    func isSameAnswer(as other: StoredResponse) -> Bool {
        requested == other.requested && received == other.received && status == other.status
            && contentLength == other.contentLength && isInvalidated == other.isInvalidated
            && headers == other.headers && Set(selecting) == Set(other.selecting)
    }
}
