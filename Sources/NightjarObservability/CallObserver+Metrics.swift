#if MetricsSupport
import Metrics
import Nightjar
import NightjarHTTP

extension CallObserver {
    /// Records the metrics of a client with swift-metrics.
    ///
    /// | metric | type | dimensions |
    /// |---|---|---|
    /// | `http.client.request.duration` | timer, for each exchange | method, server, status, error |
    /// | `http.client.request.body.size` | recorder, in bytes | method, server, status, error |
    /// | `http.client.response.body.size` | recorder, in bytes as received, before decoding | method, server, status, error |
    /// | `http.client.active_requests` | meter, the calls in progress | method, server |
    /// | `nightjar.client.calls` | counter, when a call ends | method, server, source, error |
    /// | `nightjar.client.call.duration` | timer, for calls with a response | method, server, source, error |
    /// | `nightjar.client.retries` | counter | method, server |
    ///
    /// The dimensions have the names of OpenTelemetry: `http.request.method`, `server.address` and `server.port`,
    /// `http.response.status_code`, `error.type`; and `nightjar.response.source`, which is `network`, `cache`, `revalidated`,
    /// `stale` or `coalesced`. No dimension contains a path, a query or a credential. A metric has at most 2,000 combinations
    /// of dimensions. Further combinations are recorded with the single dimension `otel.metric.overflow`.
    ///
    /// - Parameter factory: The backend. Its functions run on the client's loop thread and must not block.
    public static func metrics(_ factory: any MetricsFactory = MetricsSystem.factory) -> CallObserver {
        let metrics = CallMetrics(factory)
        return CallObserver { metrics.record($0) }
    }
}

private final class CallMetrics: Sendable {
    private let exchangeDuration: MetricTable<Timer>
    private let requestSize: MetricTable<Recorder>
    private let responseSize: MetricTable<Recorder>
    private let active: MetricTable<Meter>
    private let calls: MetricTable<Counter>
    private let callDuration: MetricTable<Timer>
    private let retries: MetricTable<Counter>

    init(_ factory: any MetricsFactory) {
        func timer(_ label: String) -> MetricTable<Timer> {
            MetricTable {
                Timer(label: label, dimensions: $0, preferredDisplayUnit: .seconds, factory: factory)
            }
        }
        func recorder(_ label: String) -> MetricTable<Recorder> {
            MetricTable { Recorder(label: label, dimensions: $0, factory: factory) }
        }
        func counter(_ label: String) -> MetricTable<Counter> {
            MetricTable { Counter(label: label, dimensions: $0, factory: factory) }
        }
        exchangeDuration = timer("http.client.request.duration")
        requestSize = recorder("http.client.request.body.size")
        responseSize = recorder("http.client.response.body.size")
        active = MetricTable { Meter(label: "http.client.active_requests", dimensions: $0, factory: factory) }
        calls = counter("nightjar.client.calls")
        callDuration = timer("nightjar.client.call.duration")
        retries = counter("nightjar.client.retries")
    }

    func record(_ event: CallObserver.Event) {
        switch event {
        case .began(let call): active.with(MetricDimension.target(call.method, call.origin)) { $0.increment() }
        case .exchanged(let exchange): record(exchange)
        case .ended(let call, let result): record(call, result)
        }
    }

    private func record(_ exchange: CallObserver.ExchangeReport) {
        var dimensions = MetricDimension.target(exchange.method, exchange.url.origin)
        if let status = exchange.head?.status {
            dimensions.append(MetricDimension("http.response.status_code", String(status)))
        }
        if let error = exchange.error {
            dimensions.append(MetricDimension("error.type", error.kind.name))
        } else if let status = exchange.head?.status, status >= 400 {
            dimensions.append(MetricDimension("error.type", String(status)))
        }
        exchangeDuration.with(dimensions) { $0.recordNanoseconds(exchange.phases.total.nanosecondsClamped) }
        if let length = exchange.requestLength { requestSize.with(dimensions) { $0.record(length) } }
        if exchange.head != nil { responseSize.with(dimensions) { $0.record(exchange.receivedBytes) } }
    }

    private func record(_ call: CallObserver.CallReport, _ result: Result<Response, NightjarError>) {
        let target = MetricDimension.target(call.method, call.origin)
        active.with(target) { $0.decrement() }
        let (response, error, decisions) =
            switch result {
            case .success(let response): (response as Response?, nil as NightjarError?, response.decisions)
            case .failure(let error): (error.response, error, error.decisions)
            }
        var dimensions = target
        if let response { dimensions.append(MetricDimension("nightjar.response.source", response.source.name)) }
        if let error { dimensions.append(MetricDimension("error.type", error.kind.name)) }
        calls.with(dimensions) { $0.increment() }
        if let response {
            callDuration.with(dimensions) { $0.recordNanoseconds(response.timing.total.nanosecondsClamped) }
        }
        let retried = decisions.count { if case .retried = $0.what { true } else { false } }
        if retried > 0 { retries.with(target) { $0.increment(by: retried) } }
    }
}
#endif
