import NIOCore
import NIOPosix
import NightjarHTTP

/// Listens on a free port of this machine alone for the one request that a browser brings, on a client's loop.
public final class LoopbackListener: @unchecked Sendable {
    /// What a browser gets, after which its connection is closed.
    public struct Reply: Sendable {
        let bytes: ByteBuffer
        let whenSent: @Sendable () -> Void

        /// - Parameter whenSent: called on the loop when the bytes have left, or nobody is there any more to take them.
        public init(_ bytes: ByteBuffer, whenSent: @escaping @Sendable () -> Void = {}) {
            self.bytes = bytes
            self.whenSent = whenSent
        }
    }

    /// Answers a request line.
    public typealias Handler = @Sendable (_ method: Method, _ target: String) -> Reply

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
        let visitors = Visitors()
        ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    visitors.enter(channel)
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

    /// Takes nobody in any more; who is there gets the answer.
    public func close() { channel.close(promise: nil) }
}

/// The open connections. Any program of this machine may connect, and a browser needs few connections. When there are too many,
/// the oldest one is closed, so that other programs cannot keep the browser out. On the loop.
private final class Visitors: @unchecked Sendable {
    /// Oldest first.
    private var channels: [any Channel] = []

    func enter(_ channel: any Channel) {
        if channels.count >= Visitors.most { channels.removeFirst().close(promise: nil) }
        channels.append(channel)
        channel.closeFuture.whenComplete { _ in self.channels.removeAll { $0 === channel } }
    }

    private static let most = 32
}

/// Reads a request's head, for all that comes of it is in its first line, and answers.
private final class BrowserConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let handler: LoopbackListener.Handler
    private var head = ByteBuffer()
    /// Bytes of the head's end that have come: CR, LF, CR, LF.
    private var matched = 0
    private var hasAnswered = false

    init(_ handler: @escaping LoopbackListener.Handler) { self.handler = handler }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        context.eventLoop.scheduleTask(in: BrowserConnection.patience) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasAnswered else { return }
        var part = unwrapInboundIn(data)
        let isWhole = ends(in: part)
        head.writeBuffer(&part)
        guard head.readableBytes <= BrowserConnection.largestHead else { return context.close(promise: nil) }
        guard isWhole else { return }
        hasAnswered = true
        let channel = context.channel
        let (method, target) = request()
        let reply = handler(method, target)
        context.writeAndFlush(wrapOutboundOut(reply.bytes)).whenComplete { _ in
            channel.close(promise: nil)
            reply.whenSent()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Whether the empty line behind the head is in the part that has come, or ends in it.
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

    /// What is no request of HTTP/1 is one for nothing that is here.
    private func request() -> (Method, String) {
        let line = String(buffer: head).prefix { $0 != "\r\n" }
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let method = Method(String(words[0])), words[2].hasPrefix("HTTP/1.") else {
            return (.get, "/")
        }
        return (method, String(words[1]))
    }

    /// Codes and states are long, cookies of this host longer.
    private static let largestHead = 64 * 1024
    private static let patience = TimeAmount.seconds(10)
}
