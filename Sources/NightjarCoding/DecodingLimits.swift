/// Limits on the size of a decoded body. A few kilobytes can expand to gigabytes (a decompression bomb). A body that
/// exceeds a limit fails with ``ErrorKind/tooLarge``.
package struct DecodingLimits: Sendable {
    /// The maximum number of decoded bytes.
    package var maximumBytes: Int
    /// The maximum number of decoded bytes for each received byte, checked after ``ratioGrace`` decoded bytes. Text and
    /// JSON usually stay below 50, a log of equal lines below 500.
    package var maximumRatio: Int

    /// The number of decoded bytes before the ratio is checked, so that short, highly compressible bodies are accepted.
    package static let ratioGrace = 1 << 20

    package init(maximumBytes: Int, maximumRatio: Int = 1000) {
        self.maximumBytes = max(0, maximumBytes)
        self.maximumRatio = max(1, maximumRatio)
    }
}
