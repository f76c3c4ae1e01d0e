import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Selects the protocol of a connection by its first bytes: HTTP/2 if they are the connection preface (RFC 9113 section
/// 3.4), otherwise HTTP/1.1. Removes itself from the pipeline afterwards.
final class ProtocolDetector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The start of the preface, which no HTTP/1.1 request has.
    private static let preface = Array("PRI * HTTP/2.0\r\n".utf8)

    private let site: Site
    private let record: ConnectionRecord
    private var received = ByteBuffer()

    init(site: Site, record: ConnectionRecord) {
        self.site = site
        self.record = record
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        let count = min(received.readableBytes, ProtocolDetector.preface.count)
        let isPreface = received.readableBytesView.prefix(count).elementsEqual(ProtocolDetector.preface.prefix(count))
        let isHTTP2 = isPreface && site.http2.isEnabled
        guard !isHTTP2 || count == ProtocolDetector.preface.count else { return }
        do {
            if isHTTP2 { try addHTTP2(context) } else { try addHTTP1(context) }
        } catch {
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(wrapInboundOut(received))
        received = ByteBuffer()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func addHTTP1(_ context: ChannelHandlerContext) throws {
        let pipeline = context.pipeline.syncOperations
        // ResponseWriter adds the framing, because it also handles HEAD and intentional protocol errors.
        var framing = HTTPResponseEncoder.Configuration()
        framing.automaticallySetFramingHeaders = false
        try pipeline.configureHTTPServerPipeline(withErrorHandling: false, withEncoderConfiguration: framing)
        try pipeline.addHandler(ExchangeHandler(site: site, record: record))
    }

    private func addHTTP2(_ context: ChannelHandlerContext) throws {
        let (ledger, loop) = (site.ledger, context.eventLoop)
        let connection = HTTP2Connection(ledger: ledger, omitting: site.http2.omittedFrames)
        let shared = NIOLoopBound((site: site, record: record, connection: connection), eventLoop: loop)
        let (connectionOptions, streamOptions) = site.http2.configuration
        let frames = NIOHTTP2Handler(
            mode: .server, eventLoop: loop, connectionConfiguration: connectionOptions,
            streamConfiguration: streamOptions
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                let (site, record, connection) = shared.value
                let pipeline = channel.pipeline.syncOperations
                let id = try channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
                let stream = RequestStream(id: id.map { Int($0) } ?? 0, connection: connection)
                try pipeline.addHandler(HTTP2StreamCodec(stream, connection, ledger: site.ledger))
                try pipeline.addHandler(ExchangeHandler(site: site, record: record, stream: stream))
            }
        }
        try context.pipeline.syncOperations.addHandlers([connection.filter, frames, connection])
    }
}
