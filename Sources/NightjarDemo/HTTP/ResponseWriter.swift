import NIOCore
import NIOHTTP1
import NIOHTTP2
import NightjarSystem

/// Sends one response at a time on a connection. A streamed body is generated no faster than the peer accepts it.
///
/// Used only on the connection's event loop.
final class ResponseWriter {
    /// Called when the last byte of the response has been written to the socket, when the response was dropped, or, with
    /// false, when the client disconnected before.
    typealias Completion = (ChannelHandlerContext, _ isWritten: Bool) -> Void

    private struct Sending {
        var source: (any BodySource)?
        /// True while the source pauses.
        var isWaiting = false
        let sendsBody: Bool
        let resetCode: HTTP2ErrorCode
        let completion: Completion
    }

    private var sending: Sending?
    /// True if the last response has been passed to the channel. Its completion follows, also after the channel has ended.
    private(set) var hasEnded = false
    private var timer: Scheduled<Void>?
    private let clock: HTTPDate
    private let isHTTP2: Bool

    init(clock: HTTPDate, isHTTP2: Bool) {
        self.clock = clock
        self.isHTTP2 = isHTTP2
    }

    var isBusy: Bool { sending != nil }

    /// True if the client can detect the end of the response while the connection stays open.
    static func delimits(_ response: Response, for request: HTTPRequestHead) -> Bool {
        guard case .source(_, nil) = response.body, response.status.mayHaveResponseBody else { return true }
        return request.method == .HEAD || request.supportsHTTP11 && !response.endsWithConnection
    }

    /// - Parameters:
    ///   - keepsAlive: true if the connection is reused after this response. ``delimits(_:for:)`` must allow this.
    ///   - headSent: called before the final head is written, possibly after a delay. Not called for a dropped
    ///     response.
    func send(
        _ response: Response, to request: HTTPRequestHead, keepsAlive: Bool, context: ChannelHandlerContext,
        headSent: @escaping () -> Void, completion: @escaping Completion
    ) {
        assert(sending == nil, "a second response began before the first had ended")
        hasEnded = false
        sending = Sending(
            sendsBody: request.method != .HEAD, resetCode: response.resetCode, completion: completion)
        after(response.delay, context) { [self] in
            guard !response.isDropped else {
                if isHTTP2 { abort(context) } else { complete(context) }
                return
            }
            // An HTTP/1.0 client would mistake an interim head for the final one.
            if request.supportsHTTP11 {
                for head in response.interim { write(.head(head), context) }
            }
            headSent()
            begin(response, request, keepsAlive: keepsAlive, context)
        }
    }

    /// Handles a change of the channel's writability.
    func writabilityChanged(_ context: ChannelHandlerContext) {
        guard context.channel.isWritable, sending?.source != nil else { return }
        // Deferred, because the event may occur during a flush by this writer, and so that other connections can
        // proceed.
        context.eventLoop.assumeIsolated().execute { [self] in pump(context) }
    }

    /// Handles the arrival of a part of the request.
    func requestProgressed(_ context: ChannelHandlerContext) {
        if sending?.source != nil { pump(context) }
    }

    func cancel() {
        timer?.cancel()
        timer = nil
        sending = nil
    }

    // MARK: Sending

    private func begin(
        _ response: Response, _ request: HTTPRequestHead, keepsAlive: Bool, _ context: ChannelHandlerContext
    ) {
        var head = HTTPResponseHead(version: request.version, status: response.status, headers: response.headers)
        switch response.date {
        case .now: head.headers.replaceOrAdd(name: "Date", value: clock.now)
        case .offset(let seconds):
            let date = CalendarTime(seconds: CalendarTime.now() + seconds)
            head.headers.replaceOrAdd(name: "Date", value: date.httpDate)
        case .absent: break
        }
        let length: Int? =
            switch response.body {
            case .bytes(let bytes): bytes.readableBytes
            case .source(_, let length): length
            }
        if response.status.mayHaveResponseBody {
            if let length {
                head.headers.replaceOrAdd(name: "Content-Length", value: String(length))
            } else if !isHTTP2, request.supportsHTTP11, request.method != .HEAD, !response.endsWithConnection {
                head.headers.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
            }
        }
        // HTTP/2 has no connection fields (RFC 9113 section 8.2.2).
        if !isHTTP2, !keepsAlive {
            // The response may already have the option Upgrade.
            head.headers.add(name: "Connection", value: "close")
        } else if !isHTTP2, !request.supportsHTTP11 {
            head.headers.replaceOrAdd(name: "Connection", value: "keep-alive")
        }
        if let limit = response.headLimit {
            // A frame has the whole head, so the stream is reset before it.
            guard !isHTTP2 else { return abort(context) }
            writeUnframed(ResponseWriter.bytes(of: head, atMost: limit), context)
            cut(context)
            return
        }
        write(.head(head), context)

        guard sending?.sendsBody == true, response.status.mayHaveResponseBody else {
            end(trailers: nil, context)
            return
        }
        switch response.body {
        case .bytes(let bytes):
            if bytes.readableBytes > 0 { write(.body(.byteBuffer(bytes)), context) }
            end(trailers: nil, context)
        case .source(let source, _):
            sending?.source = source
            pump(context)
        }
    }

    private func pump(_ context: ChannelHandlerContext) {
        guard sending?.isWaiting == false else { return }
        while context.channel.isWritable {
            guard let part = sending?.source?.next() else { return }
            switch part {
            case .bytes(let bytes):
                write(bytes, sending?.source?.written, context)
            case .unframed(let bytes):
                writeUnframed(bytes, context)
            case .wait(let pause):
                context.flush()
                sending?.isWaiting = true
                after(pause, context) { [self] in
                    sending?.isWaiting = false
                    pump(context)
                }
                return
            case .afterRequestPart:
                context.flush()
                return
            case .whenResumed(let register):
                context.flush()
                sending?.isWaiting = true
                register { [weak self] in
                    self?.sending?.isWaiting = false
                    self?.pump(context)
                }
                return
            case .cut:
                cut(context)
                return
            case .reset:
                reset(context)
                return
            case .end(let trailers):
                end(trailers: trailers, context)
                return
            }
        }
        context.flush()
    }

    private func end(trailers: HTTPHeaders?, _ context: ChannelHandlerContext) {
        guard let completion = sending?.completion else { return }
        sending = nil
        timer = nil
        hasEnded = true
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { result in
            if case .success = result { completion(context, true) } else { completion(context, false) }
        }
        context.writeAndFlush(NIOAny(HTTPServerResponsePart.end(trailers)), promise: written)
    }

    /// Ends the response prematurely. The connection is closed afterwards. HTTP/2: the stream is reset.
    private func cut(_ context: ChannelHandlerContext) {
        if isHTTP2 {
            afterWriting(context) { [self] in abort(context) }
        } else {
            afterWriting(context) { [self] in complete(context) }
        }
    }

    /// Resets the connection when the preceding bytes have been written to the socket. The operating system discards the
    /// bytes that it has not sent.
    private func reset(_ context: ChannelHandlerContext) {
        afterWriting(context) { [self] in
            context.resetConnection()
            complete(context)
        }
    }

    /// Calls `work` when the preceding bytes have been written to the socket.
    private func afterWriting(_ context: ChannelHandlerContext, _ work: @escaping () -> Void) {
        timer?.cancel()
        timer = nil
        sending?.source = nil
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess(work)
        if isHTTP2 {
            // NIOHTTP2 discards the queued frames of a stream that is reset.
            context.write(NIOAny(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer()))), promise: written)
        } else {
            writeUnframed(ByteBuffer(), context, written)
        }
        context.flush()
    }

    /// Resets the HTTP/2 stream.
    private func abort(_ context: ChannelHandlerContext) {
        guard let (code, completion) = sending.map({ ($0.resetCode, $0.completion) }) else { return }
        cancel()
        hasEnded = true
        // The channel ends within this call.
        context.triggerUserOutboundEvent(StreamAbort(code: code), promise: nil)
        completion(context, true)
    }

    private func complete(_ context: ChannelHandlerContext) {
        guard let completion = sending?.completion else { return }
        cancel()
        completion(context, true)
    }

    private func write(_ part: HTTPServerResponsePart, _ context: ChannelHandlerContext) {
        context.write(NIOAny(part), promise: nil)
    }

    private func write(_ bytes: ByteBuffer, _ note: ((Int) -> Void)?, _ context: ChannelHandlerContext) {
        guard let note else {
            write(.body(.byteBuffer(bytes)), context)
            return
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { note(bytes.readableBytes) }
        context.write(NIOAny(HTTPServerResponsePart.body(.byteBuffer(bytes))), promise: written)
    }

    /// Writes bytes that the encoder does not change.
    private func writeUnframed(
        _ bytes: ByteBuffer, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>? = nil
    ) {
        do {
            let encoder = try context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
            encoder.write(NIOAny(IOData.byteBuffer(bytes)), promise: promise)
        } catch {
            promise?.fail(error)
        }
    }

    private static func bytes(of head: HTTPResponseHead, atMost limit: Int) -> ByteBuffer {
        var text = "HTTP/1.1 \(head.status.code) \(head.status.reasonPhrase)\r\n"
        for (name, value) in head.headers { text += "\(name): \(value)\r\n" }
        return ByteBuffer(bytes: Array((text + "\r\n").utf8.prefix(limit)))
    }

    private func after(_ pause: TimeAmount, _ context: ChannelHandlerContext, _ work: @escaping () -> Void) {
        if pause == .zero {
            work()
        } else {
            timer = context.eventLoop.assumeIsolated().scheduleTask(in: pause, work)
        }
    }
}

extension ChannelHandlerContext {
    /// Resets the TCP connection, also from a stream of HTTP/2.
    func resetConnection() {
        let isStream = !(channel is any SocketOptionProvider)
        (isStream ? channel.parent ?? channel : channel).reset()
    }
}

extension Channel {
    /// Closes the socket with a reset. The operating system discards the bytes that it has not sent.
    func reset() {
        guard let options = self as? any SocketOptionProvider else { return close(promise: nil) }
        options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in self.close(promise: nil) }
    }
}
