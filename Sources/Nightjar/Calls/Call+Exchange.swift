import NIOCore
import NightjarHTTP
import NightjarTransport

/// The exchange of the current attempt: the response that it receives, and the request body that it sends.
extension Call: ExchangeReceiver {
    func exchangeStarted(on connection: ConnectionRecord?, isReused: Bool, stream: Int32?) {
        state = .sent
        if request.body.isStreamedFromCaller, feed == nil { feed = BodyFeed(self) }
        feed?.attemptStarted()
        sentAt = loop.clock.now
        limits.attemptStarted(sentAt)
        timing.sent = elapsed(until: sentAt)
        timing.reusedConnection = isReused
        timing.connection = connection
        timing.stream = stream
        if !isReplaying { report(.sent(on: connection?.peer, connection?.version, isReused: isReused)) }
        if let tls = connection?.tlsDetails, tls.isClassical { decideOnce(.classicalKeyExchange) }
        if let reason = connection?.http1Reason { decideOnce(.usedHTTP1(because: reason)) }
        watchLimits()
    }

    func exchangeConnecting(_ step: ConnectionRecord.Step) { report(.init(step)) }

    func exchangeDenied(_ addresses: AddressFilter.Denied) {
        // Several connections may be opened for one attempt.
        let decision = Decision.Kind.addressesDenied(addresses)
        if !decisions.contains(where: { $0.what == decision && $0.attempt == attempts }) { decide(decision) }
    }

    func exchangeRepeated() { task.wasRepeated = true }

    func exchangeProgressed() {
        limits.progressed(loop.clock.now)
    }

    func exchangeReceived(informational: ResponseHead) { task.handlers.interim?(informational, request.url) }

    func exchangeChallenged(_ challenge: ConnectionChallenge) -> Bool {
        loop.decideConnection?(challenge, self) ?? false
    }

    func exchangeReceived(head received: consuming ResponseHead) {
        var head = received
        state = .receiving
        progressWatch?.note(sent: exchange?.sentBytes ?? 0)
        timing.firstByte = elapsed(until: limits.lastProgress)
        if !isReplaying { report(.firstByte(status: head.status)) }
        if let streams = task.handlers.streams, !streams(head) { collectsBody = true }
        for link in chain.incoming where link.position > above && link.position < entryStage {
            switch link.withStage({ $0.incoming(&head, self) }) {
            case .proceed: continue
            case let verdict: return perform(verdict, from: link.position)
            }
        }
        if collectsBody {
            do throws(NightjarError) {
                if let announced = head.contentLength, announced > 0 {
                    try content.reserve(announced, maximum: options.maximumBody)
                }
            } catch {
                return ascend(error.mayHaveBeenProcessed, from: entryStage)
            }
        } else if task.handlers.head != nil {
            responseWasDelivered = true
            let response = Response(
                head, ByteBuffer(), trailers: Headers(), record, sent: request, reservation: task.reservation)
            loop.post(.head(task, response), to: task.queue)
        }
        self.head = head
        if loop.operations.drains { endIfEndless() }
    }

    /// Ends an event stream, because the client drains.
    func endIfEndless() {
        guard head?.isEventStream == true else { return }
        finish(.failure(NightjarError(.closed, "the event stream ended because the client is draining")))
    }

    func exchangeReceived(body: ByteBuffer) {
        receivedBytes &+= body.readableBytes
        guard let decoding else { return take(body) }
        do throws(NightjarError) {
            try decoding.append(body)
        } catch {
            return ascend(error.mayHaveBeenProcessed, from: entryStage)
        }
        decode(decoding)
    }

    /// Decodes the received input until it is consumed or the reader falls behind.
    private func decode(_ decoding: BodyDecoding) {
        do throws(NightjarError) {
            while state == .receiving, !isPaused {
                if let part = try decoding.next() {
                    take(part)
                    continue
                }
                guard let trailers = decoding.trailers else { return }
                try decoding.finish()
                return complete(trailers)
            }
        } catch {
            ascend(error.mayHaveBeenProcessed, from: entryStage)
        }
    }

    /// Handles a part of the content, after decoding if the content is decoded.
    private func take(_ body: ByteBuffer) {
        guard state == .receiving else { return }
        guard collectsBody else { return stream(body) }
        do throws(NightjarError) {
            try content.append(body, maximum: options.maximumBody, countedBy: task.reservation)
        } catch {
            return ascend(error.mayHaveBeenProcessed, from: entryStage)
        }
        if task.isPaused { pause() }
    }

    private func pause() {
        isPaused = true
        exchange?.pause()
    }

    private func stream(_ body: ByteBuffer) {
        responseWasDelivered = true
        for link in chain.streamed where link.position > above { link.withStage { $0.streamed(body, self) } }
        loop.post(.body(task, body), to: task.queue)
        if task.holdsBack(afterAdding: body.readableBytes) { pause() }
    }

    func exchangeFinished(trailers: Headers) {
        progressWatch?.note(sent: exchange?.sentBytes ?? 0)
        exchange = nil
        feed?.attemptEnded()
        guard let decoding else { return complete(trailers) }
        decoding.trailers = trailers
        decode(decoding)
    }

    private func complete(_ trailers: Headers) {
        guard let head = head.take() else { return }
        timing.total = elapsed(until: limits.lastProgress)
        let response = Response(
            head, content.take(), trailers: trailers, record, sent: request, reservation: task.reservation)
        completed = (response, decisions.count)
        ascend(response, from: entryStage)
    }

    private var record: CallRecord {
        var record = CallRecord()
        record.attempts = attempts
        record.timing = timing
        record.source = source
        record.redirects = redirects
        record.decisions = decisions
        return record
    }

    func exchangeFailed(_ error: NightjarError) {
        exchange = nil
        feed?.attemptEnded()
        // The stage that replays a stored response also receives the error, because this stage can send a request
        // instead.
        ascend(error, from: entryStage + 1)
    }

    func exchangeNeedsBody(maximum: Int) { feed?.requestPart(maximum) }

    private func elapsed(until moment: NIODeadline) -> Duration {
        .nanoseconds((moment - started).nanoseconds)
    }

    // MARK: The request body

    /// Whether another attempt can send the same body.
    var bodyIsReplayable: Bool { request.body.isReplayable || feed?.canRestart ?? true }

    /// Sends a part of the request body.
    func forward(_ part: TaskHandlers.BodyPart) {
        limits.progressed(loop.clock.now)
        watchLimits()
        switch part {
        case .bytes(let bytes): exchange?.send(bytes)
        case .end: exchange?.endBody()
        case .later: break
        case .failed(let message): sendingFailed(NightjarError(.invalidRequest, message, phase: .send))
        }
    }

    /// Reports that the request body cannot be completed. The server may process the part that it has received.
    func sendingFailed(_ error: NightjarError) { ascend(error.mayHaveBeenProcessed, from: entryStage) }

    // MARK: Progress

    /// Continues reading after the caller has consumed enough of the streamed body.
    func resume() {
        guard isPaused else { return }
        isPaused = false
        limits.progressed(loop.clock.now)
        watchLimits()
        if let decoding { decode(decoding) }
        if !isPaused { exchange?.resume() }
    }

    /// The progress of the current attempt.
    var progress: TaskHandlers.Progress {
        var progress = TaskHandlers.Progress()
        switch request.framing {
        case .absent: progress.sentTotal = 0
        case .length(let length): progress.sentTotal = length
        case .chunked, .upgrade: break
        }
        if let exchange, isOnConnection { progress.sent = max(exchange.sentBytes - exchange.unsentBytes, 0) }
        if let total = progress.sentTotal { progress.sent = min(progress.sent, total) }
        progress.received = receivedBytes
        if request.method != .head { progress.receivedTotal = head?.contentLength }
        return progress
    }
}
