import NightjarHTTP

/// A download to a file in progress. Any thread may use it. The download is cancelled when all copies of this object are
/// released.
///
/// The bytes are written beside the file, to a part with the suffix `.nightjar-part`. The part gets the file's name when
/// its length and its digests are right, so that a truncated or mixed file never has this name. After a failure, the
/// download continues at the byte where it has ended, if the content has a strong validator (RFC 9110 section 8.8.1).
public final class Download: Sendable {
    public typealias Settings = DownloadSettings

    /// The decision about a response.
    public enum HeadAction: Sendable {
        case proceed
        /// The download ends with the error `cancelled`.
        case cancel(keepsPart: Bool)
    }

    private let operation: DownloadOperation
    private let outcome = SharedOutcome<Download.File>()

    typealias Finished = @Sendable (DownloadOperation, Result<Void, NightjarError>) -> Void

    /// - Parameter start: Starts the operation.
    init(
        _ head: (@Sendable (Response) -> HeadAction)?, _ progress: (@Sendable (Progress) -> Void)?,
        start: (DownloadOperation.Handlers, @escaping Finished) throws(NightjarError) -> DownloadOperation
    ) throws(NightjarError) {
        var handlers = DownloadOperation.Handlers()
        if let head {
            handlers.head = { download, response in
                if case .cancel(let keepsPart) = head(response) { download.cancel(keeps: keepsPart) }
            }
        }
        if let progress { handlers.progress = { progress($1) } }
        operation = try start(handlers) { [outcome] download, result in
            outcome.end(result.map { download.file ?? Download.File() })
        }
    }

    deinit { operation.cancel() }

    public var progress: Progress { operation.progress }
    /// The text with which a later download continues, also in another process; see
    /// ``DownloadSettings/Resumption/state(_:)``. Nil while nothing was received, and if the content has no strong
    /// validator.
    public var resumeState: String? { operation.resumeState }

    /// Cancels the requests in progress. The part is kept.
    public func pause() { operation.pause() }

    /// Continues a paused download. If the content has no strong validator, the download starts over.
    public func resume() { operation.resume() }

    /// Ends the download with the error `cancelled`.
    ///
    /// - Parameter keepsPart: Whether a later download can continue the part.
    public func cancel(keepsPart: Bool = true) { operation.cancel(keeps: keepsPart) }

    /// Waits for the end. Cancelling the Swift task cancels the download.
    ///
    /// - Throws: The errors of calls; `storage` for errors of files; `checksum_mismatch`; `content_changed`.
    public func file() async throws(NightjarError) -> Download.File {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { outcome.add($0) }
        } onCancel: {
            operation.cancel()
        }
        return try result.get()
    }
}
