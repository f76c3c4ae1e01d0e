import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// Writes a body into a ``DiskCache`` as it arrives. Blocking; not thread-safe. Deallocation discards a body that was
/// not committed.
///
/// Failures are not thrown. After a failure, `write` returns false and `commit` returns nil.
package final class BodyWriter: @unchecked Sendable {
    private enum State {
        /// In memory, while the body is small.
        case small([UInt8])
        case file(path: String, descriptor: Int32)
        case ended
    }

    private let cache: DiskCache
    private let limit: Int
    private let digest = RunningDigest()
    private let process = getpid()
    private var state = State.small([])
    /// The number of bytes written so far.
    package private(set) var count = 0

    init(_ cache: DiskCache, limit: Int) {
        self.cache = cache
        self.limit = limit
    }

    deinit { discard() }

    /// Appends bytes to the body. Returns false if the body is too large or could not be written. Later calls
    /// then also return false.
    @discardableResult
    package func write(_ bytes: ByteBuffer) -> Bool {
        bytes.withUnsafeReadableBytes { write($0) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if case .ended = state { return false }
        guard bytes.count <= limit - count else {
            discard()
            return false
        }
        count += bytes.count
        digest.update(bytes)
        if case .small(var kept) = state {
            state = .small([])
            kept += bytes
            guard kept.count > DiskCache.largestInline else {
                state = .small(kept)
                return true
            }
            guard let (path, descriptor) = cache.bodies.makeTemporary() else { return fail(errno) }
            state = .file(path: path, descriptor: descriptor)
            return kept.withUnsafeBytes { writeOut($0, descriptor) }
        }
        guard case .file(_, let descriptor) = state else { return false }
        return writeOut(bytes, descriptor)
    }

    private func writeOut(_ bytes: UnsafeRawBufferPointer, _ descriptor: Int32) -> Bool {
        let code = withoutFileSizeSignal { () -> Int32 in
            var rest = bytes
            while !rest.isEmpty {
                let written = NightjarSystem.write(descriptor, rest.baseAddress, rest.count)
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { return written == 0 ? EIO : errno }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
            return 0
        }
        return code == 0 || fail(code)
    }

    private func fail(_ code: Int32) -> Bool {
        discard()
        cache.note(DatabaseError(errno: code, cache.bodies.temporaries, doing: "written"))
        return false
    }

    /// Stores the body in the cache and replaces the variant with the same selecting fields.
    ///
    /// - Parameters:
    ///   - response: the response; its `contentLength` is replaced by the number of bytes written.
    ///   - displayURL: the key's URL without secrets, stored in plain text. The key's URL itself is stored as a hash.
    ///   - moment: when the request was sent. Nil: later changes to the cache are not checked.
    /// - Returns: nil if the entry could not be stored, or must not be stored because of a change after `moment`.
    @discardableResult
    package func commit(
        _ key: CacheKey, _ response: StoredResponse, displayURL: String, since moment: CacheMoment? = nil
    ) -> DiskEntry? {
        var response = response
        response.contentLength = count
        switch state {
        case .ended: return nil
        case .small(let bytes):
            state = .ended
            return cache.put(key, response, displayURL, DiskIndex.Body(hash: digest.finish(), inline: bytes), moment)
        case .file(let path, let descriptor):
            state = .ended
            defer { unlink(path) }
            guard close(descriptor) == 0 || errno == EINTR else {
                cache.note(DatabaseError(errno: errno, path, doing: "written"))
                return nil
            }
            return cache.put(key, response, displayURL, DiskIndex.Body(hash: digest.finish(), file: path), moment)
        }
    }

    package func discard() {
        if case .file(let path, let descriptor) = state {
            close(descriptor)
            // In a forked child, the file belongs to the parent.
            if getpid() == process { unlink(path) }
        }
        state = .ended
    }
}
