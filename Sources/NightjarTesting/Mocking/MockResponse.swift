import NIOCore
import NightjarHTTP

/// The response of a mock route and its timing, or a fault.
public struct MockResponse: Sendable {
    public var status: Int
    public var headers: Headers
    public var body: ByteBuffer
    /// Time from the request to the response head, or to a fault that occurs before the head.
    public var delay: Duration
    /// Bytes of the body per second. Nil for no limit.
    public var rate: Int?
    /// The size of the pieces of the body in bytes. Larger if there would be more than about 100,000 pieces. Nil: ten
    /// pieces per second if ``rate`` is set, otherwise one piece.
    public var pieces: Int?
    public var fault: MockFault?
    /// The messages of a WebSocket, in place of a body. The server then accepts the handshake, ``status`` is ignored,
    /// and ``headers`` can contain `Sec-WebSocket-Protocol`. After the last step, the server discards messages, and
    /// responds to Pings and to a Close frame.
    public var webSocketSteps: [WebSocketStep]?

    public init(
        status: Int = 200, headers: Headers = Headers(), body: ByteBuffer = ByteBuffer(), delay: Duration = .zero,
        rate: Int? = nil, pieces: Int? = nil, fault: MockFault? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.delay = delay
        self.rate = rate
        self.pieces = pieces
        self.fault = fault
    }

    /// Returns a JSON response with its Content-Type.
    public static func json(_ value: JSONValue, status: Int = 200) throws(NightjarError) -> MockResponse {
        var headers = Headers()
        try headers.add("Content-Type", "application/json")
        return MockResponse(status: status, headers: headers, body: try value.encoded())
    }

    public static func text(_ text: String, status: Int = 200) throws(NightjarError) -> MockResponse {
        var headers = Headers()
        try headers.add("Content-Type", "text/plain; charset=utf-8")
        return MockResponse(status: status, headers: headers, body: ByteBuffer(string: text))
    }

    public static func fault(_ kind: MockFault.Kind, after bytes: Int? = nil) -> MockResponse {
        MockResponse(fault: MockFault(kind, after: bytes))
    }

    /// Returns a response that accepts a WebSocket.
    public static func webSocket(_ steps: [WebSocketStep]) -> MockResponse {
        var response = MockResponse(status: 101)
        response.webSocketSteps = steps
        return response
    }

    /// Returns the script of the response to a request.
    package func script(to request: ArrivedRequest) -> ExchangeScript {
        if let webSocketSteps { return script(webSocketSteps, to: request) }
        if let fault, fault.after == nil {
            let error = fault.error(to: request.url.origin)
            var script = ExchangeScript(error.map { [.init(.fail($0), after: delay)] } ?? [])
            script.failsBeforeSending = fault.isBeforeSending
            return script
        }
        let hasContent = request.method != .head && status >= 200 && status != 204 && status != 304
        var fields = headers
        if fields.firstIndex(of: "Content-Length") == nil, fields.firstIndex(of: "Transfer-Encoding") == nil,
            status >= 200, status != 204, status != 304
        {
            try? fields.add("Content-Length", String(body.readableBytes))
        }
        let content = hasContent ? body : ByteBuffer()
        let head = ResponseHead(
            status: status, headers: fields, contentLength: hasContent ? content.readableBytes : nil)
        var steps = [ExchangeScript.Step(.head(head), after: delay)]
        steps += parts(of: content).map { part in
            .init(.body(part), after: rate.map { .nanoseconds(MockResponse.time(part.readableBytes, at: $0)) } ?? .zero)
        }
        if let fault {
            if let error = fault.error(to: request.url.origin) { steps.append(.init(.fail(error))) }
        } else {
            steps.append(.init(.finish(trailers: Headers())))
        }
        return ExchangeScript(steps)
    }

    /// Returns the pieces of the body, up to the fault.
    private func parts(of content: ByteBuffer) -> [ByteBuffer] {
        var rest = content
        if let bytes = fault?.after { rest = rest.readSlice(length: min(bytes, rest.readableBytes)) ?? rest }
        let size = max(pieces ?? rate.map { max($0 / 10, 1) } ?? rest.readableBytes, 1)
        // Limits the number of pieces of a large body.
        let least = max(rest.readableBytes / MockResponse.maximumPieces, 1)
        var parts: [ByteBuffer] = []
        while rest.readableBytes > 0, let part = rest.readSlice(length: min(max(size, least), rest.readableBytes)) {
            parts.append(part)
        }
        return parts
    }

    private static func time(_ bytes: Int, at rate: Int) -> Int64 {
        let nanoseconds = Double(bytes) / Double(max(rate, 1)) * 1e9
        return Int64(exactly: min(nanoseconds, 3e18).rounded()) ?? 0
    }

    /// The approximate maximum number of pieces of one response. A piece with a delay needs a timer.
    private static let maximumPieces = 100_000
}
