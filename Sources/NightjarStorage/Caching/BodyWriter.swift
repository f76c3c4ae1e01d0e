import Glibc
import NIOCore
import NightjarCrypto
import NightjarHTTP

/// Takes a body into a ``DiskCache`` while it comes. Blocking; one thread at a time. What is not committed goes with this.
///
/// What fails makes it give up, and never an error: `write` and `commit` say so and do nothing from then on.
public final class BodyWriter: @unchecked Sendable {
    private enum State {
        /// In memory, while it is small.
        case small([UInt8])
        case file(path: String, descriptor: Int32)
        case ended
    }

    private let cache: DiskCache
    private let limit: Int
    private let digest = RunningDigest()
    private let process = getpid()
    private var state = State.small([])
    /// Bytes so far.
    public private(set) var count = 0

    init(_ cache: DiskCache, limit: Int) {
        self.cache = cache
        self.limit = limit
    }

    deinit { discard() }

    /// - Returns: false when the body is too large or cannot be written. The writer has given up then.
    @discardableResult
    public func write(_ bytes: ByteBuffer) -> Bool {
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
                let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
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

    /// Puts what was written into the cache, in the place of the variant with the same selecting fields.
    ///
    /// - Parameters:
    ///   - response: its `contentLength` is set to what was written.
    ///   - displayURL: the key's URL without secrets; the only URL that is kept in plain text.
    ///   - moment: when the request was sent; nil: no change since then concerns the response.
    /// - Returns: nil when that was not possible, or the key has been removed from since `moment`.
    @discardableResult
    public func commit(
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

    /// Forgets what was written.
    public func discard() {
        if case .file(let path, let descriptor) = state {
            close(descriptor)
            // The child of a fork has a copy of this, and the file is its parent's.
            if getpid() == process { unlink(path) }
        }
        state = .ended
    }
}
