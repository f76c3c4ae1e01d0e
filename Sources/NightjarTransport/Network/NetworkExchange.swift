import NIOCore
import NightjarHTTP

/// One exchange over the network. If the pool has no idle connection, the exchange waits in the pool's queue. If the
/// connection is lost before the response begins, the exchange may be repeated on another connection (``Replacement``).
final class NetworkExchange: Exchange {
    private enum State {
        case acquiring
        case waiting(NetworkTransport.Pool.Ticket)
        case active(any ExchangeCarrier)
        case ended
    }

    private(set) var request: PreparedRequest
    let connectTimeout: Duration?
    let host: NetworkTransport.Host
    private let transport: NetworkTransport
    /// Released when the exchange ends, which breaks the reference cycle.
    private(set) var receiver: (any ExchangeReceiver)?
    private var state = State.acquiring
    private var replacements = 0
    /// Whether the request was started on a connection that was replaced.
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

    // MARK: Events of the pool

    func wait(_ ticket: NetworkTransport.Pool.Ticket) {
        state = .waiting(ticket)
        host.requestDecisions(self)
    }

    func start(on connection: HTTP1Connection, reused: Bool) {
        state = .active(connection)
        receiver?.exchangeStarted(on: connection.record, isReused: reused)
        connection.start(self, reused: reused)
    }

    /// Starts the exchange on a stream of a shared connection.
    func start(on connection: HTTP2Connection) {
        let reused = connection.isReused
        receiver?.exchangeStarted(on: connection.record, isReused: reused)
        // The receiver may have cancelled the exchange.
        guard receiver != nil else { return connection.releaseUnused() }
        connection.start(self, reused: reused) { state = .active($0) }
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

    // MARK: Events of the connection

    /// Handles the loss of the connection. `loss` describes the state of the request.
    func connectionFailed(_ error: NightjarError, _ loss: ConnectionLoss) {
        let replacement = Replacement(
            connectionWasReused: loss.wasReused, requestWasStarted: loss.requestWasStarted,
            bodyWasStarted: loss.bodyWasStarted, responseHasStarted: loss.responseHasStarted,
            connectionIsClosing: loss.connectionIsClosing, earlierReplacements: replacements)
        let hasKey = request.hasField(IdempotencyKey.fieldName)
        if error.kind == .connectionLost,
            replacement.isAllowed(for: request.method, hasIdempotencyKey: hasKey, request.body)
        {
            replacements += 1
            requestWasStarted = requestWasStarted || loss.requestWasStarted
            if loss.requestWasStarted { receiver?.exchangeRepeated() }
            state = .acquiring
            transport.acquire(for: self, fresh: true)
            return
        }
        end()?.exchangeFailed(
            NightjarError(
                error.kind, error.message, phase: error.phase, code: error.code,
                requestMayHaveBeenProcessed: loss.requestWasStarted || requestWasStarted))
    }

    /// Repeats the request without Expect, because the server has rejected the expectation (417) without processing the
    /// request.
    func repeatWithoutExpectation() {
        request = request.withoutExpectation()
        state = .acquiring
        transport.acquire(for: self, fresh: true)
    }

    // MARK: Called by the caller

    func cancel() {
        let before = state
        _ = end()
        switch before {
        case .waiting(let ticket):
            host.pool.cancel(ticket)
            host.exchangeWasCancelled()
        case .active(let carrier): carrier.abandon()
        case .acquiring, .ended: break
        }
    }

    /// Ends the exchange permanently.
    ///
    /// - Returns: The receiver to notify, if any.
    func end() -> (any ExchangeReceiver)? {
        state = .ended
        return receiver.take()
    }

    func pause() {
        if case .active(let carrier) = state { carrier.isReading = false }
    }

    func resume() {
        if case .active(let carrier) = state { carrier.isReading = true }
    }

    func send(_ part: ByteBuffer) {
        if case .active(let carrier) = state { carrier.send(part) }
    }

    var unsentBytes: Int {
        if case .active(let carrier) = state { carrier.unsentBytes } else { 0 }
    }

    var sentBytes: Int {
        if case .active(let carrier) = state { carrier.sentBytes } else { 0 }
    }

    func endBody() {
        if case .active(let carrier) = state { carrier.endBody() }
    }
}
