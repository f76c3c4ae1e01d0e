/// A set of US-ASCII bytes, stored as 128 bits.
@frozen
@usableFromInline
package struct ByteSet: Sendable {
    @usableFromInline package let low: UInt64
    @usableFromInline package let high: UInt64

    /// Creates a set. Bit n of `low` stands for byte n, and bit n of `high` for byte 64 + n.
    @inlinable
    @inline(__always)
    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    @inlinable
    @inline(__always)
    package func contains(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) &>> UInt64(byte) & 1 == 1
    }
}
