import NIOCore
import NightjarHTTP

/// One attempt over the network: first in a pool's line, then on a connection; and once more on another when the
/// first proves to have been stale (``Replacement``).
final class NetworkExchange: Exchange {
    private enum State {
        case acquiring
        case waiting(NetworkTransport.Pool.Ticket)
        case active(HTTP1Connection)
        case ended
    }

    private(set) var request: PreparedRequest
    let connectTimeout: Duration?
    let host: NetworkTransport.Host
    private let transport: NetworkTransport
    /// Let go when the exchange ends, which is what breaks the circle of who holds whom.
    private(set) var receiver: (any ExchangeReceiver)?
    private var state = State.acquiring
    private var wasReplaced = false
    /// On the connection that was replaced.
    private var requestWasStarted = false

    init(
        _ request: PreparedRequest, connectTimeout: Duration?, host: NetworkTransport.Host,
        transport: NetworkTransport, receiver: any ExchangeReceiver
    ) {
        self.request = request
        self.connectTimeout = connectTimeout
        self.host = host
        self.transport = transport
        self.receiver = receiver
    }

    // MARK: From the pool

    func wait(_ ticket: NetworkTransport.Pool.Ticket) {
        state = .waiting(ticket)
    }

    func start(on connection: HTTP1Connection, reused: Bool) {
        state = .active(connection)
        receiver?.exchangeStarted(on: connection.record, isReused: reused)
        connection.start(self, reused: reused)
    }

    func connectFailed(_ error: NightjarError) {
        guard requestWasStarted else {
            end()?.exchangeFailed(error)
            return
        }
        end()?.exchangeFailed(
            NightjarError(
                error.kind, error.message, phase: error.phase, code: error.code, requestMayHaveBeenProcessed: true))
    }

    // MARK: From the connection

    /// The connection is gone; `loss` says what is known of the request's fate.
    func connectionFailed(_ error: NightjarError, _ loss: HTTP1Connection.Loss) {
        let replacement = Replacement(
            connectionWasReused: loss.wasReused, requestWasStarted: loss.requestWasStarted,
            answerHasBegun: loss.answerHasBegun, alreadyReplaced: wasReplaced)
        if error.kind == .connectionLost, replacement.isAllowed(for: request.method, request.body) {
            wasReplaced = true
            requestWasStarted = loss.requestWasStarted
            state = .acquiring
            transport.acquire(for: self, fresh: true)
            return
        }
        end()?.exchangeFailed(
            NightjarError(
                error.kind, error.message, phase: error.phase, code: error.code,
                requestMayHaveBeenProcessed: loss.requestWasStarted || requestWasStarted))
    }

    /// The server has refused the expectation (417), and with it nothing of the request.
    func repeatWithoutExpectation() {
        request = request.withoutExpectation()
        state = .acquiring
        transport.acquire(for: self, fresh: true)
    }

    // MARK: From the caller

    func cancel() {
        let before = state
        _ = end()
        switch before {
        case .waiting(let ticket): host.pool.cancel(ticket)
        case .active(let connection): connection.abandon()
        case .acquiring, .ended: break
        }
    }

    /// Ends for good.
    ///
    /// - Returns: who is to be told.
    func end() -> (any ExchangeReceiver)? {
        state = .ended
        return receiver.take()
    }

    func pause() {
        if case .active(let connection) = state { connection.isReading = false }
    }

    func resume() {
        if case .active(let connection) = state { connection.isReading = true }
    }

    func send(_ part: ByteBuffer) {
        if case .active(let connection) = state { connection.send(part) }
    }

    var unsentBytes: Int {
        if case .active(let connection) = state { connection.unsentBytes } else { 0 }
    }

    var sentBytes: Int {
        if case .active(let connection) = state { connection.sentBytes } else { 0 }
    }

    func endBody() {
        if case .active(let connection) = state { connection.endBody() }
    }
}
