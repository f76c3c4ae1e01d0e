import NightjarHTTP

/// Tells the log what happens, with secrets removed here and nowhere else.
final class Observe: Stage, @unchecked Sendable {
    let hooks: StageHooks = [.outgoing, .ended]
    private let sink: LogSink

    init?(_ sink: LogSink) {
        guard sink.level > .off else { return nil }
        self.sink = sink
    }

    func outgoing(_ call: Call) -> Verdict {
        if sink.level >= .debug {
            say(.debug, "\(call.request.method) \(call.request.url.redacted) begins", call)
        }
        return .proceed
    }

    func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        let what = "\(call.request.method) \(call.request.url.redacted)"
        switch result {
        case .success(let response):
            guard sink.level >= .info else { return }
            let milliseconds = Double(response.timing.total.nanosecondsClamped / 10_000) / 100
            say(.info, "\(what) \(response.status) in \(milliseconds) ms, \(response.body.readableBytes) bytes", call)
        case .failure(let error) where error.kind == .cancelled:
            say(.info, "\(what) cancelled", call)
        case .failure(let error):
            say(.warning, "\(what) failed: \(error.kind.name): \(error.message)", call)
        }
    }

    private func say(_ level: LogLevel, _ message: String, _ call: Call) {
        guard sink.level >= level else { return }
        call.loop.post(.log(sink, LogLine(level: level, message: message)), to: sink.queue)
    }
}
