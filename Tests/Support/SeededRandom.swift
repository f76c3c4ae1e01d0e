/// A random number generator with reproducible output (xorshift64*). Tests report the seed when they fail.
public struct SeededRandom: RandomNumberGenerator, Sendable {
    public let seed: UInt64
    private var state: UInt64
    private static let zero: UInt64 = 0x9E37_79B9_7F4A_7C15

    public init(seed: UInt64) {
        self.seed = seed
        // Multiplication by an odd factor maps different seeds to different states.
        let mixed = (seed ^ SeededRandom.zero) &* 0x2545_F491_4F6C_DD1D
        // Xorshift never leaves the state 0, which results only from the seed `zero`.
        state = mixed == 0 ? 1 : mixed
    }

    public mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }

    public mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
    }
}
