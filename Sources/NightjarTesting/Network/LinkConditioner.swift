import NightjarHTTP

/// Simulates one network link that all exchanges of a client share. Computes when data arrives and which connections
/// break. Times are in nanoseconds of the caller's clock. All random values depend on the profile's seed.
///
/// The request and the response are each delayed by half the latency. The first exchange with an origin, and the next
/// exchange after a break, take one additional latency for the connection, and another if the origin uses TLS. Data
/// occupies the link for the duration of its transmission.
package struct LinkConditioner: Sendable {
    /// The effect of the link on one exchange.
    package struct ConnectionPlan: Sendable, Equatable {
        /// The point at which the connection breaks. Nil if it does not break.
        package var breaks: Break?
        /// The time to open a new connection before the request is sent. Zero for a known origin.
        package var opening: Duration
        /// The latency in one direction.
        package var half: Duration
    }

    package enum Break: Sendable, Equatable {
        case connecting
        /// After the request was sent and before a response arrives.
        case waiting
        /// After at most this many bytes of the response body.
        case receiving(after: Int)
    }

    package let profile: NetworkProfile
    private var random: RepeatableRandom
    private var known: Set<Origin> = []
    /// The times at which the link becomes free for more data, in each direction.
    private var freeDown: UInt64 = 0
    private var freeUp: UInt64 = 0

    package init(_ profile: NetworkProfile) {
        self.profile = profile
        random = RepeatableRandom(seed: profile.seed)
    }

    package mutating func begin(to origin: Origin) -> ConnectionPlan {
        // Each exchange draws the same number of random values. Its random values therefore do not depend on the
        // results of earlier exchanges.
        let (chance, place, bytes, shake) = (unit(), unit(), unit(), unit())
        let breaks: Break? =
            chance >= profile.loss
            ? nil
            : place < 1.0 / 3 ? .connecting : place < 2.0 / 3 ? .waiting : .receiving(after: Int(bytes * 16384))
        let latency = profile.latency + .nanoseconds(Int64(Double(profile.jitter.nanosecondsClamped) * shake))
        var opening = Duration.zero
        if !known.contains(origin) { opening = origin.isTLS ? latency + latency : latency }
        // When the limit is reached, all origins are removed. The next exchange with each origin opens a new
        // connection.
        if known.count >= LinkConditioner.maximumOrigins { known = [] }
        if breaks == nil { known.insert(origin) } else { known.remove(origin) }
        return ConnectionPlan(breaks: breaks, opening: opening, half: latency / 2)
    }

    /// Returns the time at which the last of these bytes has been sent to the server.
    package mutating func send(_ bytes: Int, at now: UInt64) -> UInt64 {
        LinkConditioner.pass(bytes, at: now, profile.up, &freeUp)
    }

    /// Returns the time at which the last of these bytes arrives if the server sends them now. Does not include the
    /// latency.
    package mutating func receive(_ bytes: Int, at now: UInt64) -> UInt64 {
        LinkConditioner.pass(bytes, at: now, profile.down, &freeDown)
    }

    private static func pass(_ bytes: Int, at now: UInt64, _ rate: Int?, _ free: inout UInt64) -> UInt64 {
        guard let rate else { return now }
        let nanoseconds = min(Double(bytes) / Double(max(rate, 1)) * 1e9, longest)
        let (end, overflow) = max(now, free).addingReportingOverflow(UInt64(nanoseconds))
        free = overflow ? .max : end
        return free
    }

    /// Returns a random number in 0 ..< 1.
    private mutating func unit() -> Double { Double(random.next() >> 11) * 0x1p-53 }

    /// The maximum transmission time: 100 years in nanoseconds. Prevents an overflow for gigabytes at one byte per
    /// second.
    private static let longest = 3.15e18
    private static let maximumOrigins = 10_000
}
