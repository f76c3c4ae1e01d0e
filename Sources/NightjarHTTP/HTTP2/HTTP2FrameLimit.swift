/// Limits the frames of a server that carry nothing for the client, such as PING, SETTINGS, empty DATA and CONTINUATION.
/// A server that floods the client with them would otherwise cost it time without limit.
///
/// A frame without content takes a unit from a budget. Frames with content, frames of the client and time refill the
/// budget. The limit reads only the frame headers, which may arrive in parts (RFC 9113 section 4.1).
package struct HTTP2FrameLimit: Sendable {
    package struct Settings: Sendable {
        /// The largest number of units.
        package var capacity = 4_000
        /// The units that are added for each frame with content that the server has sent, and for each KiB that the client
        /// has sent, which the server acknowledges with WINDOW_UPDATE.
        package var perContent = 8
        package var perSecond = 200

        package init() {}
    }

    private let settings: Settings
    private var budget: Int
    /// The bytes that the client has sent and that have added no units.
    private var sentBytes = 0
    /// The time of the last refill, in nanoseconds.
    private var refilledAt: UInt64 = 0
    /// The header of a frame that has arrived in part.
    private var partial: [UInt8] = []
    /// The bytes of the current frame's payload that have not arrived.
    private var payload = 0

    package init(_ settings: Settings = Settings()) {
        self.settings = settings
        budget = settings.capacity
        partial.reserveCapacity(HTTP2FrameLimit.headerLength)
    }

    /// Reports bytes that the client has sent.
    package mutating func sent(bytes: Int) {
        sentBytes += min(max(bytes, 0), HTTP2FrameLimit.largestWrite)
        refill((sentBytes / 1024).multipliedReportingOverflow(by: settings.perContent))
        sentBytes %= 1024
    }

    /// Reads received bytes.
    ///
    /// - Parameter now: the time in nanoseconds.
    /// - Returns: false if the server has exceeded the limit.
    package mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: UInt64) -> Bool {
        if now > refilledAt {
            let elapsed = Int(clamping: (now - refilledAt) / 1_000_000)
            if refilledAt == 0 || elapsed > 0 {
                if refilledAt > 0 {
                    refill(elapsed.multipliedReportingOverflow(by: settings.perSecond), dividedBy: 1000)
                }
                refilledAt = now
            }
        }
        var at = 0
        while at < bytes.count {
            if payload > 0 {
                let part = min(payload, bytes.count - at)
                payload -= part
                at += part
            } else if partial.isEmpty, bytes.count - at >= HTTP2FrameLimit.headerLength {
                count(UnsafeRawBufferPointer(rebasing: bytes[at..<at + HTTP2FrameLimit.headerLength]))
                at += HTTP2FrameLimit.headerLength
            } else {
                let part = min(HTTP2FrameLimit.headerLength - partial.count, bytes.count - at)
                partial.append(contentsOf: bytes[at..<at + part])
                at += part
                guard partial.count == HTTP2FrameLimit.headerLength else { break }
                let header = partial
                header.withUnsafeBytes { count($0) }
                partial.removeAll(keepingCapacity: true)
            }
        }
        return budget >= 0
    }

    private mutating func count(_ header: UnsafeRawBufferPointer) {
        payload = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
        let isData = header[3] == 0
        let isHeaders = header[3] == 1
        if isData && payload > 0 {
            refill((settings.perContent, false))
        } else if isHeaders, header[4] & HTTP2FrameLimit.endStream != 0 {
            // A response without a body.
            refill((settings.perContent, false))
        } else {
            // Must not underflow while the rest of a large read is examined.
            budget = max(budget - 1, -1)
        }
    }

    private mutating func refill(_ units: (partialValue: Int, overflow: Bool), dividedBy divisor: Int = 1) {
        guard budget >= 0 else { return }
        budget = units.overflow ? settings.capacity : min(settings.capacity, budget + units.partialValue / divisor)
    }

    private static let headerLength = 9
    /// Larger writes add no further units.
    private static let largestWrite = 1 << 30
    private static let endStream: UInt8 = 1
}
