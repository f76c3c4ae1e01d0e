import NIOCore
import NightjarHTTP

extension Client {
    /// Starts the upload of a file.
    ///
    /// - Parameters:
    ///   - request: The request that creates the upload, without a body. The protocol decides the method, except that
    ///     `UploadProtocol/resumable` uses PUT, POST or PATCH of the request, and POST otherwise. The fields of the
    ///     request are sent with all requests to its origin.
    ///   - path: The path of a regular file. It must not change during the upload.
    ///   - progress: Called on the client's thread about ten times a second. Must not block.
    /// - Throws: `invalid_argument` for invalid settings; `invalid_request`; `closed`; `forked`.
    public func startUpload(
        _ request: Request, from path: String, _ settings: Upload.Settings = .init(),
        progress: (@Sendable (Upload.Progress) -> Void)? = nil
    ) throws(NightjarError) -> Upload {
        try Upload(self, request, path, settings, progress)
    }

    /// Uploads a file. Cancelling the Swift task cancels the upload.
    ///
    /// Parameters and errors are those of ``startUpload(_:from:_:progress:)-(_,String,_,_)`` and ``Upload/result()``.
    @discardableResult
    public func upload(
        _ request: Request, from path: String, _ settings: Upload.Settings = .init(),
        progress: (@Sendable (Upload.Progress) -> Void)? = nil
    ) async throws(NightjarError) -> Upload.Result {
        try await startUpload(request, from: path, settings, progress: progress).result()
    }

    /// Starts the upload of a stream. The bytes of a chunk (``UploadSettings/chunkSize``) are held in memory, to be sent again
    /// after a failure.
    ///
    /// - Parameters:
    ///   - request: As for the upload of a file.
    ///   - parts: The next part is requested when the upload needs it. An error of the sequence ends the upload with
    ///     `invalid_request`.
    ///   - settings: Without a state text and an id.
    ///   - progress: Called on the client's thread about ten times a second. Must not block.
    /// - Throws: `invalid_argument` for invalid settings; `invalid_request`; `closed`; `forked`.
    public func startUpload<Parts: AsyncSequence & Sendable>(
        _ request: Request, from parts: Parts, _ settings: Upload.Settings = .init(),
        progress: (@Sendable (Upload.Progress) -> Void)? = nil
    ) throws(NightjarError) -> Upload where Parts.Element == ByteBuffer {
        try Upload(self, request, parts: parts, settings, progress)
    }

    /// Uploads a stream. Cancelling the Swift task cancels the upload.
    ///
    /// Parameters and errors are those of ``startUpload(_:from:_:progress:)-(_,Parts,_,_)`` and ``Upload/result()``.
    @discardableResult
    public func upload<Parts: AsyncSequence & Sendable>(
        _ request: Request, from parts: Parts, _ settings: Upload.Settings = .init(),
        progress: (@Sendable (Upload.Progress) -> Void)? = nil
    ) async throws(NightjarError) -> Upload.Result where Parts.Element == ByteBuffer {
        try await startUpload(request, from: parts, settings, progress: progress).result()
    }

    /// Starts an upload without blocking.
    ///
    /// - Parameters:
    ///   - queue: Where the callbacks run.
    ///   - identity: The journal entry. Nil: that of the id in the settings, if there is one.
    ///   - finished: Called once, after the other callbacks.
    /// - Throws: `invalid_argument` for invalid settings; `invalid_request` if the request has a body; `closed`;
    ///   `forked`.
    package func startUpload(
        _ request: Request, _ content: UploadOperation.Content, _ settings: UploadSettings,
        on queue: CompletionQueue?, _ handlers: UploadOperation.Handlers = .init(),
        as identity: TransferIdentity? = nil,
        finished: @escaping @Sendable (UploadOperation, Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> UploadOperation {
        try checkProcess()
        try settings.check()
        guard case .none = request.body else {
            throw NightjarError(.invalidRequest, "the body of an upload is the file; remove the body of the request")
        }
        if case .stream = content { try settings.checkForStream() }
        // One key for all attempts.
        var request = try request.withIdempotencyKey()
        request.idempotencyKey = .none
        let operation = UploadOperation(
            self, request, content, settings, on: queue, handlers, as: identity, finished: finished)
        try operation.start()
        return operation
    }

    /// Uploads and blocks this thread meanwhile. The callbacks run on this thread.
    ///
    /// - Parameter started: Receives the upload before the first callback.
    package func uploadBlocking(
        _ request: Request, _ content: UploadOperation.Content, _ settings: UploadSettings,
        _ handlers: UploadOperation.Handlers, started: (UploadOperation) -> Void
    ) throws(NightjarError) {
        try blocking { queue, finished throws(NightjarError) in
            let operation = try startUpload(request, content, settings, on: queue, handlers) { finished($1) }
            started(operation)
        }
    }
}
