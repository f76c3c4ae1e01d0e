/// What a caller wants of the cache. The names are those of C and Lua.
public enum CachePolicy: String, CaseIterable, Sendable {
    /// RFC 9111: what is fresh is answered, what is stale is validated.
    case `protocol` = "protocol"
    /// Nothing that is stored is answered; what comes is stored.
    case reload = "reload"
    /// What is stored is answered once the server has said that it still holds. What is fresh and said to be immutable is
    /// not asked for: RFC 8246.
    case revalidate = "revalidate"
    /// What is stored is answered whatever its age, also where the server wants it validated: the caller knows better.
    /// Where nothing is, the server is asked. Errors are answered while they are fresh.
    case cacheElseLoad = "cache_else_load"
    /// The same, and where nothing is stored the call fails: `cache_miss`. The server is never asked.
    case cacheOnly = "cache_only"
    /// What is stored is answered at once, and fetched anew meanwhile where it is stale.
    case offlineFirst = "offline_first"

    /// Stored answers of any age will do.
    public var ignoresAge: Bool { self == .cacheElseLoad || self == .cacheOnly || self == .offlineFirst }
}
