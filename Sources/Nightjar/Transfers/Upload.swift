import NIOCore
import NightjarHTTP

/// An upload in progress. Any thread may use it. The upload is cancelled when all copies of this object are released.
///
/// After a failure, the upload continues at the byte where the server has ended, if the protocol allows it: tus, the
/// draft "Resumable Uploads for HTTP", S3 and OCI. A PUT request is sent again as a whole. A POST request is sent again
/// only if the server cannot have processed it.
public final class Upload: Sendable {
    public typealias Settings = UploadSettings

    private let operation: UploadOperation
    private let outcome = SharedOutcome<Result>()

    init(
        _ client: Client, _ request: Request, _ path: String, _ settings: Settings,
        _ progress: (@Sendable (Progress) -> Void)?
    ) throws(NightjarError) {
        var handlers = UploadOperation.Handlers()
        if let progress { handlers.progress = { progress($1) } }
        operation = try client.startUpload(request, .file(path), settings, on: nil, handlers) {
            [outcome] upload, result in
            outcome.end(result.map { upload.result ?? Result() })
        }
    }

    /// Uploads the parts of a sequence.
    init<Parts: AsyncSequence & Sendable>(
        _ client: Client, _ request: Request, parts: Parts, _ settings: Settings,
        _ progress: (@Sendable (Progress) -> Void)?
    ) throws(NightjarError) where Parts.Element == ByteBuffer {
        let reader = UploadSequence()
        var handlers = UploadOperation.Handlers()
        if let progress { handlers.progress = { progress($1) } }
        handlers.read = { reader.read($0, $1) }
        operation = try client.startUpload(request, .stream, settings, on: nil, handlers) {
            [outcome] upload, result in
            reader.end()
            outcome.end(result.map { upload.result ?? Result() })
        }
        reader.start(parts)
    }

    deinit { operation.cancel() }

    public var progress: Progress { operation.progress }
    /// The text with which a later upload continues, also in another process; see ``UploadSettings/resumeState``. Nil
    /// before the server has created the upload, after the upload is complete, and for put and post. The text has the
    /// URL of the upload, which is often enough to write to it: protect it like a password.
    public var resumeState: String? { operation.resumeState }

    /// Cancels the request in progress. The server keeps what it has. A request that cannot be repeated continues.
    public func pause() { operation.pause() }

    /// Continues a paused upload.
    public func resume() { operation.resume() }

    /// Ends the upload with the error `cancelled`.
    ///
    /// - Parameter keepsUpload: Whether a later upload can continue. If false, the server is requested to remove the
    ///   upload.
    public func cancel(keepsUpload: Bool = true) { operation.cancel(keeps: keepsUpload) }

    /// Waits for the end. Cancelling the Swift task cancels the upload.
    ///
    /// - Throws: The errors of calls; `invalid_request` for errors of files; `checksum_mismatch`; `content_changed`.
    public func result() async throws(NightjarError) -> Result {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { outcome.add($0) }
        } onCancel: {
            operation.cancel()
        }
        return try result.get()
    }
}
