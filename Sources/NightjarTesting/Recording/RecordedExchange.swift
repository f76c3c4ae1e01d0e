import NIOCore
import NightjarHTTP

/// A request and its outcome in the form that a cassette stores. Secrets are replaced before a cassette is written.
package struct RecordedExchange: Sendable, Equatable {
    package struct Request: Sendable, Equatable {
        package var method: Method
        /// The absolute URL without user info.
        package var url: String
        package var headers: Headers
        package var body: RecordedBody

        package init(method: Method, url: String, headers: Headers = Headers(), body: RecordedBody = .none) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
        }
    }

    package struct Response: Sendable, Equatable {
        /// The status code, 100 to 999.
        package var status: Int
        package var reason = ""
        package var headers = Headers()
        package var body = RecordedBody.none
        package var trailers = Headers()
        /// Time from the request to the response head.
        package var delay = Duration.zero
        /// The parts in which the body arrived. The last part includes all bytes that the sizes do not cover.
        package var pieces: [Piece] = []
        /// True if the client stopped reading before the end of the body.
        package var isTruncated = false
        /// The messages of a WebSocket, in place of a body. Nil for another exchange.
        package var messages: [SocketMessage]?

        package init(status: Int) { self.status = status }
    }

    package struct Piece: Sendable, Equatable {
        /// Time since the previous piece. For the first piece, time since the response head.
        package var delay: Duration
        package var bytes: Int

        package init(after delay: Duration, bytes: Int) {
            self.delay = delay
            self.bytes = bytes
        }
    }

    /// The failure of the exchange, which occurred instead of a response or after the recorded part of the response.
    package struct Failure: Sendable, Equatable {
        package var kind: ErrorKind
        package var message: String
        package var phase: ErrorPhase?
        package var requestMayHaveBeenProcessed: Bool
        /// The time to the failure from the request, or from the last received part of the response.
        package var delay: Duration

        package init(_ error: NightjarError, after delay: Duration) {
            self.init(
                kind: error.kind, message: error.message, phase: error.phase,
                requestMayHaveBeenProcessed: error.requestMayHaveBeenProcessed, delay: delay)
        }

        init(
            kind: ErrorKind, message: String, phase: ErrorPhase?, requestMayHaveBeenProcessed: Bool, delay: Duration
        ) {
            self.kind = kind
            self.message = message
            self.phase = phase
            self.requestMayHaveBeenProcessed = requestMayHaveBeenProcessed
            self.delay = delay
        }
    }

    package var request: Request
    package var response: Response?
    package var failure: Failure?

    package init(_ request: Request, _ response: Response?, _ failure: Failure? = nil) {
        self.request = request
        self.response = response
        self.failure = failure
    }

    /// Returns the script of the exchange.
    ///
    /// - Parameters:
    ///   - replaysTiming: true to replay the recorded delays, false for no delays.
    ///   - expectation: Returns the comparison with a message that a WebSocket client has sent.
    package func script(
        replaysTiming: Bool, expectation: (SocketMessage.Content) -> ExpectedMessage = { _ in .any }
    ) -> ExchangeScript {
        func delay(_ duration: Duration) -> Duration { replaysTiming ? duration : .zero }
        var steps: [ExchangeScript.Step] = []
        if let response {
            var rest = response.body.bytes
            var head = ResponseHead(
                status: response.status, reason: response.reason, headers: response.headers,
                contentLength: rest.readableBytes)
            if request.method == .head || response.status == 204 || response.status == 304 {
                head.contentLength = nil
            } else if head.headers.firstIndex(of: "Content-Length") != nil {
                try? head.headers.set("Content-Length", String(rest.readableBytes))
            }
            if response.messages != nil { head.contentLength = nil }
            steps.append(.init(.head(head), after: delay(response.delay)))
            for step in self.steps(of: response.messages ?? [], expectation: expectation) {
                steps.append(.init(step.event, after: delay(step.delay)))
            }
            for (index, piece) in response.pieces.enumerated() where rest.readableBytes > 0 {
                let isLast = index == response.pieces.count - 1
                let size = isLast ? rest.readableBytes : min(max(piece.bytes, 0), rest.readableBytes)
                guard size > 0, let part = rest.readSlice(length: size) else { continue }
                steps.append(.init(.body(part), after: delay(piece.delay)))
            }
            if rest.readableBytes > 0 { steps.append(.init(.body(rest))) }
            if failure == nil, response.endsByItself { steps.append(.init(.finish(trailers: response.trailers))) }
        }
        guard let failure else { return ExchangeScript(steps) }
        let error = NightjarError(
            failure.kind, failure.message, phase: failure.phase,
            requestMayHaveBeenProcessed: failure.requestMayHaveBeenProcessed)
        steps.append(.init(.fail(error), after: delay(failure.delay)))
        var script = ExchangeScript(steps)
        script.failsBeforeSending = response == nil && !failure.requestMayHaveBeenProcessed
        return script
    }
}

/// A body as stored in a cassette: JSON objects and arrays as JSON if possible, other UTF-8 text as text, everything
/// else in base64.
package enum RecordedBody: Sendable, Equatable {
    case none
    /// Equal to the original except for white space. ``init(_:)`` stores JSON as text if it would not be reproduced
    /// exactly.
    case json(JSONValue)
    case text(String)
    case binary(ByteBuffer)
    /// The body was too large to be stored.
    case omitted

    package init(_ bytes: ByteBuffer) {
        guard bytes.readableBytes > 0 else {
            self = .none
            return
        }
        guard let text = String(validating: bytes.readableBytesView, as: UTF8.self) else {
            self = .binary(bytes)
            return
        }
        switch text.utf8.first(where: { !" \t\r\n".utf8.contains($0) }) {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            self = RecordedBody.json(of: text).map(RecordedBody.json) ?? .text(text)
        default: self = .text(text)
        }
    }

    private static func json(of text: String) -> JSONValue? {
        let (compact, depth) = withoutBlanks(text)
        guard depth <= deepestJSON, let value = try? JSONValue(parsing: text), let again = try? value.encoded() else {
            return nil
        }
        return again.readableBytesView.elementsEqual(compact) ? value : nil
    }

    /// Removes the white space between tokens of JSON, and counts the nesting levels.
    private static func withoutBlanks(_ text: String) -> (compact: [UInt8], depth: Int) {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        var isInString = false
        var isEscaped = false
        var level = 0
        var depth = 0
        for byte in text.utf8 {
            if isInString {
                isInString = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                result.append(byte)
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): continue
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                level += 1
                depth = max(depth, level)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): level -= 1
            default: break
            }
            result.append(byte)
        }
        return (result, depth)
    }

    /// The maximum nesting depth of a body that is stored as JSON. A deeper body is stored as text, because the file
    /// adds further levels and ``SecretScrubber`` does not search deeper.
    static let deepestJSON = 199

    /// The body in a form that can be written to a file, read back and searched for secrets.
    var legible: RecordedBody {
        guard case .json(let value) = self, value.nests(deeperThan: RecordedBody.deepestJSON),
            let text = try? value.encoded()
        else { return self }
        return .text(String(buffer: text))
    }

    package var bytes: ByteBuffer {
        switch self {
        case .none, .omitted: ByteBuffer()
        case .json(let value): (try? value.encoded()) ?? ByteBuffer()
        case .text(let text): ByteBuffer(string: text)
        case .binary(let bytes): bytes
        }
    }
}

extension JSONValue {
    /// Returns true if arrays and objects are nested more than `maximum` levels deep. Does not recurse.
    func nests(deeperThan maximum: Int) -> Bool {
        var rest = [(value: self, level: 1)]
        while let (value, level) = rest.popLast() {
            let children: [JSONValue]
            switch value {
            case .array(let elements): children = elements
            case .object(let members): children = members.map(\.value)
            default: continue
            }
            guard level <= maximum else { return true }
            for child in children {
                switch child {
                case .array, .object: rest.append((child, level + 1))
                default: break
                }
            }
        }
        return false
    }
}
