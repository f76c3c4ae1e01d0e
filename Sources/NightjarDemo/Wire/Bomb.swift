import CZlib
import NIOCore

/// Gzip data (RFC 1952) for any number of zeros, without generating them: one mebibyte is encoded once, and that piece
/// is sent repeatedly. Each piece ends at a byte boundary and references nothing before it.
struct BombSource: BodySource {
    /// Bytes on the wire.
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

    /// - Parameter bytes: The number of decoded zeros, not negative.
    /// - Returns: Nil if memory is exhausted.
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

    /// By doubling, because there may be a terabyte of zeros.
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

/// Sends a buffer in pieces.
struct PacedSource: BodySource {
    private var bytes: ByteBuffer
    private let chunk: Int
    private let pause: TimeAmount
    private var isDue = true

    /// - Parameters:
    ///   - chunk: The size of a piece in bytes, at least 1.
    ///   - pause: The pause between pieces.
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
