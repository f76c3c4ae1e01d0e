import NightjarHTTP

/// Sends the requests of paginators and catalogs in place of the client. The Lua host implements this protocol, because
/// a script's hooks run around each request and may change it.
package protocol RequestSender: Sendable {
    /// Sends a request. Runs on the client's loop and must not block.
    ///
    /// - Parameter finished: Must be called once, on any thread.
    /// - Returns: A closure that cancels the call. The closure may run on the loop. After the closure has run,
    ///   `finished` need not be called.
    func send(
        _ sent: SentRequest, _ finished: @escaping @Sendable (Result<Response, NightjarError>) -> Void
    ) -> @Sendable () -> Void
}

/// A request of a paginator or a catalog.
package struct SentRequest: Sendable {
    /// The request to send.
    package var request: Request
    /// The fields that were set for this request only.
    package var ownFields = Headers()
    /// Whether the sender may add credentials. False for a page whose origin differs from the origin of the first page.
    package var carriesCredentials = true

    /// Whether the request loads a resource. Its cache policy then differs from that of the other requests.
    package var isOfResource = false

    init(_ request: Request) { self.request = request }
}

extension Client {
    /// Removes the credentials, and all header fields that are not forwarded, from a request to another origin.
    package func removeCredentials(from request: inout Request) {
        request.usesAuth = false
        request.usesCookies = false
        request.cookies = []
        request.schemes = []
        request.headers = request.headers.forwarded(template.forwarded, sensitive: sensitiveNames)
    }

    /// Returns the URL as a caller would write it: as a path relative to the base URL if possible, else as an absolute
    /// URL. Secrets in the URL are not masked.
    package func path(to url: RequestURL) -> String {
        let whole = url.origin.description + url.target
        guard let base = template.base, base.origin == url.origin else { return whole }
        var prefix = base.path[...]
        if prefix.hasSuffix("/") { prefix.removeLast() }
        guard url.target.hasPrefix(prefix) else { return whole }
        let short = String(url.target.dropFirst(prefix.count))
        guard short.hasPrefix("/"), let found = try? self.url(of: Request(.get, short)), found.origin == url.origin,
            found.target == url.target
        else { return whole }
        return short
    }

    /// Returns the URL of a request, without the API key that the client adds to the query.
    package func url(of request: Request) throws(NightjarError) -> RequestURL {
        var unconditional = request
        unconditional.method = .get
        unconditional.body = .none
        unconditional.compresses = false
        return try PreparedRequest(unconditional, request.usesAuth ? template : anonymousTemplate).url
    }
}
