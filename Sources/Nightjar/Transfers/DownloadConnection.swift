import NIOCore
import NightjarCrypto
import NightjarHTTP

/// One request of a download. Used on the client's loop.
final class DownloadConnection: @unchecked Sendable {
    let number: Int
    private weak var download: DownloadOperation?
    private var task: ClientTask?
    /// The response that has become the download, while it is received.
    private var feed: ResponseFeed?
    /// Whether nothing is reported any more.
    private(set) var isCancelled = false
    /// Whether the rest of the response is not received.
    private var isCutOff = false
    /// The digest of the body, if the response has a Content-Digest.
    private var digest: (expected: Checksum, hash: RunningHash)?

    init(_ number: Int, of download: DownloadOperation) {
        self.number = number
        self.download = download
    }

    /// Starts the request.
    ///
    /// - Parameters:
    ///   - range: Nil: the whole content.
    ///   - window: The number of received bytes that may wait to be written.
    func start(
        _ request: Request, _ range: DownloadSchedule.RangeRequest?, window: Int
    ) throws(NightjarError) {
        var request = request
        if let range {
            try request.headers.set("Range", range.field)
            if let validator = range.validator { try request.headers.set("If-Range", validator.value) }
        }
        // Ranges are those of the coded content.
        if request.headers["accept-encoding"] == nil { try request.headers.set("Accept-Encoding", "identity") }
        request.decompresses = true
        // Other statuses, for example 204 and 304, do not have the content of the file.
        request.expectedStatuses = DownloadSchedule.statuses.map { StatusRange($0) }
        request.prepareForLongExchange()
        var handlers = TaskHandlers { [self] _, result in ended(result) }
        handlers.head = { [self] _, response in opened(response) }
        handlers.body = { [self] _, part in received(part) }
        handlers.creditsAreManual = true
        handlers.window = window
        guard let download else { return }
        handlers.decisionQueue = download.queue
        task = try download.client.start(request, on: nil, handlers)
    }

    /// Receives a response whose head has arrived, in place of that of a request.
    func receive(_ feed: ResponseFeed) {
        (task, self.feed) = (feed.task, feed)
        opened(feed.response)
        feed.deliver(to: self)
    }

    func cancel() {
        isCancelled = true
        task.take()?.cancelExchange()
        feed = nil
    }

    /// Cancels the rest of the response. Nothing is reported any more, and the writes so far are valid. Returns false if
    /// the digest of the response must be compared at its end.
    func cutOff() -> Bool {
        guard digest == nil, let task = task.take() else { return false }
        isCutOff = true
        task.cancelExchange()
        feed = nil
        return true
    }

    /// Lets the connection receive more bytes.
    func consumed(_ count: Int) { task?.consumed(count) }

    private func opened(_ response: Response) {
        guard !isCancelled, !isCutOff else { return }
        // The body of a response with a content coding arrives decoded.
        if response.headers["content-encoding"] == nil,
            let expected = Checksum(response.headers, field: "content-digest"),
            let hash = RunningHash(HashFunction(expected.algorithm))
        {
            digest = (expected, hash)
        }
        download?.opened(self, response)
    }

    func received(_ part: ByteBuffer) {
        guard !isCancelled, !isCutOff else { return }
        if let digest { part.withUnsafeReadableBytes { digest.hash.update($0) } }
        download?.received(part, from: self)
    }

    func ended(_ result: Result<Response, NightjarError>) {
        (task, feed) = (nil, nil)
        guard !isCancelled, !isCutOff else { return }
        switch result {
        case .success: download?.ended(self, bodyEnd)
        case .failure(let error): download?.ended(self, .failed(error))
        }
    }

    /// The end of a response.
    enum End {
        case complete
        /// The body does not have its digest.
        case damaged(NightjarError)
        case failed(NightjarError)
    }

    private var bodyEnd: End {
        guard let digest, Checksum(digest.expected.algorithm, digest.hash.finish()) != digest.expected else {
            return .complete
        }
        return .damaged(
            NightjarError(
                .checksumMismatch, "a response of the download does not have its Content-Digest", phase: .receive))
    }
}
