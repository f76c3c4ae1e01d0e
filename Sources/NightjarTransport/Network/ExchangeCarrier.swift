import NIOCore
import NightjarHTTP

/// The connection or the stream that carries an exchange.
protocol ExchangeCarrier: AnyObject {
    /// The exchange in progress.
    var exchange: NetworkExchange? { get }
    /// Whether the response is read. If false, flow control slows down the peer.
    var isReading: Bool { get set }
    func send(_ part: ByteBuffer)
    func endBody()
    var unsentBytes: Int { get }
    var sentBytes: Int { get }
    /// Ends an exchange in progress.
    func abandon()

    var eventLoop: (any EventLoop)? { get }
    /// Nil for a request without Expect: 100-continue.
    var expectation: ExpectContinue? { get set }
    /// Fires if the server does not respond to the expectation.
    var timeout: Scheduled<Void>? { get set }
    func sendBody()
    func dropBody()
}

/// The wait for 100 (Continue) before the request body. RFC 9110 section 10.1.1.
extension ExchangeCarrier {
    /// Starts to wait for the server's response to the expectation.
    func beginExpectation() {
        let action = expectation?.headSent()
        perform(action)
    }

    /// Performs an action of the expectation. Returns false if the exchange is repeated on another connection.
    @discardableResult
    func perform(_ action: ExpectContinue.Action?) -> Bool {
        switch action {
        case nil, .nothing: break
        case .startTimer(let time):
            timeout = eventLoop?.assumeIsolated().scheduleTask(in: .nanoseconds(time.nanosecondsClamped)) {
                self.timedOut()
            }
        case .sendBody: sendBody()
        case .dropBody: dropBody()
        case .repeatWithoutExpectation:
            let exchange = exchange
            abandon()
            exchange?.repeatWithoutExpectation()
            return false
        }
        return true
    }

    private func timedOut() {
        timeout = nil
        guard exchange != nil, let action = expectation?.timerFired() else { return }
        perform(action)
    }

    func forgetExpectation() {
        guard expectation != nil else { return }
        expectation = nil
        timeout?.cancel()
        timeout = nil
    }
}
