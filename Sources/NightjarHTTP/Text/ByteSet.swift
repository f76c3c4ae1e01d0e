/// A set of US-ASCII bytes, asked in two instructions.
struct ByteSet: Sendable {
    let low: UInt64
    let high: UInt64

    /// Bit n of `low` is byte n, bit n of `high` byte 64 + n.
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
