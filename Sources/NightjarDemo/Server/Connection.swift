import NIOCore
import NIOHTTP1

/// Serves one connection: receives requests, runs their routes, and sends the responses.
///
/// The preceding pipeline handler delays pipelined requests until the previous response has been written, so there is
/// one exchange at a time.
final class Connection: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Incoming {
        /// Between requests, or the request is complete and its response in progress.
        case nothing
        case collecting(Request, limit: Int, Handler)
        case streaming(HTTPRequestHead, any BodySink)
        /// The response is decided and waits for the end of the request, whose body is discarded.
        case dropping(HTTPRequestHead, Response, dropped: Int)
        /// The connection closes after the response in progress, so further data is discarded.
        case ignoring
    }

    /// How much of an unwanted body is read to keep the connection, in bytes.
    private static let dropLimit = 64 * 1024

    /// How long the peer may keep sending after the server's half was closed. Closing at once with unread data would
    /// reset the connection, and the reset can overtake the response (RFC 9112 section 9.6).
    private static let lingering = TimeAmount.seconds(2)

    private let site: Site
    private let writer: ResponseWriter
    private var number = 0
    private var requestCount = 0
    /// The ledger's ticket of the current exchange; nil on the control plane.
    private var exchange: Ledger.Ticket?
    /// The subject under which the current exchange is counted; nil if `exchange` is nil.
    private var subject: String?
    /// The subjects of exchanges whose response has not been written completely.
    private var unfinished: [String] = []
    private var incoming = Incoming.nothing
    private var isClosing = false
    /// Reading pauses until this time, as requested by a slow sink.
    private var readsHeldUntil: NIODeadline?
    private var hasHeldRead = false
    private var timer: Scheduled<Void>?
    /// A 100 response that is sent later.
    private var lateInvitation: Scheduled<Void>?

    init(site: Site) {
        self.site = site
        writer = ResponseWriter(clock: site.clock)
    }

    // MARK: Events of the channel

    func channelActive(context: ChannelHandlerContext) {
        number = site.ledger.connectionOpened()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        writer.cancel()
        timer?.cancel()
        lateInvitation?.cancel()
        incoming = .ignoring
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
        if readsHeldUntil != nil {
            hasHeldRead = true
        } else {
            context.read()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError else {
            context.close(promise: nil)
            return
        }
        // Data after a response that ends the connection may be invalid.
        guard !isClosing else { return }
        guard !writer.isBusy else {
            context.close(promise: nil)
            return
        }
        incoming = .ignoring
        // An invalid request has no entry in the log, but its response counts.
        exchange = exchange ?? Ledger.Ticket(number: 0, path: "*")
        let problem = Problem(.badRequest, "the request is not HTTP/1.1: \(error)")
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "*")
        respond(problem.response, to: head, closing: true, context)
    }

    // MARK: The request

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
                invite(head, .now, context)
            }
        case .stream(let request, let open):
            do {
                let sink = try open(request)
                if case .refused(let response) = sink.invitation {
                    refuse(head, with: response, context)
                } else {
                    incoming = .streaming(head, sink)
                    invite(head, sink.invitation, context)
                }
            } catch {
                refuse(head, with: error.response, context)
            }
        case .answer(let response):
            refuse(head, with: response, context)
        }
    }

    private func received(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        // A client that sends its body anyway needs no 100 response.
        lateInvitation?.cancel()
        if let exchange { site.ledger.received(bytes, of: exchange) }
        switch incoming {
        case .collecting(var request, let limit, let handler):
            guard bytes.readableBytes <= limit - request.body.readableBytes else {
                answerEarly(request.head, Connection.tooLarge(limit).response, context)
                return
            }
            incoming = .nothing  // The body then has one owner and grows in place.
            request.body.writeImmutableBuffer(bytes)
            incoming = .collecting(request, limit: limit, handler)
        case .streaming(_, let sink):
            holdReads(for: sink.receive(bytes), context)
        case .dropping(let head, let response, let dropped):
            let dropped = dropped + bytes.readableBytes
            incoming = .dropping(head, response, dropped: dropped)
            if dropped > Connection.dropLimit { answerEarly(head, response, context) }
        case .nothing, .ignoring:
            break
        }
    }

    private func ended(_ trailers: HTTPHeaders?, _ context: ChannelHandlerContext) {
        lateInvitation?.cancel()
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
            respond(sink.finish(trailers: trailers), to: head, closing: false, context)
        case .dropping(let head, let response, _):
            respond(response, to: head, closing: false, context)
        case .nothing, .ignoring:
            break
        }
    }

    /// Sends a 100 response to a client that waits for it (RFC 9110 section 10.1.1).
    private func invite(_ head: HTTPRequestHead, _ invitation: Invitation, _ context: ChannelHandlerContext) {
        guard head.expectsContinue else { return }
        switch invitation {
        case .now:
            sendContinue(context)
        case .after(let pause):
            lateInvitation = context.eventLoop.assumeIsolated().scheduleTask(in: pause) { [self] in
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

    /// Responds without using the body: after a short body, or at once if the body is long or may never arrive.
    private func refuse(_ head: HTTPRequestHead, with response: Response, _ context: ChannelHandlerContext) {
        if head.expectsContinue || response.isDropped || head.contentLength ?? 0 > Connection.dropLimit {
            answerEarly(head, response, context)
        } else {
            incoming = .dropping(head, response, dropped: 0)
        }
    }

    /// Responds before the end of the request. The connection then closes.
    private func answerEarly(_ head: HTTPRequestHead, _ response: Response, _ context: ChannelHandlerContext) {
        incoming = .ignoring
        respond(response, to: head, closing: true, context)
    }

    private func holdReads(for pause: TimeAmount, _ context: ChannelHandlerContext) {
        guard pause > .zero else { return }
        // One read delivers several pieces, so their pauses add up.
        let end = (readsHeldUntil ?? .now()) + pause
        readsHeldUntil = end
        timer?.cancel()
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: end) { [self] in
            readsHeldUntil = nil
            if hasHeldRead {
                hasHeldRead = false
                context.read()
            }
        }
    }

    private static func tooLarge(_ limit: Int) -> Problem {
        Problem(.payloadTooLarge, "the body is larger than the limit of \(limit) bytes")
    }

    // MARK: The answer

    private func respond(
        _ response: Response, to head: HTTPRequestHead, closing: Bool, _ context: ChannelHandlerContext
    ) {
        let keepsAlive =
            !closing && head.isKeepAlive && !response.closesConnection && !response.isDropped
            && ResponseWriter.delimits(response, for: head)
        isClosing = !keepsAlive
        // Reset now, because a pipelined request may arrive inside `send`.
        let (exchange, subject) = (exchange, subject)
        (self.exchange, self.subject) = (nil, nil)
        let status = Int(response.status.code)
        writer.send(response, to: head, keepsAlive: keepsAlive, context: context) { [site] in
            if let exchange { site.ledger.answered(status, to: exchange) }
        } completion: { [self] context in
            if let subject { finish(subject) }
            if response.isDropped {
                context.close(promise: nil)
            } else if !keepsAlive {
                shut(context)
            }
        }
    }

    private func finish(_ subject: String) {
        // Missing if the connection ended first.
        guard let index = unfinished.firstIndex(of: subject) else { return }
        unfinished.remove(at: index)
        site.ledger.ended(subject, isAbandoned: false)
    }

    /// Closes the server's half of the connection and waits for the client to close its own.
    private func shut(_ context: ChannelHandlerContext) {
        context.close(mode: .output, promise: nil)
        timer?.cancel()
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: Connection.lingering) {
            context.close(promise: nil)
        }
    }
}
