/// What of a request tells answers of one URL apart: the fields that the answer names in Vary. RFC 9111 section 4.1.
///
/// A value is kept in a form that all spellings of the same have: lines joined, no blanks at commas, no letter case where it
/// means nothing. What of it is a credential is kept as a fingerprint alone.
struct Selecting {
    /// Names in one answer. More is no selection any more.
    static let largestCount = 32
    /// Stands before fingerprints; no value of a field begins so.
    private static let mark: Unicode.Scalar = "\u{1}"

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
        guard let bytes = normalised(text, of: request) else { return StoredResponse.SelectingField(text, nil) }
        guard CredentialField.isOne(name) else {
            return StoredResponse.SelectingField(text, String(decoding: bytes, as: UTF8.self))
        }
        guard let fingerprint else { return nil }
        return StoredResponse.SelectingField(text, String(mark) + bytes.withUnsafeBytes(fingerprint))
    }

    /// Whether a request may be answered with what was selected by these.
    static func matches(
        _ fields: [StoredResponse.SelectingField], _ request: Headers, fingerprint: CacheRequest.Fingerprint?
    ) -> Bool {
        fields.allSatisfy { field in
            guard let stored = field.value else { return request.firstIndex(of: field.name) == nil }
            if stored.unicodeScalars.first == mark {
                guard let fingerprint, let bytes = normalised(field.name, of: request) else { return false }
                return stored.utf8.dropFirst().elementsEqual(bytes.withUnsafeBytes(fingerprint).utf8)
            }
            guard let first = request.firstIndex(of: field.name) else { return false }
            // Most come just as they came before.
            if request.withBytes(at: first, { ASCII.isSame($1, stored) }), !request.hasSecond(field.name, behind: first)
            {
                return true
            }
            return normalised(field.name, of: request).map { String(decoding: $0, as: UTF8.self) == stored } == true
        }
    }

    /// Nil: the request has no such field.
    private static func normalised(_ name: String, of request: Headers) -> [UInt8]? {
        var elements: [[UInt8]] = []
        var isThere = false
        for index in 0..<request.count {
            request.withBytes(at: index) { found, value in
                guard found.count == name.utf8.count, ASCII.equalIgnoringCase(found, name.utf8) else { return }
                isThere = true
                EntityTag.forEach(in: value) { elements.append(Array($0)) }
            }
        }
        guard isThere else { return nil }
        if name == "accept-encoding" || name == "accept-language" || name == "accept-charset" {
            elements = elements.map { $0.filter { $0 != 0x20 && $0 != 0x09 }.map(ASCII.lowercase) }
        }
        // Of languages the order is what some servers go by.
        if name == "accept-encoding" { elements.sort { $0.lexicographicallyPrecedes($1) } }
        return Array(elements.joined(separator: [UInt8(ascii: ",")]))
    }
}

extension Headers {
    fileprivate func hasSecond(_ name: String, behind first: Int) -> Bool {
        fields.indices.dropFirst(first + 1).contains { index in
            withBytes(at: index) { found, _ in
                found.count == name.utf8.count && ASCII.equalIgnoringCase(found, name.utf8)
            }
        }
    }
}
