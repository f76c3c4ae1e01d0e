/// The way in which a call uses the cache. The raw values are the names in C and Lua.
public enum CachePolicy: String, CaseIterable, Sendable {
    /// The rules of RFC 9111 and RFC 5861. Fresh responses are served, stale responses are usually validated first.
    case `protocol` = "protocol"
    /// Stored responses are not served, unless the request contains only-if-cached. The new response is stored if it
    /// may be stored.
    case reload = "reload"
    /// Stored responses are served only after the server has confirmed them. Fresh responses marked immutable (RFC
    /// 8246) are served without validation unless the request's directives require it.
    case revalidate = "revalidate"
    /// Stored responses of any age are served, even if the server requires validation. If no stored response can be
    /// used, or if the request contains no-store, the request is sent. Two kinds of stored responses are served only as
    /// ``protocol`` allows: errors, and responses that have been invalidated, for example by a write of this client.
    case cacheElseLoad = "cache_else_load"
    /// Like `cacheElseLoad`, but the request is never sent. If no stored response can be used, the call fails with
    /// `cache_miss`.
    case cacheOnly = "cache_only"
    /// Stored responses of any age are served immediately. Stale responses are revalidated in the background, unless
    /// the request contains only-if-cached or a max-stale that permits them. The exceptions of ``cacheElseLoad`` apply.
    case offlineFirst = "offline_first"

    /// True if stored responses of any age are served, with the exceptions of ``cacheElseLoad``.
    public var ignoresAge: Bool { self == .cacheElseLoad || self == .cacheOnly || self == .offlineFirst }
}
