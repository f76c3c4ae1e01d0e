/// The properties of a request that are relevant to the cache. RFC 9111 section 5.2.1.
public final class CacheRequest: Sendable {
    /// Converts a credential to a fingerprint that does not reveal the credential.
    public typealias Fingerprint = @Sendable (UnsafeRawBufferPointer) -> String

    public let method: Method
    public let policy: CachePolicy
    /// True if the caller accepts the body without its content codings.
    public let acceptsDecoded: Bool
    /// True if the request has an Authorization field.
    public let hasAuthorization: Bool
    let fields: Headers
    let directives: RequestDirectives
    let isLookedUp: Bool
    /// True for a GET request under the policy `protocol` without cache directives, conditions or ranges. If nothing is
    /// stored for the request, it is sent unchanged.
    public let isPlainLookup: Bool
    let fingerprint: Fingerprint?
    let traits: Traits

    struct Traits: OptionSet {
        let rawValue: UInt8
        /// If-None-Match.
        static let noneMatch = Traits(rawValue: 1)
        static let modifiedSince = Traits(rawValue: 2)
        /// Conditions that only the server can evaluate: If-Match, If-Unmodified-Since.
        static let forServer = Traits(rawValue: 4)
        static let range = Traits(rawValue: 8)
        static let ifRange = Traits(rawValue: 16)
    }

    /// - Parameters:
    ///   - fields: the fields as they would be sent to the server.
    ///   - fingerprint: the function for responses that vary by a credential (Vary: Cookie). If nil, such responses are
    ///     not stored.
    public init(
        _ method: Method, _ fields: Headers, policy: CachePolicy = .protocol, acceptsDecoded: Bool = true,
        fingerprint: Fingerprint? = nil
    ) {
        self.method = method
        self.fields = fields
        self.policy = policy
        self.acceptsDecoded = acceptsDecoded
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
                    hasPragmaNoCache = hasPragmaNoCache || CacheFields.hasNoCacheDirective(value)
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
        // Pragma is used only if there is no Cache-Control field. Section 5.4.
        if hasPragmaNoCache, !directives.isPresent { directives.noCache = true }
        self.directives = directives
        self.traits = traits
        isPlainLookup = method == .get && policy == .protocol && traits.isEmpty && directives == RequestDirectives()
        self.hasAuthorization = hasAuthorization
    }

    private init(_ other: CacheRequest, _ policy: CachePolicy, acceptsDecoded: Bool) {
        method = other.method
        self.policy = policy
        self.acceptsDecoded = acceptsDecoded
        hasAuthorization = other.hasAuthorization
        fields = other.fields
        directives = other.directives
        isLookedUp = other.isLookedUp
        fingerprint = other.fingerprint
        traits = other.traits
        isPlainLookup = method == .get && policy == .protocol && traits.isEmpty && directives == RequestDirectives()
    }

    /// Returns this request with another policy and another `acceptsDecoded`.
    func with(_ policy: CachePolicy, acceptsDecoded: Bool) -> CacheRequest {
        policy == self.policy && acceptsDecoded == self.acceptsDecoded
            ? self : CacheRequest(self, policy, acceptsDecoded: acceptsDecoded)
    }

    /// True for GET and HEAD, unless no-store in the request prevents the lookup of stored responses.
    public var concernsCache: Bool { isLookedUp && (!directives.noStore || isCacheOnly) }

    /// True for GET without no-store. A response to HEAD has no body and only updates or invalidates stored responses.
    /// Responses to POST have separate rules.
    public var mayBeStored: Bool { method == .get && !directives.noStore }

    /// True if the request limits the age of the response. A stored response may then become unusable before it is
    /// stale.
    public var limitsAge: Bool { directives.maxAge != nil || directives.minFresh != nil }

    /// True if the server must not be contacted: `cache_only` or only-if-cached.
    public var isCacheOnly: Bool { policy == .cacheOnly || directives.onlyIfCached }

    /// True if the request selects a range. Few other requests can then use its response.
    public var requestsRange: Bool { range != nil }

    /// The requested range. Nil for the complete representation. Only GET has ranges. RFC 9110 section 14.2.
    var range: ByteRange? {
        guard traits.contains(.range), method == .get else { return nil }
        var found: ByteRange?
        fields.forEach("range") { value in found = found == nil ? ByteRange(value) : .other }
        return found
    }
}
