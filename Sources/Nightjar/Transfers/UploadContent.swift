import NIOCore
import NightjarCrypto
import NightjarHTTP

/// A file that is uploaded. The initializer and the methods block. Worker threads use it, one at a time.
final class UploadContent: @unchecked Sendable {
    let identity: FileIdentity
    private let file: ContentFile

    /// - Throws: `invalid_request` if the path is not that of a regular file that can be read.
    init(_ path: String) throws(NightjarError) {
        file = try ContentFile(path)
        _ = try file.knownLength()
        identity = try file.identity()
    }

    /// Reads bytes.
    ///
    /// - Throws: `content_changed` if the file has been changed since it was opened.
    func read(_ range: Range<Int>) throws(NightjarError) -> ByteBuffer {
        let bytes = try file.read(range)
        try check()
        return bytes
    }

    /// Reads bytes that are in memory. Does not block, and may be called on any thread. Nil if they must be read with
    /// ``read(_:)``.
    func readCached(_ range: Range<Int>) -> ByteBuffer? {
        guard let bytes = file.readCached(range), (try? file.identity()) == identity else { return nil }
        return bytes
    }

    /// - Throws: `content_changed` if the file has been changed since it was opened.
    func check() throws(NightjarError) {
        guard try file.identity() == identity else {
            throw NightjarError(
                .contentChanged, "the file \(quoted(file.path)) was changed during its upload; upload it again",
                phase: .send)
        }
    }

    /// Returns the digest of a range. Nil: of the whole file.
    ///
    /// - Parameter isCancelled: Called before each piece of 1 MiB.
    func digest(
        _ range: Range<Int>?, _ algorithm: Checksum.Algorithm, isCancelled: () -> Bool
    ) throws(NightjarError) -> Checksum {
        guard let hash = RunningHash(HashFunction(algorithm)) else { throw .noMemory(1024, for: "a digest") }
        let range = range ?? 0..<identity.size
        var position = range.lowerBound
        while position < range.upperBound {
            if isCancelled() { throw NightjarError(.cancelled, "the upload was cancelled") }
            let end = min(position + UploadContent.pieceSize, range.upperBound)
            let bytes = try read(position..<end)
            guard bytes.readableBytes > 0 else {
                try check()
                break
            }
            bytes.withUnsafeReadableBytes { hash.update($0) }
            position += bytes.readableBytes
        }
        return Checksum(algorithm, hash.finish())
    }

    private static let pieceSize = 1 << 20
}
