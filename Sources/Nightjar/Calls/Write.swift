import NightjarHTTP

/// A change of the server's data that resources of the client may have to load.
struct Write: Sendable {
    /// The URLs that the response of an unsafe request has invalidated.
    var urls: [RequestURL] = []
    /// The tags that the program has invalidated, by itself or by an option of the request.
    var tags: [String] = []

    /// Creates the write of a call with a response. Nil if the response invalidates nothing.
    init?(_ request: PreparedRequest, tags: [String], _ response: Response) {
        urls = Invalidation.urls(request.method, request.url, response.head)
        if urls.isEmpty { return nil }
        self.tags = tags
    }

    init(urls: [RequestURL] = [], tags: [String]) { (self.urls, self.tags) = (urls, tags) }
}

extension ClientLoop {
    /// Calls `body` after each write of the client, until ``removeWriteListener(_:)`` is called.
    func addWriteListener(_ object: AnyObject, _ body: @escaping (Write) -> Void) {
        writeListeners[ObjectIdentifier(object)] = body
    }

    func removeWriteListener(_ object: AnyObject) { writeListeners[ObjectIdentifier(object)] = nil }

    func notify(of write: Write) {
        for listener in Array(writeListeners.values) { listener(write) }
    }

    /// Handles the result of a call of the program.
    func noteWrite(_ task: ClientTask, _ result: Result<Response, NightjarError>) {
        guard !writeListeners.isEmpty, case .success(let response) = result,
            let write = Write(task.request, tags: task.options.invalidates, response)
        else { return }
        notify(of: write)
    }
}
