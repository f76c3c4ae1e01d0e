import CZlib
import NIOCore

/// Generates the bytes of violations that are too large for memory.
struct ViolationSource {
    private static let hugeLength = 1 << 30
    private static let zeros = ByteBuffer(repeating: 0, count: 64 * 1024)

    /// Returns the next bytes; nil at the end.
    let next: () -> ByteBuffer?
    /// True if the source splits frames, so that no other frame can be sent before its end.
    let splitsFrames: Bool

    /// Nil if the bytes of the violation are not generated, or if memory could not be allocated.
    init?(_ violation: ServerViolation) {
        switch violation {
        case .hugeFrame: (next, splitsFrames) = (ViolationSource.hugeFrame(), true)
        case .hugeMessage: (next, splitsFrames) = (ViolationSource.hugeMessage(), false)
        case .bomb:
            guard let bomb = ViolationSource.bomb() else { return nil }
            (next, splitsFrames) = (bomb, true)
        default: return nil
        }
    }

    private static func hugeFrame() -> () -> ByteBuffer? {
        var header: ByteBuffer? = header(length: hugeLength)
        return { header.take() ?? zeros }
    }

    private static func hugeMessage() -> () -> ByteBuffer? {
        var opcode = WebSocketOpcode.binary
        return {
            defer { opcode = .continuation }
            return WebSocketFrameHeader.frame(opcode, zeros, isFinal: false)
        }
    }

    /// Returns the pieces of one frame. One mebibyte is compressed once and sent repeatedly, because the piece ends at
    /// a byte boundary and does not refer to preceding data. Nil if memory could not be allocated.
    private static func bomb() -> (() -> ByteBuffer?)? {
        let pieceLength = 1 << 20
        let content = [UInt8](repeating: 0, count: pieceLength)
        guard let piece = Deflater.encode(content, windowBits: -MAX_WBITS, flush: Z_FULL_FLUSH) else { return nil }
        let tailLength = MessageInflater.tail.count
        var piecesLeft = hugeLength / pieceLength
        var header: ByteBuffer? = header(length: piece.count * piecesLeft - tailLength, reserved: 4)
        return {
            if let header = header.take() { return header }
            guard piecesLeft > 0 else { return nil }
            piecesLeft -= 1
            return ByteBuffer(bytes: piecesLeft > 0 ? piece[...] : piece.dropLast(tailLength))
        }
    }

    private static func header(length: Int, reserved: UInt8 = 0) -> ByteBuffer {
        var bytes = ByteBuffer()
        WebSocketFrameHeader(reserved: reserved, opcode: WebSocketOpcode.binary.rawValue, length: length)
            .write(to: &bytes)
        return bytes
    }
}
