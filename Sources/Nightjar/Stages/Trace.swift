import NIOCore
import NightjarHTTP

/// Reports calls and exchanges to observers. This stage is the lowest, so that it reports requests as sent and
/// responses as received.
final class Trace: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.outgoing, .incoming, .responded, .failed, .ended] }
    private let states = CallStateKey<Progress>()
    private let observers: [CallObserver]

    init?(_ observers: [CallObserver]) {
        guard !observers.isEmpty else { return nil }
        self.observers = observers
    }

    /// The reports of one call.
    private final class Progress: CallState {
        let report: CallObserver.CallReport
        var exchange: CallObserver.ExchangeReport.Exchange?

        init(_ report: CallObserver.CallReport) { self.report = report }
    }

    override func outgoing(_ call: Call) -> Verdict {
        let progress = progress(of: call)
        // Ends the report of a redirect whose body was not read, or of an abandoned attempt.
        end(progress, call)
        progress.exchange = CallObserver.ExchangeReport.Exchange(
            request: call.fetchesTokens ? call.request.withoutBody : call.request, attempt: call.attempts + 1,
            began: call.loop.clock.now)
        return .proceed
    }

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        call.states[states]?.exchange?.head = head
        return .proceed
    }

    override func responded(_ response: Response, _ call: Call) -> Verdict {
        let isShown = call.collectsBody && !call.fetchesTokens
        if let progress = call.states[states] { end(progress, call, body: isShown ? response.body : nil) }
        return .proceed
    }

    override func failed(_ error: NightjarError, _ call: Call) -> Verdict {
        if let progress = call.states[states] { end(progress, call, error: error) }
        return .proceed
    }

    override func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        let progress = progress(of: call)
        var error: NightjarError?
        if case .failure(let failure) = result { error = failure }
        end(progress, call, error: error)
        // Each call that shares an exchange reports its own end.
        if call.branchedFrom == nil {
            emit(.ended(progress.report, call.fetchesTokens ? result.map(\.withoutBody) : result), call)
        }
    }

    private func progress(of call: Call) -> Progress {
        if let known = call.states[states] { return known }
        if let owner = call.branchedFrom {
            let progress = Progress(progress(of: owner).report)
            call.states[states] = progress
            return progress
        }
        let report = CallObserver.CallReport(
            number: call.task.callID, started: WallClock.secondsSince1970(),
            request: call.fetchesTokens ? call.task.request.withoutBody : call.task.request)
        let progress = Progress(report)
        call.states[states] = progress
        emit(.began(report), call)
        return progress
    }

    private func end(
        _ progress: Progress, _ call: Call, body: ByteBuffer? = nil, error: NightjarError? = nil
    ) {
        guard let exchange = progress.exchange.take() else { return }
        let report = CallObserver.ExchangeReport(exchange, of: progress.report, on: call, body: body, error: error)
        emit(.exchanged(report), call)
    }

    private func emit(_ event: CallObserver.Event, _ call: Call) {
        for observer in observers { call.loop.post(.run { observer.observe(event) }, to: observer.queue) }
    }

}

extension CallObserver.ExchangeReport.Phases {
    /// - Parameters:
    ///   - timing: The timing of the call. All times count from the start of the call.
    ///   - start: When the exchange began.
    ///   - end: When the exchange ended.
    init(_ timing: Timing, from start: Duration, to end: Duration) {
        self.init()
        guard let sent = timing.sent, sent >= start else {
            blocked = max(end - start, .zero)
            return
        }
        let opening = [timing.dns, timing.connect, timing.tls].reduce(Duration.zero) { $0 + ($1 ?? .zero) }
        // The connection may have been opened for another call, before this exchange began.
        if opening <= sent - start { (dns, connect, tls) = (timing.dns, timing.connect, timing.tls) }
        blocked = sent - start - (dns ?? .zero) - (connect ?? .zero) - (tls ?? .zero)
        guard let head = timing.firstByte, head >= sent else {
            wait = max(end - sent, .zero)
            return
        }
        wait = head - sent
        receive = max(end - head, .zero)
    }
}

extension Call {
    /// Whether this is a token request, which is reported without bodies.
    fileprivate var fetchesTokens: Bool { isInner && branchedFrom == nil }
}
