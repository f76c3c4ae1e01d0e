/// Determines the size of a receive window from the rate at which its bytes are received. RFC 9113 section 5.2.
///
/// A window limits the rate to its size per round trip. If the client consumes half of the window in less than two round
/// trips, the window may limit the rate, so it is doubled, up to a maximum. A window never shrinks.
package struct ReceiveWindow: Sendable {
    package private(set) var size: Int
    package let maximum: Int
    /// The bytes that were consumed since the measurement began.
    private var consumed = 0
    /// The time in nanoseconds at which the measurement began. Nil: no byte was consumed.
    private var begin: UInt64?

    package init(size: Int, maximum: Int) {
        self.size = size
        self.maximum = max(size, maximum)
    }

    /// Whether the window can still grow.
    package var canGrow: Bool { size < maximum }

    /// Reports consumed bytes.
    ///
    /// - Parameters:
    ///   - now: the time in nanoseconds.
    ///   - roundTrip: returns the duration of a round trip in nanoseconds. Called at most once for each half of the
    ///     window.
    /// - Returns: the new size if the window has grown.
    package mutating func consumed(_ count: Int, at now: UInt64, roundTrip: () -> UInt64) -> Int? {
        guard canGrow else { return nil }
        let began = begin ?? now
        begin = began
        consumed += count
        guard consumed >= size / 2 else { return nil }
        let (limit, overflow) = roundTrip().multipliedReportingOverflow(by: 2)
        let isLimiting = overflow || now < began || now - began <= limit
        consumed = 0
        begin = now
        guard isLimiting else { return nil }
        size = min(size * 2, maximum)
        return size
    }
}
