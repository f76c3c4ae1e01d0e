import NIOCore
import NightjarHTTP

/// One exchange over the network. If the pool has no idle connection, the exchange waits in the pool's queue. If the
/// connection is lost before the response begins, the request may be sent again on another connection (``Replacement``).
final class NetworkExchange: Exchange {
    private enum State {
        case acquiring
        case waiting(NetworkTransport.Pool.Ticket)
        case active(any ExchangeCarrier)
        case ended
    }

    private(set) var request: PreparedRequest
    let connectTimeout: Duration?
    private(set) var host: NetworkTransport.Host
    private let transport: NetworkTransport
    /// Released when the exchange ends, which breaks the reference cycle.
    private(set) var receiver: (any ExchangeReceiver)?
    private var state = State.acquiring
    private var replacement = Replacement()
    /// Whether the receiver has paused the exchange, perhaps before it has a connection.
    private var isPaused = false
    /// Whether the server may have processed the request on a connection that was lost.
    private var mayHaveBeenProcessed = false

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
        receiver?.exchangeStarted(on: connection.record, isReused: reused, stream: nil)
        connection.start(self, reused: reused)
        continuePause()
    }

    /// Starts the exchange on a stream of a shared connection.
    func start(on connection: HTTP2Connection) {
        // Another exchange that got a stream at the same time may have cancelled this one.
        guard receiver != nil else { return connection.releaseUnused() }
        connection.start(self) {
            state = .active($0)
            continuePause()
        }
    }

    private func continuePause() {
        if isPaused, case .active(let carrier) = state { carrier.isReading = false }
    }

    /// Reports the identifier of the exchange's stream. The receiver may cancel the exchange.
    func started(on connection: HTTP2Connection, stream: Int32, reused: Bool) {
        receiver?.exchangeStarted(on: connection.record, isReused: reused, stream: stream)
    }

    func connectFailed(_ error: NightjarError) {
        guard mayHaveBeenProcessed else {
            end()?.exchangeFailed(error)
            return
        }
        end()?.exchangeFailed(
            NightjarError(
                error.kind, error.message, phase: error.phase, code: error.code, requestMayHaveBeenProcessed: true))
    }

    // MARK: Events of the connection

    /// Handles the loss of the request.
    func connectionFailed(_ error: NightjarError, _ loss: RequestLoss) {
        if error.kind == .connectionLost,
            replacement.allows(
                after: loss, request.method, hasIdempotencyKey: request.hasField(IdempotencyKey.fieldName), request.body
            )
        {
            if loss.mayHaveBeenProcessed {
                mayHaveBeenProcessed = true
                receiver?.exchangeRepeated()
            }
            return sendAgain()
        }
        end()?.exchangeFailed(
            NightjarError(
                error.kind, error.message, phase: error.phase, code: error.code,
                requestMayHaveBeenProcessed: loss.mayHaveBeenProcessed || mayHaveBeenProcessed))
    }

    private func sendAgain() {
        do throws(NightjarError) {
            host = try transport.host(for: request)
        } catch {
            end()?.exchangeFailed(error)
            return
        }
        state = .acquiring
        transport.acquire(for: self, fresh: true)
    }

    /// Repeats the request without Expect, because the server has rejected the expectation (417) without processing the
    /// request.
    func repeatWithoutExpectation() {
        request = request.withoutExpectation()
        sendAgain()
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
        isPaused = true
        if case .active(let carrier) = state { carrier.isReading = false }
    }

    func resume() {
        isPaused = false
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
