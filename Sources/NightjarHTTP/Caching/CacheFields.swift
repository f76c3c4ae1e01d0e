/// The fields of an answer that concern a cache, found in one pass. What takes time to read is read when it is asked for.
struct CacheFields {
    var directives = ResponseDirectives()
    /// Where the first of each is; nil: there is none.
    var age: Int?
    var date: Int?
    var expires: Int?
    var lastModified: Int?
    var entityTag: Int?
    var vary: Int?
    var connection: Int?
    /// Pragma says no-cache. Section 5.4 knows it in requests alone; who sends it here does not want guesses.
    var hasPragmaNoCache = false

    init(_ headers: Headers) {
        for index in 0..<headers.count {
            headers.withBytes(at: index) { name, value in note(index, name, value) }
        }
    }

    @inline(__always)
    private mutating func note(_ index: Int, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        switch name.count {
        case 3 where age == nil && ASCII.isCaseless(name, "age"): age = index
        case 4 where date == nil && ASCII.isCaseless(name, "date"): date = index
        case 4 where entityTag == nil && ASCII.isCaseless(name, "etag"): entityTag = index
        case 4 where vary == nil && ASCII.isCaseless(name, "vary"): vary = index
        case 6 where ASCII.isCaseless(name, "pragma"):
            hasPragmaNoCache = hasPragmaNoCache || CacheFields.saysNoCache(value)
        case 7 where expires == nil && ASCII.isCaseless(name, "expires"): expires = index
        case 10 where connection == nil && ASCII.isCaseless(name, "connection"): connection = index
        case 13 where ASCII.isCaseless(name, "cache-control"): directives.add(value)
        case 13 where lastModified == nil && ASCII.isCaseless(name, "last-modified"): lastModified = index
        default: break
        }
    }

    static func saysNoCache(_ pragma: UnsafeRawBufferPointer) -> Bool {
        var directives = Directives(pragma)
        while let directive = directives.next() {
            if directive.named("no-cache") { return true }
        }
        return false
    }
}

extension Headers {
    /// The date that the field at `index` has, in seconds since 1970.
    func date(at index: Int?, received: Timestamp) -> Int64? {
        guard let index else { return nil }
        return withBytes(at: index) { _, value in HTTPDate.parse(value, received: received.seconds) }
    }

    /// The values of all fields of a name that is given in lower case.
    func forEach(_ name: StaticString, _ body: (UnsafeRawBufferPointer) -> Void) {
        for index in 0..<count {
            withBytes(at: index) { found, value in
                if found.count == name.utf8CodeUnitCount, ASCII.isCaseless(found, name) { body(value) }
            }
        }
    }
}
