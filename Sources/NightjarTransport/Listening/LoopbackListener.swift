import NIOCore
import NIOPosix
import NightjarHTTP

/// Listens on a free port of this machine alone for the one request that a browser brings, on a client's loop.
public final class LoopbackListener: @unchecked Sendable {
    /// Answers a request line; the connection closes behind it.
    public typealias Handler = @Sendable (_ method: Method, _ target: String) -> ByteBuffer

    private let channel: any Channel
    public let port: Int

    private init(_ channel: any Channel, port: Int) {
        self.channel = channel
        self.port = port
    }

    /// Called on the loop, where all else happens too.
    public static func open(
        on loop: any EventLoop, _ handler: @escaping Handler,
        then deliver: @escaping @Sendable (Result<LoopbackListener, NightjarError>) -> Void
    ) {
        ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 8)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
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
                        .failure(NightjarError(.connect, "no port of this machine can be listened on: \(error)")))
                }
            }
    }

    public func close() { channel.close(promise: nil) }
}

/// Reads a request's head, for all that comes of it is in its first line, and answers.
private final class BrowserConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let handler: LoopbackListener.Handler
    private var head = ByteBuffer()
    private var hasAnswered = false

    init(_ handler: @escaping LoopbackListener.Handler) { self.handler = handler }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        context.eventLoop.scheduleTask(in: BrowserConnection.patience) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasAnswered else { return }
        var part = unwrapInboundIn(data)
        head.writeBuffer(&part)
        guard head.readableBytes <= BrowserConnection.largestHead else { return context.close(promise: nil) }
        guard let (method, target) = request() else { return }
        hasAnswered = true
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(handler(method, target))).whenComplete { _ in
            channel.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Nil until the head is whole. What is no request of HTTP/1 is one for nothing that is here.
    private func request() -> (Method, String)? {
        let text = String(buffer: head)
        guard text.contains("\r\n\r\n") else { return nil }
        let words = text.prefix { $0 != "\r\n" }.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let method = Method(String(words[0])), words[2].hasPrefix("HTTP/1.") else {
            return (.get, "/")
        }
        return (method, String(words[1]))
    }

    /// Codes and states are long, cookies of this host longer.
    private static let largestHead = 64 * 1024
    private static let patience = TimeAmount.seconds(10)
}
