import NIOCore
import NIOHTTP1
import NIOHTTP2

/// `/h2`: the faults of HTTP/2 that a client must survive. A request over HTTP/1.1 receives 400.
///
/// With `key`, only the first `times` requests of the key have the fault of `/h2/goaway`, `/h2/reset` and `/h2/abort`.
/// The default of `times` is 1. Later requests receive 200. Without `key`, all requests have the fault. `code` is an
/// error code of RFC 9113 section 7, by number or by name, such as `refused_stream`.
final class HTTP2Faults: Resettable {
    private static let maximumKeys = 1000
    private static let maximumStream = (1 << 31) - 1
    private static let maximumPause = 60.0

    /// The number of requests by key.
    private var attempts = BoundedTable<String, Int>(capacity: HTTP2Faults.maximumKeys)

    func add(to router: inout Router) {
        router.onAny("/h2/goaway", goAway)
        router.streamAny("/h2/reset", reset)
        router.onAny("/h2/abort", abort)
        router.onAny("/h2/settings", changeSettings)
        router.onAny("/h2/ping", ping)
        router.onAny("/h2/omit", omit)
        router.streamAny("/h2/stall", StallSink.open)
    }

    func reset() { attempts.removeAll() }

    private static func stream(of request: Request) throws(Problem) -> RequestStream {
        guard let stream = request.origin.stream else {
            throw Problem(.badRequest, "this resource is available only over HTTP/2")
        }
        return stream
    }

    /// Counts a request. Returns true if it has the fault.
    private func isFaulty(_ request: Request) throws(Problem) -> Bool {
        guard let key = request.query("key") else { return true }
        let times = try request.query("times", in: 0...1_000_000, or: 1)
        let count = (attempts[key] ?? 0) + 1
        attempts.set(count, for: key)
        return count <= times
    }

    private static func response(_ request: Request, _ stream: RequestStream, isFaulty: Bool) -> Response {
        .json([
            "stream": .int(stream.id), "connection": .int(request.connection),
            "request_on_connection": .int(request.numberOnConnection), "fault": .bool(isFaulty),
        ])
    }

    // MARK: Connection

    /// Sends GOAWAY before the response. The connection is closed when its streams have ended.
    ///
    /// - `last`: the last stream that the server processes. `current`, the default, is the newest stream; `before`
    ///   precedes the stream of the request, which ends without a response; `max` is 2^31-1; or a number. The streams
    ///   after it end without a response.
    /// - `notice`: the seconds between a first GOAWAY with 2^31-1 and the second GOAWAY.
    /// - `delay`: the seconds between the GOAWAY and the response.
    private func goAway(_ request: Request) throws(Problem) -> Response {
        let stream = try HTTP2Faults.stream(of: request)
        let code = try HTTP2ErrorCode(request, or: .noError)
        let last = try HTTP2Faults.lastStream(request, stream)
        let notice = try request.queryDuration("notice", atMost: HTTP2Faults.maximumPause, or: 0)
        let delay = try request.queryDuration("delay", atMost: HTTP2Faults.maximumPause, or: 0)
        let isFaulty = try isFaulty(request)
        var response = HTTP2Faults.response(request, stream, isFaulty: isFaulty)
        response.delay = delay
        guard isFaulty else { return response }
        let connection = stream.connection
        if notice > .zero { connection.goAway(last: HTTP2Faults.maximumStream, .noError, after: .zero) }
        connection.goAway(last: last, code, after: notice)
        return response
    }

    private static func lastStream(_ request: Request, _ stream: RequestStream) throws(Problem) -> Int? {
        switch request.query("last") {
        case nil, "current": nil
        case "before": max(stream.id - 2, 0)
        case "max": HTTP2Faults.maximumStream
        // The identifiers of a client's streams are odd. 0 stands for no stream.
        default: try request.query("last", in: 0...HTTP2Faults.maximumStream).map { $0 % 2 == 0 ? max($0 - 1, 0) : $0 }
        }
    }

    /// Closes the TCP connection without a GOAWAY frame. `mode` is `close`, the default, or `reset`.
    private func abort(_ request: Request) throws(Problem) -> Response {
        let stream = try HTTP2Faults.stream(of: request)
        let resets = try request.query("mode", oneOf: ["close", "reset"]) == "reset"
        let isFaulty = try isFaulty(request)
        if isFaulty { stream.connection.abort(resets: resets) }
        return HTTP2Faults.response(request, stream, isFaulty: isFaulty)
    }

    /// Sends a SETTINGS frame, and responds when the client has acknowledged it. The parameters are
    /// `max_concurrent_streams`, `initial_window_size`, `max_frame_size`, `max_header_list_size` and
    /// `header_table_size`.
    private func changeSettings(_ request: Request) throws(Problem) -> Response {
        let stream = try HTTP2Faults.stream(of: request)
        let window = 0...HTTP2Options.maximumWindow
        let parameters: [(String, HTTP2SettingsParameter, ClosedRange<Int>)] = [
            ("header_table_size", .headerTableSize, window), ("max_concurrent_streams", .maxConcurrentStreams, window),
            ("initial_window_size", .initialWindowSize, window), ("max_frame_size", .maxFrameSize, 16_384...16_777_215),
            ("max_header_list_size", .maxHeaderListSize, window),
        ]
        var settings: HTTP2Settings = []
        var sent: [JSON.Member] = []
        for (name, parameter, range) in parameters {
            guard let value = try request.query(name, in: range) else { continue }
            settings.append(HTTP2Setting(parameter: parameter, value: value))
            sent.append(.init(name: name, value: .int(value)))
        }
        let source = WaitingSource(.object([.init(name: "acknowledged", value: .bool(true))] + sent))
        stream.connection.send(settings) { source.resume() }
        return source.response
    }

    /// Sends a PING frame, and responds when the client has acknowledged it.
    private func ping(_ request: Request) throws(Problem) -> Response {
        let source = WaitingSource(["acknowledged": .bool(true)])
        try HTTP2Faults.stream(of: request).connection.ping { source.resume() }
        return source.response
    }

    /// Stops sending some frames on the connection of the request: WINDOW_UPDATE with `window_updates=0`,
    /// acknowledgements of PING with `ping_acks=0`.
    private func omit(_ request: Request) throws(Problem) -> Response {
        let stream = try HTTP2Faults.stream(of: request)
        stream.connection.omit(try HTTP2OmittedFrames(request))
        return HTTP2Faults.response(request, stream, isFaulty: true)
    }

    // MARK: Stream

    /// Ends the stream with RST_STREAM and `code`. The default is `internal_error`.
    ///
    /// - `at`: `request` resets before the body of the request; `head`, the default, after the request, before the
    ///   response; `body` after `bytes` bytes of the body of the response, whose default is 1000.
    /// - `delay`: the seconds before the reset or, with `at=body`, before the response.
    private func reset(_ request: Request) throws(Problem) -> any BodySink {
        let stream = try HTTP2Faults.stream(of: request)
        let code = try HTTP2ErrorCode(request, or: .internalError)
        let place = try request.query("at", oneOf: ["head", "request", "body"])
        let bytes = try request.query("bytes", in: 0...(1 << 40), or: 1000)
        let delay = try request.queryDuration("delay", atMost: HTTP2Faults.maximumPause, or: 0)
        guard try isFaulty(request) else {
            return DiscardingSink(HTTP2Faults.response(request, stream, isFaulty: false), isEarly: false)
        }
        var response = Response.dropped
        if place == "body" {
            let headers: HTTPHeaders = ["Content-Type": "application/octet-stream"]
            response = Response(.ok, headers: headers, body: .source(ResetSource(left: bytes), length: nil))
        }
        (response.resetCode, response.delay) = (code, delay)
        return DiscardingSink(response, isEarly: place == "request")
    }
}

extension HTTP2ErrorCode {
    /// The codes from 0 to 13.
    private static let names = [
        "no_error", "protocol_error", "internal_error", "flow_control_error", "settings_timeout", "stream_closed",
        "frame_size_error", "refused_stream", "cancel", "compression_error", "connect_error", "enhance_your_calm",
        "inadequate_security", "http_1_1_required",
    ]

    /// Reads the parameter `code`: a name or a number.
    fileprivate init(_ request: Request, or fallback: HTTP2ErrorCode) throws(Problem) {
        if let name = request.query("code"), let index = HTTP2ErrorCode.names.firstIndex(of: name) {
            self.init(networkCode: index)
        } else {
            self.init(networkCode: try request.query("code", in: 0...Int(UInt32.max), or: fallback.networkCode))
        }
    }
}
