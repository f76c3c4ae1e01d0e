import NIOCore

/// Writes the frames of a session to a channel: directly to the socket or the TLS handler if possible.
struct HTTP2Output {
    private var socket: SocketHandle?
    private var tls: TLSHandler?
    /// Whether the channel may hold written data that the socket has not accepted.
    private var mayHaveQueuedData = false
    private var buffer = ByteBuffer()

    init(socket: SocketHandle?, tls: TLSHandler?) {
        self.socket = socket
        self.tls = tls
    }

    mutating func removed() {
        socket = nil
        tls = nil
    }

    /// Writes pending frames while the channel accepts them. Returns their size in bytes; nil if the session has failed.
    mutating func write(_ session: HTTP2Session, _ context: ChannelHandlerContext) -> Int? {
        var written = 0
        while context.channel.isActive, context.channel.isWritable, session.wantsWrite {
            buffer.clear(minimumCapacity: HTTP2Output.batchSize)
            let count = buffer.withUnsafeMutableWritableBytes { session.write(into: $0) }
            guard count > 0 else { return count == 0 ? written : nil }
            // A callback of the session can close the channel. A new connection may then have the number of its descriptor.
            guard context.channel.isActive else { return written }
            written += count
            buffer.moveWriterIndex(forwardBy: count)
            send(context)
        }
        return written
    }

    private mutating func send(_ context: ChannelHandlerContext) {
        if let tls { return tls.send(buffer) }
        if let socket, !hasQueuedData(context) {
            socket.write(&buffer)
            if buffer.readableBytes == 0 { return }
        }
        mayHaveQueuedData = true
        context.writeAndFlush(NIOAny(buffer), promise: nil)
    }

    private mutating func hasQueuedData(_ context: ChannelHandlerContext) -> Bool {
        guard mayHaveQueuedData else { return false }
        mayHaveQueuedData = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) != 0
        return mayHaveQueuedData
    }

    private static let batchSize = 64 * 1024
    /// An upper limit of the bytes of one write: the bytes that the channel accepts while it is writable, and a batch.
    static let largestWrite = 1024 * 1024
}
