import NIOCore

/// The frames that a session sends.
struct WebSocketOutput {
    /// Nil if messages are not compressed.
    let deflater: MessageDeflater?
    /// The maximum payload of the frames of a message in bytes. 0: unlimited.
    let fragmentSize: Int
    /// True if the bytes sent so far do not end with a complete frame. No more control frames are sent.
    var isBroken = false
    /// Bytes that are written at the end of the current turn of the event loop.
    fileprivate var pending = ByteBuffer()
    fileprivate var isFlushScheduled = false

    /// The number of pending bytes from which they are written immediately.
    fileprivate static let pendingLimit = 32 * 1024

    /// The maximum number of fragments of a message.
    private static let maximumFragments = 65_536

    init(deflater: MessageDeflater?, fragmentSize: Int) {
        self.deflater = deflater
        self.fragmentSize = fragmentSize
    }

    /// Returns the frames of a message. Returns nil if it cannot be compressed.
    fileprivate func frames(of message: WebSocketMessage) -> ByteBuffer? {
        var payload = message.bytes
        if let deflater {
            guard let deflated = deflater.deflate(payload) else { return nil }
            payload = deflated
        }
        let size =
            fragmentSize > 0
            ? max(fragmentSize, payload.readableBytes / WebSocketOutput.maximumFragments)
            : max(payload.readableBytes, 1)
        var frames = ByteBuffer()
        frames.reserveCapacity(payload.readableBytes + 16)
        var opcode = message.isText ? WebSocketOpcode.text : .binary
        var isCompressed = deflater != nil
        repeat {
            var fragment = payload.readSlice(length: min(size, payload.readableBytes)) ?? ByteBuffer()
            WebSocketFrameHeader(
                isFinal: payload.readableBytes == 0, reserved: isCompressed ? 4 : 0, opcode: opcode.rawValue,
                length: fragment.readableBytes
            ).write(to: &frames)
            frames.writeBuffer(&fragment)
            (opcode, isCompressed) = (.continuation, false)
        } while payload.readableBytes > 0
        return frames
    }
}

/// Sending. All methods have no effect after the connection has been closed.
extension WebSocketSession {
    /// False if the client does not read. The caller should wait for ``WebSocketEndpoint/becameWritable(_:)``.
    var isWritable: Bool { context?.channel.isWritable == true }

    /// The number of bytes that the operating system has not accepted yet.
    var unsentBytes: Int {
        // The channel of an HTTP/2 stream does not have the option.
        guard let channel = context?.channel, channel is any SocketOptionProvider else {
            return output.pending.readableBytes
        }
        let unsent = try? channel.syncOptions?.getOption(.bufferedWritableBytes)
        return (unsent ?? 0) + output.pending.readableBytes
    }

    /// Sends a message, compressed and in fragments as agreed.
    func send(_ message: WebSocketMessage) {
        guard state == .open else { return }
        guard let frames = output.frames(of: message) else {
            close(.internalError, "not enough memory to compress the message")
            return
        }
        ledger.note { $0.webSockets.messagesSent += 1 }
        write(frames)
    }

    func send(_ text: String) { send(.text(text)) }

    func send(_ document: JSON) {
        send(WebSocketMessage(isText: true, bytes: ByteBuffer(bytes: document.formatted())))
    }

    /// Sends a control frame.
    func write(_ opcode: WebSocketOpcode, _ payload: ByteBuffer) {
        write(WebSocketFrameHeader.frame(opcode, payload))
    }

    /// Sends bytes that need not be valid frames.
    func write(_ bytes: ByteBuffer) {
        guard state != .shut, state != .closed else { return }
        output.pending.writeImmutableBuffer(bytes)
        if output.pending.readableBytes >= WebSocketOutput.pendingLimit { flush() } else { scheduleFlush() }
    }

    /// Flushes at the end of the current turn of the event loop, so that small frames are sent together.
    func scheduleFlush() {
        guard !output.isFlushScheduled, let context else { return }
        output.isFlushScheduled = true
        context.eventLoop.assumeIsolated().execute { [self] in flush() }
    }

    func flush() {
        output.isFlushScheduled = false
        guard let context else { return }
        let bytes = output.pending
        output.pending = ByteBuffer()
        if bytes.readableBytes > 0 { context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: nil) }
        context.flush()
    }
}
