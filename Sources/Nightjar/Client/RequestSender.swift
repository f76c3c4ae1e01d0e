import NightjarHTTP

/// Sends what lists and documents are made of in their client's place: for a program that does something of its own before and
/// after each call.
package protocol RequestSender: Sendable {
    /// Runs on the client's loop, where it must not block.
    ///
    /// - Parameter finished: to be called once, on any thread.
    /// - Returns: gives the call up, on the loop too; `finished` need not be called then.
    func send(
        _ sent: SentRequest, _ finished: @escaping @Sendable (Result<Response, NightjarError>) -> Void
    ) -> @Sendable () -> Void
}

/// One request of a list or a document.
package struct SentRequest: Sendable {
    /// As it goes on the wire, where nobody changes it.
    package var request: Request
    /// The fields of it that were set for this one alone.
    package var ownFields = Headers()
    /// False: of another origin than the list, which is to get no credentials, whatever the request is changed to.
    package var carriesCredentials = true

    init(_ request: Request) { self.request = request }
}

extension Client {
    /// Takes from a request to another origin what could log in there.
    package func removeCredentials(from request: inout Request) {
        request.usesAuth = false
        request.usesCookies = false
        request.cookies = []
        request.schemes = []
        request.headers = request.headers.forwarded(template.forwarded, sensitive: sensitiveNames)
    }

    /// How a caller would write the URL: as a path behind the base URL where that leads to it, else whole. Nothing is masked.
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

    /// The URL that a request asks for, without what the client puts into its query.
    package func url(of request: Request) throws(NightjarError) -> RequestURL {
        var question = request
        question.method = .get
        question.body = .none
        question.compresses = false
        return try PreparedRequest(question, request.usesAuth ? template : anonymousTemplate).url
    }
}
