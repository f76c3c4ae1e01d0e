import NIOCore
import NIOTLS
import NightjarHTTP

/// Speaks with a proxy until it has made a tunnel; then its channel is the origin's, and this is taken out of it.
///
///     added ──TCP or the proxy's TLS is up──▶ asking ──granted──▶ done
///                   └───────────────────────────┴──refused, closed──▶ done
final class TunnelHandshake: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The two ways to ask for a tunnel.
    enum Machine {
        case connect(ConnectTunnel)
        case socks(SOCKS5)
    }

    private var machine: Machine
    private let proxy: Counterpart
    private let finished: (Result<Void, NightjarError>) -> Void
    private var isAsking = false
    private var isDone = false
    /// What broke the channel, told before it closes.
    private var cause: (any Error)?

    /// - Parameter finished: called once, and puts the handlers of the origin's connection behind this one.
    init(
        _ machine: Machine, with proxy: Counterpart, finished: @escaping (Result<Void, NightjarError>) -> Void
    ) {
        self.machine = machine
        self.proxy = proxy
        self.finished = finished
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if !proxy.isTLS, context.channel.isActive { ask(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Not passed on: whoever comes behind would take it for the end of its own handshake.
        if case .handshakeCompleted = event as? TLSUserEvent { return ask(context) }
        context.fireUserInboundEventTriggered(event)
    }

    private func ask(_ context: ChannelHandlerContext) {
        guard !isAsking, !isDone else { return }
        isAsking = true
        do throws(NightjarError) {
            context.writeAndFlush(wrapOutboundOut(try start()), promise: nil)
        } catch {
            finish(.failure(error))
        }
    }

    private func start() throws(NightjarError) -> ByteBuffer {
        switch machine {
        case .connect(var tunnel):
            defer { machine = .connect(tunnel) }
            return try tunnel.start()
        case .socks(var socks):
            defer { machine = .socks(socks) }
            return try socks.start()
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Bytes between the end of this and its removal are the origin's.
        guard !isDone else { return context.fireChannelRead(data) }
        var buffer = unwrapInboundIn(data)
        do throws(NightjarError) {
            guard try received(&buffer, context) else { return }
            finish(.success(()))
            // The beginning of the origin's own bytes.
            if buffer.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(buffer)) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            finish(.failure(error))
        }
    }

    /// - Returns: whether the tunnel is open.
    private func received(_ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) throws(NightjarError) -> Bool {
        switch machine {
        case .connect(var tunnel):
            defer { machine = .connect(tunnel) }
            return try tunnel.received(&buffer)
        case .socks(var socks):
            defer { machine = .socks(socks) }
            while true {
                switch try socks.received(&buffer) {
                case .wait: return false
                case .open: return true
                case .send(let answer): context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
                }
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !isDone {
            finish(.failure(isAsking && cause == nil ? endOfStream() : ConnectFailure.describe(cause, proxy)))
        }
        context.fireChannelInactive()
    }

    private func endOfStream() -> NightjarError {
        switch machine {
        case .connect(var tunnel): tunnel.endOfStream()
        case .socks(var socks): socks.endOfStream()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isDone else { return context.fireErrorCaught(error) }
        if cause == nil { cause = error }
        finish(.failure(ConnectFailure.describe(error, proxy)))
    }

    private func finish(_ result: Result<Void, NightjarError>) {
        guard !isDone else { return }
        isDone = true
        finished(result)
    }
}
