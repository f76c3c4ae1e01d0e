#if MetricsSupport
import NightjarHTTP
import Synchronization

/// A dimension of a metric.
struct MetricDimension: Hashable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The dimensions for the method and the server of a request.
    static func target(_ method: Method, _ origin: Origin) -> [MetricDimension] {
        [
            MetricDimension("http.request.method", known.contains(method.name) ? method.name : "_OTHER"),
            MetricDimension("server.address", origin.host), MetricDimension("server.port", String(origin.port)),
        ]
    }

    /// The methods of RFC 9110 and RFC 5789. OpenTelemetry requires `_OTHER` for unknown methods.
    private static let known: Set<String> = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
    ]
}

/// The instruments of one metric, one for each combination of dimensions.
final class MetricTable<Instrument>: Sendable {
    private struct State {
        var instruments: [[MetricDimension]: Instrument] = [:]
        /// Records the combinations that were added after the limit was reached.
        var overflow: Instrument?
    }

    private let state = Mutex(State())
    private let make: @Sendable ([(String, String)]) -> Instrument

    init(_ make: @escaping @Sendable ([(String, String)]) -> Instrument) { self.make = make }

    /// Calls `record` with the instrument for these dimensions. Creates the instrument on first use.
    func with(_ dimensions: [MetricDimension], _ record: (Instrument) -> Void) {
        state.withLock { state in
            if let known = state.instruments[dimensions] { return record(known) }
            guard state.instruments.count < Self.maximumCombinations else {
                let overflow = state.overflow ?? make([("otel.metric.overflow", "true")])
                state.overflow = overflow
                return record(overflow)
            }
            let made = make(dimensions.map { ($0.name, $0.value) })
            state.instruments[dimensions] = made
            record(made)
        }
    }

    /// The default limit of OpenTelemetry's SDKs. Servers choose statuses and the hosts of redirects.
    private static var maximumCombinations: Int { 2000 }
}
#endif
