/// What the Cache-Control fields of an answer say, for a private cache: s-maxage, proxy-revalidate and private do not concern
/// it. RFC 9111 section 5.2.2, RFC 5861, RFC 8246.
struct ResponseDirectives: Sendable, Equatable {
    struct Flags: OptionSet, Sendable {
        let rawValue: UInt16
        static let noStore = Flags(rawValue: 1)
        /// For the whole answer.
        static let noCache = Flags(rawValue: 2)
        /// For fields that it names.
        static let noCacheOfFields = Flags(rawValue: 4)
        static let isPrivate = Flags(rawValue: 8)
        static let isPublic = Flags(rawValue: 16)
        static let mustRevalidate = Flags(rawValue: 32)
        static let mustUnderstand = Flags(rawValue: 64)
        static let immutable = Flags(rawValue: 128)
    }

    var flags: Flags = []
    /// Zero where it is not understood: what has no valid freshness is stale. Section 4.2.1.
    var maxAge: Int64?
    var staleWhileRevalidate: Int64?
    var staleIfError: Int64?
    /// There was such a field.
    var isPresent = false

    var noStore: Bool { flags.contains(.noStore) }
    var noCache: Bool { flags.contains(.noCache) }
    /// Nothing stale may be answered. Section 4.2.4.
    var forbidsStale: Bool { !flags.isDisjoint(with: [.noCache, .mustRevalidate]) }

    mutating func add(_ line: UnsafeRawBufferPointer) {
        isPresent = true
        // The most common line, without the work of the parser.
        guard !ASCII.isCaseless(line, "no-store") else {
            flags.insert(.noStore)
            return
        }
        var directives = Directives(line)
        while let directive = directives.next() {
            // By their lengths first, for most are no match.
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

    /// Of several the least: never more than the first, which section 4.2.1 has a cache take, nor than any that was meant.
    static func lower(_ number: inout Int64?, _ directive: Directives.Directive, unreadable: Int64) {
        let read = directive.isWellFormed ? directive.value.flatMap(DeltaSeconds.read) : nil
        number = min(number ?? .max, read ?? unreadable)
    }
}

private func isBlankOrComma(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == UInt8(ascii: ",") }

/// What the Cache-Control fields of a request say. RFC 9111 section 5.2.1.
struct RequestDirectives: Sendable, Equatable {
    var noCache = false
    var noStore = false
    var onlyIfCached = false
    var maxAge: Int64?
    var minFresh: Int64?
    /// ``DeltaSeconds/largest`` and more: however stale.
    var maxStale: Int64?
    var staleIfError: Int64?
    var isPresent = false

    /// Says nothing that would change an answer.
    var isEmpty: Bool { self == RequestDirectives() || !isPresent }

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
