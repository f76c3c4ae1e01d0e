import NightjarHTTP
import Synchronization

/// The streamed body of a call with middleware.
final class BodySource: Sendable {
    private let body: Request.StreamedBody
    private let wasUsed = Atomic<Bool>(false)

    init(_ body: Request.StreamedBody) { self.body = body }

    /// Returns the pump for a request of the call. Nil if a middleware has replaced the body.
    ///
    /// - Throws: `invalid_request` for a second request, unless the body can be sent again.
    func pump(for request: Request) throws(NightjarError) -> BodyPump? {
        guard case .stream = request.body else { return nil }
        guard !wasUsed.exchange(true, ordering: .relaxed) || body.isRestartable else {
            throw NightjarError(
                .invalidRequest,
                "a middleware sends the request again, but its body can be sent only once; create the body with "
                    + "Request.StreamedBody { ... }")
        }
        return BodyPump(body)
    }
}
