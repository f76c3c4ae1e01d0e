import DequeModule
import NIOCore

/// The frames that a connection has to send: control frames first, then messages in order, then the Close frame.
///
/// Frames are encoded when they are written, so control frames pass between the fragments of a large message. After an
/// interruption, messages whose last frame was not written can be taken back. RFC 6455 section 5.4.
struct WebSocketSendQueue: ~Copyable {
    private struct Control {
        let opcode: WebSocketFrame.Opcode
        let payload: ByteBuffer
    }

    /// The message or piece at the front of the queue.
    private struct Current {
        /// The bytes to send, compressed if necessary, without the bytes that were written.
        var rest: ByteBuffer
        let isCompressed: Bool
        /// True if no frame of the message was written.
        var startsMessage: Bool
    }

    /// The maximum number of Pongs in the queue. If the server sends Pings faster than it reads, only the latest Pings
    /// get a Pong. Section 5.5.3.
    static let maximumPongs = 16
    /// The size of the output from which ``write(into:mask:)`` adds no further frame, in bytes.
    private static let batchSize = 64 * 1024
    /// The size that is counted for a message or Ping in addition to its payload, so that the number of empty messages
    /// is bounded, too.
    private static let overhead = WebSocketFrameEncoder.maximumHeader

    private let maximumFrame: Int
    private let smallestCompressed: Int
    private let compressor: (any WebSocketCompressor)?
    private var pings = Deque<Control>()
    private var pongs = Deque<Control>()
    private var messages = Deque<WebSocketMessage>()
    private var current: Current?
    /// True if the message in progress is compressed. Its first piece decides.
    private var compressesMessage = false
    /// True between the first and the last frame of a message.
    private var isInMessage = false
    private var closeFrame: ByteBuffer?

    /// The size of all queued Pings and messages in bytes, with ``overhead`` for each of them. A message counts until
    /// its last byte is written.
    private(set) var queuedBytes = 0
    /// True if the Close frame was written. Nothing is written after it.
    private(set) var isClosed = false

    init(_ settings: WebSocketConnectionSettings, _ compressor: (any WebSocketCompressor)?) {
        maximumFrame = max(settings.maximumFrame, 1)
        smallestCompressed = settings.smallestCompressed
        self.compressor = compressor
    }

    var isEmpty: Bool { pings.isEmpty && pongs.isEmpty && messages.isEmpty && (closeFrame == nil || isClosed) }

    /// The number of bytes that a payload adds to ``queuedBytes``.
    static func size(_ payload: ByteBuffer) -> Int { payload.readableBytes + overhead }

    mutating func add(_ message: WebSocketMessage) {
        messages.append(message)
        queuedBytes += WebSocketSendQueue.size(message.payload)
    }

    mutating func addPing(_ payload: ByteBuffer) {
        pings.append(Control(opcode: .ping, payload: payload))
        queuedBytes += WebSocketSendQueue.size(payload)
    }

    mutating func addPong(_ payload: ByteBuffer) {
        if pongs.count == WebSocketSendQueue.maximumPongs { pongs.removeFirst() }
        pongs.append(Control(opcode: .pong, payload: payload))
    }

    /// Sends a Close frame after the queued messages. Replaces a Close frame that was not written.
    mutating func addClose(_ payload: ByteBuffer) { closeFrame = payload }

    /// Removes everything that was not written, except the Close frame.
    ///
    /// - Returns: the messages that were not written completely, in order. A message in pieces is not returned if its
    ///   first piece was written.
    @discardableResult
    mutating func removeAll() -> [WebSocketMessage] {
        var unsent = Array(messages)
        if isInMessage, messages.first?.startsMessage != true {
            unsent.removeFirst(unsent.firstIndex { $0.startsMessage } ?? unsent.count)
        }
        pings = []
        pongs = []
        messages = []
        current = nil
        isInMessage = false
        queuedBytes = 0
        return unsent
    }

    // MARK: Writing

    /// Appends frames to `output` until its size reaches 64 KiB or the queue is empty.
    ///
    /// - Parameter mask: returns a new mask key for each frame.
    /// - Throws: `no_memory` for a message or frame.
    mutating func write(into output: inout ByteBuffer, mask: () -> UInt32) throws(NightjarError) {
        guard !isClosed else { return }
        while output.readableBytes < WebSocketSendQueue.batchSize {
            if let pong = pongs.popFirst() {
                try write(pong, into: &output, mask: mask())
            } else if let ping = pings.popFirst() {
                queuedBytes -= WebSocketSendQueue.size(ping.payload)
                try write(ping, into: &output, mask: mask())
            } else if let message = messages.first {
                try write(message, into: &output, mask: mask)
            } else if let closeFrame {
                isClosed = true
                try write(Control(opcode: .close, payload: closeFrame), into: &output, mask: mask())
                return
            } else {
                return
            }
        }
    }

    private func write(
        _ control: Control, into output: inout ByteBuffer, mask: UInt32
    ) throws(NightjarError) {
        try WebSocketFrameEncoder.write(control.opcode, control.payload, mask: mask, into: &output)
    }

    /// Writes the next frame of the first message in the queue.
    private mutating func write(
        _ message: WebSocketMessage, into output: inout ByteBuffer, mask: () -> UInt32
    ) throws(NightjarError) {
        var current: Current
        if let started = self.current { current = started } else { current = try begin(message) }
        let count = min(current.rest.readableBytes, maximumFrame)
        let payload = current.rest.readSlice(length: count) ?? ByteBuffer()
        let isLast = current.rest.readableBytes == 0
        // Compression of a piece may produce no bytes. Only the last frame of a message may then be necessary.
        if payload.readableBytes > 0 || message.endsMessage || current.startsMessage {
            try WebSocketFrameEncoder.write(
                current.startsMessage ? message.kind.opcode : .continuation, isFinal: isLast && message.endsMessage,
                isCompressed: current.startsMessage && current.isCompressed, payload, mask: mask(), into: &output)
            isInMessage = !(isLast && message.endsMessage)
            current.startsMessage = false
        }
        guard isLast else {
            self.current = current
            return
        }
        self.current = nil
        messages.removeFirst()
        queuedBytes -= WebSocketSendQueue.size(message.payload)
    }

    private mutating func begin(_ message: WebSocketMessage) throws(NightjarError) -> Current {
        if message.startsMessage {
            compressesMessage =
                compressor != nil
                && (!message.endsMessage || message.payload.readableBytes >= max(smallestCompressed, 1))
        }
        guard compressesMessage, let compressor else {
            return Current(rest: message.payload, isCompressed: false, startsMessage: message.startsMessage)
        }
        var compressed = ByteBuffer()
        try compressor.deflate(message.payload, endsMessage: message.endsMessage, into: &compressed)
        return Current(rest: compressed, isCompressed: true, startsMessage: message.startsMessage)
    }
}
