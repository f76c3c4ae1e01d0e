#if TracingSupport
import Nightjar
import NightjarHTTP
import Tracing

/// Creates a client span for each call with swift-distributed-tracing, and propagates it to the server.
///
/// The span is a child of the current span of the Swift task, and includes retries, redirects and the token refresh. The
/// instrument writes its fields, for example `traceparent`, to the request. Attributes have the names of OpenTelemetry's
/// HTTP conventions. Credentials in URLs are masked.
///
/// | attribute | value |
/// |---|---|
/// | `http.request.method` | the method |
/// | `url.full` | the URL of the last request, with credentials masked |
/// | `url.template` | the path with variables, for example `/articles/{id}`, which is also a part of the span's name |
/// | `server.address`, `server.port` | the server of the last request |
/// | `http.response.status_code` | the status |
/// | `http.request.resend_count` | the number of exchanges after the first one |
/// | `nightjar.response.source` | `network`, `cache`, `revalidated`, `stale` or `coalesced` |
/// | `error.type` | the kind of the error, for example `timeout` |
///
/// Like other middleware, it runs for `client.send`, not for blocking and started calls, streams, lists and transfers.
/// Calls with different fields do not share an exchange, so `coalesces` has no effect with an instrument that writes fields.
public struct TracingMiddleware: Middleware {
    private let tracer: (any Tracer)?

    /// - Parameter tracer: Creates the spans and writes the fields. Nil: the tracer and the instrument of
    ///   `InstrumentationSystem`.
    public init(tracer: (any Tracer)? = nil) { self.tracer = tracer }

    public func intercept(_ request: Request, next: Next) async throws(NightjarError) -> Response {
        let template = request.pathTemplate
        let span = (tracer ?? InstrumentationSystem.tracer).startAnySpan(
            [request.method.name, template].compactMap(\.self).joined(separator: " "), ofKind: .client)
        span.updateAttributes { attributes in
            attributes["http.request.method"] = request.method.name
            if let template { attributes["url.template"] = template }
        }
        let traced = propagating(span.context, in: request)
        let result = await ServiceContext.withValue(span.context) { () async -> Result<Response, NightjarError> in
            do throws(NightjarError) {
                return .success(try await next(traced))
            } catch {
                return .failure(error)
            }
        }
        describe(result, in: span)
        span.end()
        return try result.get()
    }

    /// Returns the request with the fields of the instrument.
    private func propagating(_ context: ServiceContext, in request: Request) -> Request {
        let instrument: any Instrument = tracer ?? InstrumentationSystem.instrument
        var request = request
        instrument.inject(context, into: &request.headers, using: HeaderInjector())
        return request
    }

    private func describe(_ result: Result<Response, NightjarError>, in span: any Span) {
        switch result {
        case .success(let response):
            span.updateAttributes { $0.describe(response) }
        case .failure(let error):
            span.updateAttributes { attributes in
                if let response = error.response { attributes.describe(response) }
                attributes.describe(error.url, error.request?.url.origin, attempts: error.attempts)
                attributes["error.type"] = error.kind.name
            }
            span.recordError(error)
            span.setStatus(SpanStatus(code: .error, message: error.message))
        }
    }
}

extension Request {
    /// The path with variables, for example `/articles/{id}`; nil if there are none. A name of a span must not contain values,
    /// and an absolute URL may contain credentials.
    fileprivate var pathTemplate: String? {
        let path = target.prefix { $0 != "?" }
        return parameters.isEmpty || !path.contains("{") || path.contains("://") ? nil : String(path)
    }
}

extension SpanAttributes {
    fileprivate mutating func describe(_ response: Response) {
        self["http.response.status_code"] = response.status
        self["nightjar.response.source"] = response.source.name
        describe(response.url, response.location.origin, attempts: response.attempts)
    }

    fileprivate mutating func describe(_ url: String?, _ origin: Origin?, attempts: Int) {
        if let url { self["url.full"] = url }
        if let origin {
            self["server.address"] = origin.host
            self["server.port"] = origin.port
        }
        if attempts > 1 { self["http.request.resend_count"] = attempts - 1 }
    }
}

/// Writes the fields of an instrument. Invalid fields are omitted, so that the call does not fail because of them.
private struct HeaderInjector: Injector {
    func inject(_ value: String, forKey key: String, into headers: inout Headers) { try? headers.set(key, value) }
}
#endif
