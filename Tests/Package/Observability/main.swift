// Checks that log lines, metrics and spans arrive in the backends of a program that enables the package traits.
import Glibc
import InMemoryLogging
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import Nightjar
import NightjarObservability
import NightjarTesting
import Tracing

func check(_ isTrue: Bool, _ claim: String, _ found: Any) {
    if isTrue { return }
    print("check failed: \(claim); found \(found)")
    exit(1)
}

let lines = InMemoryLogHandler()
var logger = Logger(label: "test") { _ in lines }
logger.logLevel = .debug
let metrics = TestMetrics()
let tracer = InMemoryTracer()

let mock = try Mock([
    MockRoute(.get, "/articles/3", MockResponse(status: 503), .json(["id": 3])),
    MockRoute(.post, "/articles", MockResponse(status: 422)),
])
var configuration = Configuration()
configuration.baseURL = "http://api.example/v1"
configuration.mock = mock
configuration.retry.base = .milliseconds(1)
configuration.log = LogSink(logger)
configuration.observers = [.metrics(metrics)]
configuration.middleware = [TracingMiddleware(tracer: tracer)]
let client = try Client(configuration)

try await tracer.withSpan("parent") { _ in
    _ = try await client.send(Request(.get, "/articles/{id}", ["id": 3], query: ["api_key": "moonlight"]))
}
var rejected: NightjarError?
do throws(NightjarError) {
    var request = Request(.post, "/articles")
    try request.json(["title": "Owls"] as JSONValue)
    _ = try await client.send(request)
} catch {
    rejected = error
}
check(rejected?.status == 422, "the second call fails with 422", rejected as Any)
client.close()

// Log lines
let logged = lines.entries.map { "\($0.level) \($0.message)" }
check(logged.contains { $0.hasPrefix("debug GET http://api.example/v1/articles/3?") }, "a debug line arrives", logged)
check(logged.contains { $0.hasPrefix("info ") && $0.contains(" is retried: ") }, "an info line arrives", logged)
check(logged.contains { $0.hasPrefix("warning POST ") }, "a warning arrives", logged)
check(!logged.contains { $0.contains("moonlight") }, "credentials in URLs are masked in log lines", logged)

// Metrics
let server = [("server.address", "api.example"), ("server.port", "80")]
let get = [("http.request.method", "GET")] + server
let post = [("http.request.method", "POST")] + server
let unavailable = [("http.response.status_code", "503"), ("error.type", "503")]
check(
    try metrics.expectTimer("http.client.request.duration", get + [("http.response.status_code", "200")]).values.count
        == 1,
    "the successful exchange is measured", metrics.timers)
check(
    try metrics.expectTimer("http.client.request.duration", get + unavailable).values.count == 1,
    "the exchange that was retried is measured", metrics.timers)
check(
    try metrics.expectCounter("nightjar.client.retries", get).values == [1], "retries are counted", metrics.counters)
check(
    try metrics.expectCounter("nightjar.client.calls", get + [("nightjar.response.source", "network")]).values == [1],
    "calls are counted", metrics.counters)
let failed = [("nightjar.response.source", "network"), ("error.type", rejected?.kind.name ?? "")]
check(
    try metrics.expectCounter("nightjar.client.calls", post + failed).values == [1], "failed calls are counted",
    metrics.counters)
check(
    try metrics.expectRecorder(
        "http.client.request.body.size", post + [("http.response.status_code", "422"), ("error.type", "422")]
    ).values == [16], "the request body is measured", metrics.recorders)
check(
    try metrics.expectMeter("http.client.active_requests", get).values.last == 0, "the calls in progress are counted",
    metrics.meters)

// Spans
let spans = tracer.finishedSpans
check(spans.map(\.operationName) == ["GET /articles/{id}", "parent", "POST"], "each call has a span", spans)
let (call, parent, failure) = (spans[0], spans[1], spans[2])
check(call.parentSpanID == parent.spanID, "the span is a child of the current span", call)
check(call.kind == .client, "the span is a client span", call.kind)
let url = call.attributes.get("url.full")
check(
    url == .string("http://api.example/v1/articles/3?api_key=***"), "the URL is recorded with masked credentials",
    url as Any)
check(call.attributes.get("http.response.status_code") == .int64(200), "the status is recorded", call.attributes)
check(call.attributes.get("http.request.resend_count") == .int64(1), "the retry is recorded", call.attributes)
check(call.attributes.get("server.address") == .string("api.example"), "the server is recorded", call.attributes)
check(call.status == nil, "a successful call has no error status", call.status as Any)
check(failure.status?.code == .error && failure.errors.count == 1, "the error is recorded", failure)
check(
    failure.attributes.get("error.type") == rejected.map { .string($0.kind.name) }, "the kind of the error is recorded",
    failure.attributes)
let sent = mock.requests.first?.headers
check(sent?[InMemoryTracer.spanIDKey] == call.spanID, "the span is propagated to the server", sent as Any)

// A server that redirects or links to many hosts does not create metrics without limit.
configuration.mock = try Mock([MockRoute(.get, "/", MockResponse(status: 200))])
configuration.middleware = []
configuration.log = nil
let crawler = try Client(configuration)
for host in 0..<2100 { _ = try await crawler.send(Request(.get, "http://host\(host).example/")) }
crawler.close()
let calls = metrics.counters.filter { $0.label == "nightjar.client.calls" }
check(calls.count == 2001, "a metric has at most 2,000 combinations of dimensions", calls.count)
let overflow = try metrics.expectCounter("nightjar.client.calls", [("otel.metric.overflow", "true")])
check(overflow.totalValue == 102, "further combinations are counted together", overflow.totalValue)
print("log lines, metrics and spans arrive")
