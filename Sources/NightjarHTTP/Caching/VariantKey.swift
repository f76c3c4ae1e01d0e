/// The request fields that the Vary field of a stored response names. They select the response. RFC 9111 section 4.1.
///
/// Values are stored in the normalized form of ``VariantValue``. Credentials are stored only as fingerprints.
struct VariantKey {
    /// The maximum number of names per response. A response with more names is not stored.
    static let largestCount = 32
    /// The byte that precedes a fingerprint. No field value begins with this byte.
    private static let mark: UInt8 = 1

    /// Returns the fields that Vary names with their values in the request, sorted by name.
    ///
    /// - Returns: nil if Vary contains `*`, an invalid name, too many names, or a credential for which there is no
    ///   fingerprint function.
    static func fields(
        named headers: Headers, of request: Headers, fingerprint: CacheRequest.Fingerprint?
    ) -> [StoredResponse.VariantField]? {
        var found: [StoredResponse.VariantField]? = []
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
    ) -> StoredResponse.VariantField? {
        let text = String(decoding: name.map(ASCII.lowercase), as: UTF8.self)
        let value = VariantValue.read(name, of: request) { bytes -> String? in
            guard isCredential(name, bytes) else { return String(decoding: bytes, as: UTF8.self) }
            return fingerprint.map { String(Unicode.Scalar(mark)) + $0(bytes) }
        }
        guard let value else { return StoredResponse.VariantField(text, nil) }
        // The field is a credential, and there is no fingerprint function.
        guard let value else { return nil }
        return StoredResponse.VariantField(text, value)
    }

    /// Returns true if the field is a credential. Checks common names first, which are not credentials.
    private static func isCredential(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 6 where ASCII.isCaseless(name, "accept") || ASCII.isCaseless(name, "origin"): false
        case 10 where ASCII.isCaseless(name, "user-agent"): false
        case 15 where ASCII.isCaseless(name, "accept-encoding") || ASCII.isCaseless(name, "accept-language"): false
        default: SecretNames.isSecret(field: name, value)
        }
    }

    /// Returns true if the fields of a request have these values.
    static func matches(
        _ fields: [StoredResponse.VariantField], _ request: Headers, fingerprint: CacheRequest.Fingerprint?
    ) -> Bool {
        fields.allSatisfy { field in
            var name = field.name
            return name.withUTF8 { name in
                let name = UnsafeRawBufferPointer(name)
                guard let stored = field.value else { return request.firstIndex(of: name) == nil }
                return VariantValue.read(name, of: request) { bytes in
                    guard stored.utf8.first == mark else { return ASCII.isSame(bytes, stored) }
                    return fingerprint.map { stored.utf8.dropFirst().elementsEqual($0(bytes).utf8) } == true
                } == true
            }
        }
    }
}

/// The normalized value of a field. Lines are joined, and blanks around commas are removed. If case is insignificant,
/// the value is in lower case without blanks. Content codings are sorted.
enum VariantValue {
    /// Calls `body` with the normalized value and returns its result. Returns nil if the request does not have the
    /// field.
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
                    // The buffer has room for every line and a comma before it.
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

    /// Moves the last element before the elements that sort after it. To limit the cost, an element that ends beyond
    /// ``largestSorted`` bytes is not moved.
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
            // Move the comma between the two elements.
            rotate((start + length)..<element.upperBound, by: comma - start, in: buffer)
            element = start..<(start + length)
        }
    }

    private static let largestSorted = 256

    /// Rotates a part left by `count` bytes.
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
