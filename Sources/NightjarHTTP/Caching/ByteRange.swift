/// The part of the content that a request asks for. RFC 9110 section 14.1.2.
enum ByteRange: Equatable {
    case from(Int, through: Int)
    case fromUntilEnd(Int)
    case last(Int)
    /// Several, of another unit, or not understood: for the server.
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

    /// One that does not fit is the largest that does.
    private static func number(_ bytes: UnsafeRawBufferPointer) -> Int? {
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

    /// What of so many bytes it means.
    ///
    /// - Returns: nil: none of them.
    func part(of length: Int) -> Range<Int>? {
        switch self {
        case .from(let first, let last): first < length ? first..<(min(last, length - 1) + 1) : nil
        case .fromUntilEnd(let first): first < length ? first..<length : nil
        case .last(let count): count > 0 && length > 0 ? (length - min(count, length))..<length : nil
        case .other: nil
        }
    }
}
