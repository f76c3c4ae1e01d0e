/// The Cache-Control directives of a response, as a private cache applies them. s-maxage and proxy-revalidate are
/// ignored, and private only permits storing. RFC 9111 section 5.2.2, RFC 5861, RFC 8246.
struct ResponseDirectives: Sendable, Equatable {
    struct Flags: OptionSet, Sendable {
        let rawValue: UInt16
        static let noStore = Flags(rawValue: 1)
        /// no-cache for the whole response.
        static let noCache = Flags(rawValue: 2)
        /// no-cache for named fields.
        static let noCacheOfFields = Flags(rawValue: 4)
        static let isPrivate = Flags(rawValue: 8)
        static let isPublic = Flags(rawValue: 16)
        static let mustRevalidate = Flags(rawValue: 32)
        static let mustUnderstand = Flags(rawValue: 64)
        static let immutable = Flags(rawValue: 128)
    }

    var flags: Flags = []
    /// The value of max-age in seconds. Nil if there is none. Zero if the value is missing or invalid, or if a
    /// Cache-Control line has an unclosed quoted string, because a response with invalid freshness information is
    /// stale. Section 4.2.1.
    var maxAge: Int64?
    var staleWhileRevalidate: Int64?
    var staleIfError: Int64?
    /// True if there was a Cache-Control field.
    var isPresent = false

    var noStore: Bool { flags.contains(.noStore) }
    var noCache: Bool { flags.contains(.noCache) }
    /// True if the response must not be served stale. Section 4.2.4.
    var forbidsStale: Bool { !flags.isDisjoint(with: [.noCache, .mustRevalidate]) }

    mutating func add(_ line: UnsafeRawBufferPointer) {
        isPresent = true
        // A fast path for the most common line.
        guard !ASCII.isCaseless(line, "no-store") else {
            flags.insert(.noStore)
            return
        }
        var directives = Directives(line)
        while let directive = directives.next() {
            // Compare the length first, because most names do not match.
            switch directive.name.count {
            case 6 where directive.named("public"):
                if directive.isWellFormed { flags.insert(.isPublic) }
            case 7 where directive.named("max-age"): ResponseDirectives.lower(&maxAge, directive, unreadable: 0)
            case 7 where directive.named("private"):
                if directive.isWellFormed { flags.insert(.isPrivate) }
            case 8 where directive.named("no-store"): flags.insert(.noStore)
            case 8 where directive.named("no-cache"):
                let namesFields =
                    directive.isWellFormed && directive.value.map { !$0.allSatisfy(isBlankOrComma) } == true
                flags.insert(namesFields ? .noCacheOfFields : .noCache)
            case 9 where directive.named("immutable"):
                if directive.isWellFormed { flags.insert(.immutable) }
            case 14 where directive.named("stale-if-error"):
                ResponseDirectives.lower(&staleIfError, directive, unreadable: 0)
            case 15 where directive.named("must-revalidate"): flags.insert(.mustRevalidate)
            case 15 where directive.named("must-understand"): flags.insert(.mustUnderstand)
            case 22 where directive.named("stale-while-revalidate"):
                ResponseDirectives.lower(&staleWhileRevalidate, directive, unreadable: 0)
            default: break
            }
        }
        if directives.isBroken { maxAge = 0 }
    }

    /// Lowers `number` to the value of the directive, or to `unreadable` if the value is missing or invalid. If a
    /// directive repeats, its smallest value is used, which is at most the first value that section 4.2.1 recommends.
    static func lower(_ number: inout Int64?, _ directive: Directives.Directive, unreadable: Int64) {
        let read = directive.isWellFormed ? directive.value.flatMap(DeltaSeconds.read) : nil
        number = min(number ?? .max, read ?? unreadable)
    }
}

private func isBlankOrComma(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == UInt8(ascii: ",") }

/// The Cache-Control directives of a request. RFC 9111 section 5.2.1.
struct RequestDirectives: Sendable, Equatable {
    var noCache = false
    var noStore = false
    var onlyIfCached = false
    var maxAge: Int64?
    var minFresh: Int64?
    /// The accepted staleness in seconds. ``DeltaSeconds/largest`` or more accepts any staleness. `Int64.max`, for
    /// max-stale without a value, also accepts a response whose age is unknown.
    var maxStale: Int64?
    var staleIfError: Int64?
    var isPresent = false

    mutating func add(_ line: UnsafeRawBufferPointer) {
        isPresent = true
        var directives = Directives(line)
        while let directive = directives.next() {
            switch directive.name.count {
            case 7 where directive.named("max-age"): ResponseDirectives.lower(&maxAge, directive, unreadable: 0)
            case 8 where directive.named("no-cache"): noCache = true
            case 8 where directive.named("no-store"): noStore = true
            case 9 where directive.named("min-fresh"):
                let read = directive.isWellFormed ? directive.value.flatMap(DeltaSeconds.read) : nil
                minFresh = max(minFresh ?? 0, read ?? DeltaSeconds.largest)
            case 9 where directive.named("max-stale"):
                guard directive.isWellFormed else { break }
                guard let value = directive.value else {
                    maxStale = min(maxStale ?? .max, .max)
                    break
                }
                if let read = DeltaSeconds.read(value) { maxStale = min(maxStale ?? .max, read) }
            case 14 where directive.named("only-if-cached"): onlyIfCached = true
            case 14 where directive.named("stale-if-error"):
                ResponseDirectives.lower(&staleIfError, directive, unreadable: 0)
            default: break
            }
        }
    }
}
