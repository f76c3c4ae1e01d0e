/// What a body may grow to when it is decoded. A few kilobytes can stand for gigabytes (a bomb), so these are limits and
/// not hints; what is beyond fails with ``ErrorKind/tooLarge``.
public struct DecodingLimits: Sendable {
    /// Decoded bytes.
    public var maximumBytes: Int
    /// Decoded bytes for each byte received, judged once ``ratioGrace`` bytes have been decoded. Text and JSON stay below
    /// 50, a log of equal lines below 500.
    public var maximumRatio: Int

    /// What is decoded before the ratio counts, in bytes: a short body of equal bytes harms nobody.
    public static let ratioGrace = 1 << 20

    public init(maximumBytes: Int, maximumRatio: Int = 1000) {
        self.maximumBytes = max(0, maximumBytes)
        self.maximumRatio = max(1, maximumRatio)
    }
}
