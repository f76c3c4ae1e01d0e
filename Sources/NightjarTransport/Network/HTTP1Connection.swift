import NIOCore
import NightjarHTTP

/// The last handler in the channel of an HTTP/1.1 connection. Converts bytes to the events of an exchange.
///
///     idle ──start──▶ busy ──end, reusable──▶ idle
///      └───────────────┴── failure, close ──▶ closed
///
/// One exchange at a time, without pipelining. Protocol violations close the connection.
final class HTTP1Connection: ChannelInboundHandler, ExchangeCarrier {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Phase { case idle, busy, closed }

    /// A strong reference, because an unowned reference costs two atomic operations at each use. The transport releases
    /// a connection when the connection is closed.
    private let transport: NetworkTransport
    let host: NetworkTransport.Host
    let record: ConnectionRecord

    var phase = Phase.idle
    var context: ChannelHandlerContext?
    private var decoder: HTTP1ResponseDecoder
    /// The socket for direct writes. Nil over TLS, and after data was written through the channel.
    private var socket: SocketHandle?
    /// The handler of the origin's TLS, or of the TLS of a proxy that forwards requests. Nil without TLS.
    private var tls: TLSHandler?
    var exchange: NetworkExchange?
    private var isReused = false
    /// Whether the connection is closed after its exchange.
    private var isRetired = false
    private var requestIsComplete = false
    private var responseHasStarted = false
    /// Nil for a request that asks for no upgrade, and after the response.
    private var upgrade: ConnectionUpgrade?
    /// Whether the connection no longer speaks HTTP. It is not part of the pool any more.
    private(set) var isUpgraded = false
    /// The unsent part of the request body; nil if there is none.
    var outgoing: OutgoingBody?
    var expectation: ExpectContinue?
    var timeout: Scheduled<Void>?
    /// The channel's error, which is reported before the channel closes.
    private var cause: (any Error)?
    private var probe = ConnectionProbe()
    /// Nil over TLS.
    private var largeBodies: LargeBodyReader?

    init(
        transport: NetworkTransport, host: NetworkTransport.Host, record: ConnectionRecord, socket: SocketHandle?,
        tls: TLSHandler?
    ) {
        self.transport = transport
        self.host = host
        self.record = record
        self.socket = socket
        self.tls = tls
        decoder = HTTP1ResponseDecoder(limits: transport.decoderLimits)
        largeBodies = tls == nil ? socket.map { LargeBodyReader($0, transport.largeBodies) } : nil
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        tls = nil
    }

    // MARK: Sending

    func start(_ exchange: NetworkExchange, reused: Bool) {
        guard phase == .idle, let context else {
            phase = .closed
            self.context?.close(promise: nil)
            transport.lost(self)
            exchange.connectionFailed(
                NightjarError(.connectionLost, "the connection closed before the request was sent", phase: .send),
                RequestLoss(
                    connectionWasReused: reused, requestWasStarted: false, bodyWasStarted: false,
                    responseHasStarted: false))
            return
        }
        phase = .busy
        self.exchange = exchange
        isReused = reused
        responseHasStarted = false
        let request = exchange.request
        var head = host.wireHead(of: request)
        upgrade = ConnectionUpgrade(request, addingKeyTo: &head)
        decoder.expectResponse(to: request.method, allowsUpgrade: upgrade != nil)
        if case .none = request.body {
            requestIsComplete = true
        } else {
            let body = OutgoingBody(
                request.body, request.framing, waitsForContinue: request.expectsContinue, inlinedInto: &head)
            requestIsComplete = body.isComplete
            outgoing = body
        }
        writeHead(head, context)
        if request.expectsContinue {
            expectation = ExpectContinue(bodyIsReplayable: request.body.isReplayable)
            beginExpectation()
        } else if !requestIsComplete {
            continueBody(context)
        }
    }

    private func writeHead(_ head: consuming ByteBuffer, _ context: ChannelHandlerContext) {
        if requestIsComplete, let tls { return tls.send(head) }
        if requestIsComplete, let socket, context.channel.isActive {
            socket.write(&head)
            if head.readableBytes == 0 { return }
        }
        socket = nil
        context.writeAndFlush(wrapOutboundOut(head), promise: nil)
    }

    /// Writes the available data while the channel accepts it, then requests more.
    func continueBody(_ context: ChannelHandlerContext) {
        // Written data must be flushed, or the channel never becomes writable again.
        var isUnflushed = false
        defer { if isUnflushed { context.flush() } }
        while phase == .busy, !requestIsComplete, expectation?.allowsBody ?? true, context.channel.isWritable {
            switch outgoing?.next() ?? .complete {
            case .write(let part):
                context.write(wrapOutboundOut(part), promise: nil)
                isUnflushed = true
            case .requestPart(let maximum):
                exchange?.receiver?.exchangeNeedsBody(maximum: maximum)
                return
            case .wait:
                return
            case .complete:
                requestIsComplete = true
            }
        }
    }

    func sendBody() {
        if let context { continueBody(context) }
    }

    func dropBody() { outgoing = nil }

    var eventLoop: (any EventLoop)? { context?.eventLoop }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if phase == .busy, !requestIsComplete, context.channel.isWritable {
            exchange?.receiver?.exchangeProgressed()
            continueBody(context)
        }
        context.fireChannelWritabilityChanged()
    }

    func send(_ part: ByteBuffer) {
        guard phase == .busy, let context else { return }
        do throws(NightjarError) {
            try outgoing?.receive(part)
        } catch {
            return fail(error)
        }
        continueBody(context)
    }

    func endBody() {
        guard phase == .busy, let context else { return }
        do throws(NightjarError) {
            try outgoing?.end()
        } catch {
            return fail(error)
        }
        continueBody(context)
    }

    /// The number of bytes in the channel and in the socket's send buffer that the peer has not acknowledged.
    var unsentBytes: Int {
        guard let channel = context?.channel else { return 0 }
        let waiting = try? channel.syncOptions?.getOption(.bufferedWritableBytes)
        return (waiting ?? 0) + (SocketHandle(channel)?.unacknowledgedBytes ?? 0)
    }

    /// The number of body bytes that were taken from their source.
    var sentBytes: Int { outgoing?.sentBytes ?? 0 }

    // MARK: Receiving

    /// Whether the channel reads. If false, flow control slows down the peer.
    var isReading = true {
        didSet {
            guard isReading != oldValue, let context, phase == .busy else { return }
            context.channel.setOption(.autoRead, value: isReading).whenFailure { _ in }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        guard phase == .busy else {
            if phase == .idle { close() }  // data without a request (RFC 9112 section 9.2)
            return
        }
        responseHasStarted = true
        transport.clock.hold()
        defer { transport.clock.release() }
        exchange?.receiver?.exchangeProgressed()
        let isFull = buffer.writableBytes == 0
        decode(&buffer)
        if isFull { readLargeBody(context) }
    }

    private func decode(_ buffer: inout ByteBuffer) {
        do throws(NightjarError) {
            while phase == .busy, let event = try decoder.next(&buffer) {
                try handle(event, rest: buffer.readableBytes)
            }
        } catch {
            fail(error)
        }
    }

    /// Reads more of a large body after the channel has filled its buffer. The channel has no unhandled data then.
    private func readLargeBody(_ context: ChannelHandlerContext) {
        for _ in 0..<HTTP1Connection.largestReads {
            guard phase == .busy, isReading, context.channel.isActive, let body = decoder.fixedBody,
                body.length - body.received >= LargeBodyReader.size
            else { return }
            do throws(IOError) {
                let read = try largeBodies?.read(at: body.received)
                guard var buffer = read else { return }
                decode(&buffer)
            } catch {
                return errorCaught(context: context, error: error)
            }
        }
    }

    /// The reads of a large body before the loop handles other connections.
    private static let largestReads = 4

    private func handle(_ event: consuming HTTP1ResponseDecoder.Event, rest: Int) throws(NightjarError) {
        switch consume event {
        case .informational(let head):
            exchange?.receiver?.exchangeReceived(informational: head)
            perform(expectation?.received(status: head.status))
        case .head(let head):
            try host.checkProxy(head)
            guard perform(expectation?.received(status: head.status)) else { return }
            let isAccepted = try upgrade.take()?.isAccepted(by: head)
            exchange?.receiver?.exchangeReceived(head: consume head)
            if let isAccepted { endUpgrade(isAccepted) }
        case .body(let bytes): exchange?.receiver?.exchangeReceived(body: bytes)
        case .end(let trailers):
            finish(trailers: trailers, hasSurplus: rest > 0)
        }
    }

    /// After an accepted upgrade, requests the first bytes to send. A refused upgrade leaves a response as any other.
    private func endUpgrade(_ isAccepted: Bool) {
        guard phase == .busy else { return }
        guard isAccepted else {
            outgoing = nil
            requestIsComplete = true
            return
        }
        isUpgraded = true
        transport.upgraded(self)
        outgoing?.upgraded()
        if let context { continueBody(context) }
    }

    /// Ends the exchange after a complete response.
    ///
    /// - Parameter hasSurplus: Whether the server sent data after the response. The response is valid, but the
    ///   connection is closed, because the data belongs to no request (RFC 9112 section 6.3).
    private func finish(trailers: Headers, hasSurplus: Bool) {
        guard let exchange else { return }
        self.exchange = nil
        outgoing = nil
        largeBodies?.end()
        forgetExpectation()
        let canBeReused =
            decoder.connectionIsReusable && !hasSurplus && requestIsComplete && !isRetired && context != nil
            && cause == nil
        isReading = true
        phase = canBeReused ? .idle : .closed
        let receiver = exchange.end()
        // The connection is released before the receiver is called, so that a follow-up request, such as a redirect,
        // can use it.
        if canBeReused {
            transport.released(self)
        } else {
            context?.close(promise: nil)
            transport.lost(self)
        }
        receiver?.exchangeFinished(trailers: trailers)
    }

    /// Begins to probe the peer, because the network has changed. Returns false if the connection cannot probe.
    func startProbing() { probe.start(on: context?.channel) }

    /// Returns true and ends the probing if the peer has responded to a probe.
    func peerHasResponded() -> Bool { probe.hasResponse(on: context?.channel) }

    // MARK: Ending

    func channelInactive(context: ChannelHandlerContext) {
        switch phase {
        case .idle:
            phase = .closed
            transport.lostIdle(self)
        case .busy:
            endOfStream()
        case .closed:
            break
        }
        context.fireChannelInactive()
    }

    private func endOfStream() {
        do throws(NightjarError) {
            if let cause { throw ConnectionFailure.describe(cause, responseHasStarted: responseHasStarted) }
            while phase == .busy, let event = try decoder.endOfStream() { try handle(event, rest: 0) }
            if phase == .busy {
                throw NightjarError(
                    .connectionLost, "the server closed the connection before the end of the response", phase: .receive)
            }
        } catch {
            fail(error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if cause == nil { cause = error }
        switch phase {
        case .busy: fail(ConnectionFailure.describe(error, responseHasStarted: responseHasStarted))
        case .idle: close()
        case .closed: break
        }
    }

    private func fail(_ error: NightjarError) {
        guard phase == .busy, let exchange else { return }
        abandon()
        // A proxy that requires authentication has not forwarded the request.
        let isProxys = error.phase == .connect
        exchange.connectionFailed(
            error,
            RequestLoss(
                connectionWasReused: isReused, requestWasStarted: !isProxys, bodyWasStarted: !isProxys,
                responseHasStarted: responseHasStarted))
    }

    /// Ends an exchange in progress and closes the connection, which cannot be reused after a partial request or
    /// response.
    func abandon() {
        guard phase == .busy else { return }
        phase = .closed
        exchange = nil
        outgoing = nil
        largeBodies?.end()
        forgetExpectation()
        context?.close(promise: nil)
        transport.lost(self)
    }

    /// Closes the connection if it is idle.
    func close() {
        guard phase == .idle else { return }
        phase = .closed
        context?.close(promise: nil)
        transport.lostIdle(self)
    }

    /// Ensures that no further exchange uses the connection.
    func retire() {
        isRetired = true
        if phase == .idle { close() }
    }

    /// Ends all work because the client closes.
    func abort(_ error: NightjarError) {
        switch phase {
        case .idle: close()
        case .busy: fail(error)
        case .closed: break
        }
    }
}
