/// Finds the byte ranges of values in a JSON text. The values can then be copied unchanged.
///
/// The text must have been validated with ``JSONValue/check(_:)``. For any other text, the ranges may be wrong but are
/// never out of bounds, and every function terminates. Nested containers are skipped with a depth counter, without
/// recursion.
struct JSONRanges {
    private let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The range of the root value.
    var document: Range<Int> {
        let start = skippingSpace(0)
        return start..<endOfValue(start)
    }

    /// Returns the range of the value at `pointer` within the value at `range`. Returns nil if there is none. If an
    /// object has duplicate names, the first member is used.
    func value(at pointer: JSONPointer, in range: Range<Int>) -> Range<Int>? {
        var range = range
        for token in pointer.tokens {
            guard let found = child(token, of: range) else { return nil }
            range = found
        }
        return range
    }

    /// Returns the elements of the array at `range` in order, up to `limit`. Returns nil if the value is not an array.
    func elements(of range: Range<Int>, limit: Int = .max) -> [Range<Int>]? {
        guard first(range) == UInt8(ascii: "[") else { return nil }
        var elements: [Range<Int>] = []
        eachElement(of: range) { element in
            guard elements.count < limit else { return false }
            elements.append(element)
            return true
        }
        return elements
    }

    /// Returns the members of the object at `range` in order, up to `limit`. Returns nil if the value is not an object.
    func members(of range: Range<Int>, limit: Int) -> [(name: String, value: Range<Int>)]? {
        guard first(range) == UInt8(ascii: "{") else { return nil }
        var members: [(name: String, value: Range<Int>)] = []
        eachMember(of: range) { name, value in
            guard members.count < limit else { return false }
            members.append((text(of: name) ?? "", value))
            return true
        }
        return members
    }

    /// Returns the first byte of the value at `range`: `{`, `[`, `"`, a digit, `-`, `t`, `f` or `n`.
    func first(_ range: Range<Int>) -> UInt8? {
        range.lowerBound < min(range.upperBound, bytes.count) ? bytes[range.lowerBound] : nil
    }

    /// Returns the string at `range`, decoded. Returns nil if the value is not a string.
    func text(of range: Range<Int>) -> String? {
        guard first(range) == UInt8(ascii: "\""), range.count >= 2, range.upperBound <= bytes.count else { return nil }
        let inner = UnsafeRawBufferPointer(rebasing: bytes[(range.lowerBound + 1)..<(range.upperBound - 1)])
        guard inner.contains(UInt8(ascii: "\\")) else { return String(decoding: inner, as: UTF8.self) }
        guard case .string(let text) = value(of: range) else { return nil }
        return text
    }

    /// Returns the value at `range`, decoded. Returns nil if the text is invalid. Intended for small values.
    func value(of range: Range<Int>) -> JSONValue? {
        guard range.upperBound <= bytes.count else { return nil }
        return try? JSONValue(parsing: UnsafeRawBufferPointer(rebasing: bytes[range]))
    }

    /// Returns the bytes of the value at `range`.
    func bytes(of range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[range.clamped(to: 0..<bytes.count)])
    }

    // MARK: Steps

    private func child(_ token: String, of range: Range<Int>) -> Range<Int>? {
        var found: Range<Int>?
        switch first(range) {
        case UInt8(ascii: "{"):
            eachMember(of: range) { name, value in
                guard isName(name, token) else { return true }
                found = value
                return false
            }
        case UInt8(ascii: "["):
            guard let wanted = JSONPointer.index(token) else { return nil }
            var index = 0
            eachElement(of: range) { element in
                if index == wanted { found = element }
                index += 1
                return found == nil
            }
        default: break
        }
        return found
    }

    /// Compares byte by byte, as RFC 6901 section 4 requires.
    private func isName(_ range: Range<Int>, _ token: String) -> Bool {
        guard range.count >= 2 else { return false }
        let inner = UnsafeRawBufferPointer(rebasing: bytes[(range.lowerBound + 1)..<(range.upperBound - 1)])
        if !inner.contains(UInt8(ascii: "\\")) { return ASCII.isSame(inner, token) }
        return text(of: range)?.utf8.elementsEqual(token.utf8) ?? false
    }

    private func eachElement(of range: Range<Int>, _ body: (Range<Int>) -> Bool) {
        let limit = min(range.upperBound, bytes.count)
        var at = skippingSpace(range.lowerBound + 1)
        while at < limit, bytes[at] != UInt8(ascii: "]") {
            let end = endOfValue(at)
            guard end > at, end <= limit, body(at..<end) else { return }
            at = skippingSpace(end)
            guard at < limit, bytes[at] == UInt8(ascii: ",") else { return }
            at = skippingSpace(at + 1)
        }
    }

    private func eachMember(of range: Range<Int>, _ body: (_ name: Range<Int>, _ value: Range<Int>) -> Bool) {
        let limit = min(range.upperBound, bytes.count)
        var at = skippingSpace(range.lowerBound + 1)
        while at < limit, bytes[at] == UInt8(ascii: "\"") {
            let name = at..<endOfString(at)
            at = skippingSpace(name.upperBound)
            guard at < limit, bytes[at] == UInt8(ascii: ":") else { return }
            at = skippingSpace(at + 1)
            let end = endOfValue(at)
            guard end > at, end <= limit, body(name, at..<end) else { return }
            at = skippingSpace(end)
            guard at < limit, bytes[at] == UInt8(ascii: ",") else { return }
            at = skippingSpace(at + 1)
        }
    }

    private func skippingSpace(_ start: Int) -> Int {
        var at = start
        while at < bytes.count, ASCII.isWhitespace(bytes[at]) { at += 1 }
        return min(at, bytes.count)
    }

    /// Returns the end of the value that begins at `start`.
    private func endOfValue(_ start: Int) -> Int {
        guard start < bytes.count else { return bytes.count }
        switch bytes[start] {
        case UInt8(ascii: "\""): return endOfString(start)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return endOfContainer(start)
        default:
            var at = start
            while at < bytes.count, !ASCII.isWhitespace(bytes[at]), !",]}:".utf8.contains(bytes[at]) { at += 1 }
            return at
        }
    }

    private func endOfContainer(_ start: Int) -> Int {
        var depth = 0
        var at = start
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "\""):
                at = endOfString(at)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            at += 1
            if depth == 0 { return at }
        }
        return bytes.count
    }

    private func endOfString(_ start: Int) -> Int {
        var at = start + 1
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "\"") { return at + 1 }
            at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        return bytes.count
    }
}
