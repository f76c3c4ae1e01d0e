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
    /// Merges the entries of a disk lookup with the current memory entries. An entry that the lookup copied to memory
    /// is replaced by the current memory entry of the same variant. Memory entries of other variants are added.
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
    /// Opens the body of an entry that is only on disk. `deliver` receives the body, or nil if it cannot be read.
    ///
    /// - Returns: False if there is no disk cache or its thread cannot be started. `deliver` is then not called.
    func open(
        _ entry: DiskEntry, on gate: LoopGate, then deliver: @escaping @Sendable (BodyReader?) -> Void
    ) -> Bool {
        disk?.run({ cache in cache.open(entry) }, on: gate, then: deliver) ?? false
    }
}

extension StoredResponse {
    /// Whether `other` is the same stored response. False after the response was replaced or invalidated.
    func isSameResponse(as other: StoredResponse) -> Bool {
        requested == other.requested && received == other.received && status == other.status
            && contentLength == other.contentLength && isInvalidated == other.isInvalidated
            && headers == other.headers && Set(variantFields) == Set(other.variantFields)
    }
}
