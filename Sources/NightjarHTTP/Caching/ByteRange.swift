/// The byte range that a request selects. RFC 9110 section 14.1.2.
enum ByteRange: Equatable {
    case from(Int, through: Int)
    case fromUntilEnd(Int)
    case last(Int)
    /// Several ranges, another unit or invalid syntax. The cache does not evaluate such a range.
    case other

    init(_ bytes: UnsafeRawBufferPointer) {
        self = ByteRange.read(EntityTag.trimmed(bytes)) ?? .other
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) -> ByteRange? {
        guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")),
            ASCII.isCaseless(UnsafeRawBufferPointer(rebasing: bytes[..<equals]), "bytes")
        else { return nil }
        let set = EntityTag.trimmed(UnsafeRawBufferPointer(rebasing: bytes[(equals + 1)...]))
        guard let dash = set.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let before = UnsafeRawBufferPointer(rebasing: set[..<dash])
        let behind = UnsafeRawBufferPointer(rebasing: set[(dash + 1)...])
        if before.isEmpty { return number(behind).map { .last($0) } }
        guard let first = number(before) else { return nil }
        if behind.isEmpty { return .fromUntilEnd(first) }
        guard let last = number(behind), first <= last else { return nil }
        return .from(first, through: last)
    }

    /// Parses a decimal number. Returns nil if the text is empty or contains other characters. Clamps a number that
    /// does not fit in 64 bits.
    static func number(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard !bytes.isEmpty else { return nil }
        var number = 0
        for byte in bytes {
            guard ASCII.isDigit(byte) else { return nil }
            let (product, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowToo) = product.addingReportingOverflow(Int(byte & 0xF))
            number = overflow || overflowToo ? .max : sum
        }
        return number
    }

    /// Returns the part of a representation of `length` bytes.
    ///
    /// - Returns: nil if the range contains none of these bytes, or is ``other``.
    func part(of length: Int) -> Range<Int>? {
        switch self {
        case .from(let first, let last): first < length ? first..<(min(last, length - 1) + 1) : nil
        case .fromUntilEnd(let first): first < length ? first..<length : nil
        case .last(let count): count > 0 && length > 0 ? (length - min(count, length))..<length : nil
        case .other: nil
        }
    }

    /// Returns the requested bytes as positions in the complete representation. RFC 9111 section 3.3.
    ///
    /// - Returns: nil if the range selects no bytes, if `stored` does not contain all selected bytes, or if the range
    ///   depends on an unknown complete length.
    func part(within stored: ContentRange) -> Range<Int>? {
        let wanted: Range<Int>?
        if let length = stored.completeLength {
            wanted = part(of: length)
        } else if case .from(let first, let last) = self, last < .max {
            wanted = first..<(last + 1)
        } else {
            wanted = nil
        }
        guard let wanted, stored.bytes.lowerBound <= wanted.lowerBound, wanted.upperBound <= stored.bytes.upperBound
        else { return nil }
        return wanted
    }
}

/// The value of the Content-Range field of a single-part response. RFC 9110 section 14.4.
struct ContentRange: Equatable {
    /// The positions in the complete representation.
    let bytes: Range<Int>
    /// Nil if the complete length is unknown (`*`).
    let completeLength: Int?

    /// - Returns: nil for another unit, an unsatisfied range, positions that do not fit in 64 bits, and a value that
    ///   section 14.4 declares invalid.
    init?(_ value: UnsafeRawBufferPointer) {
        let text = EntityTag.trimmed(value)
        guard let space = text.firstIndex(of: 0x20), let dash = text.firstIndex(of: UInt8(ascii: "-")),
            let slash = text.firstIndex(of: UInt8(ascii: "/")), space < dash, dash < slash,
            ASCII.isCaseless(UnsafeRawBufferPointer(rebasing: text[..<space]), "bytes"),
            let first = ByteRange.number(UnsafeRawBufferPointer(rebasing: text[(space + 1)..<dash])),
            let last = ByteRange.number(UnsafeRawBufferPointer(rebasing: text[(dash + 1)..<slash])),
            first <= last, last < .max
        else { return nil }
        let length = UnsafeRawBufferPointer(rebasing: text[(slash + 1)...])
        if EntityTag.isAny(length) {
            completeLength = nil
        } else {
            guard let number = ByteRange.number(length), number > last else { return nil }
            completeLength = number
        }
        bytes = first..<(last + 1)
    }
}

extension Headers {
    /// The part that these fields describe. Nil unless there is exactly one Content-Range field and it is valid.
    var contentRange: ContentRange? {
        var found: ContentRange?
        var count = 0
        forEach("content-range") { value in
            found = ContentRange(value)
            count += 1
        }
        return count == 1 ? found : nil
    }
}

extension StoredResponse {
    /// The part of the representation that a stored 206 response contains. Nil for other statuses, and for a 206
    /// response without exactly one valid Content-Range.
    var part: ContentRange? { status == 206 ? headers.contentRange : nil }
}
