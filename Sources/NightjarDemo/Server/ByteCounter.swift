import NIOCore

/// Counts the connections and their bytes. The first handler in the pipeline, next to the socket.
final class ByteCounter: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let ledger: Ledger
    private let record: ConnectionRecord

    init(ledger: Ledger, record: ConnectionRecord) {
        self.ledger = ledger
        self.record = record
    }

    func channelActive(context: ChannelHandlerContext) {
        record.number = ledger.connectionOpened()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The exchanges end first, so that a client of the statistics sees them after the connection was closed.
        context.fireChannelInactive()
        ledger.connectionClosed()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        ledger.count(bytesIn: unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        ledger.count(bytesOut: unwrapOutboundIn(data).readableBytes)
        context.write(data, promise: promise)
    }
}

/// The number of a connection and of its requests. Used only on the server's event loop.
final class ConnectionRecord {
    /// Counted from 1 in the order of acceptance. 0 until the connection has been accepted.
    var number = 0
    private var requestCount = 0

    /// Counts a request.
    func origin(_ stream: RequestStream?) -> RequestOrigin {
        requestCount += 1
        return RequestOrigin(connection: number, numberOnConnection: requestCount, stream: stream)
    }
}
