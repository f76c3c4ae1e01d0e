import NightjarHTTP

/// The quality of a simulated network. See ``LinkConditioner``.
public struct NetworkProfile: Sendable, Equatable {
    /// The round-trip time: the delay from a request to its response, without new connections, the time to transmit the
    /// data, and the server's processing time.
    public var latency: Duration
    /// The maximum random delay added to the latency of each exchange.
    public var jitter: Duration
    /// The download rate in bytes per second, shared by all exchanges. Nil: unlimited.
    public var down: Int?
    /// The upload rate in bytes per second. Nil: unlimited.
    public var up: Int?
    /// The fraction of exchanges whose connection breaks, 0 to 1.
    public var loss: Double
    /// True if there is no network.
    public var isOffline: Bool
    /// The seed for all random values. With the same seed, the n-th exchange of a client gets the same random values.
    public var seed: UInt64

    public init(
        latency: Duration = .zero, jitter: Duration = .zero, down: Int? = nil, up: Int? = nil, loss: Double = 0,
        isOffline: Bool = false, seed: UInt64 = 1
    ) {
        self.latency = latency
        self.jitter = jitter
        self.down = down
        self.up = up
        self.loss = loss
        self.isOffline = isOffline
        self.seed = seed
    }

    /// The names accepted by ``named(_:)``.
    public static let names = ["3g", "edge", "lossy", "offline"]

    /// Returns a predefined profile, or nil for an unknown name.
    ///
    /// `3g` and `edge` are the profiles of WebPageTest (`connectivity.ini.sample`). 3G has 1.6 Mbit/s down, 768 kbit/s
    /// up and 300 ms. EDGE has 240 kbit/s down, 200 kbit/s up and 840 ms. `lossy` is 3G with 200 ms of jitter, and on
    /// average the connection breaks in one exchange of ten.
    public static func named(_ name: String) -> NetworkProfile? {
        switch name {
        case "3g": NetworkProfile(latency: .milliseconds(300), down: 1_600_000 / 8, up: 768_000 / 8)
        case "edge": NetworkProfile(latency: .milliseconds(840), down: 240_000 / 8, up: 200_000 / 8)
        case "lossy":
            NetworkProfile(
                latency: .milliseconds(300), jitter: .milliseconds(200), down: 1_600_000 / 8, up: 768_000 / 8, loss: 0.1
            )
        case "offline": NetworkProfile(isOffline: true)
        default: nil
        }
    }
}

/// A deterministic generator with one word of state. SplitMix64 (Steele, Lea and Flood 2014).
package struct RepeatableRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return word ^ word >> 31
    }
}
