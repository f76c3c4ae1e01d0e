import NightjarHTTP

extension MemoryCache {
    /// Applies the changes that other cache objects have made in a shared index.
    ///
    /// - Parameter names: the names of the URLs in this cache. The caller keeps the value between calls.
    package func apply(_ changes: [CacheChange], _ names: inout URLNames) {
        if changes.contains(where: { $0.url != nil }) { names.update(to: urls) }
        for change in changes {
            let url = change.url.flatMap { names[$0] }
            switch change {
            case .invalidateURL: if let url { invalidate(url: url) }
            case .removeURL: if let url { remove(url: url) }
            case .invalidateKey(let key):
                if let key = url.flatMap({ CacheKey(url: $0, key) }) { invalidate(key) }
            case .removeKey(let key): if let key = url.flatMap({ CacheKey(url: $0, key) }) { remove(key) }
            case .removePrefix(let prefix): remove(prefix: prefix)
            case .removeOrigin(let origin): remove(origin: origin)
            case .removePartition(let bytes): if let partition = CachePartition(bytes) { remove(partition) }
            case .removeEntry: break
            case .removeAll: removeAll()
            }
        }
    }
}

/// The URLs of a memory cache by their names in an index. Computed only when another cache object has made a change
/// that names a URL, so that a folder with only one cache object has no cost.
package struct URLNames: Sendable {
    private var urls: [[UInt8]: String] = [:]
    private var names: [String: [UInt8]] = [:]

    package init() {}

    subscript(name: [UInt8]) -> String? { urls[name] }

    mutating func update(to present: [String]) {
        var names: [String: [UInt8]] = [:]
        names.reserveCapacity(present.count)
        urls.removeAll(keepingCapacity: true)
        for url in present {
            let name = self.names[url] ?? DiskNames.url(url)
            names[url] = name
            urls[name] = url
        }
        self.names = names
    }
}

extension CacheKey {
    fileprivate init?(url: String, _ name: CacheKeyName) {
        guard let partition = CachePartition(name.partition) else { return nil }
        self.init(url: url, partition: partition)
    }
}

extension CachePartition {
    /// Decodes a partition from a row of an index.
    fileprivate init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: number(bytes[..<8]), low: number(bytes[8...]))
    }
}
