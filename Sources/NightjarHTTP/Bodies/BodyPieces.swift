import NIOCore

/// Divides a body that consists of a file or a form into pieces. Does not read the files, but returns their paths and
/// ranges.
///
///     bytes ──▶ file ──▶ bytes ──▶ ... ──▶ end
///                 └── truncated ──▶ failed
public struct BodyPieces: Sendable {
    public enum Piece: Sendable, Equatable {
        case bytes(ByteBuffer)
        /// A range of the file. If the file ends within the range, the caller calls ``fileEnded(at:)``.
        case file(path: String, range: Range<Int>)
        case end
    }

    private let segments: [BodySegment]
    private var index = 0
    /// The number of bytes of the segment at `index` that were already returned.
    private var offset = 0
    private var failure: NightjarError?

    init(_ segments: [BodySegment]) { self.segments = segments }

    /// - Parameter length: the number of bytes. Nil for all bytes up to the end of the file.
    init(file path: String, offset: Int, length: Int?) {
        self.init([.file(path: path, offset: offset, length: length)])
    }

    /// Returns the next piece, which has 1 to `maximum` bytes, or `end` after the last piece.
    ///
    /// - Throws: the error that ``fileEnded(at:)`` has thrown, if any.
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

    /// Reports that the file of the last piece has no byte at `position`.
    ///
    /// - Throws: `invalid_request` if the file is shorter than its declared length. The request cannot be completed,
    ///   and its connection must be closed.
    public mutating func fileEnded(at position: Int) throws(NightjarError) {
        guard index < segments.count, case .file(let path, let start, let length) = segments[index] else { return }
        if let length, position < start.addingClamped(length) {
            let error = NightjarError(
                .invalidRequest,
                "the file \(quoted(path)) has only \(position) of \(start.addingClamped(length)) bytes; "
                    + "it is shorter than declared, or was truncated while it was sent", phase: .send)
            failure = error
            throw error
        }
        index += 1
        offset = 0
    }
}

/// A segment of a body.
enum BodySegment: Sendable {
    case bytes(ByteBuffer)
    /// If `length` is nil, the segment extends to the end of the file.
    case file(path: String, offset: Int, length: Int?)
}

extension Int {
    /// Adds two non-negative numbers. Returns `Int.max` on overflow.
    fileprivate func addingClamped(_ other: Int) -> Int {
        let (sum, isTooMuch) = addingReportingOverflow(other)
        return isTooMuch ? .max : sum
    }
}
