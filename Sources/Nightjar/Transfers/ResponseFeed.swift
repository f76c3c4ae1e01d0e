import NIOCore
import NightjarHTTP

/// A streamed response that can become a download.
package enum StreamedExchange: Sendable {
    case running(ClientTask)
    case ended(EndedStream)

    var head: Response? {
        switch self {
        case .running(let task): task.deliveredHead
        case .ended(let stream): stream.head
        }
    }

    var source: StreamSource? {
        switch self {
        case .running(let task): task.source
        case .ended(let stream): stream.source
        }
    }
}

/// A streamed response that has become a download. Passes the body, and its end, to the download's connection.
final class ResponseFeed: @unchecked Sendable {
    /// Nil: the response has ended.
    let task: ClientTask?
    /// The head.
    private(set) var response: Response
    // Used on the loop:
    /// The parts that arrive before the download has a connection.
    private var parts: [ByteBuffer]
    private var end: Result<Response, NightjarError>?
    private weak var connection: DownloadConnection?

    /// Takes over the response. Called where the events of the call are delivered.
    ///
    /// - Parameter parts: The parts of the body that the caller has received and not used.
    /// - Throws: `invalid_argument` if the response cannot become a download; `cancelled`.
    init(
        _ exchange: StreamedExchange, holding parts: [ByteBuffer], on loop: ClientLoop
    ) throws(NightjarError) {
        self.parts = parts
        let held = parts.reduce(0) { $0 + $1.readableBytes }
        switch exchange {
        case .running(let task):
            self.task = task
            let own = WeakFeed()
            let receiver = StreamReceiver(
                body: { part in loop.submit(.run { own.feed?.received(part) }) },
                end: { result in loop.submit(.run { own.feed?.ended(result) }) })
            (response, end) = try task.handOver(holding: held, to: receiver)
            own.feed = self
        case .ended(let stream):
            try StreamSource.check(held, of: stream.bytes)
            (task, response, end) = (nil, stream.head, stream.end)
        }
    }

    // MARK: On the loop

    /// Passes the parts so far, and all later ones.
    func deliver(to connection: DownloadConnection) {
        self.connection = connection
        for part in parts { connection.received(part) }
        parts = []
        if let end { connection.ended(end) }
    }

    private func received(_ part: ByteBuffer) {
        if let connection { connection.received(part) } else { parts.append(part) }
    }

    private func ended(_ result: Result<Response, NightjarError>) {
        var result = result
        // The download has not cancelled the call: its queue was closed. The download continues with another request.
        if case .failure(let error) = result, error.kind == .cancelled {
            result = .failure(
                NightjarError(
                    .connectionLost, "the queue of the call was closed before the response was received",
                    phase: .receive))
        }
        end = result
        connection?.ended(result)
    }

    func cancel() { task?.cancelExchange() }

    /// Ends the call with an error, because the download could not be started. Called where the events of the call are
    /// delivered.
    func revoke() { task?.revokeHandOver() }
}

/// A feed's reference to itself. Written once, before the first event.
private final class WeakFeed: @unchecked Sendable {
    weak var feed: ResponseFeed?
}
