/// Measures the rate of a transfer over the last seconds. The times are those of a monotonic clock, in nanoseconds.
package struct TransferRate: Sendable {
    private var samples: [(time: UInt64, count: Int)] = []

    package init() {}

    /// - Parameter count: the bytes that were transferred so far.
    package mutating func note(_ count: Int, at time: UInt64) {
        samples.append((time, count))
        while samples.count > 2, time - samples[0].time > TransferRate.window { samples.removeFirst() }
    }

    /// Bytes per second. Nil before half a second has passed.
    package var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.time - first.time >= TransferRate.shortest else {
            return nil
        }
        return Double(max(last.count - first.count, 0)) / (Double(last.time - first.time) / 1e9)
    }

    /// Returns the time for `rest` bytes at the present rate. Nil if the rate is unknown or zero.
    package func time(for rest: Int) -> Duration? {
        guard let rate = bytesPerSecond, rate > 0, rest >= 0 else { return nil }
        return .seconds(min(Double(rest) / rate, Double(Duration.maximumSeconds)))
    }

    private static let window: UInt64 = 5_000_000_000
    private static let shortest: UInt64 = 500_000_000
}

/// Limits the rate of a transfer. Up to a tenth of a second of data may pass at once.
package struct TransferLimit: Sendable {
    private var bytesPerSecond: Double
    /// The time at which the bytes so far would have passed at the maximum rate, in nanoseconds.
    private var due: Double = 0

    package init(_ bytesPerSecond: Int) { self.bytesPerSecond = Double(max(bytesPerSecond, 1)) }

    /// Applies another rate to later bytes.
    package mutating func set(_ bytesPerSecond: Int) { self.bytesPerSecond = Double(max(bytesPerSecond, 1)) }

    /// Returns how long the transfer must wait after `count` more bytes.
    package mutating func delay(after count: Int, at time: UInt64) -> Duration {
        let now = Double(time)
        due = max(due, now - TransferLimit.burst) + Double(count) / bytesPerSecond * 1e9
        return due > now ? .nanoseconds(Int64(min(due - now, 1e18))) : .zero
    }

    private static let burst = 100_000_000.0
}
