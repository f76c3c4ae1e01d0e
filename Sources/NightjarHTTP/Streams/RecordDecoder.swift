import NIOCore
import NightjarSystem

/// Divides a body that arrives in parts into records, such as lines.
///
/// After each ``append(_:)``, the caller takes records with ``next()`` until it returns nil. After the last part, the
/// caller takes the rest with ``finish()``. Each byte is searched once for each delimiter, so the cost does not depend
/// on how the server divides the body.
package struct RecordDecoder: Sendable {
    /// The number of records that were taken.
    package private(set) var count = 0
    package let format: RecordFormat
    private let maximumLength: Int
    /// The beginning of a record that continues in the next part.
    private var partial = ByteBuffer()
    private var input = ByteBuffer()
    /// The indexes of the next delimiters in ``input``. `Int.max`: none; below the reader index: unknown.
    private var nextDelimiter = -1
    private var nextCR = -1
    /// Whether the last line ended with CR. An LF that follows belongs to the same line end.
    private var skipsLF = false
    /// Whether the first record separator of a JSON sequence was read.
    private var hasStarted = false

    /// - Parameter maximumLength: The maximum length of a record in bytes, without its delimiter.
    package init(_ format: RecordFormat, maximumLength: Int = RecordFormat.defaultMaximumLength) {
        self.format = format
        self.maximumLength = maximumLength
    }

    /// Adds a part of the body. Call only after ``next()`` has returned nil.
    package mutating func append(_ part: ByteBuffer) {
        input = part
        (nextDelimiter, nextCR) = (-1, -1)
    }

    /// Returns the next record without its delimiter, or nil if the next part is needed.
    ///
    /// - Throws: `too_large` for a record that is too long; `decoding` for text that is not UTF-8, and for a body that
    ///   is not a JSON sequence.
    package mutating func next() throws(NightjarError) -> ByteBuffer? {
        while let record = try nextDelimited() {
            if let accepted = try accept(record, isDelimited: true) { return accepted }
        }
        return nil
    }

    /// Returns the last record, if the body ended without a delimiter after it.
    ///
    /// - Throws: the errors of ``next()``.
    package mutating func finish() throws(NightjarError) -> ByteBuffer? {
        guard partial.readableBytes > 0 else { return nil }
        let record = partial
        partial = ByteBuffer()
        return try accept(record, isDelimited: false)
    }

    /// The memory for the incomplete record, in bytes.
    package var heldBytes: Int { partial.storageCapacity }

    // MARK: Delimiters

    private mutating func nextDelimited() throws(NightjarError) -> ByteBuffer? {
        if skipsLF, let byte: UInt8 = input.getInteger(at: input.readerIndex) {
            skipsLF = false
            if byte == RecordDecoder.lf { input.moveReaderIndex(forwardBy: 1) }
        }
        let start = input.readerIndex
        if nextDelimiter < start { nextDelimiter = index(of: delimiter) }
        if format.isText, nextCR < start { nextCR = index(of: RecordDecoder.cr) }
        let end = format.isText ? min(nextDelimiter, nextCR) : nextDelimiter
        let length = min(end, input.writerIndex) - start
        guard length <= maximumLength - partial.readableBytes else { throw tooLong }
        guard end < Int.max else {
            try partial.append(input, for: "a \(format.noun)")
            input = ByteBuffer()
            return nil
        }
        guard let rest = input.readSlice(length: length) else { return nil }
        input.moveReaderIndex(forwardBy: 1)
        skipsLF = format.isText && end == nextCR
        guard partial.readableBytes > 0 else { return rest }
        try partial.append(rest, for: "a \(format.noun)")
        defer { partial = ByteBuffer() }
        return partial
    }

    private var delimiter: UInt8 { format == .jsonSequence ? RecordDecoder.separator : RecordDecoder.lf }

    private func index(of byte: UInt8) -> Int {
        input.withUnsafeReadableBytes { bytes in
            guard let start = bytes.baseAddress, let found = memchr(start, Int32(byte), bytes.count) else {
                return Int.max
            }
            return input.readerIndex + (UnsafeRawPointer(found) - start)
        }
    }

    // MARK: Records

    /// Returns the record in its final form. Nil if it is empty and the format ignores empty records.
    private mutating func accept(_ record: ByteBuffer, isDelimited: Bool) throws(NightjarError) -> ByteBuffer? {
        switch format {
        case .lines:
            guard record.withUnsafeReadableBytes(UTF8Validator.isValid) else { throw notText }
        case .uncheckedLines: break
        case .jsonLines:
            guard !record.isBlank else { return nil }
        case .jsonSequence:
            // The text before the first separator.
            guard hasStarted else {
                hasStarted = true
                guard isDelimited, record.readableBytes == 0 else { throw notSequence }
                return nil
            }
            guard !record.isBlank else { return nil }
            guard !RecordDecoder.isTruncated(record) else { throw truncated }
        }
        count += 1
        return record
    }

    /// Whether a value of a JSON sequence may be incomplete: a number or a literal without white space after it (RFC
    /// 7464 section 2.4). Other incomplete values are not JSON.
    private static func isTruncated(_ record: ByteBuffer) -> Bool {
        record.withUnsafeReadableBytes { bytes in
            guard let last = bytes.last, let first = bytes.first(where: { !isSpace($0) }) else { return false }
            return !isSpace(last) && !"{[\"".utf8.contains(first)
        }
    }

    fileprivate static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == lf || byte == cr }

    // MARK: Errors

    private var tooLong: NightjarError {
        NightjarError(
            .tooLarge,
            "\(format.noun) \(count + 1) of the response is longer than \(maximumLength) bytes; set a larger max_line, or "
                + "read the body in parts", phase: .receive)
    }

    private var notText: NightjarError {
        NightjarError(
            .decoding, "line \(count + 1) of the response is not valid UTF-8; read the body in parts instead",
            phase: .receive)
    }

    private var notSequence: NightjarError {
        NightjarError(
            .decoding, "the response is not a JSON sequence: it does not begin with a record separator (0x1E)",
            phase: .receive)
    }

    private var truncated: NightjarError {
        NightjarError(
            .decoding,
            "value \(count + 1) of the response is incomplete: a number or literal has no line feed after it",
            phase: .receive)
    }

    private static let lf: UInt8 = 0x0A
    private static let cr: UInt8 = 0x0D
    private static let separator: UInt8 = 0x1E
}

extension ByteBuffer {
    fileprivate var isBlank: Bool { readableBytesView.allSatisfy(RecordDecoder.isSpace) }
}
