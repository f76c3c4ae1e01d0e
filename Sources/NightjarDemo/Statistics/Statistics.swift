import NIOCore
import NIOHTTP1
import Synchronization

/// The traffic of a ``DemoServer`` since its start or the last reset. Available as JSON at `/__stats`.
///
/// Requests to paths that begin with `/__` are neither counted nor logged, but their connections and bytes are counted.
/// A request with an invalid target, version or Host field is always counted, with the route `*`. If the parser rejects
/// a request, only the response is counted.
package struct DemoStatistics: Sendable {
    /// A request, possibly in progress.
    package struct Exchange: Sendable {
        /// The number of the request in the order of arrival, from 1. A reset does not restart it.
        package let number: Int
        /// The number of the connection in the order of acceptance, from 1. A reset does not restart it.
        package let connection: Int
        /// The number of the request on its connection, from 1.
        package let numberOnConnection: Int
        /// The stream identifier. Nil for HTTP/1.1.
        package let stream: Int?
        /// The HTTP version: `1.0`, `1.1` or `2`.
        package let version: String
        package let method: String
        /// The request target as sent by the client.
        package let target: String
        /// The template of the matching route, such as `/v1/articles/{id}`. `*` if none matched.
        package let route: String
        package let headers: [(name: String, value: String)]
        /// The first ``DemoStatistics/maximumBody`` bytes of the body, without framing.
        package internal(set) var body: [UInt8] = []
        /// The number of body bytes received so far.
        package internal(set) var bodyLength = 0
        /// True if the complete request has been received.
        package internal(set) var isComplete = false
        /// The status code of the response. Zero until the response head has been sent.
        package internal(set) var status = 0
    }

    /// The number of requests by method and route, such as `GET /v1/articles/{id}`.
    package internal(set) var requests: [String: Int] = [:]
    /// The number of final responses by status code.
    package internal(set) var statuses: [Int: Int] = [:]
    /// The requests by path, without the query. Contains the ``DemoStatistics/maximumPaths`` newest paths.
    package internal(set) var paths: [String: PathCount] = [:]
    /// The number of requests by HTTP version: `1.0`, `1.1` and `2`.
    package internal(set) var versions: [String: Int] = [:]
    package internal(set) var http2 = HTTP2()
    package internal(set) var connectionsOpened = 0
    package internal(set) var connectionsOpen = 0
    /// Bytes read from sockets, including framing and heads.
    package internal(set) var bytesIn = 0
    /// Bytes written to sockets, including framing and heads.
    package internal(set) var bytesOut = 0
    /// The last ``DemoStatistics/maximumExchanges`` requests, oldest first.
    package internal(set) var exchanges: [Exchange] = []
    package internal(set) var auth = Auth()
    package internal(set) var orders = Orders()
    package internal(set) var webSockets = WebSockets()
    /// The number of GraphQL subscriptions that have not ended.
    package internal(set) var graphQLSubscriptions = 0
    /// The number of 429 responses of `/v1/limited`.
    package internal(set) var limited = 0
    /// The number of requests that were affected by an outage. See `/__control`.
    package internal(set) var outageRequests = 0
    /// The number of requests to `/v1` in each second since the start or the last reset. The last element is the
    /// current second. There are at most ``DemoStatistics/retentionSeconds`` elements.
    package internal(set) var perSecond: [Int] = []
    /// The number of requests in flight, from the request head to the last byte of the response. The keys of this and
    /// the following dictionaries are the route and, if present, the parameter `key`, such as `/v1/slow?key=a`.
    package internal(set) var inProgress: [String: Int] = [:]
    /// The maximum number of requests that were in flight at the same time.
    package internal(set) var inProgressMax: [String: Int] = [:]
    /// The number of requests whose client disconnected before the last byte of the response.
    package internal(set) var abandoned: [String: Int] = [:]

    package static let maximumExchanges = 100
    package static let maximumBody = 16 * 1024
    package static let retentionSeconds = 120
    package static let maximumPaths = 1000

    package var requestCount: Int { requests.values.reduce(0, +) }
}

extension DemoStatistics {
    /// The requests for one path, for tests of a cache in front of the server.
    package struct PathCount: Sendable, Equatable {
        package internal(set) var requests = 0
        /// Requests with If-None-Match or If-Modified-Since.
        package internal(set) var conditional = 0
        /// Requests with Range.
        package internal(set) var ranged = 0
        /// 304 responses.
        package internal(set) var notModified = 0
        /// 206 responses.
        package internal(set) var partial = 0
    }

    /// The results of authentication.
    package struct Auth: Sendable {
        /// Logins by password, device code or authorization code.
        package internal(set) var logins = 0
        package internal(set) var logouts = 0
        /// Access tokens issued for a client's own credentials.
        package internal(set) var clientCredentials = 0
        /// Refresh tokens that were redeemed for new tokens.
        package internal(set) var refreshes = 0
        /// Repeated responses to the same Idempotency-Key and refresh token.
        package internal(set) var refreshReplays = 0
        /// Refresh tokens that were presented again after they had been redeemed.
        package internal(set) var refreshReuses = 0
        /// Logins that were ended because a refresh token was presented again.
        package internal(set) var revokedFamilies = 0
        /// The `scope` of the last request to the token endpoint. Empty if the request had none.
        package internal(set) var scope = ""
        /// Requests with an unknown, expired or revoked bearer token. Each of them received 401.
        package internal(set) var refused = 0
    }

    /// The results of requests to `POST /v1/orders`.
    package struct Orders: Sendable {
        package internal(set) var requests = 0
        package internal(set) var created = 0
        /// Repeated responses to the same Idempotency-Key.
        package internal(set) var replayed = 0
        /// Requests that were rejected because the first request with the same Idempotency-Key was in progress or had
        /// another body.
        package internal(set) var conflicts = 0
        /// Requests whose connection was closed intentionally.
        package internal(set) var dropped = 0
    }
}

/// Collects statistics. Written on the server's event loop, read by any thread.
final class Ledger: Sendable {
    private struct State {
        var statistics = DemoStatistics()
        var lastExchange = 0
        var lastConnection = 0
        var load = Load()
        var paths = BoundedTable<String, DemoStatistics.PathCount>(capacity: DemoStatistics.maximumPaths)
    }

    /// Identifies an exchange in later calls.
    struct Ticket {
        let number: Int
        let path: String
    }

    private let state = Mutex(State())

    var statistics: DemoStatistics {
        state.withLock { state in
            var statistics = state.statistics
            state.load.report(to: &statistics, now: .now())
            for (path, count) in state.paths.entries { statistics.paths[path] = count }
            return statistics
        }
    }

    /// Resets the statistics except the numbers of open connections and streams, of open WebSockets, of GraphQL subscriptions and of
    /// requests in flight.
    func reset() {
        state.withLock { state in
            let previous = state.statistics
            state.statistics = DemoStatistics()
            state.statistics.connectionsOpen = previous.connectionsOpen
            state.statistics.http2 = previous.http2
            state.statistics.http2.reset()
            state.statistics.webSockets.open = previous.webSockets.open
            state.statistics.graphQLSubscriptions = previous.graphQLSubscriptions
            state.load.reset(now: .now())
            state.paths.removeAll()
        }
    }

    /// Changes counters of the statistics.
    func note(_ change: (inout DemoStatistics) -> Void) {
        state.withLock { change(&$0.statistics) }
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

    func began(_ head: HTTPRequestHead, _ plan: ExchangePlan, _ origin: RequestOrigin) -> Ticket {
        let route = plan.route
        // Clients choose the version, so only known versions are counted separately.
        let version = ["1.0", "1.1", "2"].first { $0 == head.versionText } ?? "other"
        let path = Ledger.path(of: head.uri)
        return state.withLock { state in
            state.lastExchange += 1
            state.paths.update(path, or: .init()) { $0.count(head.headers) }
            state.load.began(plan.subject, isOfAPI: plan.isOfAPI, now: .now())
            // Clients choose the method, so only known methods are counted separately.
            let method = if case .RAW = head.method { "OTHER" } else { head.method.rawValue }
            state.statistics.requests["\(method) \(route)", default: 0] += 1
            state.statistics.versions[version, default: 0] += 1
            if state.statistics.exchanges.count == DemoStatistics.maximumExchanges {
                state.statistics.exchanges.removeFirst()
            }
            state.statistics.exchanges.append(
                DemoStatistics.Exchange(
                    number: state.lastExchange, connection: origin.connection,
                    numberOnConnection: origin.numberOnConnection, stream: origin.stream?.id, version: version,
                    method: head.method.rawValue, target: head.uri, route: route,
                    headers: head.headers.map { ($0.name, $0.value) }))
            return Ticket(number: state.lastExchange, path: path)
        }
    }

    func received(_ bytes: ByteBuffer, of exchange: Ticket) {
        update(exchange) { entry in
            let room = DemoStatistics.maximumBody - entry.body.count
            entry.body += bytes.readableBytesView.prefix(room)
            entry.bodyLength += bytes.readableBytes
        }
    }

    func completed(_ exchange: Ticket) {
        update(exchange) { $0.isComplete = true }
    }

    func responded(_ status: Int, to exchange: Ticket) {
        state.withLock { state in
            state.statistics.statuses[status, default: 0] += 1
            guard status == 304 || status == 206, state.paths[exchange.path] != nil else { return }
            state.paths.update(exchange.path, or: .init()) { count in
                if status == 304 { count.notModified += 1 } else { count.partial += 1 }
            }
        }
        update(exchange) { $0.status = status }
    }

    /// Reports that the last byte of the response has been sent, or that the client has disconnected.
    ///
    /// - Parameter subject: the subject of the plan passed to ``began(_:_:_:)``.
    func ended(_ subject: String, isAbandoned: Bool) {
        state.withLock { $0.load.ended(subject, isAbandoned: isAbandoned) }
    }

    /// Returns the path of a target. Clients choose paths, so long paths are truncated.
    private static func path(of target: String) -> String {
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        return String(decoding: path.prefix(200), as: UTF8.self)
    }

    /// Has no effect if the exchange is no longer in the log.
    private func update(_ ticket: Ticket, _ change: (inout DemoStatistics.Exchange) -> Void) {
        state.withLock { state in
            // The numbers in the log are consecutive.
            guard let first = state.statistics.exchanges.first?.number, ticket.number >= first,
                ticket.number - first < state.statistics.exchanges.count
            else { return }
            change(&state.statistics.exchanges[ticket.number - first])
        }
    }
}

extension DemoStatistics.PathCount {
    fileprivate mutating func count(_ headers: HTTPHeaders) {
        requests += 1
        if headers.contains(name: "if-none-match") || headers.contains(name: "if-modified-since") { conditional += 1 }
        if headers.contains(name: "range") { ranged += 1 }
    }
}
