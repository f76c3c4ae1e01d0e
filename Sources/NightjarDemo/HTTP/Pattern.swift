import CZlib
import NIOCore

/// The content of large bodies, for example of `/bytes` and `/stream`. The byte at an offset is always the same.
///
/// The content repeats after a prime number of bytes, so that lost, duplicate or swapped blocks are detectable.
package enum DemoContent {
    static let period = 65_521

    /// Two periods, so that any range of up to one period is a slice without a copy.
    private static let bytes: ByteBuffer = {
        var random = SplitMix64(seed: 1)
        var period: [UInt8] = []
        while period.count < DemoContent.period {
            withUnsafeBytes(of: random.next().littleEndian) { period += $0 }
        }
        let exact = period.prefix(DemoContent.period)
        return ByteBuffer(bytes: exact + exact)
    }()

    /// Returns the byte at `offset`, for checking received content.
    package static func byte(at offset: Int) -> UInt8 {
        bytes.getInteger(at: offset % period) ?? 0
    }

    /// - Parameter count: at most ``period``.
    static func slice(at offset: Int, count: Int) -> ByteBuffer {
        bytes.getSlice(at: offset % period, length: count) ?? ByteBuffer()
    }
}

/// Sends the beginning of ``DemoContent``, optionally with pauses.
struct PatternSource: BodySource {
    private let length: Int
    private let chunk: Int
    private let pause: TimeAmount
    private let finish: () -> HTTPTrailers?
    private var offset = 0
    private var isDue = true

    typealias HTTPTrailers = [(name: String, value: String)]

    /// - Parameters:
    ///   - chunk: the number of bytes in each piece, at most ``DemoContent/period``.
    ///   - pause: the time between pieces.
    init(
        length: Int, chunk: Int = DemoContent.period, pause: TimeAmount = .zero,
        trailers: @escaping () -> HTTPTrailers? = { nil }
    ) {
        self.length = length
        self.chunk = min(max(chunk, 1), DemoContent.period)
        self.pause = pause
        finish = trailers
    }

    mutating func next() -> BodyPart {
        guard offset < length else { return .end(trailers: finish().map { .init($0) }) }
        guard isDue || pause == .zero else {
            isDue = true
            return .wait(pause)
        }
        isDue = false
        let count = min(chunk, length - offset)
        defer { offset += count }
        return .bytes(DemoContent.slice(at: offset, count: count))
    }
}

/// CRC-32 as computed by zip, gzip and Python's `zlib.crc32`.
struct CRC32 {
    private(set) var value: UInt32 = 0

    mutating func update(_ bytes: ByteBuffer) {
        value = bytes.withUnsafeReadableBytes { bytes in
            UInt32(
                truncatingIfNeeded: crc32_z(
                    uLong(value), bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count))
        }
    }

    /// The checksum in eight lower-case hexadecimal digits.
    var text: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
