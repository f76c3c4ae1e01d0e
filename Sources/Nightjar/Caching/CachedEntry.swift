import NIOCore
import NightjarHTTP
import NightjarStorage

/// A cache entry in memory or on disk.
enum CachedEntry: Sendable {
    case memory(MemoryCache.Entry)
    /// Indirect, so that a copy is one retain.
    indirect case disk(DiskEntry)

    var response: StoredResponse {
        switch self {
        case .memory(let entry): entry.response
        case .disk(let entry): entry.response
        }
    }
}

extension CachedEntry {
    /// Whether both entries match the same requests.
    func isVariant(of other: CachedEntry) -> Bool {
        response.selectsAs(other.response)
    }
}

extension [CachedEntry] {
    /// Merges disk entries with memory entries. A memory entry wins if it has changed or was stored since the disk was
    /// read, or if the disk did not store it.
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
    /// Opens the body of an entry that is only on disk.
    func open(
        _ entry: DiskEntry, on gate: LoopGate, then deliver: @escaping @Sendable (BodyReader?) -> Void
    ) -> Bool {
        disk?.run({ cache in cache.open(entry) }, on: gate, then: deliver) ?? false
    }
}

extension StoredResponse {
    /// Whether both describe the same stored response. False after the response was replaced or invalidated.
    func isSameResponse(as other: StoredResponse) -> Bool {
        requested == other.requested && received == other.received && status == other.status
            && contentLength == other.contentLength && isInvalidated == other.isInvalidated
            && headers == other.headers && Set(variantFields) == Set(other.variantFields)
    }
}
