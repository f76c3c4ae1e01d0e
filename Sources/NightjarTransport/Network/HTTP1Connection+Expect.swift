import NIOCore
import NightjarHTTP

/// The wait for 100 (Continue) before the request body. RFC 9110 section 10.1.1.
extension HTTP1Connection {
    func sendExpectation(_ expectation: consuming ExpectContinue, _ context: ChannelHandlerContext) {
        let action = expectation.headSent()
        self.expectation = expectation
        perform(action, context)
    }

    /// Performs an action of the expectation. Returns false if the exchange is repeated on another connection.
    @discardableResult
    func perform(_ action: ExpectContinue.Action?, _ context: ChannelHandlerContext) -> Bool {
        switch action {
        case nil, .nothing: break
        case .startTimer(let timeout):
            self.timeout = context.eventLoop.assumeIsolated().scheduleTask(
                in: .nanoseconds(timeout.nanosecondsClamped)
            ) { self.timedOut() }
        case .sendBody: continueBody(context)
        case .dropBody: outgoing = nil
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
        guard phase == .busy, let context, let action = expectation?.timerFired() else { return }
        perform(action, context)
    }

    func forgetExpectation() {
        guard expectation != nil else { return }
        expectation = nil
        timeout?.cancel()
        timeout = nil
    }
}
