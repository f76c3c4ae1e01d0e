/// A request as the cache sees it: what its fields say is read once. RFC 9111 section 5.2.1.
public final class CacheRequest: Sendable {
    /// Makes of a credential what tells it from others without giving it away.
    public typealias Fingerprint = @Sendable (UnsafeRawBufferPointer) -> String

    public let method: Method
    public let policy: CachePolicy
    /// Whoever asks takes content without its codings.
    public let wantsDecoded: Bool
    /// Has a credential of its own.
    public let hasAuthorization: Bool
    let fields: Headers
    let directives: RequestDirectives
    let isLookedUp: Bool
    /// A GET request without cache directives, conditions and ranges of its own, under the policy `protocol`: if nothing is
    /// stored for it, it goes to the server as it is.
    public let isPlainLookup: Bool
    let fingerprint: Fingerprint?
    let traits: Traits

    struct Traits: OptionSet {
        let rawValue: UInt8
        /// If-None-Match.
        static let noneMatch = Traits(rawValue: 1)
        static let modifiedSince = Traits(rawValue: 2)
        /// Conditions that a server alone decides: If-Match, If-Unmodified-Since.
        static let forServer = Traits(rawValue: 4)
        static let range = Traits(rawValue: 8)
        static let ifRange = Traits(rawValue: 16)
    }

    /// - Parameters:
    ///   - fields: as they would go to the server.
    ///   - fingerprint: for answers that are told apart by a credential (Vary: Cookie); without it such are not stored.
    public init(
        _ method: Method, _ fields: Headers, policy: CachePolicy = .protocol, wantsDecoded: Bool = true,
        fingerprint: Fingerprint? = nil
    ) {
        self.method = method
        self.fields = fields
        self.policy = policy
        self.wantsDecoded = wantsDecoded
        self.fingerprint = fingerprint
        isLookedUp = method == .get || method == .head
        var directives = RequestDirectives()
        var traits: Traits = []
        var hasAuthorization = false
        var hasPragmaNoCache = false
        for index in 0..<fields.count {
            fields.withBytes(at: index) { name, value in
                switch name.count {
                case 5 where ASCII.isCaseless(name, "range"): traits.insert(.range)
                case 6 where ASCII.isCaseless(name, "pragma"):
                    hasPragmaNoCache = hasPragmaNoCache || CacheFields.saysNoCache(value)
                case 8 where ASCII.isCaseless(name, "if-match"): traits.insert(.forServer)
                case 8 where ASCII.isCaseless(name, "if-range"): traits.insert(.ifRange)
                case 13 where ASCII.isCaseless(name, "cache-control"): directives.add(value)
                case 13 where ASCII.isCaseless(name, "authorization"): hasAuthorization = true
                case 13 where ASCII.isCaseless(name, "if-none-match"): traits.insert(.noneMatch)
                case 17 where ASCII.isCaseless(name, "if-modified-since"): traits.insert(.modifiedSince)
                case 19 where ASCII.isCaseless(name, "if-unmodified-since"): traits.insert(.forServer)
                default: break
                }
            }
        }
        // Section 5.4.
        if hasPragmaNoCache, !directives.isPresent { directives.noCache = true }
        self.directives = directives
        self.traits = traits
        isPlainLookup = method == .get && policy == .protocol && traits.isEmpty && directives == RequestDirectives()
        self.hasAuthorization = hasAuthorization
    }

    private init(_ other: CacheRequest, _ policy: CachePolicy, wantsDecoded: Bool) {
        method = other.method
        self.policy = policy
        self.wantsDecoded = wantsDecoded
        hasAuthorization = other.hasAuthorization
        fields = other.fields
        directives = other.directives
        isLookedUp = other.isLookedUp
        fingerprint = other.fingerprint
        traits = other.traits
        isPlainLookup = method == .get && policy == .protocol && traits.isEmpty && directives == RequestDirectives()
    }

    /// The same under another policy.
    func asking(_ policy: CachePolicy, wantsDecoded: Bool) -> CacheRequest {
        policy == self.policy && wantsDecoded == self.wantsDecoded
            ? self : CacheRequest(self, policy, wantsDecoded: wantsDecoded)
    }

    /// Stored answers are looked at for it, or it may fail without one. The others go by the cache on their way.
    public var concernsCache: Bool { isLookedUp && (!directives.noStore || staysHere) }

    /// The answer may be stored, as far as this request goes. Answers to HEAD have no content, and update what is stored.
    public var mayBeStored: Bool { method == .get && !directives.noStore }

    /// The request limits the age of the response itself, so a stored response may become unusable before it is stale.
    public var limitsAge: Bool { directives.maxAge != nil || directives.minFresh != nil }

    /// The server is never asked: `cache_only`, or only-if-cached.
    public var staysHere: Bool { policy == .cacheOnly || directives.onlyIfCached }

    /// The request asks for a part of the content, so a response to it is of no use to most others.
    public var wantsPart: Bool { range != nil }

    /// What a range is asked of; nil: the whole. Ranges are of GET alone: RFC 9110 section 14.2.
    var range: ByteRange? {
        guard traits.contains(.range), method == .get else { return nil }
        var found: ByteRange?
        fields.forEach("range") { value in found = found == nil ? ByteRange(value) : .other }
        return found
    }
}
