import NIOCore
import NIOHTTP1

/// Serves one connection: receives requests, runs their routes, and writes the responses.
///
/// The preceding handler in the pipeline holds back pipelined requests until the previous response has been written.
/// Only one exchange is active at a time.
final class Connection: ChannelDuplexHandler {
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
    private let writer: ResponseWriter
    private var number = 0
    private var requestCount = 0
    /// The current exchange in the ledger. Nil for requests to `/__` paths, which are not counted.
    private var exchange: Ledger.Ticket?
    /// The key under which the current exchange is counted. Nil if `exchange` is nil.
    private var subject: String?
    /// The subjects of the exchanges whose response has not been sent completely.
    private var unfinished: [String] = []
    private var incoming = Incoming.nothing
    private var isClosing = false
    /// The time until which reading is paused for a slow sink.
    private var readsPausedUntil: NIODeadline?
    private var hasPausedRead = false
    private var timer: Scheduled<Void>?
    /// A scheduled 100 response.
    private var lateContinueResponse: Scheduled<Void>?

    init(site: Site) {
        self.site = site
        writer = ResponseWriter(clock: site.clock)
    }

    // MARK: Channel events

    func channelActive(context: ChannelHandlerContext) {
        number = site.ledger.connectionOpened()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        writer.cancel()
        timer?.cancel()
        lateContinueResponse?.cancel()
        // An error of the parser may follow, because the request is incomplete.
        (incoming, isClosing) = (.ignoring, true)
        for subject in unfinished { site.ledger.ended(subject, isAbandoned: true) }
        unfinished = []
        site.ledger.connectionClosed()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
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
        if readsPausedUntil != nil {
            hasPausedRead = true
        } else {
            context.read()
        }
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
        requestCount += 1
        let plan = site.plan(for: head, connection: number, numberOnConnection: requestCount)
        if plan.isObserved {
            exchange = site.ledger.began(head, plan, connection: number, numberOnConnection: requestCount)
            subject = plan.subject
            unfinished.append(plan.subject)
        } else {
            (exchange, subject) = (nil, nil)
        }
        switch plan.action {
        case .collect(let request, let limit, let handler):
            if let length = head.contentLength, length > limit {
                refuse(head, with: Connection.tooLarge(limit).response, context)
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
                respondEarly(request.head, Connection.tooLarge(limit).response, context)
                return
            }
            incoming = .nothing  // so that the body below has one owner and grows in place
            request.body.writeImmutableBuffer(bytes)
            incoming = .collecting(request, limit: limit, handler)
        case .streaming(let head, let sink):
            holdReads(for: sink.receive(bytes), context)
            writer.requestProgressed(context)
            progressed(sink, head, context)
        case .dropping(let head, let response, let dropped):
            let dropped = dropped + bytes.readableBytes
            incoming = .dropping(head, response, dropped: dropped)
            if dropped > Connection.dropLimit { respondEarly(head, response, context) }
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
            context.close(promise: nil)
        case .reset:
            (incoming, isClosing) = (.ignoring, true)
            context.channel.reset()
        }
    }

    private func ended(_ trailers: HTTPHeaders?, _ context: ChannelHandlerContext) {
        lateContinueResponse?.cancel()
        if let exchange { site.ledger.completed(exchange) }
        let ended = incoming
        incoming = isClosing ? .ignoring : .nothing
        switch ended {
        case .collecting(let request, _, let handler):
            let response: Response
            do {
                response = try handler(request)
            } catch {
                response = error.response
            }
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
        if head.expectsContinue || response.isDropped || head.contentLength ?? 0 > Connection.dropLimit {
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

    private func holdReads(for pause: TimeAmount, _ context: ChannelHandlerContext) {
        guard pause > .zero else { return }
        // One read may deliver several pieces, so their pauses add up.
        let end = (readsPausedUntil ?? .now()) + pause
        readsPausedUntil = end
        timer?.cancel()
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: end) { [self] in resumeReads(context) }
    }

    private func resumeReads(_ context: ChannelHandlerContext) {
        readsPausedUntil = nil
        if hasPausedRead {
            hasPausedRead = false
            context.read()
        }
    }

    private static func tooLarge(_ limit: Int) -> Problem {
        Problem(.payloadTooLarge, "the body is larger than \(limit) bytes")
    }

    // MARK: Response

    private func respond(
        _ response: Response, to head: HTTPRequestHead, closing: Bool, _ context: ChannelHandlerContext
    ) {
        if let handler = response.upgrade {
            upgrade(to: handler, response, context)
            return
        }
        let keepsAlive =
            !closing && head.isKeepAlive && !head.endsParsing && !response.closesConnection && !response.isDropped
            && ResponseWriter.delimits(response, for: head)
        isClosing = !keepsAlive
        // Cleared first, because a pipelined request may arrive during `send`.
        let (exchange, subject) = (exchange, subject)
        (self.exchange, self.subject) = (nil, nil)
        let status = Int(response.status.code)
        writer.send(response, to: head, keepsAlive: keepsAlive, context: context) { [site] in
            if let exchange { site.ledger.responded(status, to: exchange) }
        } completion: { [self] context in
            if let subject { finish(subject) }
            if response.isDropped {
                context.close(promise: nil)
            } else if !keepsAlive {
                shut(context)
            }
        }
    }

    /// Writes a 101 response and lets `handler` receive all following bytes. The HTTP handlers stay in the pipeline but
    /// receive only the end of the connection. The handler must flush.
    private func upgrade(to handler: any ChannelHandler, _ response: Response, _ context: ChannelHandlerContext) {
        (incoming, isClosing) = (.ignoring, true)
        let (exchange, subject) = (exchange, subject)
        (self.exchange, self.subject) = (nil, nil)
        let head = HTTPResponseHead(version: .http1_1, status: response.status, headers: response.headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.end(nil)), promise: nil)
        if let exchange { site.ledger.responded(Int(response.status.code), to: exchange) }
        if let subject { finish(subject) }
        do {
            let pipeline = context.pipeline.syncOperations
            try pipeline.addHandler(handler, position: .after(pipeline.handler(type: ByteCounter.self)))
        } catch {
            context.close(promise: nil)
        }
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
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: Connection.lingering) {
            context.close(promise: nil)
        }
    }
}
