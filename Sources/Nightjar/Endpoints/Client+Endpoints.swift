import NIOCore
import NightjarHTTP

// Calls of endpoints: what is wrong with their values is told before anything is sent.

extension Client {
    /// Makes `request` ask for `operation`, as ``Operation/apply(_:to:)`` does, with regard to what this client has set: an
    /// Accept field of its own stays, and answers are checked as it says.
    ///
    /// - Throws: `invalid_request`, naming endpoint and parameter; then nothing has changed.
    public func apply(
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
        var request = try endpoint.makeRequest()
        try checkLogin(endpoint.operation, request)
        settle(&request, accepts: accepts)
        return request
    }

    /// What needs a login would be answered with 401; cookies may be one.
    private func checkLogin(_ operation: Operation, _ request: borrowing Request) throws(NightjarError) {
        if let schemes { return try checkSchemes(operation, request, schemes) }
        guard operation.requiresAuth == true, auth == nil, attachedKey == nil, cookies == nil, !template.hasCredentials,
            !request.carriesCredentials
        else { return }
        throw NightjarError(
            .invalidRequest,
            "endpoint \(quoted(operation.name)) requires a login, and there is none; set the client's option auth, or give "
                + "the request a header field with credentials")
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
            "endpoint \(quoted(operation.name)) requires a login and does not say which; name one of the client's schemes in "
                + "its security, or in the option auth of the call")
    }

    private func settle(_ request: inout Request, accepts: Bool) {
        if schemes == nil { request.security = nil }
        if !accepts, template.hasField("Accept") { request.headers.remove("Accept") }
        // Without it the request is like any other, and what was made of it serves those that are alike.
        if let contract = request.contract, !contract.isDeprecated, contract.validation ?? responseValidation == .off {
            request.contract = nil
        }
    }

    // MARK: Suspending

    /// Asks for it and reads the answer.
    ///
    /// - Throws: `invalid_request` for wrong values, before anything is sent; what ``send(_:)-(Request)`` throws; `decoding`
    ///   with the path.
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

    // MARK: Waiting on this thread

    /// The same, waiting on this thread.
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

    /// The pages of the list that an endpoint answers.
    ///
    /// - Parameter pagination: how it goes on; nil: as the endpoint says, and found out where it does not.
    /// - Throws: `invalid_request` for wrong values.
    public func pages<Value>(
        _ endpoint: Endpoint<Value>, _ pagination: Pagination? = nil, resuming state: String? = nil,
        timeout: Duration? = nil
    ) throws(NightjarError) -> PageSequence {
        pages(
            try request(endpoint), endpoint.list(pagination), resuming: state, timeout: timeout)
    }

    /// The items of the list that an endpoint answers, as ``pages(_:_:resuming:timeout:)-(Endpoint<Value>,_,_,_)`` has them.
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
