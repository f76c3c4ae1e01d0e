import NIOCore
import NIOHTTP2

/// Counts the streams of an HTTP/2 connection, closes the connection, and performs its intentional faults.
///
///     open ──GOAWAY──▶ leaving ──no stream is left──▶ shut ──end of input or timeout──▶ closed
///       └──────────connection error─────────────────▲
final class HTTP2Connection: ChannelInboundHandler, HTTP2ConnectionControl {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private enum State {
        case open, leaving, shut, closed
    }

    /// The time during which the client may continue to send after the server has closed its side. Closing a socket
    /// with unread bytes resets the connection, and the reset could overtake the last frames.
    private static let lingering = TimeAmount.seconds(2)

    let filter: HTTP2FrameFilter
    private let ledger: Ledger
    private var context: ChannelHandlerContext?
    private var state = State.open
    private var openStreams = 0
    private var lastStream = 0
    /// Called in order when the client acknowledges SETTINGS frames, starting with the initial settings.
    private var settingsWaiters = CircularBuffer<() -> Void>()
    private var pingWaiters: [UInt64: () -> Void] = [:]
    private var lastPing: UInt64 = 0

    init(ledger: Ledger, omitting frames: HTTP2OmittedFrames) {
        self.ledger = ledger
        filter = HTTP2FrameFilter(omitting: frames)
        settingsWaiters.append({})
    }

    // MARK: Streams

    func opened(stream: Int) {
        openStreams += 1
        lastStream = max(lastStream, stream)
        ledger.note { $0.http2.opened(stream: true) }
    }

    func closedStream() {
        openStreams -= 1
        ledger.note { $0.http2.streamsOpen -= 1 }
        if state == .leaving, openStreams == 0 { shut() }
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        ledger.note { $0.http2.opened(stream: false) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data).payload {
        case .settings(.ack):
            if let waiter = settingsWaiters.popFirst() { waiter() }
        case .ping(let data, ack: true):
            pingWaiters.removeValue(forKey: data.integer)?()
        case .ping(_, ack: false):
            ledger.note { $0.http2.pings += 1 }
        case .goAway:
            ledger.note { $0.http2.goAways += 1 }
            // The client opens no more streams.
            if state == .open { state = .leaving }
            if openStreams == 0 { shut() }
        default:
            break
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, state == .open { goAway(last: nil, .noError, after: .zero) }
        context.fireUserInboundEventTriggered(event)
    }

    /// NIOHTTP2 reports the errors of streams and of the connection. A connection error has been sent as a GOAWAY frame.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if filter.hasSentConnectionError {
            shut()
        } else if error is IOError || error is ChannelError {
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        closed()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { closed() }

    private func closed() {
        guard state != .closed else { return }
        state = .closed
        context = nil
        settingsWaiters.removeAll()
        pingWaiters.removeAll()
        ledger.note { $0.http2.connectionsOpen -= 1 }
    }

    // MARK: Control

    func goAway(last: Int?, _ code: HTTP2ErrorCode, after pause: TimeAmount) {
        guard state == .open || state == .leaving else { return }
        guard pause == .zero else {
            context?.eventLoop.assumeIsolated().scheduleTask(in: pause) { [self] in
                goAway(last: last, code, after: .zero)
            }
            return
        }
        state = .leaving
        let last = HTTP2StreamID(last ?? lastStream)
        write(.goAway(lastStreamID: last, errorCode: code, opaqueData: nil))
        if openStreams == 0 { shut() }
    }

    func send(_ settings: HTTP2Settings, acknowledged: @escaping () -> Void) {
        settingsWaiters.append(acknowledged)
        write(.settings(.settings(settings)))
    }

    func ping(acknowledged: @escaping () -> Void) {
        lastPing += 1
        pingWaiters[lastPing] = acknowledged
        write(.ping(HTTP2PingData(withInteger: lastPing), ack: false))
    }

    func omit(_ frames: HTTP2OmittedFrames) { filter.omittedFrames = frames }

    func replaceHead(of stream: Int, with block: ByteBuffer) { filter.replaceHead(of: stream, with: block) }

    func abort(resets: Bool) {
        if resets { context?.channel.reset() } else { context?.close(promise: nil) }
    }

    private func write(_ payload: HTTP2Frame.FramePayload) {
        let frame = HTTP2Frame(streamID: .rootStream, payload: payload)
        context?.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    /// Closes the server's side and waits for the client to close its side.
    private func shut() {
        guard state == .open || state == .leaving, let context else { return }
        state = .shut
        context.close(mode: .output, promise: nil)
        context.eventLoop.assumeIsolated().scheduleTask(in: HTTP2Connection.lingering) { [self] in
            self.context?.close(promise: nil)
        }
    }
}
