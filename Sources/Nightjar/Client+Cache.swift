import NIOCore
import NightjarHTTP

/// The cache of a client by hand, as its calls see it: with the client's base URL, headers and credentials.
extension Client {
    /// The stored answer that `request` would get, of any age, without asking a server; nil when there is none.
    ///
    /// Waits on this thread: for the disk at most.
    ///
    /// - Throws: what is wrong with the request; `closed`, `forked`; `invalid_request` for a client without a cache.
    public func cached(_ request: Request) throws(NightjarError) -> Response? {
        guard cache != nil else { throw Client.hasNoCache }
        var request = request
        request.usesCache = true
        request.cachePolicy = .cacheOnly
        request.coalesces = false
        do throws(NightjarError) {
            return try sendBlocking(request)
        } catch {
            guard error.kind == .cacheMiss else { throw error }
            return nil
        }
    }

    /// Stores an answer as if a server had just sent it for `request`: its headers say how long it is good for.
    ///
    /// - Parameters:
    ///   - request: a GET.
    ///   - headers: a Date is not needed.
    /// - Throws: `invalid_argument` when the rules do not allow to keep it (RFC 9111 section 3), with the reason;
    ///   `invalid_request` for a client without a cache.
    public func insert(
        _ status: Int = 200, headers: Headers, body: ByteBuffer, for request: Request
    ) throws(NightjarError) {
        guard cache != nil else { throw Client.hasNoCache }
        guard request.method == .get else {
            throw NightjarError(
                .invalidArgument, "answers to GET alone are stored, and this is one to \(request.method)")
        }
        var request = request
        request.usesCache = true
        request.cachePolicy = .protocol
        request.coalesces = false
        request.expectedStatuses = [StatusRange(100, 999)]
        request.schema = nil
        let head = ResponseHead(status: status, headers: headers, contentLength: body.readableBytes)
        _ = try sendBlocking(request, planting: PlantedAnswer(head: head, body: body))
    }

    private static let hasNoCache = NightjarError(.invalidRequest, "the client has no cache; configure one")
}
