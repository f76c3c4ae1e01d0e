import NIOCore
import NightjarHTTP
import NightjarTransport

/// The receiver of one exchange. It acts within the events as its behaviour requires.
final class Caller: ExchangeReceiver {
    enum Kind: UInt8 { case get, head, stream, streamOfLength, bytes, upgrade, expecting, put }
    private enum State { case waiting, head, body, ended, cancelled }

    let kind: Kind
    private let behaviour: Behaviour
    private unowned let conversation: Conversation
    var exchange: (any Exchange)? {
        didSet { if state == .cancelled { exchange?.cancel() } }
    }
    private var state = State.waiting
    private var isPaused = false
    private var partIsRequested = false
    private var bodyWasRequested = false
    private(set) var sentBytes = 0
    private var received = 0
    private var contentLength: Int?
    /// The buffers that were held and then delivered by one ``resume()``, by their storage.
    private var held: [UnsafeMutableRawPointer: (ByteBuffer)]?

    /// The actions of the caller within events.
    struct Behaviour {
        let bits: UInt8
        var onHead: UInt8 { bits & 3 }
        var onBody: UInt8 { bits >> 2 & 3 }
        var onNeed: UInt8 { bits >> 4 & 3 }
        var beginsAnother: Bool { bits & 64 != 0 }
        var cancelsAtStart: Bool { bits & 128 != 0 }
    }

    init(_ kind: UInt8, _ behaviour: UInt8, _ conversation: Conversation) {
        self.kind = Kind(rawValue: kind & 7) ?? .get
        self.behaviour = Behaviour(bits: behaviour)
        self.conversation = conversation
    }

    var hasEnded: Bool { state == .ended || state == .cancelled }

    // MARK: Actions

    func pause() {
        isPaused = true
        exchange?.pause()
    }

    func resume() {
        guard isPaused else { return }
        isPaused = false
        held = [:]
        let window = received < 128 * 1024 ? 256 * 1024 : 8 * 1024 * 1024
        exchange?.resume()
        let memory = held?.values.reduce(0) { $0 + $1.storageCapacity } ?? 0
        held = nil
        require(memory <= 2 * window + 256 * 1024, "\(memory) bytes were held for a window of \(window)")
    }

    func cancel() {
        if !hasEnded { state = .cancelled }
        exchange?.cancel()
    }

    func send(_ count: Int) {
        guard partIsRequested, !hasEnded else { return }
        let isTooLong = kind == .streamOfLength && sentBytes + count > Caller.length
        partIsRequested = false
        sentBytes += isTooLong ? 0 : count
        exchange?.send(ByteBuffer(repeating: 120, count: count))
    }

    func endBody() {
        guard partIsRequested, !hasEnded else { return }
        partIsRequested = false
        exchange?.endBody()
    }

    private func act(_ action: UInt8) {
        switch action {
        case 1: pause()
        case 2: cancel()
        case 3: conversation.retireConnections()
        default: break
        }
    }

    // MARK: Events

    private func check(_ event: String) {
        require(state != .ended && state != .cancelled, "\(event) after the end")
    }

    func exchangeStarted(on connection: ConnectionRecord?, isReused: Bool, stream: Int32?) {
        check("a start")
        require(state == .waiting, "the exchange starts again after the head")
        let isReplayable = kind != .stream && kind != .streamOfLength && kind != .expecting
        require(!bodyWasRequested || isReplayable, "a body is requested again that cannot be replayed")
        require(stream ?? 1 > 0, "stream \(stream ?? 0)")
        partIsRequested = false
        if behaviour.cancelsAtStart { cancel() }
    }

    func exchangeRepeated() { check("a repetition") }

    func exchangeProgressed() { check("progress") }

    func exchangeReceived(informational: ResponseHead) {
        check("an informational response")
        require(state == .waiting && 100..<200 ~= informational.status, "a misplaced informational response")
        if informational.status == 103 { act(behaviour.onHead) }
    }

    func exchangeReceived(head: consuming ResponseHead) {
        check("a head")
        let status = head.status
        require(state == .waiting, "a second head")
        require(status >= 200 || status == 101 && kind == .upgrade, "a head with the status \(status)")
        state = .head
        contentLength = kind == .head || status == 204 || status == 304 ? 0 : head.contentLength
        act(behaviour.onHead)
    }

    func exchangeReceived(body: ByteBuffer) {
        check("a body")
        require(state == .head || state == .body, "a body before the head")
        require(!isPaused, "a body while the exchange is paused")
        require(body.readableBytes > 0, "an empty part")
        state = .body
        if conversation.sendsPatterns {
            var rest = body
            while let part = rest.readSlice(length: min(rest.readableBytes, 16_000)), part.readableBytes > 0 {
                let offset = received + body.readableBytes - rest.readableBytes - part.readableBytes
                require(part == Server.body(from: offset, part.readableBytes), "the body has changed at \(offset)")
            }
        }
        received += body.readableBytes
        require(contentLength.map { received <= $0 } ?? true, "the body exceeds its Content-Length")
        body.withUnsafeReadableBytesWithStorageManagement { _, storage in held?[storage.toOpaque()] = body }
        act(behaviour.onBody)
    }

    func exchangeFinished(trailers: Headers) {
        check("an end")
        require(state != .waiting, "an end before the head")
        require(!isPaused, "an end while the exchange is paused")
        require(kind == .head || contentLength.map { received == $0 } ?? true, "the body is short")
        ended()
    }

    func exchangeFailed(_ error: NightjarError) {
        check("a failure")
        require(!error.message.isEmpty && error.message.utf8.count < 2000, "an invalid message")
        ended()
    }

    private func ended() {
        state = .ended
        if behaviour.beginsAnother { conversation.begin(behaviour.bits >> 3, behaviour.bits & 0x3F) }
    }

    func exchangeChallenged(_ challenge: ConnectionChallenge) -> Bool { false }

    func exchangeNeedsBody(maximum: Int) {
        check("a request of the body")
        require(!partIsRequested, "a second part is requested")
        require(maximum > 0 && maximum <= 128 * 1024, "a part of \(maximum) bytes")
        require(kind != .upgrade || state != .waiting, "the body is requested before the upgrade")
        partIsRequested = true
        bodyWasRequested = true
        // A server may allow two gigabytes.
        let isAtEnd = sentBytes >= 300_000
        switch behaviour.onNeed {
        case 1: if isAtEnd { endBody() } else { send(min(maximum, 1000)) }
        case 2: endBody()
        case 3: if isAtEnd { endBody() } else { send(maximum) }
        default: break
        }
    }

    /// The length of a streamed body with Content-Length.
    static let length = 100_000
}
