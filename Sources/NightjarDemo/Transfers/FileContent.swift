import NIOCore
import NightjarCrypto

/// Content of any size, which is generated while it is sent. Equal sizes and seeds have equal bytes.
///
/// The bytes are those of ``DemoContent`` from a position that depends on the seed. Each block begins with a mark that
/// depends on its number and on the seed, so that no two blocks are equal.
struct FileContent: Hashable {
    let size: Int
    let seed: UInt64

    /// The number of bytes between two marks. Smaller than ``DemoContent/period``.
    static let block = 32_768
    private static let mark = 8

    /// Returns some bytes at `offset`: at least one and at most `count`, which must be above zero.
    func slice(at offset: Int, count: Int) -> ByteBuffer {
        let position = offset % FileContent.block
        guard position < FileContent.mark else {
            return DemoContent.slice(at: shift + offset, count: min(count, FileContent.block - position))
        }
        var random = SplitMix64(seed: seed &* 31 &+ UInt64(offset / FileContent.block))
        let mark = ByteBuffer(integer: random.next(), endianness: .little)
        return mark.getSlice(at: position, length: min(count, FileContent.mark - position)) ?? ByteBuffer()
    }

    private var shift: Int { Int(seed % UInt64(DemoContent.period)) }

    /// Returns all bytes of a range, which must be small.
    func bytes(in range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        forEach(in: range) { bytes += $0.readableBytesView }
        return bytes
    }

    /// Computes the SHA-256 digest of a range. Blocks for about a second for each gigabyte.
    func sha256(in range: Range<Int>) -> [UInt8] {
        let digest = RunningDigest()
        forEach(in: range) { bytes in bytes.withUnsafeReadableBytes { digest.update($0) } }
        return digest.finish()
    }

    private func forEach(in range: Range<Int>, _ use: (ByteBuffer) -> Void) {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let bytes = slice(at: offset, count: range.upperBound - offset)
            use(bytes)
            offset += bytes.readableBytes
        }
    }
}

/// The digests of the contents that were requested last.
final class FileDigests {
    private var digests = BoundedTable<FileContent, [UInt8]>(capacity: 100)

    /// The largest content in bytes. The server does nothing else while it computes a digest.
    static let maximumSize = 4 << 30

    /// Returns the SHA-256 digest of the whole content.
    func sha256(_ content: FileContent) -> [UInt8] {
        if let digest = digests[content] { return digest }
        let digest = content.sha256(in: 0..<content.size)
        digests.set(digest, for: content)
        return digest
    }
}
