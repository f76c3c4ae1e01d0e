import DequeModule
import NIOCore
import NightjarHTTP

/// What is left to send of a request's content, cut so that a slow peer holds back memory and not only the socket.
struct OutgoingBody {
    enum Step {
        case write(ByteBuffer)
        /// Nothing at hand: ask the source for up to so many bytes.
        case ask(maximum: Int)
        /// The source has been asked.
        case wait
        case complete
    }

    private enum Source {
        case none
        case bytes(ByteBuffer)
        /// Asked for one part at a time. `remaining` is nil for a length that nobody announced.
        case stream(remaining: Int?, isAsked: Bool)
    }

    private var source = Source.none
    /// Bytes of the content that have gone on from here, or wait for the channel to take them.
    private(set) var sentBytes = 0
    private var encoder: HTTP1BodyEncoder
    /// Encoded and not yet written.
    private var pending = Deque<ByteBuffer>()

    /// Small content goes into the same write as the head, unless the server is asked for it first.
    init(_ body: RequestBody, _ framing: BodyFraming, asksFirst: Bool = false, inlinedInto head: inout ByteBuffer) {
        encoder = HTTP1BodyEncoder(framing)
        switch (body, framing) {
        case (.none, _), (_, .absent), (_, .length(0)): break
        case (.bytes(let bytes), _) where bytes.readableBytes <= OutgoingBody.largestInlined && !asksFirst:
            head.writeImmutableBuffer(bytes)
            sentBytes = bytes.readableBytes
        case (.bytes(let bytes), _): source = .bytes(bytes)
        case (_, .length(let length)): source = .stream(remaining: length, isAsked: false)
        case (_, .chunked): source = .stream(remaining: nil, isAsked: false)
        }
    }

    var isComplete: Bool {
        if case .none = source { pending.isEmpty } else { false }
    }

    mutating func next() -> Step {
        if let part = pending.popFirst() { return .write(part) }
        switch source {
        case .none:
            return .complete
        case .bytes(var bytes):
            guard let part = bytes.readSlice(length: min(bytes.readableBytes, OutgoingBody.partSize)) else {
                source = .none
                return .complete
            }
            source = bytes.readableBytes == 0 ? .none : .bytes(bytes)
            sentBytes += part.readableBytes
            return .write(part)
        case .stream(_, isAsked: true):
            return .wait
        case .stream(let remaining, isAsked: false):
            source = .stream(remaining: remaining, isAsked: true)
            return .ask(maximum: min(remaining ?? OutgoingBody.partSize, OutgoingBody.partSize))
        }
    }

    /// A part from the source.
    ///
    /// - Throws: `invalid_request` when it gives more than it announced.
    mutating func receive(_ part: ByteBuffer) throws(NightjarError) {
        guard case .stream(let remaining, isAsked: true) = source else { return }
        try encoder.encode(part) { pending.append($0) }
        sentBytes += part.readableBytes
        let left = remaining.map { $0 - part.readableBytes }
        source = left == 0 ? .none : .stream(remaining: left, isAsked: false)
    }

    /// The source has no more.
    ///
    /// - Throws: `invalid_request` when it gave less than it announced.
    mutating func end() throws(NightjarError) {
        guard case .stream(_, isAsked: true) = source else { return }
        try encoder.finish { pending.append($0) }
        source = .none
    }

    /// Below this, a copy costs less than a second system call.
    private static let largestInlined = 16 * 1024
    /// Written at once; the channel's own buffer holds a few of them.
    private static let partSize = 128 * 1024
}
