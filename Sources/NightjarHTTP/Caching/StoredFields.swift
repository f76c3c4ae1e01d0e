/// Selects the fields of a response that are stored. RFC 9111 section 3.1.
extension Headers {
    /// Returns the fields that may be stored. Adds a Date field if there is none (RFC 9110 section 6.6.1).
    func stored(_ found: CacheFields, received: Timestamp) -> Headers {
        var kept = Headers(reservingFields: count + 1, bytes: end + 48)
        let dropped = DroppedFields(self, found)
        for index in 0..<count {
            withBytes(at: index) { name, value in
                if !dropped.contains(name) { kept.append(name: name, value: value) }
            }
        }
        if found.date == nil { kept.append("Date", HTTPDate.text(received)) }
        return kept
    }

    /// Appends a field that this library generates. Its syntax is not checked.
    mutating func append(_ name: StaticString, _ value: String) {
        var value = value
        value.withUTF8 {
            append(
                name: UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount),
                value: UnsafeRawBufferPointer($0))
        }
    }
}

/// The fields that are not stored: connection and proxy fields, and fields that Connection or a no-cache directive
/// names, except essential fields such as Content-Type. Field names in a private directive apply only to shared caches.
struct DroppedFields {
    private var named: [[UInt8]] = []
    /// The maximum number of names per response. Further names are ignored.
    private static let largestCount = 64

    init(_ headers: Headers, _ found: CacheFields) {
        var names: [[UInt8]] = []
        func add(_ list: UnsafeRawBufferPointer) {
            EntityTag.forEach(in: list) { element in
                if names.count < DroppedFields.largestCount { names.append(element.map(ASCII.lowercase)) }
            }
        }
        if found.connection != nil { headers.forEach("connection", add) }
        // Keep essential fields even if they are named, because they determine the meaning of the response.
        names.removeAll { DroppedFields.isEssential($0) }
        if found.directives.flags.contains(.noCacheOfFields) {
            headers.forEach("cache-control") { line in
                var directives = Directives(line)
                while let directive = directives.next() {
                    if directive.named("no-cache"), let list = directive.value { add(list) }
                }
            }
            names.removeAll { DroppedFields.isEssential($0) }
        }
        named = names
    }

    func contains(_ name: UnsafeRawBufferPointer) -> Bool {
        DroppedFields.isOfConnection(name) || named.contains { ASCII.equalIgnoringCase(name, $0) }
    }

    static func isOfConnection(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 2: ASCII.isCaseless(name, "te")
        case 7: ASCII.isCaseless(name, "upgrade")
        case 10: ASCII.isCaseless(name, "connection") || ASCII.isCaseless(name, "keep-alive")
        case 16: ASCII.isCaseless(name, "proxy-connection")
        case 17: ASCII.isCaseless(name, "transfer-encoding")
        case 18: ASCII.isCaseless(name, "proxy-authenticate")
        case 19: ASCII.isCaseless(name, "proxy-authorization")
        case 25: ASCII.isCaseless(name, "proxy-authentication-info")
        default: false
        }
    }

    private static func isEssential(_ name: [UInt8]) -> Bool {
        [
            "age", "cache-control", "content-encoding", "content-length", "content-range", "content-type", "date",
            "etag",
            "expires", "last-modified", "pragma", "vary",
        ].contains { $0.utf8.elementsEqual(name) }
    }
}
