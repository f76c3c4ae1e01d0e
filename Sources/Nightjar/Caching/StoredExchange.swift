import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarTransport

/// A stored answer, given to a call as an exchange with a server would: what is large a part at a time, read from the disk
/// while the call goes on taking it. On the loop.
final class StoredExchange: ReplayedExchange, @unchecked Sendable {
    let source: ResponseSource
    private let head: ResponseHead
    private let trailers: Headers
    private let body: Content
    /// Bytes that are still to come.
    private var remaining: Int
    private let workers: WorkerThreads
    private weak var receiver: (any ExchangeReceiver)?
    private var isPaused = false
    private var isReading = false

    enum Content {
        case memory(ByteBuffer)
        /// At its beginning, or where a part of it begins.
        case disk(BodyReader)
    }

    /// - Parameter count: bytes of content.
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
        receiver.exchangeStarted(on: nil, isReused: false)
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
                [self] in took($0)
            }
        }
    }

    private func took(_ result: Result<ByteBuffer?, NightjarError>) {
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
            receiver.exchangeFailed(NightjarError(.storage, "the cached body is shorter than it was"))
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

    // There is nobody to send to.
    func send(_ part: ByteBuffer) {}
    func endBody() {}

    /// Bytes read at a time: as many as a call may have waiting for its reader.
    private static let part = ClientTask.window
}
