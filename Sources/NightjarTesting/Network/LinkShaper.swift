/// The one link that all exchanges of a client share: says when what is sent arrives, and what is lost. Moments are
/// nanoseconds of a clock that the caller has; chance comes from the profile's seed alone.
///
/// An exchange takes half the latency there and half back; the first one to an origin a whole latency more, for the
/// connection, and another for TLS. What is on its way occupies the link for as long as its bytes take.
public struct LinkShaper: Sendable {
    /// What the link does to one exchange.
    public struct Fate: Sendable, Equatable {
        /// Nil: its connection breaks nowhere.
        public var breaks: Break?
        /// Of a new connection, before the request leaves.
        public var opening: Duration
        /// One way.
        public var half: Duration
    }

    /// Where a connection breaks.
    public enum Break: Sendable, Equatable {
        case connecting
        /// The request has been sent; no answer comes.
        case waiting
        /// So many bytes of the body come.
        case receiving(after: Int)
    }

    public let profile: NetworkProfile
    private var random: RepeatableRandom
    private var known: Set<Origin> = []
    /// When the link has carried what it was given.
    private var freeDown: UInt64 = 0
    private var freeUp: UInt64 = 0

    public init(_ profile: NetworkProfile) {
        self.profile = profile
        random = RepeatableRandom(seed: profile.seed)
    }

    /// An exchange begins.
    public mutating func begin(to origin: Origin) -> Fate {
        // Always as many numbers, so that what one exchange meets does not depend on what the others did.
        let (chance, place, bytes, shake) = (unit(), unit(), unit(), unit())
        let breaks: Break? =
            chance >= profile.loss
            ? nil
            : place < 1.0 / 3 ? .connecting : place < 2.0 / 3 ? .waiting : .receiving(after: Int(bytes * 16384))
        let latency = profile.latency + .nanoseconds(Int64(Double(profile.jitter.nanosecondsClamped) * shake))
        var opening = Duration.zero
        if !known.contains(origin) { opening = origin.isTLS ? latency + latency : latency }
        // A client that walks over very many origins opens each anew.
        if known.count >= LinkShaper.mostOrigins { known = [] }
        if breaks == nil { known.insert(origin) } else { known.remove(origin) }
        return Fate(breaks: breaks, opening: opening, half: latency / 2)
    }

    /// When the last of these bytes has left for the server.
    public mutating func send(_ bytes: Int, at now: UInt64) -> UInt64 {
        LinkShaper.pass(bytes, at: now, profile.up, &freeUp)
    }

    /// When the last of these bytes, which the server sends now, has come; half the latency behind it.
    public mutating func receive(_ bytes: Int, at now: UInt64) -> UInt64 {
        LinkShaper.pass(bytes, at: now, profile.down, &freeDown)
    }

    private static func pass(_ bytes: Int, at now: UInt64, _ rate: Int?, _ free: inout UInt64) -> UInt64 {
        guard let rate else { return now }
        let nanoseconds = min(Double(bytes) / Double(max(rate, 1)) * 1e9, longest)
        let (end, overflow) = max(now, free).addingReportingOverflow(UInt64(nanoseconds))
        free = overflow ? .max : end
        return free
    }

    /// In 0 ..< 1.
    private mutating func unit() -> Double { Double(random.next() >> 11) * 0x1p-53 }

    /// A hundred years, in nanoseconds: what a rate of a byte a second makes of gigabytes is no overflow.
    private static let longest = 3.15e18
    private static let mostOrigins = 10_000
}
