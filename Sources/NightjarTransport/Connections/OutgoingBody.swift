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

    private enum State {
        case complete
        case bytes(ByteBuffer)
        /// `remaining` nil: chunked.
        case stream(remaining: Int?, pending: ByteBuffer?, asked: Bool, ended: Bool)
    }

    private var state = State.complete

    static let none = OutgoingBody()

    private init() {}

    /// Small content goes into the same write as the head.
    init(_ body: RequestBody, inlinedInto head: inout ByteBuffer) {
        switch body {
        case .none:
            state = .complete
        case .bytes(var bytes):
            if bytes.readableBytes <= OutgoingBody.largestInlined {
                head.writeBuffer(&bytes)
                state = .complete
            } else {
                state = .bytes(bytes)
            }
        case .stream(let length):
            state = length == 0 ? .complete : .stream(remaining: length, pending: nil, asked: false, ended: false)
        }
    }

    var isComplete: Bool {
        if case .complete = state { true } else { false }
    }

    mutating func next() -> Step {
        switch state {
        case .complete:
            return .complete
        case .bytes(var bytes):
            let count = min(bytes.readableBytes, OutgoingBody.partSize)
            guard count > 0, let part = bytes.readSlice(length: count) else {
                state = .complete
                return .complete
            }
            state = bytes.readableBytes == 0 ? .complete : .bytes(bytes)
            return .write(part)
        case .stream(let remaining, let pending?, let asked, let ended):
            state = .stream(remaining: remaining, pending: nil, asked: asked, ended: ended)
            return .write(pending)
        case .stream(_, nil, _, ended: true):
            state = .complete
            return .complete
        case .stream(_, nil, asked: true, _):
            return .wait
        case .stream(let remaining, nil, asked: false, ended: false):
            state = .stream(remaining: remaining, pending: nil, asked: true, ended: false)
            return .ask(maximum: min(remaining ?? OutgoingBody.partSize, OutgoingBody.partSize))
        }
    }

    /// A part from the source.
    mutating func receive(_ part: ByteBuffer) throws(NightjarError) {
        guard case .stream(let remaining, _, asked: true, ended: false) = state else { return }
        guard part.readableBytes > 0 else {
            state = .stream(remaining: remaining, pending: nil, asked: false, ended: false)
            return
        }
        guard let remaining else {
            state = .stream(
                remaining: nil, pending: HTTP1RequestEncoder.chunk(part), asked: false, ended: false)
            return
        }
        guard part.readableBytes <= remaining else {
            throw NightjarError(
                .invalidRequest,
                "the body's source gave \(part.readableBytes - remaining) bytes more than the length it announced",
                phase: .send)
        }
        let left = remaining - part.readableBytes
        state = .stream(remaining: left, pending: part, asked: false, ended: left == 0)
    }

    /// The source has no more.
    mutating func end() throws(NightjarError) {
        guard case .stream(let remaining, _, asked: true, ended: false) = state else { return }
        if let remaining, remaining > 0 {
            throw NightjarError(
                .invalidRequest, "the body's source ended \(remaining) bytes before the length it announced",
                phase: .send)
        }
        let last = remaining == nil ? HTTP1RequestEncoder.lastChunk() : nil
        state = .stream(remaining: remaining, pending: last, asked: false, ended: true)
    }

    /// Below this, a copy costs less than a second system call.
    private static let largestInlined = 16 * 1024
    /// Written at once; the channel's own buffer holds a few of them.
    private static let partSize = 128 * 1024
}
