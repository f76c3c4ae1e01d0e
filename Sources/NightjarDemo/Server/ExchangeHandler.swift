import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Serves an HTTP/1.1 connection or an HTTP/2 stream: receives requests, runs their routes, and writes the responses.
///
/// HTTP/1.1: the preceding handler in the pipeline holds back pipelined requests until the previous response has been
/// written. Only one exchange is active at a time. HTTP/2: there is one exchange. The faults that close a connection of
/// HTTP/1.1 reset the stream.
final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Incoming {
        /// Between requests, or after a complete request while its response is being sent.
        case nothing
        case collecting(Request, limit: Int, Handler)
        case streaming(HTTPRequestHead, any BodySink)
        /// The response will be sent at the end of the request. The body is discarded.
        case dropping(HTTPRequestHead, Response, dropped: Int)
        /// The connection will be closed after the current response. All input is discarded.
        case ignoring
    }

    /// The maximum number of bytes of an unused body that are read to keep the connection open.
    private static let dropLimit = 64 * 1024

    /// The time during which the client may continue to send after the server has closed its side. Closing a socket
    /// with unread bytes resets the connection, and the reset could overtake the response (RFC 9112 section 9.6).
    private static let lingering = TimeAmount.seconds(2)

    private let site: Site
    private let record: ConnectionRecord
    /// Nil for HTTP/1.1.
    private let stream: RequestStream?
    private let writer: ResponseWriter
    /// The current exchange in the ledger. Nil for requests to `/__` paths, which are not counted.
    private var exchange: Ledger.Ticket?
    /// The key under which the current exchange is counted. Nil if `exchange` is nil.
    private var subject: String?
    /// The subjects of the exchanges whose response has not been sent completely.
    private var unfinished: [String] = []
    private var incoming = Incoming.nothing
    private var isClosing = false
    /// True if the complete request has been received.
    private var isRequestComplete = false
    /// True if the connection or the stream has ended.
    private var hasEnded = false
    private let pacer: ReadPacer
    private var timer: Scheduled<Void>?
    /// A scheduled 100 response.
    private var lateContinueResponse: Scheduled<Void>?

    init(site: Site, record: ConnectionRecord, stream: RequestStream? = nil) {
        self.site = site
        self.record = record
        self.stream = stream
        pacer = ReadPacer(holdsParts: stream != nil)
        writer = ResponseWriter(clock: site.clock, isHTTP2: stream != nil)
    }

    // MARK: Channel events

    func channelInactive(context: ChannelHandlerContext) {
        writer.cancel()
        timer?.cancel()
        pacer.cancel()
        lateContinueResponse?.cancel()
        // An error of the parser may follow, because the request is incomplete.
        (incoming, isClosing, hasEnded) = (.ignoring, true, true)
        // A stream ends when its last frame is passed to the connection, before the frame is written to the socket. The
        // completion of the response follows.
        if stream == nil || !writer.hasEnded { abandon() }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if !pacer.holds(part) { process(part, context) }
    }

    private func process(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head(let head): began(head, context)
        case .body(let bytes): received(bytes, context)
        case .end(let trailers): ended(trailers, context)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        writer.writabilityChanged(context)
        context.fireChannelWritabilityChanged()
    }

    func read(context: ChannelHandlerContext) {
        if !pacer.holdsRead() { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError else {
            context.close(promise: nil)
            return
        }
        // Input after the response that ends the connection may be malformed.
        guard !isClosing else { return }
        guard !writer.isBusy, !hasOngoingResponse else {
            context.close(promise: nil)
            return
        }
        incoming = .ignoring
        // A malformed request has no entry in the log, but its response is counted.
        exchange = exchange ?? Ledger.Ticket(number: 0, path: "*")
        let problem = Problem(.badRequest, "the request is not HTTP/1.1: \(error)")
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "*")
        respond(problem.response, to: head, closing: true, context)
    }

    /// Whether the response to the request that is being received has started, and possibly ended.
    private var hasOngoingResponse: Bool {
        if case .streaming(_, let sink) = incoming { sink.ongoingResponse != nil } else { false }
    }

    // MARK: Request

    private func began(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard !isClosing else {
            incoming = .ignoring
            return
        }
        let origin = record.origin(stream)
        let plan = site.plan(for: head, origin)
        isRequestComplete = false
        if plan.isObserved {
            exchange = site.ledger.began(head, plan, origin)
            subject = plan.subject
            unfinished.append(plan.subject)
        } else {
            (exchange, subject) = (nil, nil)
        }
        switch plan.action {
        case .collect(let request, let limit, let handler):
            if let length = head.contentLength, length > limit {
                refuse(head, with: ExchangeHandler.tooLarge(limit).response, context)
            } else if head.method == .CONNECT {
                // A tunnel has no end of the request.
                respondEarly(head, ExchangeHandler.response(of: handler, to: request), context)
            } else {
                incoming = .collecting(request, limit: limit, handler)
                writeContinue(head, .now, context)
            }
        case .stream(let request, let open):
            do {
                let sink = try open(request)
                if case .refused(let response) = sink.continueResponse {
                    refuse(head, with: response, context)
                } else {
                    incoming = .streaming(head, sink)
                    writeContinue(head, sink.continueResponse, context)
                    if let response = sink.ongoingResponse { respond(response, to: head, closing: false, context) }
                    progressed(sink, head, context)
                }
            } catch {
                refuse(head, with: error.response, context)
            }
        case .respond(let response):
            refuse(head, with: response, context)
        }
    }

    private func received(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        // The client does not wait for a 100 response, so no 100 response is needed.
        lateContinueResponse?.cancel()
        if let exchange { site.ledger.received(bytes, of: exchange) }
        switch incoming {
        case .collecting(var request, let limit, let handler):
            guard bytes.readableBytes <= limit - request.body.readableBytes else {
                respondEarly(request.head, ExchangeHandler.tooLarge(limit).response, context)
                return
            }
            incoming = .nothing  // so that the body below has one owner and grows in place
            request.body.writeImmutableBuffer(bytes)
            incoming = .collecting(request, limit: limit, handler)
        case .streaming(let head, let sink):
            pacer.pause(for: sink.receive(bytes), context.eventLoop) { [self] in resumeReads(context) }
            writer.requestProgressed(context)
            progressed(sink, head, context)
        case .dropping(let head, let response, let dropped):
            let dropped = dropped + bytes.readableBytes
            incoming = .dropping(head, response, dropped: dropped)
            if dropped > ExchangeHandler.dropLimit { respondEarly(head, response, context) }
        case .nothing, .ignoring:
            break
        }
    }

    /// Sends the sink's interim responses, and ends the request if the sink requires this.
    private func progressed(_ sink: any BodySink, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let heads = sink.interimHeads()
        for interim in heads where head.supportsHTTP11 {
            context.write(wrapOutboundOut(.head(interim)), promise: nil)
        }
        if !heads.isEmpty { context.flush() }
        switch sink.interruption {
        case nil: break
        case .respond(let response): respondEarly(head, response, context)
        case .close:
            (incoming, isClosing) = (.ignoring, true)
            drop(context)
        case .reset:
            (incoming, isClosing) = (.ignoring, true)
            context.resetConnection()
        }
    }

    private func ended(_ trailers: HTTPHeaders?, _ context: ChannelHandlerContext) {
        lateContinueResponse?.cancel()
        isRequestComplete = true
        if let exchange { site.ledger.completed(exchange) }
        let ended = incoming
        incoming = isClosing ? .ignoring : .nothing
        switch ended {
        case .collecting(let request, _, let handler):
            let response = ExchangeHandler.response(of: handler, to: request)
            respond(response, to: request.head, closing: false, context)
        case .streaming(let head, let sink):
            let response = sink.finish(trailers: trailers)
            if sink.ongoingResponse == nil {
                respond(response, to: head, closing: false, context)
            } else {
                writer.requestProgressed(context)
            }
        case .dropping(let head, let response, _):
            respond(response, to: head, closing: false, context)
        case .nothing, .ignoring:
            break
        }
    }

    private static func response(of handler: Handler, to request: Request) -> Response {
        do {
            return try handler(request)
        } catch {
            return error.response
        }
    }

    /// Sends or schedules a 100 response if the client waits for it and `continueResponse` allows it (RFC 9110 section
    /// 10.1.1).
    private func writeContinue(
        _ head: HTTPRequestHead, _ continueResponse: ContinueResponse, _ context: ChannelHandlerContext
    ) {
        guard head.expectsContinue else { return }
        switch continueResponse {
        case .now:
            sendContinue(context)
        case .after(let pause):
            lateContinueResponse = context.eventLoop.assumeIsolated().scheduleTask(in: pause) { [self] in
                sendContinue(context)
            }
        case .never, .refused:
            break
        }
    }

    private func sendContinue(_ context: ChannelHandlerContext) {
        let interim = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(interim)), promise: nil)
    }

    /// Responds to a request whose body is not used. Discards a short body first, so that the connection can stay open.
    private func refuse(_ head: HTTPRequestHead, with response: Response, _ context: ChannelHandlerContext) {
        let isLong = head.contentLength ?? 0 > ExchangeHandler.dropLimit
        if head.expectsContinue || head.method == .CONNECT || response.isDropped || isLong {
            respondEarly(head, response, context)
        } else {
            incoming = .dropping(head, response, dropped: 0)
        }
    }

    /// Responds while the request is still being received. The connection is closed afterwards.
    private func respondEarly(_ head: HTTPRequestHead, _ response: Response, _ context: ChannelHandlerContext) {
        incoming = .ignoring
        respond(response, to: head, closing: true, context)
    }

    private func resumeReads(_ context: ChannelHandlerContext) {
        pacer.resume()
        while let part = pacer.next() { process(part, context) }
        if pacer.takeRead() { context.read() }
    }

    private static func tooLarge(_ limit: Int) -> Problem {
        Problem(.payloadTooLarge, "the body is larger than \(limit) bytes")
    }

    // MARK: Response

    private func respond(
        _ response: Response, to head: HTTPRequestHead, closing: Bool, _ context: ChannelHandlerContext
    ) {
        guard !hasEnded else { return }
        if let handler = response.upgrade {
            upgrade(to: handler, response, context)
            return
        }
        // An HTTP/2 stream has no further requests.
        let keepsAlive =
            stream == nil && !closing && head.isKeepAlive && !head.endsParsing && !response.closesConnection
            && !response.isDropped && ResponseWriter.delimits(response, for: head)
        isClosing = !keepsAlive
        // Cleared first, because a pipelined request may arrive during `send`.
        let (exchange, subject) = (exchange, subject)
        (self.exchange, self.subject) = (nil, nil)
        let status = Int(response.status.code)
        writer.send(response, to: head, keepsAlive: keepsAlive, context: context) { [site] in
            if let exchange { site.ledger.responded(status, to: exchange) }
        } completion: { [self] context, isWritten in
            guard isWritten else { return abandon() }
            if let subject { finish(subject) }
            if stream != nil {
                // The response is complete, so the rest of the request is not needed (RFC 9113 section 8.1).
                if !isRequestComplete { reset(.noError, context) }
            } else if response.isDropped {
                context.close(promise: nil)
            } else if !keepsAlive {
                shut(context)
            }
        }
    }

    /// Closes the connection or resets the stream.
    private func drop(_ context: ChannelHandlerContext) {
        if stream == nil { context.close(promise: nil) } else { reset(.internalError, context) }
    }

    private func reset(_ code: HTTP2ErrorCode, _ context: ChannelHandlerContext) {
        context.triggerUserOutboundEvent(StreamAbort(code: code), promise: nil)
    }

    /// Writes a 101 response, or a 200 over HTTP/2, and lets `handler` receive all following bytes. The HTTP handlers stay in the pipeline but
    /// receive only the end of the connection. The handler must flush.
    private func upgrade(to handler: any ChannelHandler, _ response: Response, _ context: ChannelHandlerContext) {
        (incoming, isClosing) = (.ignoring, true)
        let (exchange, subject) = (exchange, subject)
        (self.exchange, self.subject) = (nil, nil)
        let head = HTTPResponseHead(version: .http1_1, status: response.status, headers: response.headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if stream == nil { context.write(wrapOutboundOut(.end(nil)), promise: nil) }
        let status = stream == nil ? response.status : .ok
        if let exchange { site.ledger.responded(Int(status.code), to: exchange) }
        if let subject { finish(subject) }
        do {
            let pipeline = context.pipeline.syncOperations
            if stream == nil {
                try pipeline.addHandler(handler, position: .after(pipeline.handler(type: ByteCounter.self)))
            } else {
                let codec = try pipeline.handler(type: HTTP2StreamCodec.self)
                // The handler may write when it is added.
                let tunnel = HTTP2TunnelCodec()
                try pipeline.addHandler(tunnel, position: .after(codec))
                try pipeline.addHandler(handler, position: .after(tunnel))
            }
        } catch {
            context.close(promise: nil)
        }
    }

    private func abandon() {
        for subject in unfinished { site.ledger.ended(subject, isAbandoned: true) }
        unfinished = []
    }

    private func finish(_ subject: String) {
        // If the connection ended first, the subject has already been removed.
        guard let index = unfinished.firstIndex(of: subject) else { return }
        unfinished.remove(at: index)
        site.ledger.ended(subject, isAbandoned: false)
    }

    /// Closes the server's side and waits for the client to close its side.
    private func shut(_ context: ChannelHandlerContext) {
        context.close(mode: .output, promise: nil)
        timer?.cancel()
        resumeReads(context)
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: ExchangeHandler.lingering) {
            context.close(promise: nil)
        }
    }
}
