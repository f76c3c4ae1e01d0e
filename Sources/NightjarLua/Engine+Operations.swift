import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// Starts operations other than calls: on the cache, on logins and on endpoints.
extension Engine {
    // MARK: Caches

    /// Looks up a request in the cache. The outcome has neither a response nor an error if there is no cache entry.
    func lookUp(_ request: Request, on client: Client, for wait: OpaquePointer) throws(NightjarError) -> Future {
        let future = Future(wait: wait)
        future.task = try client.lookUp(confined(request), on: queue) { [self] in completed(future, $0) }
        add(future)
        return future
    }

    /// Stores a response in the cache. The outcome has neither a response nor an error after success.
    func insertResponse(
        _ inserted: njl_cache_insertion, for request: Request, on client: Client, for wait: OpaquePointer
    ) throws(NightjarError) -> Future {
        var headers = Headers()
        for field in UnsafeBufferPointer(start: inserted.headers, count: inserted.header_count) {
            try headers.add(try field.name.text("a header name"), try field.value.text("a header value"))
        }
        if inserted.is_json, headers["Content-Type"] == nil { try headers.add("Content-Type", "application/json") }
        guard inserted.body.length <= Configuration.largestBody else {
            throw NightjarError(.invalidRequest, "the body to insert into the cache is larger than 2 GiB")
        }
        let future = Future(wait: wait)
        future.task = try client.insert(
            Int(inserted.status), headers: headers, body: ByteBuffer(copying: inserted.body.buffer, for: "the body"),
            for: confined(request), on: queue
        ) { [self] in completed(future, $0.map { nil }) }
        add(future)
        return future
    }

    /// Returns the background revalidation of the stale response that the call returned.
    ///
    /// - Returns: nil if the call started no revalidation.
    func refresh(of call: Future) -> Future? {
        switch call.refreshed {
        case .none:
            guard call.task?.isRefreshing ?? true else { return nil }
            let future = Future()
            call.refreshListeners.append(future)
            add(future)
            return future
        case .some(let result): return result.map { Future($0) }
        }
    }

    func endRefresh(of call: Future, with result: Result<Response, NightjarError>?) {
        call.refreshed = .some(result)
        let listeners = call.refreshListeners
        call.refreshListeners = []
        for future in listeners {
            switch result {
            case .success(let response): completed(future, .success(response))
            case .failure(let error): completed(future, .failure(error))
            case nil: completed(future, .success(nil))
            }
        }
    }

    // MARK: WebSockets and downloads

    /// Returns the client, and the confined request of an operation that the script starts or continues.
    ///
    /// - Throws: `invalid_argument` if the client is closed; `forked`; the errors of an invalid request.
    func request(
        _ request: UnsafePointer<njl_request>?, of client: OpaquePointer?
    ) throws(NightjarError) -> (Client, Request) {
        guard let client = Handle<Client>.borrow(client), let request = request?.pointee else {
            throw Engine.closedClient
        }
        try checkProcess()
        return (client, confined(try Request(request, for: client)))
    }

    static let closedClient = NightjarError(.invalidArgument, "the client is closed")

    // MARK: Logins, logouts and drains

    func logIn(_ client: Client, _ scheme: String?, for wait: OpaquePointer) throws(NightjarError) -> Future {
        try begin(for: wait) { (future, finished) throws(NightjarError) in
            let prompt: @Sendable (LoginPrompt) -> Void = { [self] prompt in
                future.show(prompt)
                notify(future)
            }
            return try client.logIn(scheme: scheme, on: queue, prompt: prompt, finished: finished)
        }
    }

    func logOut(
        _ client: Client, _ scheme: String?, clearingCookies: Bool, for wait: OpaquePointer
    ) throws(NightjarError) -> Future {
        try begin(for: wait) { (_, finished) throws(NightjarError) in
            try client.logOut(scheme: scheme, clearingCookies: clearingCookies, on: queue, finished: finished)
        }
    }

    func drain(_ client: Client, within limit: Duration?, for wait: OpaquePointer) throws(NightjarError) -> Future {
        try begin(for: wait) { (_, finished) throws(NightjarError) in
            try client.drain(within: limit, on: queue, finished: finished)
        }
    }

    /// Starts an operation without a result, and returns the future of its end.
    private func begin(
        for wait: OpaquePointer,
        _ start: (Future, @escaping @Sendable (Result<Void, NightjarError>) -> Void) throws(NightjarError)
            -> ClientOperation
    ) throws(NightjarError) -> Future {
        let future = Future(wait: wait)
        future.operation = try start(future) { [self] result in
            forget(future)
            future.operation = nil
            future.endOperation(result)
            notify(future)
        }
        add(future)
        return future
    }

    // MARK: Endpoints

    /// - Parameter caller: the number of the caller that runs the client's hooks; 0: none.
    func loadCatalog(
        from location: String, _ client: Client, caller: Int64, for wait: OpaquePointer
    ) throws(NightjarError) -> Future {
        let future = Future(wait: wait)
        let sender = ScriptSender(self, client, for: caller)
        future.operation = try client.startLoadingCatalog(from: location, on: queue, sender: sender) { [self] result in
            forget(future)
            future.operation = nil
            switch result {
            case .success(let catalog): future.catalog = catalog
            case .failure(let error): future.result = .failure(error)
            }
            notify(future)
        }
        add(future)
        return future
    }
}
