/// A validator that changes whenever the bytes of a representation change. Only such a validator may be sent in an
/// If-Range field. RFC 9110 sections 8.8 and 13.1.5.
package struct StrongValidator: Sendable, Equatable {
    package enum Kind: String, Sendable { case entityTag = "etag", lastModified = "last_modified" }

    package let kind: Kind
    /// The value of the If-Range field.
    package let value: String

    /// Compares the values byte by byte. Swift would compare by canonical equivalence.
    package static func == (one: StrongValidator, other: StrongValidator) -> Bool {
        one.kind == other.kind && one.value.isExactly(other.value)
    }

    package init(_ kind: Kind, _ value: String) {
        self.kind = kind
        self.value = value
    }

    /// Returns the validator of a response. Nil if its entity tag is weak or invalid, and if it has no entity tag and
    /// its Last-Modified date is not strong.
    package init?(_ headers: Headers) {
        if let tag = headers["etag"] {
            guard StrongValidator.isStrong(tag) else { return nil }
            self.init(.entityTag, tag)
        } else if let text = headers["last-modified"], let modified = headers.date("last-modified"),
            let date = headers.date("date"), date - modified >= StrongValidator.oldEnough
        {
            self.init(.lastModified, text)
        } else {
            return nil
        }
    }

    /// Whether the headers of another response contradict this validator. Without a validator of the same kind, they do
    /// not.
    package func isContradicted(by headers: Headers) -> Bool {
        switch kind {
        case .entityTag: headers["etag"].map { !$0.isExactly(value) } ?? false
        case .lastModified: headers["last-modified"].map { !$0.isExactly(value) } ?? false
        }
    }

    package static func isStrong(_ tag: String) -> Bool {
        var tag = tag
        return tag.withUTF8 { EntityTag(UnsafeRawBufferPointer($0)).isStrong }
    }

    /// A date is strong if the content cannot have changed twice within its second. 60 s also covers clocks that
    /// differ. RFC 9110 section 8.8.2.2.
    private static let oldEnough: Int64 = 60
}

extension Headers {
    /// Returns the date in a field, in seconds since 1970. Nil if the field is missing or invalid.
    package func date(_ name: String) -> Int64? {
        guard let index = firstIndex(of: name) else { return nil }
        return withBytes(at: index) { HTTPDate.parse($1, received: Headers.dateReference) }
    }

    /// Any date of this century, for two-digit years.
    private static let dateReference: Int64 = 1_700_000_000
}
