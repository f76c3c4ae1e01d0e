import CHTTP2
import NIOCore
import NightjarHTTP
import NightjarSystem

/// The last handler in the channel of an HTTP/2 connection, which carries many exchanges. RFC 9113.
///
///     open ──GOAWAY, retirement──▶ draining ──last stream ended──▶ closed
///      └──────────────── failure, close ──────────────────────────▶ closed
///
/// Output is written at the end of a read, or once for all requests that start in the same turn of the loop, so that the
/// frames of several streams need one system call.
final class HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Phase { case open, draining, closed }

    let transport: NetworkTransport
    let host: NetworkTransport.Host
    let record: ConnectionRecord
    private(set) var phase = Phase.open
    private(set) var session: HTTP2Session?
    private(set) var context: ChannelHandlerContext?
    private var output: HTTP2Output
    /// The streams whose responses have not ended.
    private var streams: [HTTP2Stream] = []
    private var head = HTTP2RequestHead()
    private var fields: [ch2_field] = []
    private var frameLimit = HTTP2FrameLimit()
    private var window = HTTP2Connection.connectionWindow
    /// The bytes of the read in progress.
    private var input = ByteBuffer()
    private var inputBase: UnsafeRawPointer?
    private var isReceiving = false
    private var isFlushScheduled = false
    private var hasSettings = false
    /// Fires if the server does not send its SETTINGS. Nil if no request has waited for them.
    private var settingsTimer: Scheduled<Void>?
    private var isWriting = false
    /// Whether the connection has carried an exchange.
    private var isReused = false
    /// The number of the last stream whose request may have been written.
    private var lastWritten: Int32 = 0
    /// The number of the last stream that the server processes, from its GOAWAY frames.
    private var lastProcessed = Int32.max
    private var pings = PingState()
    /// The channel's error, which is reported before the channel closes.
    private var cause: (any Error)?

    init(
        transport: NetworkTransport, host: NetworkTransport.Host, record: ConnectionRecord, socket: SocketHandle?,
        tls: TLSHandler?
    ) {
        self.transport = transport
        self.host = host
        self.record = record
        output = HTTP2Output(socket: socket, tls: tls)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        session = HTTP2Session(
            for: self, streamWindow: HTTP2Connection.streamWindow, connectionWindow: window.size,
            maximumFields: transport.decoderLimits.maximumHead)
        scheduleFlush()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        output.removed()
        session = nil
    }

    // MARK: Starting exchanges

    /// The largest number of concurrent streams.
    var maximumStreams: Int { session?.maximumStreams ?? 0 }

    /// Sends the request of an exchange.
    func start(_ exchange: NetworkExchange, assign: (HTTP2Stream) -> Void) {
        let stream = HTTP2Stream(exchange, on: self, reused: isReused)
        assign(stream)
        isReused = true
        guard phase == .open else { return stream.refused() }
        stream.place = streams.count
        streams.append(stream)
        if stream.opensTunnel, !hasSettings {
            // The server's first frame has its SETTINGS.
            if settingsTimer == nil { awaitSettings(exchange.connectTimeout) }
        } else {
            submit(stream, exchange)
        }
    }

    private func awaitSettings(_ timeout: Duration?) {
        let time = timeout.map { .nanoseconds($0.nanosecondsClamped) } ?? HTTP2Connection.settingsTime
        settingsTimer = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { [weak self] in
            guard let self, !hasSettings else { return }
            fail(ConnectFailure.noSettings(host.origin, time))
        }
    }

    private func submit(_ stream: HTTP2Stream, _ exchange: NetworkExchange) {
        guard phase == .open, let session else { return stream.refused() }
        guard !stream.opensTunnel || session.allowsExtendedConnect else { return stream.tunnelRejected() }
        let number = exchange.request.wireHead.withUnsafeReadableBytes { bytes in
            head.read(bytes)
            collectFields(bytes, opensTunnel: stream.opensTunnel)
            return session.submit(fields, hasBody: !stream.requestIsComplete, stream)
        }
        guard number > 0 else {
            // The numbers are exhausted, or the session is ending.
            drain()
            return stream.refused()
        }
        stream.number = number
        frameLimit.requestStarted()
        scheduleFlush()
        if number >= HTTP2Connection.lastNumber { drain() }
        exchange.started(on: self, stream: number, reused: stream.isReused)
        stream.beginExpectation()
    }

    /// Collects the fields of a request. RFC 9113 section 8.3.1, RFC 8441 section 4.
    private func collectFields(_ bytes: UnsafeRawBufferPointer, opensTunnel: Bool) {
        fields.removeAll(keepingCapacity: true)
        func append(_ name: StaticString, _ value: Range<Int>) {
            fields.append(HTTP2Session.field(name, UnsafeRawBufferPointer(rebasing: bytes[value])))
        }
        if opensTunnel {
            fields.append(HTTP2Session.field(":method", "CONNECT"))
            fields.append(HTTP2Session.field(":protocol", "websocket"))
        } else {
            append(":method", head.method)
        }
        fields.append(HTTP2Session.field(":scheme", host.origin.isTLS ? "https" : "http"))
        append(":authority", head.authority)
        append(":path", head.path)
        for field in head.fields {
            fields.append(
                HTTP2Session.field(
                    UnsafeRawBufferPointer(rebasing: bytes[field.name]),
                    UnsafeRawBufferPointer(rebasing: bytes[field.value])))
        }
    }

    /// Releases the slot of an exchange that has ended before it used the slot.
    func releaseUnused() { transport.releasedStream(self, isIdle: streams.isEmpty) }

    /// Removes a stream whose exchange has ended, and releases its slot.
    func remove(_ stream: HTTP2Stream) {
        let place = stream.place
        guard place < streams.count, streams[place] === stream, let last = streams.popLast() else { return }
        if last !== stream {
            streams[place] = last
            last.place = place
        }
        transport.releasedStream(self, isIdle: streams.isEmpty)
        closeIfDrained()
    }

    // MARK: Writing

    func scheduleFlush() {
        guard !isReceiving, !isFlushScheduled, let context else { return }
        isFlushScheduled = true
        context.eventLoop.assumeIsolated().execute {
            self.isFlushScheduled = false
            self.flush()
        }
    }

    /// Writes pending frames in this turn of the loop, if no read or write is in progress.
    func flushNow() {
        if isReceiving || isWriting { scheduleFlush() } else { flush() }
    }

    private func flush() {
        // If a write fails, the channel reads what has arrived before it returns.
        guard !isWriting else { return scheduleFlush() }
        guard let context, let session, phase != .closed else { return }
        lastWritten = max(lastWritten, session.lastStream)
        isWriting = true
        let written = output.write(session, context)
        isWriting = false
        guard let written else {
            return fail(NightjarError(.protocol, "writing HTTP/2 frames failed", phase: .send))
        }
        bytesWritten += written
        frameLimit.sent(bytes: written)
        closeIfDrained()
        failIfEnded()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { scheduleFlush() }
        context.fireChannelWritabilityChanged()
    }

    /// The bytes of all frames that were written.
    private(set) var bytesWritten = 0

    /// Returns the number of bytes before a position that the peer has not acknowledged. They are in the channel or in the
    /// socket's send buffer. The position counts bytes like ``bytesWritten``.
    func unsentBytes(before position: Int) -> Int {
        guard let channel = context?.channel else { return 0 }
        let waiting = try? channel.syncOptions?.getOption(.bufferedWritableBytes)
        let unsent = (waiting ?? 0) + (SocketHandle(channel)?.unacknowledgedBytes ?? 0)
        return min(max(position - (bytesWritten - unsent), 0), unsent)
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase != .closed, let session else { return }
        transport.clock.hold()
        defer { transport.clock.release() }
        input = unwrapInboundIn(data)
        isReceiving = true
        let error = input.withUnsafeReadableBytes { bytes in
            inputBase = bytes.baseAddress
            return session.receive(bytes)
        }
        inputBase = nil
        input = ByteBuffer()
        isReceiving = false
        flush()
        if let error { fail(error) }
    }

    /// Returns whether the server may send another frame.
    func received(_ type: UInt8, flags: UInt8, length: Int) -> Bool {
        frameLimit.received(type: type, flags: flags, length: length, at: transport.clock.now.uptimeNanoseconds)
    }

    /// Fails if the session has found a violation of the protocol. Its GOAWAY frame has been written.
    private func failIfEnded() {
        guard phase != .closed, let session, session.hasEnded else { return }
        fail(session.violation ?? NightjarError(.connectionLost, "the HTTP/2 session has ended", phase: .receive))
    }

    /// Returns a slice of the read in progress, or a copy of a small part of it: a slice keeps the whole read in memory until
    /// the caller has used the slice, and a server could send many reads with one byte of a body in each.
    func slice(_ bytes: UnsafeRawPointer, _ count: Int) -> ByteBuffer {
        if let inputBase, count >= input.storageCapacity / 16,
            let slice = input.getSlice(at: input.readerIndex + (bytes - inputBase), length: count)
        {
            return slice
        }
        return ByteBuffer(bytes: UnsafeRawBufferPointer(start: bytes, count: count))
    }

    /// Enlarges the window of the connection if it limits the rate.
    func consumed(_ count: Int) {
        guard window.canGrow else { return }
        if let size = window.consumed(count, at: transport.clock.now.uptimeNanoseconds, roundTrip: roundTrip) {
            session?.setWindow(0, size)
        }
    }

    func roundTrip() -> UInt64 {
        guard let channel = context?.channel, let time = SocketHandle(channel)?.roundTrip else { return 0 }
        return UInt64(clamping: time.nanoseconds)
    }

    func settingsReceived() {
        guard phase != .closed, let session else { return }
        hasSettings = true
        settingsTimer?.cancel()
        host.acceptsTunnels = session.allowsExtendedConnect
        submitTunnels()
        if phase == .open { transport.streamLimitChanged(self) }
    }

    /// Sends the requests that have waited for the server's SETTINGS.
    private func submitTunnels() {
        for stream in streams where stream.opensTunnel && stream.number == 0 {
            if let exchange = stream.exchange { submit(stream, exchange) }
        }
    }

    func goAwayReceived(lastStream: Int32, _ error: HTTP2ErrorCode) {
        guard phase != .closed else { return }
        lastProcessed = min(lastProcessed, lastStream)
        if error == .http11Required { _ = requireHTTP1() }
        drain()
        for stream in streams.filter({ excludes($0.number) }).sorted(by: { $0.number < $1.number }) {
            stream.excluded()
        }
    }

    /// Whether a GOAWAY frame of the server excludes the stream.
    func excludes(_ stream: Int32) -> Bool { stream > lastProcessed }

    /// Uses HTTP/1.1 for further requests to the origin. Returns false if the configuration excludes it.
    func requireHTTP1() -> Bool {
        guard host.versions == .negotiated else { return false }
        host.requiresHTTP1 = true
        return true
    }

    func drain() {
        guard phase == .open else { return }
        phase = .draining
        transport.draining(self)
        scheduleFlush()
    }

    // MARK: Health

    /// Sends a PING to find out whether the peer still responds, unless one was sent recently.
    ///
    /// - Returns: False if no response is expected.
    func ping() -> Bool {
        guard phase == .open, let session else { return false }
        if pings.send(at: transport.clock.now) {
            session.ping()
            scheduleFlush()
        }
        return pings.isPending
    }

    func pongReceived() {
        if pings.receive() { transport.confirmed(self) }
    }

    // MARK: Ending

    private func closeIfDrained() {
        guard phase == .draining, streams.isEmpty, !isReceiving, !isWriting else { return }
        end()
        transport.lost(self)
    }

    /// Closes the channel. Returns the streams that were in progress.
    @discardableResult
    private func end() -> [HTTP2Stream] {
        phase = .closed
        settingsTimer?.cancel()
        let ended = streams
        streams = []
        // The session may be in a read or a write, and must not call streams that are released.
        for stream in ended where stream.number > 0 { session?.forget(stream.number) }
        context?.close(promise: nil)
        return ended
    }

    /// Fails all exchanges and closes the connection.
    private func fail(_ error: NightjarError) {
        guard phase != .closed else { return }
        let failed = end()
        transport.lost(self)
        for stream in failed.sorted(by: { $0.number < $1.number }) {
            stream.connectionFailed(error, wasWritten: stream.number > 0 && stream.number <= lastWritten)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(
            cause.map { ConnectionFailure.describe($0, responseHasStarted: true) }
                ?? NightjarError(
                    .connectionLost, "the server closed the connection before the end of the response",
                    phase: .receive))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if cause == nil { cause = error }
        fail(ConnectionFailure.describe(error, responseHasStarted: true))
    }

    /// Ensures that no further exchange uses the connection.
    func retire() {
        drain()
        closeIfDrained()
    }

    /// Closes a connection that the pool has removed, because no exchange uses it.
    func close() {
        guard phase != .closed else { return }
        session?.end(.noError)
        flush()
        end()
    }

    /// Ends all work because the client closes.
    func abort(_ error: NightjarError) { fail(error) }

    /// The last number that is used for a stream. The library does not report violations after it has used all numbers.
    private static let lastNumber = Int32.max - 2
    /// The default timeout of the server's SETTINGS.
    private static let settingsTime = TimeAmount.seconds(30)
    private static let streamWindow = 256 * 1024
    private static let connectionWindow = ReceiveWindow(size: 1024 * 1024, maximum: 16 * 1024 * 1024)
    static let window = ReceiveWindow(size: streamWindow, maximum: 8 * 1024 * 1024)
}
