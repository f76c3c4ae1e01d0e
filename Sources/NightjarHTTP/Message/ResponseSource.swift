/// The source of a response.
public enum ResponseSource: Int32, Sendable {
    case network = 0
    /// The exchange of another call, which this call shared or waited for.
    case coalesced = 1
    /// A fresh cache entry.
    case cache = 2
    /// A cache entry that the server confirmed with 304.
    case revalidated = 3
    /// A stale cache entry that the cache policy, the request or the stored response allows.
    case stale = 4

    public var name: String {
        switch self {
        case .network: "network"
        case .coalesced: "coalesced"
        case .cache: "cache"
        case .revalidated: "revalidated"
        case .stale: "stale"
        }
    }
}
