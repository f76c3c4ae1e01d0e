/// An entity tag, as bytes of a field value. RFC 9110 section 8.8.3.
///
/// A tag with invalid syntax, such as a tag without quotes, is accepted. Only the weak comparison can match such a tag.
struct EntityTag {
    let isWeak: Bool
    /// The opaque tag with its quotes.
    let opaque: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        let text = EntityTag.trimmed(bytes)
        isWeak = text.count > 2 && text[0] == UInt8(ascii: "W") && text[1] == UInt8(ascii: "/")
        opaque = isWeak ? UnsafeRawBufferPointer(rebasing: text[2...]) : text
    }

    var isValid: Bool {
        opaque.count >= 2 && opaque[0] == UInt8(ascii: "\"") && opaque[opaque.count - 1] == UInt8(ascii: "\"")
            && !opaque[1..<(opaque.count - 1)].contains { $0 == UInt8(ascii: "\"") || $0 <= 0x20 || $0 == 0x7F }
    }

    var isStrong: Bool { !isWeak && isValid }

    func isWeaklySame(_ other: EntityTag) -> Bool { !opaque.isEmpty && opaque.elementsEqual(other.opaque) }
    func isStronglySame(_ other: EntityTag) -> Bool { isStrong && other.isStrong && isWeaklySame(other) }

    /// Returns true if an If-None-Match list contains this tag or `*`. Uses weak comparison. Section 13.1.2.
    func isListed(in list: UnsafeRawBufferPointer) -> Bool {
        var isFound = false
        EntityTag.forEach(in: list) { element in
            isFound = isFound || EntityTag(element).isWeaklySame(self) || EntityTag.isAny(element)
        }
        return isFound
    }

    static func isAny(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.count == 1 && bytes[0] == UInt8(ascii: "*") }

    /// Calls `body` for each non-empty list element, without surrounding blanks. Commas inside quotes do not separate
    /// elements.
    static func forEach(in list: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        var start = 0
        while start < list.count {
            var end = start
            var isQuoted = false
            // Quotes in a tag have no escapes.
            while end < list.count, isQuoted || list[end] != UInt8(ascii: ",") {
                if list[end] == UInt8(ascii: "\"") { isQuoted.toggle() }
                end += 1
            }
            let element = trimmed(UnsafeRawBufferPointer(rebasing: list[start..<end]))
            if !element.isEmpty { body(element) }
            start = end + 1
        }
    }

    static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var start = 0
        var end = bytes.count
        while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
        while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }
}
