import NightjarHTTP

/// Logs the start and the result of each call, depending on the log level. Secrets in URLs are masked.
final class Observe: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.outgoing, .ended] }
    private let sink: LogSink

    init?(_ sink: LogSink) {
        guard sink.level > .off else { return nil }
        self.sink = sink
    }

    override func outgoing(_ call: Call) -> Verdict {
        if sink.level >= .debug {
            call.note(.debug, "\(call.request.method) \(call.request.url.redacted) begins")
        }
        return .proceed
    }

    override func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        let what = "\(call.request.method) \(call.request.url.redacted)"
        switch result {
        case .success(let response):
            guard sink.level >= .info else { return }
            let milliseconds = Double(response.timing.total.nanosecondsClamped / 10_000) / 100
            call.note(.info, "\(what) \(response.status) in \(milliseconds) ms, \(response.body.readableBytes) bytes")
        case .failure(let error) where error.kind == .cancelled:
            call.note(.info, "\(what) cancelled")
        case .failure(let error):
            call.note(.warning, "\(what) failed: \(error.kind.name): \(error.message)")
        }
    }

}
