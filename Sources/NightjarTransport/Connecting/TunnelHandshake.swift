import NIOCore
import NightjarHTTP

/// Requests a tunnel from a proxy. When the tunnel is open, the channel belongs to the origin and this handler is
/// removed.
///
///     added ──TCP is connected──▶ handshaking ──granted──▶ done
///       └────────────────────────────────┴──refused, closed──▶ done
final class TunnelHandshake: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The two tunnel protocols.
    enum Machine {
        case connect(ConnectTunnel)
        case socks(SOCKS5)
    }

    private var machine: Machine
    private let proxy: Peer
    private let finished: (Result<Void, NightjarError>) -> Void
    private var isHandshaking = false
    private var isDone = false
    /// The channel's error, which is reported before the channel closes.
    private var cause: (any Error)?

    /// - Parameter finished: Called once with the result. On success, adds the handlers of the origin's connection
    ///   after this handler.
    init(
        _ machine: Machine, with proxy: Peer, finished: @escaping (Result<Void, NightjarError>) -> Void
    ) {
        self.machine = machine
        self.proxy = proxy
        self.finished = finished
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { requestTunnel(context) }
    }

    private func requestTunnel(_ context: ChannelHandlerContext) {
        guard !isHandshaking, !isDone else { return }
        isHandshaking = true
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
        // Data that arrives before this handler is removed belongs to the origin.
        guard !isDone else { return context.fireChannelRead(data) }
        var buffer = unwrapInboundIn(data)
        do throws(NightjarError) {
            guard try received(&buffer, context) else { return }
            finish(.success(()))
            // Data after the proxy's response belongs to the origin.
            if buffer.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(buffer)) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            finish(.failure(error))
        }
    }

    /// Handles data from the proxy. Returns whether the tunnel is open.
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
                case .send(let serverReply): context.writeAndFlush(wrapOutboundOut(serverReply), promise: nil)
                }
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !isDone {
            finish(.failure(isHandshaking && cause == nil ? endOfStream() : ConnectFailure.describe(cause, proxy)))
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
