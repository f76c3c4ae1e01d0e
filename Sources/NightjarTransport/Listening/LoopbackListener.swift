import NIOCore
import NIOPosix
import NightjarHTTP

/// Listens on a free port of the loopback interface for a browser's redirect. Runs on a client's loop.
public final class LoopbackListener: @unchecked Sendable {
    /// The response to the browser. The connection is closed afterwards.
    public struct Reply: Sendable {
        let bytes: ByteBuffer
        let whenSent: @Sendable () -> Void

        /// - Parameter whenSent: Called on the loop when the bytes have been sent or the connection is lost.
        public init(_ bytes: ByteBuffer, whenSent: @escaping @Sendable () -> Void = {}) {
            self.bytes = bytes
            self.whenSent = whenSent
        }
    }

    /// Responds to a request line.
    public typealias Handler = @Sendable (_ method: Method, _ target: String) -> Reply

    private let channel: any Channel
    public let port: Int

    private init(_ channel: any Channel, port: Int) {
        self.channel = channel
        self.port = port
    }

    /// Opens a listener. Must be called on the loop. `handler` and `deliver` are also called on the loop.
    public static func open(
        on loop: any EventLoop, _ handler: @escaping Handler,
        then deliver: @escaping @Sendable (Result<LoopbackListener, NightjarError>) -> Void
    ) {
        let connections = BrowserConnections()
        ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    connections.add(channel)
                    try channel.pipeline.syncOperations.addHandler(BrowserConnection(handler))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .whenComplete { result in
                switch result {
                case .success(let channel):
                    deliver(.success(LoopbackListener(channel, port: channel.localAddress?.port ?? 0)))
                case .failure(let error):
                    deliver(
                        .failure(NightjarError(.connect, "listening on a port of 127.0.0.1 failed: \(error)")))
                }
            }
    }

    /// Stops accepting connections. Open connections still receive the response.
    public func close() { channel.close(promise: nil) }
}

/// Limits the number of open connections. Any program on this machine may connect, but a browser needs few connections.
/// If there are too many, the oldest connection is closed, so that other programs cannot block the browser. Used on the
/// loop.
private final class BrowserConnections: @unchecked Sendable {
    /// The open connections, oldest first.
    private var channels: [any Channel] = []

    func add(_ channel: any Channel) {
        if channels.count >= BrowserConnections.maximum { channels.removeFirst().close(promise: nil) }
        channels.append(channel)
        channel.closeFuture.whenComplete { _ in self.channels.removeAll { $0 === channel } }
    }

    private static let maximum = 32
}

/// Reads the head of one request and responds. Only the request line is used.
private final class BrowserConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let handler: LoopbackListener.Handler
    private var head = ByteBuffer()
    /// The number of bytes of the final CR LF CR LF that have been received.
    private var matched = 0
    private var hasResponded = false

    init(_ handler: @escaping LoopbackListener.Handler) { self.handler = handler }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        context.eventLoop.scheduleTask(in: BrowserConnection.timeout) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasResponded else { return }
        var part = unwrapInboundIn(data)
        let isWhole = ends(in: part)
        head.writeBuffer(&part)
        guard head.readableBytes <= BrowserConnection.largestHead else { return context.close(promise: nil) }
        guard isWhole else { return }
        hasResponded = true
        let channel = context.channel
        let (method, target) = request()
        let reply = handler(method, target)
        context.writeAndFlush(wrapOutboundOut(reply.bytes)).whenComplete { _ in
            channel.close(promise: nil)
            reply.whenSent()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Scans the next part of the head. Returns true if the empty line after the head ends in this part.
    private func ends(in part: ByteBuffer) -> Bool {
        for byte in part.readableBytesView {
            let isCR = byte == UInt8(ascii: "\r")
            if byte == (matched % 2 == 0 ? UInt8(ascii: "\r") : UInt8(ascii: "\n")) {
                matched += 1
            } else {
                matched = isCR ? 1 : 0
            }
            if matched == 4 { return true }
        }
        return false
    }

    /// Parses the request line. An invalid request line is treated as `GET /`, which is not the redirect.
    private func request() -> (Method, String) {
        let line = String(buffer: head).prefix { $0 != "\r\n" }
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let method = Method(String(words[0])), words[2].hasPrefix("HTTP/1.") else {
            return (.get, "/")
        }
        return (method, String(words[1]))
    }

    /// The maximum head size in bytes. Authorization codes, states and cookies of the loopback host can be long.
    private static let largestHead = 64 * 1024
    private static let timeout = TimeAmount.seconds(10)
}
