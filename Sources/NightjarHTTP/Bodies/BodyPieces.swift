import NIOCore

/// Hands out a body that lies in files, a form or a file alone, piece by piece. It reads none: it says which bytes of
/// which come next.
///
///     bytes ──▶ file ──▶ bytes ──▶ ... ──▶ end
///                 └── cut short ──▶ failed
public struct BodyPieces: Sendable {
    public enum Piece: Sendable, Equatable {
        case bytes(ByteBuffer)
        /// These bytes of the file. Where it ends before the range does, say so with ``fileEnded(at:)``.
        case file(path: String, range: Range<Int>)
        case end
    }

    private let segments: [BodySegment]
    private var index = 0
    /// Bytes of the segment at `index` that were handed out.
    private var offset = 0
    private var failure: NightjarError?

    init(_ segments: [BodySegment]) { self.segments = segments }

    /// - Parameter length: nil: as much as there is.
    init(file path: String, offset: Int, length: Int?) {
        self.init([.file(path: path, offset: offset, length: length)])
    }

    /// The next piece, of one byte to `maximum` bytes; `end` when all have been handed out, and ever after.
    ///
    /// - Throws: what ``fileEnded(at:)`` has thrown: a broken body has no end.
    public mutating func next(maximum: Int) throws(NightjarError) -> Piece {
        if let failure { throw failure }
        let maximum = max(maximum, 1)
        while index < segments.count {
            switch segments[index] {
            case .bytes(let bytes):
                let count = min(maximum, bytes.readableBytes - offset)
                if let slice = bytes.getSlice(at: bytes.readerIndex + offset, length: count), count > 0 {
                    offset += count
                    return .bytes(slice)
                }
            case .file(let path, let start, let length):
                let end = length.map { start.addingClamped($0) } ?? .max
                let first = start.addingClamped(offset)
                let range = first..<max(first, min(first.addingClamped(maximum), end))
                if !range.isEmpty {
                    offset = offset.addingClamped(range.count)
                    return .file(path: path, range: range)
                }
            }
            index += 1
            offset = 0
        }
        return .end
    }

    /// The file that was handed out last has no byte at `position`.
    ///
    /// - Throws: `invalid_request` when its length was given: what follows would be taken for its content, so the
    ///   request cannot be ended properly and its connection must be closed.
    public mutating func fileEnded(at position: Int) throws(NightjarError) {
        guard index < segments.count, case .file(let path, let start, let length) = segments[index] else { return }
        if let length, position < start.addingClamped(length) {
            let error = NightjarError(
                .invalidRequest,
                "the file \(quoted(path)) ended after \(position) of \(start.addingClamped(length)) bytes; "
                    + "it was cut while it was sent", phase: .send)
            failure = error
            throw error
        }
        index += 1
        offset = 0
    }
}

/// What is to be sent, in order.
enum BodySegment: Sendable {
    case bytes(ByteBuffer)
    /// `length` nil: as much as there is.
    case file(path: String, offset: Int, length: Int?)
}

extension Int {
    /// Of two numbers that are not negative.
    fileprivate func addingClamped(_ other: Int) -> Int {
        let (sum, isTooMuch) = addingReportingOverflow(other)
        return isTooMuch ? .max : sum
    }
}
