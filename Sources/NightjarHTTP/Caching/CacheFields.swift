/// The fields of a response that are relevant to a cache, located in one pass. Values that are expensive to parse are
/// parsed on access.
struct CacheFields {
    var directives = ResponseDirectives()
    /// The index of the first Age field, or nil if there is none. The next properties are the indices of other fields.
    var age: Int?
    var date: Int?
    var expires: Int?
    var lastModified: Int?
    var entityTag: Int?
    var vary: Int?
    var connection: Int?
    /// True if Pragma contains no-cache. RFC 9111 section 5.4 defines Pragma for requests only. In a response without
    /// Cache-Control, it disables heuristic freshness.
    var hasPragmaNoCache = false

    init(_ headers: Headers) {
        headers.forEachField(ofLengths: CacheFields.lengths) { index, name, value in note(index, name, value) }
    }

    /// The lengths of the names that ``note(_:_:_:)`` handles, one bit per length.
    private static let lengths: UInt32 = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 13

    @inline(__always)
    private mutating func note(_ index: Int, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        switch name.count {
        case 3 where age == nil && ASCII.isCaseless(name, "age"): age = index
        case 4 where date == nil && ASCII.isCaseless(name, "date"): date = index
        case 4 where entityTag == nil && ASCII.isCaseless(name, "etag"): entityTag = index
        case 4 where vary == nil && ASCII.isCaseless(name, "vary"): vary = index
        case 6 where ASCII.isCaseless(name, "pragma"):
            hasPragmaNoCache = hasPragmaNoCache || CacheFields.hasNoCacheDirective(value)
        case 7 where expires == nil && ASCII.isCaseless(name, "expires"): expires = index
        case 10 where connection == nil && ASCII.isCaseless(name, "connection"): connection = index
        case 13 where ASCII.isCaseless(name, "cache-control"): directives.add(value)
        case 13 where lastModified == nil && ASCII.isCaseless(name, "last-modified"): lastModified = index
        default: break
        }
    }

    static func hasNoCacheDirective(_ pragma: UnsafeRawBufferPointer) -> Bool {
        var directives = Directives(pragma)
        while let directive = directives.next() {
            if directive.named("no-cache") { return true }
        }
        return false
    }
}

extension Headers {
    /// Returns the date in the field at `index`, in seconds since 1970. Returns nil if `index` is nil or the date is
    /// invalid.
    func date(at index: Int?, received: Timestamp) -> Int64? {
        guard let index else { return nil }
        return withBytes(at: index) { _, value in HTTPDate.parse(value, received: received.seconds) }
    }

    /// Calls `body` with the values of all fields of a name. `name` must be in lower case and shorter than 32 bytes.
    func forEach(_ name: StaticString, _ body: (UnsafeRawBufferPointer) -> Void) {
        assert(name.utf8CodeUnitCount < 32)
        forEachField(ofLengths: 1 << UInt32(name.utf8CodeUnitCount)) { _, found, value in
            if ASCII.isCaseless(found, name) { body(value) }
        }
    }
}
