import NIOCore
import NightjarHTTP
import NightjarStorage

/// Stores the body of a streamed response while the caller receives it. Used on the loop.
///
/// Small bodies are also stored in memory. Larger bodies are stored on disk only.
final class CacheFill {
    private let storage: CacheStorage
    private let writing: Writing?
    /// The body so far. Nil if the body is too large for memory or was discarded.
    private var kept: ByteBuffer? = ByteBuffer()
    private(set) var count = 0
    /// Whether further parts are ignored, because the body is complete or will not be stored.
    private(set) var isAbandoned = false

    /// The disk writer, used only on the disk's thread.
    private final class Writing: @unchecked Sendable {
        let disk: CacheDisk
        var writer: BodyWriter?

        init(_ disk: CacheDisk) { self.disk = disk }
    }

    /// - Parameter announced: The expected length in bytes, if known.
    init(_ storage: CacheStorage, announced: Int?) {
        self.storage = storage
        writing = storage.disk.map(Writing.init)
        guard let writing else { return }
        writing.disk.run { cache in
            writing.writer = cache.beginBody(expecting: announced)
        }
    }

    func append(_ bytes: ByteBuffer) {
        guard !isAbandoned else { return }
        count += bytes.readableBytes
        if kept != nil, count > storage.memory.maximumBody { kept = nil }
        if (try? kept?.append(bytes, for: "a cached body")) == nil { kept = nil }
        guard let writing else {
            isAbandoned = kept == nil
            return
        }
        let size = bytes.readableBytes
        guard writing.disk.hasRoom(for: size) else { return discard() }
        writing.disk.run { _ in
            if let writer = writing.writer, !writer.write(bytes) { writing.writer = nil }
            writing.disk.connected(size)
        }
    }

    /// Stores the entry after the last part.
    ///
    /// - Parameter moment: The cache changes that were known when the request was sent.
    func complete(_ key: CacheKey, _ response: StoredResponse, shown: String, since moment: CacheMoment) {
        guard !isAbandoned else { return }
        if let kept { storage.storeInMemory(key, response, kept, since: moment) }
        writing?.disk.run { [writing] cache in
            writing?.writer?.commit(key, response, displayURL: shown, since: moment)
            writing?.writer = nil
            cache.evict(now: WallClock.now())
        }
        isAbandoned = true
    }

    func discard() {
        isAbandoned = true
        kept = nil
        writing?.disk.run { [writing] _ in
            writing?.writer?.discard()
            writing?.writer = nil
        }
    }
}
