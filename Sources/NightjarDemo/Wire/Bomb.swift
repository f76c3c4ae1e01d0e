import CZlib
import NIOCore

/// Sends any number of zeros in the gzip format (RFC 1952) without generating them: one mebibyte is compressed once and
/// sent repeatedly. This works because the piece ends at a byte boundary and does not refer to preceding data.
struct BombSource: BodySource {
    /// The compressed length in bytes.
    let length: Int

    private let head: ByteBuffer
    private let piece: ByteBuffer
    private let tail: ByteBuffer
    private var piecesLeft: Int
    private var state = State.head

    private enum State {
        case head, pieces, tail, end
    }

    private static let pieceZeros = 1 << 20

    /// - Parameter bytes: the number of decompressed zeros, not negative.
    /// - Returns: nil if memory could not be allocated.
    init?(bytes: Int) {
        let zeros = [UInt8](repeating: 0, count: BombSource.pieceZeros)
        guard let piece = Deflater.encode(zeros, windowBits: -MAX_WBITS, flush: Z_FULL_FLUSH),
            let rest = Deflater.encode(Array(zeros[..<(bytes % BombSource.pieceZeros)]), windowBits: -MAX_WBITS)
        else { return nil }
        head = ByteBuffer(bytes: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF])
        self.piece = ByteBuffer(bytes: piece)
        var tail = ByteBuffer(bytes: rest)
        tail.writeInteger(BombSource.checksum(ofZeros: bytes), endianness: .little)
        tail.writeInteger(UInt32(truncatingIfNeeded: bytes), endianness: .little)
        self.tail = tail
        piecesLeft = bytes / BombSource.pieceZeros
        length = head.readableBytes + piece.count * piecesLeft + tail.readableBytes
    }

    mutating func next() -> BodyPart {
        switch state {
        case .head:
            state = piecesLeft > 0 ? .pieces : .tail
            return .bytes(head)
        case .pieces:
            piecesLeft -= 1
            if piecesLeft == 0 { state = .tail }
            return .bytes(piece)
        case .tail:
            state = .end
            return .bytes(tail)
        case .end:
            return .end(trailers: nil)
        }
    }

    /// Computes the CRC-32 of zeros by doubling, because there may be a terabyte of them.
    private static func checksum(ofZeros count: Int) -> UInt32 {
        var total: uLong = 0
        var power = crc32_z(0, [0], 1)
        for bit in 0..<(Int.bitWidth - 1) {
            let length = 1 << bit
            guard length <= count else { break }
            if count & length != 0 { total = crc32_combine(total, power, length) }
            power = crc32_combine(power, power, length)
        }
        return UInt32(truncatingIfNeeded: total)
    }
}

/// Sends bytes from memory in pieces.
struct PacedSource: BodySource {
    private var bytes: ByteBuffer
    private let chunk: Int
    private let pause: TimeAmount
    private var isDue = true

    /// - Parameters:
    ///   - chunk: the bytes of each piece, at least 1.
    ///   - pause: the time between pieces.
    init(bytes: ByteBuffer, chunk: Int, pause: TimeAmount) {
        self.bytes = bytes
        self.chunk = max(chunk, 1)
        self.pause = pause
    }

    mutating func next() -> BodyPart {
        guard bytes.readableBytes > 0 else { return .end(trailers: nil) }
        guard isDue || pause == .zero else {
            isDue = true
            return .wait(pause)
        }
        isDue = false
        return .bytes(bytes.readSlice(length: min(chunk, bytes.readableBytes)) ?? ByteBuffer())
    }
}
