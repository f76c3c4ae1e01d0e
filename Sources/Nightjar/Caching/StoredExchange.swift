import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarTransport

/// Delivers a cache entry to a call like an exchange with a server. A body on disk is read in parts, as the call
/// consumes them. Used on the loop.
final class StoredExchange: ReplayedExchange, @unchecked Sendable {
    let source: ResponseSource
    private let head: ResponseHead
    private let trailers: Headers
    private let body: Content
    /// Bytes not yet delivered.
    private var remaining: Int
    private let workers: WorkerThreads
    private weak var receiver: (any ExchangeReceiver)?
    private var isPaused = false
    private var isReading = false

    enum Content {
        case memory(ByteBuffer)
        /// A reader positioned at the first byte to deliver.
        case disk(BodyReader)
    }

    /// - Parameter count: The body length in bytes.
    init(
        _ head: ResponseHead, _ trailers: Headers, _ body: Content, count: Int, from source: ResponseSource,
        readBy workers: WorkerThreads
    ) {
        self.source = source
        self.head = head
        self.trailers = trailers
        self.body = body
        self.workers = workers
        remaining = count
    }

    func begin(for receiver: any ExchangeReceiver) {
        self.receiver = receiver
        receiver.exchangeStarted(on: nil, isReused: false, stream: nil)
        receiver.exchangeReceived(head: head)
        readOn()
    }

    private func readOn() {
        guard let receiver, !isPaused, !isReading else { return }
        guard remaining > 0 else {
            self.receiver = nil
            return receiver.exchangeFinished(trailers: trailers)
        }
        switch body {
        case .memory(let bytes):
            remaining = 0
            receiver.exchangeReceived(body: bytes)
            readOn()
        case .disk(let body):
            isReading = true
            let count = min(remaining, StoredExchange.part)
            workers.run("reading the cached body", { () throws(NightjarError) in try body.read(upTo: count) }) {
                [self] in accept($0)
            }
        }
    }

    private func accept(_ result: Result<ByteBuffer?, NightjarError>) {
        isReading = false
        guard let receiver else { return }
        switch result {
        case .success(let bytes?):
            remaining -= bytes.readableBytes
            receiver.exchangeProgressed()
            receiver.exchangeReceived(body: bytes)
            readOn()
        case .success(nil):
            self.receiver = nil
            receiver.exchangeFailed(NightjarError(.storage, "the cached body is shorter than its recorded length"))
        case .failure(let error):
            self.receiver = nil
            receiver.exchangeFailed(error)
        }
    }

    // MARK: Exchange

    func cancel() { receiver = nil }

    func pause() { isPaused = true }

    func resume() {
        isPaused = false
        readOn()
    }

    // The request body is discarded.
    func send(_ part: ByteBuffer) {}
    func endBody() {}

    /// The maximum number of bytes read from disk at a time: the size of a call's receive window.
    private static let part = ClientTask.window
}
