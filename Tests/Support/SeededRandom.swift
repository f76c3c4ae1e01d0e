/// Chance that can be repeated (xorshift64*). A test that uses it names the seed when it fails.
public struct SeededRandom: RandomNumberGenerator, Sendable {
    public let seed: UInt64
    private var state: UInt64

    public init(seed: UInt64) {
        self.seed = seed
        // Zero would stay zero for ever; the odd constant also keeps small seeds apart.
        state = (seed ^ 0x9E37_79B9_7F4A_7C15) | 1
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
