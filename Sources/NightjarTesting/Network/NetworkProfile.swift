/// How good a network is: what ``LinkShaper`` makes of a fast one.
public struct NetworkProfile: Sendable, Equatable {
    /// From a request to the first byte of its answer, there and back, beside what the server takes.
    public var latency: Duration
    /// Added to the latency of each exchange: a part of this between none and all of it.
    public var jitter: Duration
    /// Bytes a second to the client, all its exchanges together; nil: no bound.
    public var down: Int?
    /// Bytes a second from the client; nil: no bound.
    public var up: Int?
    /// The share of exchanges whose connection breaks somewhere on their way, 0 to 1.
    public var loss: Double
    /// There is no network at all.
    public var isOffline: Bool
    /// What chance makes of it: the same seed, the same course.
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

    /// Names that ``named(_:)`` knows.
    public static let names = ["3g", "edge", "lossy", "offline"]

    /// `3g` and `edge` are those of WebPageTest (`connectivity.ini.sample`: 3G 1.6 Mbit/s down, 768 kbit/s up, 300 ms; EDGE
    /// 240 and 200 kbit/s, 840 ms). `lossy` is a radio at the edge of its reach: its 3G with a connection in ten that breaks.
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

/// A generator with one word of state, for what has to go the same way again. SplitMix64 (Steele, Lea and Flood 2014).
public struct RepeatableRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return word ^ word >> 31
    }
}
