/// What of a request tells answers of one URL apart: the fields that the answer names in Vary. RFC 9111 section 4.1.
///
/// A value is kept in the form that ``SelectingValue`` gives it. What of it is a credential is kept as a fingerprint alone.
struct Selecting {
    /// Names in one answer. More is no selection any more.
    static let largestCount = 32
    /// Stands before fingerprints; no value of a field begins so.
    private static let mark: UInt8 = 1

    /// - Returns: nil where nothing can be selected by them: `*`, too many of them, or a credential without a way to hide it.
    static func fields(
        named headers: Headers, of request: Headers, fingerprint: CacheRequest.Fingerprint?
    ) -> [StoredResponse.SelectingField]? {
        var found: [StoredResponse.SelectingField]? = []
        headers.forEach("vary") { value in
            EntityTag.forEach(in: value) { name in
                guard found != nil else { return }
                guard FieldSyntax.isToken(name), !EntityTag.isAny(name), found?.count ?? 0 < largestCount,
                    let field = field(name, of: request, fingerprint: fingerprint)
                else {
                    found = nil
                    return
                }
                if found?.contains(where: { $0.name == field.name }) == false { found?.append(field) }
            }
        }
        return found?.sorted { $0.name < $1.name }
    }

    private static func field(
        _ name: UnsafeRawBufferPointer, of request: Headers, fingerprint: CacheRequest.Fingerprint?
    ) -> StoredResponse.SelectingField? {
        let text = String(decoding: name.map(ASCII.lowercase), as: UTF8.self)
        let value = SelectingValue.read(name, of: request) { bytes -> String? in
            guard isCredential(name, bytes) else { return String(decoding: bytes, as: UTF8.self) }
            return fingerprint.map { String(Unicode.Scalar(mark)) + $0(bytes) }
        }
        guard let value else { return StoredResponse.SelectingField(text, nil) }
        // There is one, and it cannot be hidden.
        guard let value else { return nil }
        return StoredResponse.SelectingField(text, value)
    }

    /// What nearly all answers name is none, and need not be searched.
    private static func isCredential(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 6 where ASCII.isCaseless(name, "accept") || ASCII.isCaseless(name, "origin"): false
        case 10 where ASCII.isCaseless(name, "user-agent"): false
        case 15 where ASCII.isCaseless(name, "accept-encoding") || ASCII.isCaseless(name, "accept-language"): false
        default: SecretNames.isSecret(field: name, value)
        }
    }

    /// Whether a request may be answered with what was selected by these.
    static func matches(
        _ fields: [StoredResponse.SelectingField], _ request: Headers, fingerprint: CacheRequest.Fingerprint?
    ) -> Bool {
        fields.allSatisfy { field in
            var name = field.name
            return name.withUTF8 { name in
                let name = UnsafeRawBufferPointer(name)
                guard let stored = field.value else { return request.firstIndex(of: name) == nil }
                return SelectingValue.read(name, of: request) { bytes in
                    guard stored.utf8.first == mark else { return ASCII.isSame(bytes, stored) }
                    return fingerprint.map { stored.utf8.dropFirst().elementsEqual($0(bytes).utf8) } == true
                } == true
            }
        }
    }
}

/// The value of a field in a form that all spellings of the same have: lines joined, no blanks at commas, no letter case where it
/// means nothing, and of codings not even their order.
enum SelectingValue {
    /// - Returns: nil: the request has no such field.
    static func read<Result>(
        _ name: UnsafeRawBufferPointer, of request: Headers, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        var capacity = 0
        var isThere = false
        forEachLine(name, request) { line in
            isThere = true
            capacity += line.count + 1
        }
        guard isThere else { return nil }
        let isCoding = ASCII.isCaseless(name, "accept-encoding")
        let isCaseless =
            isCoding || ASCII.isCaseless(name, "accept-language") || ASCII.isCaseless(name, "accept-charset")
        return withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 1) { buffer in
            var end = 0
            forEachLine(name, request) { line in
                EntityTag.forEach(in: line) { element in
                    // Each is as long as its line allows, with a comma before it, so that they fit.
                    if end > 0 {
                        buffer[end] = UInt8(ascii: ",")
                        end += 1
                    }
                    let start = end
                    for byte in element where !(isCaseless && (byte == 0x20 || byte == 0x09)) {
                        buffer[end] = isCaseless ? ASCII.lowercase(byte) : byte
                        end += 1
                    }
                    if isCoding { sink(start..<end, in: buffer) }
                }
            }
            return body(UnsafeRawBufferPointer(rebasing: buffer[..<end]))
        }
    }

    private static func forEachLine(
        _ name: UnsafeRawBufferPointer, _ request: Headers, _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        for index in 0..<request.count {
            request.withBytes(at: index) { found, value in
                if found.count == name.count, ASCII.equalIgnoringCase(found, name) { body(value) }
            }
        }
    }

    /// Moves the last element before those that are to stand behind it. The work is bounded: codings are few, and of more than
    /// ``largestSorted`` bytes the order stays.
    private static func sink(_ last: Range<Int>, in buffer: UnsafeMutableRawBufferPointer) {
        guard last.upperBound <= largestSorted else { return }
        var element = last
        while element.lowerBound > 0 {
            let comma = element.lowerBound - 1
            var start = comma
            while start > 0, buffer[start - 1] != UInt8(ascii: ",") { start -= 1 }
            guard buffer[element].lexicographicallyPrecedes(buffer[start..<comma]) else { return }
            let length = element.count
            rotate(start..<element.upperBound, by: element.lowerBound - start, in: buffer)
            // Where the comma went to.
            rotate((start + length)..<element.upperBound, by: comma - start, in: buffer)
            element = start..<(start + length)
        }
    }

    private static let largestSorted = 256

    /// Puts what is behind the first `count` bytes of a part before them.
    private static func rotate(_ part: Range<Int>, by count: Int, in buffer: UnsafeMutableRawBufferPointer) {
        reverse(part.lowerBound..<(part.lowerBound + count), in: buffer)
        reverse((part.lowerBound + count)..<part.upperBound, in: buffer)
        reverse(part, in: buffer)
    }

    private static func reverse(_ part: Range<Int>, in buffer: UnsafeMutableRawBufferPointer) {
        var low = part.lowerBound
        var high = part.upperBound - 1
        while low < high {
            buffer.swapAt(low, high)
            low += 1
            high -= 1
        }
    }
}
