import NightjarHTTP
import Synchronization

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
    private let outcome: Outcome

    /// The end of a download, and the tasks that wait for it.
    private final class Outcome: Sendable {
        typealias Waiter = CheckedContinuation<Result<Download.File, NightjarError>, Never>

        private let state = Mutex((result: Result<Download.File, NightjarError>?.none, waiters: [Waiter]()))

        func end(_ result: Result<Download.File, NightjarError>) {
            let waiters = state.withLock { state in
                state.result = result
                return exchange(&state.waiters, with: [])
            }
            for waiter in waiters { waiter.resume(returning: result) }
        }

        func add(_ waiter: Waiter) {
            let result = state.withLock { state in
                if state.result == nil { state.waiters.append(waiter) }
                return state.result
            }
            if let result { waiter.resume(returning: result) }
        }
    }

    init(
        _ client: Client, _ request: Request, to path: String, _ settings: Settings,
        _ head: (@Sendable (Response) -> HeadAction)?, _ progress: (@Sendable (Progress) -> Void)?
    ) throws(NightjarError) {
        let outcome = Outcome()
        self.outcome = outcome
        var handlers = DownloadOperation.Handlers()
        if let head {
            handlers.head = { download, response in
                if case .cancel(let keepsPart) = head(response) { download.cancel(keepsPart: keepsPart) }
            }
        }
        if let progress { handlers.progress = { progress($1) } }
        operation = try client.startDownload(request, to: path, settings, on: nil, handlers) { download, result in
            outcome.end(result.map { download.file ?? Download.File() })
        }
    }

    deinit { operation.cancel() }

    public var progress: Progress { operation.progress }
    /// The text with which a later download continues, also in another process; see
    /// ``DownloadSettings/Resumption/state(_:)``. Empty while nothing was received, and if the content has no strong
    /// validator.
    public var resumeState: String { operation.resumeState }

    /// Cancels the requests in progress. The part is kept.
    public func pause() { operation.pause() }

    /// Continues a paused download. If the content has no strong validator, the download starts over.
    public func resume() { operation.resume() }

    /// Ends the download with the error `cancelled`.
    ///
    /// - Parameter keepsPart: Whether a later download can continue the part.
    public func cancel(keepsPart: Bool = true) { operation.cancel(keepsPart: keepsPart) }

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
        try Download(self, request, to: path, settings, head, progress)
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

    /// Downloads a file and blocks this thread meanwhile. The callbacks run on this thread.
    ///
    /// - Parameter started: Receives the download before the first callback.
    package func downloadBlocking(
        _ request: Request, to path: String, _ settings: DownloadSettings, _ handlers: DownloadOperation.Handlers,
        started: (DownloadOperation) -> Void
    ) throws(NightjarError) {
        try checkMayWait()
        let queue = takeQueue()
        let end = BlockingEnd()
        let operation: DownloadOperation
        do throws(NightjarError) {
            operation = try startDownload(request, to: path, settings, on: queue, handlers) { end.result = $1 }
        } catch {
            keep(queue)
            throw error
        }
        started(operation)
        let result = try wait(on: queue) { end.result }
        keep(queue)
        try result.get()
    }
}

/// The end of a blocking download. Used only on the waiting thread.
private final class BlockingEnd: @unchecked Sendable {
    var result: Result<Void, NightjarError>?
}
