import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// Reads a body of a ``DiskCache``. The checksum of the body was verified before the reader was created. Blocking; not
/// thread-safe.
///
/// The body stays readable if its entry is evicted by this or another process.
package final class BodyReader: @unchecked Sendable {
    private enum Source {
        case memory(ByteBuffer)
        case file(Int32, name: String)
    }

    /// The length of the body in bytes.
    package let count: Int
    private var source: Source
    private var position = 0

    init(_ bytes: ByteBuffer) {
        count = bytes.readableBytes
        source = .memory(bytes)
    }

    /// - Parameter descriptor: owned by this object, which closes it when deallocated.
    init(descriptor: Int32, count: Int, name: String) {
        self.count = count
        source = .file(descriptor, name: name)
    }

    deinit {
        if case .file(let descriptor, _) = source { close(descriptor) }
    }

    /// Sets the position of the next read, for range requests. A position after the end counts as the end.
    package func seek(to position: Int) { self.position = max(0, min(position, count)) }

    /// Reads the next bytes, at most `limit`. Returns nil at the end.
    ///
    /// - Throws: `storage` if the body cannot be read, for example because the file was truncated after it was opened.
    package func read(upTo limit: Int) throws(NightjarError) -> ByteBuffer? {
        let wanted = min(limit, count - position)
        guard wanted > 0 else { return nil }
        switch source {
        case .memory(let bytes):
            defer { position += wanted }
            return bytes.getSlice(at: bytes.readerIndex + position, length: wanted)
        case .file(let descriptor, let name):
            let (bytes, code) = BodyReader.read(descriptor, from: position, count: wanted)
            guard let bytes else {
                let reason = code == 0 ? "was truncated" : "cannot be read: \(String(cString: strerror(code)))"
                throw NightjarError(.storage, "the cached body \(quoted(name)) \(reason)", code: code)
            }
            position += wanted
            return bytes
        }
    }

    /// Reads exactly `count` bytes. On failure, returns nil and an errno value, or nil and 0 if the file ends early.
    static func read(_ descriptor: Int32, from position: Int, count: Int) -> (ByteBuffer?, Int32) {
        var bytes = ByteBuffer()
        guard (try? bytes.reserve(count, for: "a cached body")) != nil else { return (nil, ENOMEM) }
        var code: Int32 = 0
        while bytes.readableBytes < count {
            let done = bytes.readableBytes
            let got = bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count - done) { buffer in
                var got = 0
                repeat {
                    got = pread(descriptor, buffer.baseAddress, count - done, off_t(position + done))
                } while got < 0 && errno == EINTR
                code = got < 0 ? errno : 0
                return max(got, 0)
            }
            guard got > 0 else { return (nil, code) }
        }
        return (bytes, 0)
    }

    /// Returns the SHA-256 of the first `count` bytes, or nil if the file is shorter or cannot be read.
    static func digest(_ descriptor: Int32, count: Int) -> [UInt8]? {
        let digest = RunningDigest()
        return withUnsafeTemporaryAllocation(byteCount: min(count, 128 << 10), alignment: 16) { buffer in
            var position = 0
            while position < count {
                let got = pread(descriptor, buffer.baseAddress, min(buffer.count, count - position), off_t(position))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { return nil }
                digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<got]))
                position += got
            }
            return digest.finish()
        }
    }
}

/// The files whose checksum was verified. The checksum of a large file is therefore usually computed only once.
struct VerifiedBodies {
    /// Identifies a version of a file: a write changes the times of the file, and a replacement has another inode.
    struct Mark: Hashable {
        private let device: UInt64
        private let number: UInt64
        private let size: Int64
        private let modified: [Int]

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(status.st_ino)
            size = Int64(status.st_size)
            modified = [
                status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
            ]
        }
    }

    private var marks: [Mark: [UInt8]] = [:]

    func isVerified(_ mark: Mark, as content: [UInt8]) -> Bool { marks[mark] == content }

    mutating func add(_ mark: Mark, as content: [UInt8]) {
        // When the table is full, all marks are dropped, and files are verified again.
        if marks.count >= VerifiedBodies.maximum { marks.removeAll(keepingCapacity: true) }
        marks[mark] = content
    }

    private static let maximum = 4096
}
