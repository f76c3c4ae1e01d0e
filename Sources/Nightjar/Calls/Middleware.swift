import NightjarHTTP

/// Code that runs around each call of a client: it may change the request, look at the response, send the request again, or
/// respond without the network.
///
///     struct Tracing: Middleware {
///         func intercept(_ request: Request, next: Next) async throws(NightjarError) -> Response {
///             var request = request
///             request.headers["traceparent"] = makeTraceparent()
///             let response = try await next(request)
///             record(response.status, response.timing.total)
///             return response
///         }
///     }
///
/// A middleware runs in the Swift task of the caller, once for a call: retries, redirects and the refresh of the token are
/// part of `next`. It runs for ``Client/send(_:)-(Request)`` and its variants with endpoints and streamed bodies. Other calls
/// have no Swift task that could run it: blocking and started calls, streams, lists, transfers and the client's own token
/// requests. ``CallHooks`` run for all of them.
public protocol Middleware: Sendable {
    /// Sends a request through the next middleware, or to the client's own policies.
    typealias Next = @Sendable (Request) async throws(NightjarError) -> Response

    /// Returns the response to a request.
    ///
    /// - Parameters:
    ///   - request: The request with its body, before the client's defaults are added. The body of a ``Request/StreamedBody`` is
    ///     ``RequestBody/stream(length:)``.
    ///   - next: Continues the call. May be called several times, except for a streamed body that can be sent only once.
    func intercept(_ request: Request, next: Next) async throws(NightjarError) -> Response
}

extension [any Middleware] {
    /// Calls the middlewares, the first one outermost, and then `send`.
    func run(_ request: Request, _ send: @escaping Middleware.Next) async throws(NightjarError) -> Response {
        try await run(request, from: 0, send)
    }

    private func run(
        _ request: Request, from index: Int, _ send: @escaping Middleware.Next
    ) async throws(NightjarError) -> Response {
        guard index < count else { return try await send(request) }
        return try await self[index].intercept(request) { (changed) async throws(NightjarError) in
            try await run(changed, from: index + 1, send)
        }
    }
}
