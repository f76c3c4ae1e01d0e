/// A set of US-ASCII bytes. A lookup takes two instructions.
struct ByteSet: Sendable {
    let low: UInt64
    let high: UInt64

    /// Bit n of `low` stands for byte n, bit n of `high` for byte 64 + n.
    @inline(__always)
    init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) &>> UInt64(byte) & 1 == 1
    }
}
