/// Limits the frames of a server that carry nothing for the client, such as PING, SETTINGS, empty DATA and CONTINUATION.
/// A server that floods the client with them would otherwise cost it time without limit.
///
/// A frame without content uses a unit of a budget. Frames with content, the requests and bytes of the client, and time add
/// units.
package struct HTTP2FrameLimit: Sendable {
    package struct Settings: Sendable {
        /// The largest number of units.
        package var capacity = 4_000
        /// The units that are added for a frame with content, for a request, and for each KiB that the client has sent. The
        /// server responds to these with frames such as WINDOW_UPDATE.
        package var perContent = 8
        package var perSecond = 200

        package init() {}
    }

    private let settings: Settings
    private var budget: Int
    /// The time in nanoseconds up to which units were added. Nil: no frame has arrived.
    private var refilledAt: UInt64?
    /// The bytes that the client has sent and that have added no units.
    private var sentBytes = 0

    package init(_ settings: Settings = Settings()) {
        self.settings = settings
        budget = settings.capacity
    }

    /// Reports a request of the client.
    package mutating func requestStarted() { add(settings.perContent) }

    /// Reports bytes that the client has sent.
    package mutating func sent(bytes: Int) {
        sentBytes += min(max(bytes, 0), HTTP2FrameLimit.largestWrite)
        add(sentBytes / 1024 * settings.perContent)
        sentBytes %= 1024
    }

    /// Reports a frame of the server.
    ///
    /// - Parameter now: the time in nanoseconds.
    /// - Returns: false if the server has exceeded the limit.
    package mutating func received(type: UInt8, flags: UInt8, length: Int, at now: UInt64) -> Bool {
        addTime(now)
        let isContent =
            type == HTTP2FrameLimit.data && length > 0
            || type == HTTP2FrameLimit.headers && flags & HTTP2FrameLimit.endStream != 0
        if isContent { add(settings.perContent) } else { budget = max(budget - 1, -1) }
        return budget >= 0
    }

    private mutating func addTime(_ now: UInt64) {
        let last = refilledAt ?? now
        guard now > last else {
            refilledAt = last
            return
        }
        let milliseconds = min(Int(clamping: (now - last) / 1_000_000), HTTP2FrameLimit.longestPause)
        guard milliseconds > 0 else { return }
        add(milliseconds * settings.perSecond / 1000)
        refilledAt = now
    }

    /// Adds units. A limit that was exceeded stays exceeded.
    private mutating func add(_ units: Int) {
        if budget >= 0 { budget = min(settings.capacity, budget + units) }
    }

    private static let data: UInt8 = 0
    private static let headers: UInt8 = 1
    private static let endStream: UInt8 = 1
    /// Larger writes and longer pauses add no further units.
    private static let largestWrite = 1 << 30
    private static let longestPause = 3_600_000
}
