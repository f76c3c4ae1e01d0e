import NIOCore
import NIOHTTP2

/// `/__http2`: the options of the HTTP/2 connections that clients open afterwards. POST sets all options. A parameter
/// that is absent has its default.
///
/// - `enabled=0`: the server speaks only HTTP/1.1.
/// - `max_concurrent_streams`, `initial_window_size`, `max_header_list_size`, `connect_protocol`: the settings that the
///   server sends first.
/// - `window_updates=0`: the server never sends WINDOW_UPDATE.
/// - `ping_acks=0`: the server never acknowledges PING.
final class HTTP2Options: Resettable {
    private static let defaultStreams = 250
    private static let defaultWindow = 256 * 1024
    private static let defaultHeaderList = 256 * 1024
    /// The initial window before the client has received the settings (RFC 9113 section 6.9.2).
    private static let protocolWindow = 65_535
    /// The largest window of HTTP/2.
    static let maximumWindow = (1 << 31) - 1

    private(set) var isEnabled = true
    private(set) var omittedFrames: HTTP2OmittedFrames = []
    private var maximumStreams = HTTP2Options.defaultStreams
    private var initialWindow = HTTP2Options.defaultWindow
    private var maximumHeaderList = HTTP2Options.defaultHeaderList
    private var allowsConnectProtocol = true

    func add(to router: inout Router) {
        router.on(.POST, "/__http2", set)
        router.on(.GET, "/__http2") { [self] _ throws(Problem) in .json(json) }
    }

    func reset() {
        (isEnabled, omittedFrames, allowsConnectProtocol) = (true, [], true)
        maximumStreams = HTTP2Options.defaultStreams
        initialWindow = HTTP2Options.defaultWindow
        maximumHeaderList = HTTP2Options.defaultHeaderList
    }

    private func set(_ request: Request) throws(Problem) -> Response {
        let streams = try request.query("max_concurrent_streams", in: 0...1_000_000, or: HTTP2Options.defaultStreams)
        let window = try request.query(
            "initial_window_size", in: 0...HTTP2Options.maximumWindow, or: HTTP2Options.defaultWindow)
        let list = try request.query(
            "max_header_list_size", in: 0...(16 << 20), or: HTTP2Options.defaultHeaderList)
        let flags = try ["enabled", "connect_protocol"].map { name throws(Problem) in
            try request.query(name, oneOf: ["1", "0"]) == "1"
        }
        omittedFrames = try HTTP2OmittedFrames(request)
        (isEnabled, allowsConnectProtocol) = (flags[0], flags[1])
        (maximumStreams, initialWindow, maximumHeaderList) = (streams, window, list)
        return .json(json)
    }

    private var json: JSON {
        [
            "enabled": .bool(isEnabled), "max_concurrent_streams": .int(maximumStreams),
            "initial_window_size": .int(initialWindow), "max_header_list_size": .int(maximumHeaderList),
            "connect_protocol": .bool(allowsConnectProtocol),
            "window_updates": .bool(!omittedFrames.contains(.windowUpdates)),
            "ping_acks": .bool(!omittedFrames.contains(.pingAcknowledgements)),
        ]
    }

    /// The configuration of a new connection. NIOHTTP2's limits of control frames, resets and errors are disabled: tests
    /// cancel many streams, and a limit would close the connection of a correct client.
    var configuration: (NIOHTTP2Handler.ConnectionConfiguration, NIOHTTP2Handler.StreamConfiguration) {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: maximumStreams),
            HTTP2Setting(parameter: .initialWindowSize, value: initialWindow),
            HTTP2Setting(parameter: .maxHeaderListSize, value: maximumHeaderList),
            HTTP2Setting(parameter: .enableConnectProtocol, value: allowsConnectProtocol ? 1 : 0),
        ]
        // Responses with a wrong Content-Length are intentional. HTTP2StreamCodec checks the requests.
        connection.contentLengthValidation = .disabled
        connection.maximumSequentialEmptyDataFrames = 10_000
        connection.maximumSequentialContinuationFrames = 64
        connection.maximumRecentlyResetStreams = 1000
        connection.maximumConnectionGlitches = .max
        connection.targetWindowSize = 16 << 20
        // More than `maximumCount` frames within the window close the connection. The window is shorter than the
        // processing of these frames. A large count would allocate memory for as many times.
        connection.controlFrameRateLimit.maximumCount = 1000
        connection.controlFrameRateLimit.windowLength = .nanoseconds(1)
        var stream = NIOHTTP2Handler.StreamConfiguration()
        // NIOHTTP2 adds the difference between the settings to the target when the client acknowledges the settings. A
        // smaller target would never be reached by the window of a stream that was opened before.
        stream.targetWindowSize = max(initialWindow, HTTP2Options.protocolWindow)
        stream.outboundBufferSizeHighWatermark = 128 * 1024
        stream.outboundBufferSizeLowWatermark = 64 * 1024
        stream.streamResetFrameRateLimit.maximumCount = 1000
        stream.streamResetFrameRateLimit.windowLength = .nanoseconds(1)
        stream.streamErrorRateLimit.maximumCount = 1000
        stream.streamErrorRateLimit.windowLength = .nanoseconds(1)
        return (connection, stream)
    }
}

extension HTTP2OmittedFrames {
    /// Reads the parameters `window_updates` and `ping_acks`.
    init(_ request: Request) throws(Problem) {
        self = []
        if try request.query("window_updates", oneOf: ["1", "0"]) == "0" { insert(.windowUpdates) }
        if try request.query("ping_acks", oneOf: ["1", "0"]) == "0" { insert(.pingAcknowledgements) }
    }
}
