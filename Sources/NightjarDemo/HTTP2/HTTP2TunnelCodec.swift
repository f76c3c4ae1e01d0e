import NIOCore
import NIOHTTP1

/// Converts the parts of an accepted CONNECT request to the bytes of its tunnel (RFC 9113 section 8.5).
final class HTTP2TunnelCodec: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = HTTPServerResponsePart

    private var hasEnded = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: break
        case .body(let bytes): context.fireChannelRead(wrapInboundOut(bytes))
        // The stream closes when both sides have ended it.
        case .end: end(context, nil)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(wrapOutboundOut(.body(unwrapOutboundIn(data))), promise: promise)
    }

    /// Ends the stream instead of the server's side of a TCP connection.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output {
            end(context, promise)
        } else {
            context.close(mode: mode, promise: promise)
        }
    }

    private func end(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        guard !hasEnded else {
            promise?.succeed()
            return
        }
        hasEnded = true
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: promise)
    }
}
