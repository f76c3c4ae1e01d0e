import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

/// Converts the frames of a stream to the parts of a request, and the parts of a response to frames.
///
/// NIOHTTP2's own converter sends the end of a response in a frame of its own, adds Transfer-Encoding to requests, and
/// does not pass on the pseudo-header field `:protocol`.
final class HTTP2StreamCodec: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let stream: RequestStream
    private let connection: HTTP2Connection
    private let ledger: Ledger
    private var hasHead = false
    private var isOpen = true
    private var hasEnded = false
    private var isAborted = false
    /// The Content-Length of the request, less the bytes received so far. Nil without Content-Length.
    private var missingBytes: Int?
    /// The last part of the response, which is held until the next part or a flush, so that it can end the stream.
    private var held: (payload: HTTP2Frame.FramePayload, promise: EventLoopPromise<Void>?)?

    init(_ stream: RequestStream, _ connection: HTTP2Connection, ledger: Ledger) {
        (self.stream, self.connection, self.ledger) = (stream, connection, ledger)
        connection.opened(stream: stream.id)
    }

    // MARK: Request

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let content): received(content, context)
        case .data(let content): received(content, context)
        case .rstStream: ledger.note { $0.http2.resets += 1 }
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        ended()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        ended()
        held = nil
    }

    private func ended() {
        guard isOpen else { return }
        (isOpen, hasEnded) = (false, true)
        connection.closedStream()
    }

    private func received(_ content: HTTP2Frame.FramePayload.Headers, _ context: ChannelHandlerContext) {
        guard !hasHead else {
            end(HTTPHeaders(content.headers.regularFields), context)
            return
        }
        hasHead = true
        stream.connectProtocol = content.headers.first(name: ":protocol")
        let head = HTTPRequestHead(content.headers)
        missingBytes = head.contentLength
        context.fireChannelRead(wrapInboundOut(.head(head)))
        if content.endStream { end(nil, context) }
    }

    private func received(_ content: HTTP2Frame.FramePayload.Data, _ context: ChannelHandlerContext) {
        guard case .byteBuffer(let bytes) = content.data else { return }
        if let missing = missingBytes {
            missingBytes = missing - bytes.readableBytes
            guard missing >= bytes.readableBytes else { return abort(.protocolError, context) }
        }
        if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(.body(bytes))) }
        if content.endStream { end(nil, context) }
    }

    private func end(_ trailers: HTTPHeaders?, _ context: ChannelHandlerContext) {
        guard missingBytes ?? 0 == 0 else { return abort(.protocolError, context) }
        context.fireChannelRead(wrapInboundOut(.end(trailers)))
    }

    // MARK: Response

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !hasEnded else {
            promise?.fail(ChannelError.alreadyClosed)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(let head):
            writeHeld(context)
            hold(.headers(.init(headers: fields(of: head, context))), promise)
        case .body(let content):
            writeHeld(context)
            hold(.data(.init(data: content)), promise)
        case .end(let trailers):
            hasEnded = true
            if let trailers, !trailers.isEmpty {
                writeHeld(context)
                let fields = HPACKHeaders(httpHeaders: trailers, normalizeHTTPHeaders: true)
                context.write(wrapOutboundOut(.headers(.init(headers: fields, endStream: true))), promise: promise)
            } else {
                writeEnd(promise, context)
            }
        }
    }

    func flush(context: ChannelHandlerContext) {
        writeHeld(context)
        context.flush()
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        if let abort = event as? StreamAbort {
            self.abort(abort.code, context)
            promise?.succeed()
        } else {
            context.triggerUserOutboundEvent(event, promise: promise)
        }
    }

    private func abort(_ code: HTTP2ErrorCode, _ context: ChannelHandlerContext) {
        guard isOpen, !isAborted else { return }
        writeHeld(context)
        (hasEnded, isAborted) = (true, true)
        context.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
    }

    private func hold(_ payload: HTTP2Frame.FramePayload, _ promise: EventLoopPromise<Void>?) {
        held = (payload, promise)
    }

    private func writeHeld(_ context: ChannelHandlerContext) {
        guard let (payload, promise) = held.take() else { return }
        context.write(wrapOutboundOut(payload), promise: promise)
    }

    private func writeEnd(_ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        let last: (payload: HTTP2Frame.FramePayload, promise: EventLoopPromise<Void>?)
        switch held.take() {
        case (.headers(var content), let earlier)?:
            content.endStream = true
            last = (.headers(content), earlier)
        case (.data(var content), let earlier)?:
            content.endStream = true
            last = (.data(content), earlier)
        default:
            last = (.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)), nil)
        }
        if let earlier = last.promise, let promise { earlier.futureResult.cascade(to: promise) }
        context.write(wrapOutboundOut(last.payload), promise: last.promise ?? promise)
    }

    /// Returns the fields of a head. A head that is too large for one frame is passed to ``HTTP2FrameFilter``, and the
    /// frame that it replaces has only the status.
    private func fields(of head: HTTPResponseHead, _ context: ChannelHandlerContext) -> HPACKHeaders {
        // HTTP/2 has no 101 (RFC 9113 section 8.6). The response to an extended CONNECT is a 2xx (RFC 8441 section 5).
        let status = head.status == .switchingProtocols ? HTTPResponseStatus.ok : head.status
        var all = HTTPHeaders()
        all.reserveCapacity(head.headers.count + 1)
        all.add(name: ":status", value: String(status.code))
        all.add(contentsOf: head.headers)
        let fields = HPACKHeaders(httpHeaders: all, normalizeHTTPHeaders: true)
        guard FieldBlock.size(fields) > FieldBlock.sizeLimit else { return fields }
        // The frames before are sent, because the next HEADERS frame is replaced.
        context.flush()
        connection.replaceHead(of: stream.id, with: FieldBlock.encode(fields))
        var replaced = HPACKHeaders()
        // The dynamic table must not change, because the client does not receive this frame.
        replaced.add(name: ":status", value: String(status.code), indexing: .neverIndexed)
        return replaced
    }
}

extension HPACKHeaders {
    /// The fields without pseudo-header fields. Several Cookie fields are joined (RFC 9113 section 8.2.3).
    fileprivate var regularFields: [(String, String)] {
        var fields: [(String, String)] = []
        fields.reserveCapacity(count + 1)
        var cookie: Int?
        for field in self where !field.name.hasPrefix(":") {
            if field.name == "cookie", let cookie {
                fields[cookie].1 += "; " + field.value
                continue
            }
            if field.name == "cookie" { cookie = fields.count }
            fields.append((field.name, field.value))
        }
        return fields
    }
}

extension HTTPRequestHead {
    /// The head of a request over HTTP/2. The field Host has the value of `:authority`. The target of a CONNECT without
    /// `:path` is the authority.
    fileprivate init(_ fields: HPACKHeaders) {
        let authority = fields.first(name: ":authority")
        var headers = HTTPHeaders(fields.regularFields)
        if let authority {
            headers.remove(name: "host")
            headers = HTTPHeaders([("host", authority)] + headers.map { ($0.name, $0.value) })
        }
        self.init(
            version: .init(major: 2, minor: 0), method: HTTPMethod(rawValue: fields.first(name: ":method") ?? ""),
            uri: fields.first(name: ":path") ?? authority ?? "", headers: headers)
    }
}
