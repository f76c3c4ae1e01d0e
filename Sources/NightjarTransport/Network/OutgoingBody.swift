import DequeModule
import NIOCore
import NightjarHTTP

/// The unsent part of a request body. It is sent in parts, so that memory use is bounded if the peer is slow.
struct OutgoingBody {
    enum Step {
        case write(ByteBuffer)
        /// No data is available: request up to `maximum` bytes from the source.
        case requestPart(maximum: Int)
        /// A part has been requested from the source.
        case wait
        case complete
    }

    private enum Source {
        case none
        case bytes(ByteBuffer)
        /// The source provides one part at a time, on request. `remaining` is nil for an unknown length.
        case stream(remaining: Int?, isRequested: Bool)
        /// Nothing is sent before the server has accepted the upgrade.
        case awaitsUpgrade
    }

    private var source = Source.none
    /// The number of body bytes taken from the source.
    private(set) var sentBytes = 0
    private var encoder: HTTP1BodyEncoder
    /// Encoded parts that are not yet written.
    private var pending = Deque<ByteBuffer>()

    /// A small body in memory is written together with the head, unless Expect: 100-continue is sent.
    init(
        _ body: RequestBody, _ framing: BodyFraming, waitsForContinue: Bool = false, inlinedInto head: inout ByteBuffer
    ) {
        encoder = HTTP1BodyEncoder(framing)
        switch (body, framing) {
        case (.none, _), (_, .absent), (_, .length(0)): break
        case (.bytes(let bytes), _) where bytes.readableBytes <= OutgoingBody.largestInlined && !waitsForContinue:
            head.writeImmutableBuffer(bytes)
            sentBytes = bytes.readableBytes
        case (.bytes(let bytes), _): source = .bytes(bytes)
        case (_, .length(let length)): source = .stream(remaining: length, isRequested: false)
        case (_, .chunked): source = .stream(remaining: nil, isRequested: false)
        case (_, .upgrade): source = .awaitsUpgrade
        }
    }

    /// A body for HTTP/2, whose frames mark its end.
    init(unframed body: RequestBody, _ framing: BodyFraming) {
        if case .length = framing { encoder = HTTP1BodyEncoder(framing) } else { encoder = HTTP1BodyEncoder(.upgrade) }
        switch (body, framing) {
        case (.none, _), (_, .absent), (_, .length(0)): break
        case (.bytes(let bytes), _): source = .bytes(bytes)
        case (_, .length(let length)): source = .stream(remaining: length, isRequested: false)
        case (_, .chunked): source = .stream(remaining: nil, isRequested: false)
        case (_, .upgrade): source = .awaitsUpgrade
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
        case .stream(_, isRequested: true), .awaitsUpgrade:
            return .wait
        case .stream(let remaining, isRequested: false):
            source = .stream(remaining: remaining, isRequested: true)
            return .requestPart(maximum: min(remaining ?? OutgoingBody.partSize, OutgoingBody.partSize))
        }
    }

    /// Reports that the server has accepted the upgrade. Parts are requested until the source ends.
    mutating func upgraded() {
        if case .awaitsUpgrade = source { source = .stream(remaining: nil, isRequested: false) }
    }

    /// Accepts a part from the source.
    ///
    /// - Throws: `invalid_request` if the source provides more than it announced.
    mutating func receive(_ part: ByteBuffer) throws(NightjarError) {
        guard case .stream(let remaining, isRequested: true) = source else { return }
        try encoder.encode(part) { pending.append($0) }
        sentBytes += part.readableBytes
        let left = remaining.map { $0 - part.readableBytes }
        source = left == 0 ? .none : .stream(remaining: left, isRequested: false)
    }

    /// Ends the body.
    ///
    /// - Throws: `invalid_request` if the source provided less than it announced.
    mutating func end() throws(NightjarError) {
        guard case .stream(_, isRequested: true) = source else { return }
        try encoder.finish { pending.append($0) }
        source = .none
    }

    /// The largest body in bytes that is written together with the head. The copy costs less than a second system call.
    private static let largestInlined = 16 * 1024
    /// The maximum number of bytes that are taken from the source at once. The channel's buffer holds a few parts.
    private static let partSize = 128 * 1024
}
