import NIOCore

/// A request and what came of it, as a cassette keeps it: without secrets, its content without coding.
public struct RecordedExchange: Sendable, Equatable {
    public struct Request: Sendable, Equatable {
        public var method: Method
        /// Absolute, without user info.
        public var url: String
        public var headers: Headers
        public var body: RecordedBody

        public init(method: Method, url: String, headers: Headers = Headers(), body: RecordedBody = .none) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
        }
    }

    public struct Response: Sendable, Equatable {
        /// 100 to 999.
        public var status: Int
        public var reason = ""
        public var headers = Headers()
        public var body = RecordedBody.none
        public var trailers = Headers()
        /// From the request to the head.
        public var delay = Duration.zero
        /// In which the body came. What their sizes do not cover belongs to the last one.
        public var pieces: [Piece] = []
        /// The client had enough before the end came.
        public var isCut = false

        public init(status: Int) { self.status = status }
    }

    public struct Piece: Sendable, Equatable {
        /// Since the one before; of the first, since the head.
        public var delay: Duration
        public var bytes: Int

        public init(after delay: Duration, bytes: Int) {
            self.delay = delay
            self.bytes = bytes
        }
    }

    /// What the exchange failed with, where it did: in place of the response, or behind what there is of it.
    public struct Failure: Sendable, Equatable {
        public var kind: ErrorKind
        public var message: String
        public var phase: ErrorPhase?
        public var requestMayHaveBeenProcessed: Bool
        /// From the request on, or from the last piece.
        public var delay: Duration

        public init(_ error: NightjarError, after delay: Duration) {
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

    public var request: Request
    public var response: Response?
    public var failure: Failure?

    public init(_ request: Request, _ response: Response?, _ failure: Failure? = nil) {
        self.request = request
        self.response = response
        self.failure = failure
    }

    /// Its course.
    ///
    /// - Parameter keepsTime: whether it takes as long as it took.
    public func script(keepsTime: Bool) -> ExchangeScript {
        func delay(_ duration: Duration) -> Duration { keepsTime ? duration : .zero }
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
            steps.append(.init(.head(head), after: delay(response.delay)))
            for (index, piece) in response.pieces.enumerated() where rest.readableBytes > 0 {
                let isLast = index == response.pieces.count - 1
                let size = isLast ? rest.readableBytes : min(max(piece.bytes, 0), rest.readableBytes)
                guard size > 0, let part = rest.readSlice(length: size) else { continue }
                steps.append(.init(.body(part), after: delay(piece.delay)))
            }
            if rest.readableBytes > 0 { steps.append(.init(.body(rest))) }
            if failure == nil { steps.append(.init(.finish(trailers: response.trailers))) }
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

/// Content as it stands in a cassette: JSON as JSON, text as text, all else in base64.
public enum RecordedBody: Sendable, Equatable {
    case none
    /// What it was before but for white space: ``init(_:)`` makes text of what would not come out alike.
    case json(JSONValue)
    case text(String)
    case binary(ByteBuffer)
    /// It was too large to be kept.
    case unkept

    public init(_ bytes: ByteBuffer) {
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

    /// JSON without the white space between its tokens, and the levels of its arrays and objects.
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

    /// Levels of a body that is kept as JSON. A deeper one is kept as text: the file around it has levels of its own, and
    /// ``SecretScrubber`` looks for secrets in the members of no more levels.
    static let deepestJSON = 199

    /// The same body in the form in which it can be written to a file, read back and searched for secrets.
    var legible: RecordedBody {
        guard case .json(let value) = self, value.nests(deeperThan: RecordedBody.deepestJSON),
            let text = try? value.encoded()
        else { return self }
        return .text(String(buffer: text))
    }

    public var bytes: ByteBuffer {
        switch self {
        case .none, .unkept: ByteBuffer()
        case .json(let value): (try? value.encoded()) ?? ByteBuffer()
        case .text(let text): ByteBuffer(string: text)
        case .binary(let bytes): bytes
        }
    }
}

extension JSONValue {
    /// Whether its arrays and objects have more than this many levels. Does not recurse.
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
