import NIOCore
import NightjarAPI
import NightjarHTTP

// Calls of endpoints. Invalid values are rejected before anything is sent.

extension Client {
    /// Applies `operation` to `request`, as ``Operation/apply(_:to:)`` does, with this client's settings. An Accept
    /// field of the client replaces that of the operation. Responses are validated as configured.
    ///
    /// - Throws: `invalid_request` with the endpoint and, for an invalid argument, the parameter. The request is then
    ///   unchanged.
    package func apply(
        _ operation: Operation, _ arguments: Arguments, to request: inout Request
    ) throws(NightjarError) {
        let accepts = request.headers.firstIndex(of: "Accept") != nil
        var made = request
        try operation.apply(arguments, to: &made)
        try checkLogin(operation, made)
        settle(&made, accepts: accepts)
        request = made
    }

    private func request<Response>(_ endpoint: Endpoint<Response>) throws(NightjarError) -> Request {
        let accepts = endpoint.request.headers.firstIndex(of: "Accept") != nil
        var request = try endpoint.makeRequest(encoding)
        try checkLogin(endpoint.operation, request)
        settle(&request, accepts: accepts)
        return request
    }

    /// Rejects a call without credentials to an operation that requires them, because the server would respond with
    /// 401. Cookies may be credentials.
    private func checkLogin(_ operation: Operation, _ request: borrowing Request) throws(NightjarError) {
        if let schemes { return try checkSchemes(operation, request, schemes) }
        guard operation.requiresAuth == true, auth == nil, attachedKey == nil, cookies == nil, !template.hasCredentials,
            !request.carriesCredentials
        else { return }
        throw NightjarError(
            .invalidRequest,
            "endpoint \(quoted(operation.name)) requires authentication, but no credentials are set; set the "
                + "client's option auth or add "
                + "a header with credentials to the request")
    }

    private func checkSchemes(
        _ operation: Operation, _ request: borrowing Request, _ schemes: SchemeCredentials
    ) throws(NightjarError) {
        do throws(NightjarError) {
            _ = try schemes.choice(for: request)
        } catch {
            throw NightjarError(error.kind, "endpoint \(quoted(operation.name)): \(error.message)")
        }
        guard operation.requiresAuth == true, request.security == nil, request.schemes.isEmpty, request.usesAuth,
            cookies == nil, !template.hasCredentials, !request.carriesCredentials
        else { return }
        throw NightjarError(
            .invalidRequest,
            "endpoint \(quoted(operation.name)) requires authentication but names no security scheme; name one of "
                + "the client's schemes in the endpoint's security or in the option auth of the call")
    }

    private func settle(_ request: inout Request, accepts: Bool) {
        if schemes == nil { request.security = nil }
        if !accepts, template.hasField("Accept") { request.headers.remove("Accept") }
        // Without a contract, identical requests can share the prepared request.
        if let contract = request.contract, !contract.isDeprecated, contract.validation ?? responseValidation == .off {
            request.contract = nil
        }
    }

    // MARK: Suspending

    /// Calls the endpoint and decodes the response.
    ///
    /// - Throws: `invalid_request` for invalid arguments, before anything is sent; any error of ``send(_:)-(Request)``;
    ///   `decoding` with the path of the value.
    public func send<Value: Decodable>(_ endpoint: Endpoint<Value>) async throws(NightjarError) -> Value {
        try await send(try request(endpoint)).decode(Value.self, at: endpoint.pointer, endpoint.decoding)
    }

    public func send(_ endpoint: Endpoint<Void>) async throws(NightjarError) {
        _ = try await send(try request(endpoint))
    }

    public func send(_ endpoint: Endpoint<ByteBuffer>) async throws(NightjarError) -> ByteBuffer {
        try await send(try request(endpoint)).body
    }

    public func send(_ endpoint: Endpoint<Response>) async throws(NightjarError) -> Response {
        try await send(try request(endpoint))
    }

    /// Calls the endpoint and returns when the response head has been received. The body is neither decoded nor checked
    /// against the schema of the endpoint.
    ///
    /// - Throws: `invalid_request` for invalid arguments, before anything is sent; the errors of ``stream(_:)-(Request)``.
    public func stream<Value>(_ endpoint: Endpoint<Value>) async throws(NightjarError) -> StreamedResponse {
        try await stream(try bodyRequest(endpoint))
    }

    /// Like ``stream(_:)-(Endpoint<Value>)``, for an endpoint without another type: `client.stream(.get("/export"))`.
    public func stream(_ endpoint: Endpoint<ByteBuffer>) async throws(NightjarError) -> StreamedResponse {
        try await stream(try bodyRequest(endpoint))
    }

    /// Downloads the response of an endpoint to a file, as ``download(_:to:_:progress:head:)`` does.
    ///
    /// - Throws: `invalid_request` for invalid arguments, before anything is sent; the errors of a download.
    @discardableResult
    public func download<Value>(
        _ endpoint: Endpoint<Value>, to path: String, _ settings: Download.Settings = .init(),
        progress: (@Sendable (Download.Progress) -> Void)? = nil
    ) async throws(NightjarError) -> Download.File {
        try await download(try bodyRequest(endpoint), to: path, settings, progress: progress)
    }

    /// Like ``download(_:to:_:progress:)-(Endpoint<Value>,_,_,_)``, for an endpoint without another type:
    /// `client.download(.get("/export"), to: "export.json")`.
    @discardableResult
    public func download(
        _ endpoint: Endpoint<ByteBuffer>, to path: String, _ settings: Download.Settings = .init(),
        progress: (@Sendable (Download.Progress) -> Void)? = nil
    ) async throws(NightjarError) -> Download.File {
        try await download(try bodyRequest(endpoint), to: path, settings, progress: progress)
    }

    /// Returns the request of an endpoint whose body is not decoded.
    private func bodyRequest<Value>(_ endpoint: Endpoint<Value>) throws(NightjarError) -> Request {
        var request = try request(endpoint)
        request.schema = nil
        return request
    }

    // MARK: Blocking

    /// Like ``send(_:)-(Endpoint<Value>)``, but blocks the thread.
    public func sendBlocking<Value: Decodable>(_ endpoint: Endpoint<Value>) throws(NightjarError) -> Value {
        try sendBlocking(try request(endpoint)).decode(Value.self, at: endpoint.pointer, endpoint.decoding)
    }

    public func sendBlocking(_ endpoint: Endpoint<Void>) throws(NightjarError) {
        _ = try sendBlocking(try request(endpoint))
    }

    public func sendBlocking(_ endpoint: Endpoint<ByteBuffer>) throws(NightjarError) -> ByteBuffer {
        try sendBlocking(try request(endpoint)).body
    }

    public func sendBlocking(_ endpoint: Endpoint<Response>) throws(NightjarError) -> Response {
        try sendBlocking(try request(endpoint))
    }

    // MARK: Lists

    /// Returns the pages of the list that an endpoint returns.
    ///
    /// - Parameter pagination: How the next page is found. Nil: as the endpoint defines, or detected automatically.
    /// - Throws: `invalid_request` for invalid arguments.
    public func pages<Value>(
        _ endpoint: Endpoint<Value>, _ pagination: Pagination? = nil, resuming state: String? = nil,
        timeout: Duration? = nil
    ) throws(NightjarError) -> PageSequence {
        pages(
            try request(endpoint), endpoint.list(pagination), resuming: state, timeout: timeout)
    }

    /// Like ``pages(_:_:resuming:timeout:)-(Endpoint<Value>,_,_,_)``, for an endpoint without another type:
    /// `client.pages(.get("/articles"))`.
    public func pages(
        _ endpoint: Endpoint<ByteBuffer>, _ pagination: Pagination? = nil, resuming state: String? = nil,
        timeout: Duration? = nil
    ) throws(NightjarError) -> PageSequence {
        pages(
            try request(endpoint), endpoint.list(pagination), resuming: state, timeout: timeout)
    }

    /// Returns the items of the list that an endpoint returns, as
    /// ``pages(_:_:resuming:timeout:)-(Endpoint<Value>,_,_,_)`` does for pages.
    public func items<Item: Decodable & SendableMetatype>(
        _ endpoint: Endpoint<[Item]>, _ pagination: Pagination? = nil, resuming state: String? = nil,
        timeout: Duration? = nil
    ) throws(NightjarError) -> ItemSequence<Item> {
        items(
            try request(endpoint), endpoint.list(pagination), as: Item.self, endpoint.decoding, resuming: state,
            timeout: timeout)
    }
}

extension Endpoint {
    fileprivate func list(_ pagination: Pagination?) -> Pagination {
        (pagination ?? operation.pagination ?? Pagination()).guessing(by: operation)
    }
}
