import NIOCore
import NightjarHTTP

extension Client {
    /// Starts a download to a file.
    ///
    /// - Parameters:
    ///   - request: A GET request, or a request that can be sent only once. Not with a Range field.
    ///   - path: The path of the file. A path that ends with a slash, or that is a folder, is the folder of the file;
    ///     the server or the URL then gives the name. A symbolic link is followed.
    ///   - progress: Called on the client's thread about ten times a second. Must not block.
    ///   - head: Called on the client's thread with the head of each response whose body is used. Must not block.
    /// - Throws: `invalid_argument` for invalid settings; `invalid_request`; `closed`; `forked`.
    public func startDownload(
        _ request: Request, to path: String, _ settings: Download.Settings = .init(),
        progress: (@Sendable (Download.Progress) -> Void)? = nil,
        head: (@Sendable (Response) -> Download.HeadAction)? = nil
    ) throws(NightjarError) -> Download {
        try Download(head, progress) { (handlers, finished) throws(NightjarError) in
            try startDownload(request, to: path, settings, on: nil, handlers, finished: finished)
        }
    }

    /// Downloads a file. Cancelling the Swift task cancels the download; its part is kept.
    ///
    /// Parameters and errors are those of ``startDownload(_:to:_:progress:head:)`` and ``Download/file()``.
    @discardableResult
    public func download(
        _ request: Request, to path: String, _ settings: Download.Settings = .init(),
        progress: (@Sendable (Download.Progress) -> Void)? = nil,
        head: (@Sendable (Response) -> Download.HeadAction)? = nil
    ) async throws(NightjarError) -> Download.File {
        try await startDownload(request, to: path, settings, progress: progress, head: head).file()
    }

    /// Starts a download without blocking.
    ///
    /// - Parameters:
    ///   - path: The path of the file, or of its folder.
    ///   - queue: Where the callbacks run.
    ///   - identity: The journal entry. Nil: that of the id in the settings, if there is one.
    ///   - finished: Called once, after the other callbacks.
    /// - Throws: `invalid_argument` for invalid settings; `invalid_request` if the request has a Range field; `closed`;
    ///   `forked`.
    package func startDownload(
        _ request: Request, to path: String, _ settings: DownloadSettings, on queue: CompletionQueue?,
        _ handlers: DownloadOperation.Handlers = .init(), as identity: TransferIdentity? = nil,
        finished: @escaping @Sendable (DownloadOperation, Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> DownloadOperation {
        try checkProcess()
        try settings.check()
        try Client.checkHeaders(of: request)
        guard settings.id == nil || request.method == .get else {
            throw NightjarError(.invalidArgument, "a download with an id needs a GET request, got \(request.method)")
        }
        let operation = DownloadOperation(
            self, request, to: path, settings, on: queue, handlers, as: identity, finished: finished)
        try operation.start()
        return operation
    }

    /// Makes a streamed response a download. Called where the events of its call are delivered.
    ///
    /// The call then ends successfully with the head, without its total timeout, and ignores cancels. After a failure, the
    /// download sends the request of the call again.
    ///
    /// - Parameters:
    ///   - parts: The parts of the body that the caller has received and not used: all of them.
    ///   - queue: Where the callbacks run.
    /// - Throws: `invalid_argument` for invalid settings, and if the response cannot become a download; `invalid_request`
    ///   if the request has a Range field; `cancelled`; `closed`; `forked`.
    package static func startDownload(
        of exchange: StreamedExchange, holding parts: [ByteBuffer] = [], to path: String, _ settings: DownloadSettings,
        on queue: CompletionQueue?, _ handlers: DownloadOperation.Handlers = .init(),
        finished: @escaping @Sendable (DownloadOperation, Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> DownloadOperation {
        guard let source = exchange.source, let head = exchange.head else {
            throw NightjarError(.invalidArgument, "only a streamed response can become a download; stream the response")
        }
        guard let client = source.client as? Client else { throw NightjarError(.closed, "the client is closed") }
        try client.checkProcess()
        try settings.check()
        try settings.checkForResponse()
        try checkHeaders(of: source.request)
        try client.check(head, of: source.request)
        let feed = try ResponseFeed(exchange, holding: parts, on: client.loop)
        var settings = settings
        settings.resumption = .never
        let operation = DownloadOperation(
            client, source.request, to: path, settings, on: queue, handlers, receiving: feed, finished: finished)
        do throws(NightjarError) {
            try operation.start()
        } catch {
            feed.revoke()
            throw error
        }
        return operation
    }

    /// Checks that a response has the content of a file.
    ///
    /// - Throws: `invalid_argument`.
    private func check(_ head: Response, of request: Request) throws(NightjarError) {
        guard request.method != .head, head.status != 206, DownloadSchedule.statuses.contains(head.status) else {
            throw NightjarError(
                .invalidArgument,
                "the response with the status \(head.status) to \(request.method) has no content for a file; only the statuses 200 and 203 have"
            )
        }
        guard head.headers["content-encoding"] == nil || request.decompresses ?? decompresses else {
            throw NightjarError(
                .invalidArgument,
                "a response with a Content-Encoding becomes a download only if it is decompressed; allow decompress")
        }
    }

    private static func checkHeaders(of request: Request) throws(NightjarError) {
        for name in ["Range", "If-Range"] where request.headers[name] != nil {
            throw NightjarError(.invalidRequest, "a download sets the header \(name); remove it from the request")
        }
    }

    /// Downloads a file and blocks this thread meanwhile. The callbacks run on this thread.
    ///
    /// - Parameter started: Receives the download before the first callback.
    package func downloadBlocking(
        _ request: Request, to path: String, _ settings: DownloadSettings, _ handlers: DownloadOperation.Handlers,
        started: (DownloadOperation) -> Void
    ) throws(NightjarError) {
        try blocking { queue, finished throws(NightjarError) in
            started(try startDownload(request, to: path, settings, on: queue, handlers) { finished($1) })
        }
    }
}
