import NIOCore
import NIOHTTP1
import Synchronization

/// What a ``DemoServer`` has seen on the wire since it started or since the last reset.
///
/// Requests to paths that begin with `/__` are the control plane: they are neither counted nor logged, though their
/// connections and bytes are.
public struct DemoStatistics: Sendable {
    /// One request, as far as it has come.
    public struct Exchange: Sendable {
        /// In the order of arrival, from 1; a reset does not start it anew.
        public let number: Int
        /// In the order of acceptance, from 1; a reset does not start it anew.
        public let connection: Int
        /// Which request on its connection it is, from 1.
        public let numberOnConnection: Int
        public let method: String
        /// As sent.
        public let target: String
        /// The template of the route that answered, such as `/v1/articles/{id}`; `*` where none matched.
        public let route: String
        public let headers: [(name: String, value: String)]
        /// The first ``DemoStatistics/bodyKept`` bytes of the body, without its framing.
        public internal(set) var body: [UInt8] = []
        /// The body's length, also of what was not kept.
        public internal(set) var bodyLength = 0
        /// Whether the whole request has arrived.
        public internal(set) var isComplete = false
        /// Zero until the answer's head has been sent.
        public internal(set) var status = 0
    }

    /// By method and route, such as `GET /v1/articles/{id}`.
    public internal(set) var requests: [String: Int] = [:]
    /// Final answers by status code.
    public internal(set) var statuses: [Int: Int] = [:]
    public internal(set) var connectionsOpened = 0
    public internal(set) var connectionsOpen = 0
    /// Read from sockets, framing and heads included.
    public internal(set) var bytesIn = 0
    /// Handed to sockets, framing and heads included.
    public internal(set) var bytesOut = 0
    /// The last ``DemoStatistics/exchangesKept`` requests, oldest first.
    public internal(set) var exchanges: [Exchange] = []

    public static let exchangesKept = 100
    public static let bodyKept = 16 * 1024

    public var requestCount: Int { requests.values.reduce(0, +) }
}

/// Counts. Written by the server's loop, read by any thread.
final class Ledger: Sendable {
    private struct State {
        var statistics = DemoStatistics()
        var lastExchange = 0
        var lastConnection = 0
    }

    private let state = Mutex(State())

    var statistics: DemoStatistics { state.withLock { $0.statistics } }

    /// Forgets everything but the connections that are open.
    func reset() {
        state.withLock { state in
            let open = state.statistics.connectionsOpen
            state.statistics = DemoStatistics()
            state.statistics.connectionsOpen = open
        }
    }

    /// - Returns: the connection's number.
    func connectionOpened() -> Int {
        state.withLock { state in
            state.lastConnection += 1
            state.statistics.connectionsOpened += 1
            state.statistics.connectionsOpen += 1
            return state.lastConnection
        }
    }

    func connectionClosed() {
        state.withLock { $0.statistics.connectionsOpen -= 1 }
    }

    func count(bytesIn count: Int) {
        state.withLock { $0.statistics.bytesIn += count }
    }

    func count(bytesOut count: Int) {
        state.withLock { $0.statistics.bytesOut += count }
    }

    // MARK: Exchanges

    /// - Returns: the exchange's number, for the calls below.
    func began(_ head: HTTPRequestHead, route: String, connection: Int, numberOnConnection: Int) -> Int {
        state.withLock { state in
            state.lastExchange += 1
            // The network chooses the method, so only the ones that are known get a counter of their own.
            let method = if case .RAW = head.method { "OTHER" } else { head.method.rawValue }
            state.statistics.requests["\(method) \(route)", default: 0] += 1
            if state.statistics.exchanges.count == DemoStatistics.exchangesKept {
                state.statistics.exchanges.removeFirst()
            }
            state.statistics.exchanges.append(
                DemoStatistics.Exchange(
                    number: state.lastExchange, connection: connection, numberOnConnection: numberOnConnection,
                    method: head.method.rawValue, target: head.uri, route: route,
                    headers: head.headers.map { ($0.name, $0.value) }))
            return state.lastExchange
        }
    }

    func received(_ bytes: ByteBuffer, of exchange: Int) {
        update(exchange) { entry in
            let room = DemoStatistics.bodyKept - entry.body.count
            entry.body += bytes.readableBytesView.prefix(room)
            entry.bodyLength += bytes.readableBytes
        }
    }

    func completed(_ exchange: Int) {
        update(exchange) { $0.isComplete = true }
    }

    func answered(_ status: Int, to exchange: Int) {
        state.withLock { $0.statistics.statuses[status, default: 0] += 1 }
        update(exchange) { $0.status = status }
    }

    /// Does nothing where the log has moved on.
    private func update(_ number: Int, _ change: (inout DemoStatistics.Exchange) -> Void) {
        state.withLock { state in
            guard let index = state.statistics.exchanges.lastIndex(where: { $0.number == number }) else { return }
            change(&state.statistics.exchanges[index])
        }
    }
}

/// Counts the bytes of a connection, next to the socket.
final class ByteCounter: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let ledger: Ledger

    init(ledger: Ledger) {
        self.ledger = ledger
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
