/// Where an answer came from.
public enum ResponseSource: Int32, Sendable {
    case network = 0
    /// The exchange of another call that was alike.
    case coalesced = 1
    /// The cache, fresh.
    case cache = 2
    /// The cache, which the server said to hold still (304).
    case revalidated = 3
    /// The cache, stale: where policy, request or answer allow that.
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
